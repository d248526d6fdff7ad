// mma, wmma, wgmma, ldmatrix, stmatrix, movmatrix: the operands of all lanes go to matrix.h's plain loops.
#include "ptx/operations/matrix.h"
#include "ptx/interpreter/interpreter_impl.h"

namespace vg::ptx::interpreter {
namespace {

// The host address that the lane names, checked.
uint64_t addressOf(Warp& w, const Step& s, uint32_t lane) {
  const MatrixShape& shape = *s.matrix;
  const MatrixForm& form = shape.form;
  uint64_t bytes = bytesOfRow(form), alignment = kRowAlignment;
  if (form.operation == MatrixOperation::LoadFragment || form.operation == MatrixOperation::StoreFragment) {
    const uint64_t stride =
        shape.order[1] == kMatrixStride ? shape.stride : w.read(lane, s.vectorSources[shape.order[1]]) & 0xffffffff;
    bytes = extentOf(form, stride);
    alignment = std::max(bitsOf(form.a) / 8, 1u);
  }
  return reinterpret_cast<uint64_t>(w.range(lane, s, s.vectorSources[0], bytes, alignment, shape.space));
}

// What a product of four warps reads of shared memory; the lowest lane stands for all.
class ObservedReads final : public GroupReads {
 public:
  ObservedReads(Warp& w, const Step& s, uint32_t mask) : w_(w) {
    access_.kind = Access::Kind::Load;
    access_.isShared = true;
    access_.space = Space::Shared;
    access_.lane = static_cast<uint8_t>(std::countr_zero(mask));
    access_.warp = w.index;
    access_.bytes = access_.alignment = 16;
    access_.instruction = s.i;
    w.noteWhere(access_.lane, s.i);
  }
  bool allows(uint32_t place) override {
    access_.address = w_.block->sharedOffset + place;
    return w_.observer->allows(access_, BlockObserver::Own::No);
  }

 private:
  Warp& w_;
  Access access_;
};

MatrixFault runGroup(Warp& w, const Step& s, uint32_t mask, const std::byte* operands, std::byte* results) {
  const MatrixForm& form = s.matrix->form;
  if (w.watched && mask) {
    ObservedReads reads(w, s, mask);
    if (!mayRead(form, w.index, operands, reads)) return MatrixFault::None;  // zeros
  }
  const BlockState& state = *w.block;
  return multiplyGroup(form, w.index, {state.shared + state.sharedOffset, state.sharedLimit}, operands, results,
                       kPlainMatrixEngine);
}

MatrixFault run(Warp& w, const Step& s, uint32_t mask, const std::byte* operands, std::byte* results) {
  const MatrixForm& form = s.matrix->form;
  if (form.operation == MatrixOperation::Multiply) return multiplyPlainly(form, operands, results), MatrixFault::None;
  if (form.operation == MatrixOperation::MultiplyGroup) return runGroup(w, s, mask, operands, results);
  return moveMatrix(form, mask, operands, results);
}

template <uint32_t kOperandBytes, uint32_t kResultBytes>
void perform(Warp& w, const Step& s, uint32_t mask) {
  alignas(64) std::byte operands[kOperandBytes] = {}, results[kResultBytes] = {};
  const MatrixShape& shape = *s.matrix;
  const uint32_t naming = namingLanes(shape.form, mask);
  std::byte* at = operands;
  for (size_t k = 0; k < shape.order.size(); at += shape.operandBytes[k] * kWarpSize, ++k)
    eachLane(mask, [&](uint32_t lane) {
      uint64_t value = shape.stride;
      if (k == 0 && naming)
        value = naming >> lane & 1 ? addressOf(w, s, lane) : 0;
      else if (shape.order[k] != kMatrixStride)
        value = w.read(lane, s.vectorSources[shape.order[k]]);
      std::memcpy(at + lane * shape.operandBytes[k], &value, shape.operandBytes[k]);
    });
  if (const MatrixFault fault = run(w, s, mask, operands, results); fault != MatrixFault::None)
    w.trap(mask, fault == MatrixFault::Misaligned ? TrapReason::MisalignedAddress : TrapReason::SharedOutOfRange, s);
  eachLane(mask, [&](uint32_t lane) {
    for (uint32_t k = 0; k < shape.results; ++k) {
      uint64_t value = 0;
      std::memcpy(&value, results + (k * kWarpSize + lane) * shape.resultBytes, shape.resultBytes);
      w.write(lane, s.vectorTargets[k], value);
    }
  });
}

}  // namespace

// All lanes of the warp meet at these instructions.
void selectMatrix(const Instruction& i, const Function& f, Step& s) {
  const auto shape = describeMatrix(i, f);
  if (!shape) return;
  s.matrix = std::make_shared<const MatrixShape>(*shape);
  s.execute = shape->form.operation == MatrixOperation::MultiplyGroup
                  ? perform<kGroupOperandBytes, kGroupResultBytes>
                  : perform<kMatrixOperandBytes, kMatrixResultBytes>;
  s.flow = Flow::WarpSync;
  s.sources[0].value = 0xffffffff;
  s.sourceCount = 1;
  s.destination = 0;
}

}  // namespace vg::ptx::interpreter
