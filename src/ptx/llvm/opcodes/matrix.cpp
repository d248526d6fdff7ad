// Matrix instructions: operands go to a buffer in memory, the runner does the whole warp in one call.
#include "ptx/llvm/opcodes/matrix.h"

#include "ptx/facts/matrix_form.h"

namespace vg::ptx::gen {

void Matrices::emitMatrix(const Instruction& i) {
  const auto shape = describeMatrix(*i.ast, *i.function);
  if (!shape || shape->results != i.results.size()) unsupported(i, "form of a matrix instruction");
  LType* const byte = b_.getInt8Ty();
  const bool group = shape->form.operation == MatrixOperation::MultiplyGroup;
  Buffers& buffers = group ? ofGroups_ : ofWarps_;
  if (!buffers.operands) {
    const auto make = [&](uint32_t bytes, const char* name) {
      return b_.entryAlloca(llvm::ArrayType::get(byte, bytes), name, llvm::Align(64));
    };
    buffers = {make(group ? kGroupOperandBytes : kMatrixOperandBytes, "matrices"),
               make(group ? kGroupResultBytes : kMatrixResultBytes, "product")};
  }
  const auto place = [&](llvm::AllocaInst* buffer, uint32_t at) {
    return b_.CreateConstInBoundsGEP1_32(byte, buffer, at);
  };
  const bool moves = shape->form.operation != MatrixOperation::Multiply && !group;
  uint32_t at = 0;
  for (size_t k = 0; k < shape->order.size(); at += shape->operandBytes[k] * kWarpSize, ++k) {
    const uint32_t bytes = shape->operandBytes[k], source = shape->order[k];
    for (uint32_t c = 0; c < k_; ++c) {
      Value* lanes;
      if (source == kMatrixStride)
        lanes = b_.CreateVectorSplat(w_, b_.getInt32(shape->stride));
      else if (i.sources[source] == kNone)
        continue;
      else if (moves && k == 0 && bytes == 8)
        lanes = addresses_.addressChunk(addresses_.addressOf(i, source, shape->space), c);
      else
        lanes = b_.asInteger(values_.chunkOf(i.sources[source], c), 8 * bytes);
      b_.CreateAlignedStore(lanes, place(buffers.operands, at + c * w_ * bytes), llvm::Align(bytes));
    }
  }
  runner_.runtimeCall(offsetof(RuntimeCalls, matrix), b_.getVoidTy(),
                      {runner_.block, runner_.warp, masks_.maskBits(predicates_.guardedMask(i)),
                       b_.getInt64(wordOf(shape->form)), b_.getInt32(i.ast->line), buffers.operands, buffers.results});
  const uint32_t bytes = shape->resultBytes;
  for (size_t r = 0; r < i.results.size(); ++r) {
    if (i.results[r] == kNone) continue;
    const auto from = [&](uint32_t c) {
      return place(buffers.results, (static_cast<uint32_t>(r) * kWarpSize + c * w_) * bytes);
    };
    values_.finishFrom(i, r, from, 8 * bytes);
  }
}

}  // namespace vg::ptx::gen
