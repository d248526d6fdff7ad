// Shuffles: lanes read registers of others.
#include "ptx/llvm/opcodes/lanes.h"

#include <llvm/IR/IntrinsicsX86.h>

#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

namespace Intrinsic = llvm::Intrinsic;

namespace {

// The lane that a lane reads by b and c, the operands of the instruction; nothing when it is outside of the segment.
std::optional<uint32_t> sourceLane(const ptx::Instruction& ast, uint32_t lane, uint64_t b, uint64_t c) {
  const uint32_t amount = b & 31, limit = c & 31, segment = c >> 8 & 31;
  const uint32_t minLane = lane & segment;
  const auto maxLane = static_cast<int64_t>(minLane | (limit & ~segment));
  if (ast.has(Mod::Up)) {
    const int64_t from = static_cast<int64_t>(lane) - amount;
    return from >= maxLane ? std::optional(static_cast<uint32_t>(from)) : std::nullopt;
  }
  const uint32_t from = ast.has(Mod::Down)   ? lane + amount
                        : ast.has(Mod::Bfly) ? lane ^ amount
                                             : minLane | (amount & ~segment);
  return from <= maxLane ? std::optional(from) : std::nullopt;
}

}  // namespace

// By constant operands: which lanes go where is known.
void Lanes::shuffleKnown(const Instruction& i, const Chunks& data, uint64_t b, uint64_t c, Form& value, Form& inRange) {
  for (uint32_t chunk = 0; chunk < k_; ++chunk) {
    llvm::SmallVector<int, 16> order;
    llvm::SmallVector<llvm::Constant*, 16> bits;
    for (uint32_t lane = chunk * w_; lane < (chunk + 1) * w_; ++lane) {
      const std::optional<uint32_t> from = sourceLane(*i.ast, lane, b, c);
      order.push_back(static_cast<int>(from.value_or(lane)));
      bits.push_back(b_.getInt1(from.has_value()));
    }
    value.chunks.push_back(b_.lanesFrom(data, order));
    inRange.chunks.push_back(llvm::ConstantVector::get(bits));
  }
}

// The lanes that the lanes of a chunk read, their own where that is outside of the segment, and whether it is inside.
std::pair<llvm::Value*, llvm::Value*> Lanes::sourceLanes(const Instruction& i, uint32_t chunk) {
  const ptx::Instruction& ast = *i.ast;
  Value* const lane = b_.iota(chunk, b_.getInt32Ty(), 1);
  const auto n32 = [&](uint64_t v) { return b_.number(lane, b_.getInt32Ty(), v); };
  Value* const b = b_.CreateAnd(b_.asInteger(values_.chunkOf(i.sources[1], chunk), 32), n32(31));
  Value* const control = b_.asInteger(values_.chunkOf(i.sources[2], chunk), 32);
  Value* const limit = b_.CreateAnd(control, n32(31));
  Value* const segment = b_.CreateAnd(b_.CreateLShr(control, n32(8)), n32(31));
  Value* const minLane = b_.CreateAnd(lane, segment);
  Value* const maxLane = b_.CreateOr(minLane, b_.CreateAnd(limit, b_.CreateNot(segment)));
  Value *from, *valid;
  if (ast.has(Mod::Up)) {
    from = b_.CreateSub(lane, b);
    valid = b_.CreateICmpSGE(from, maxLane);
  } else {
    from = ast.has(Mod::Down)   ? b_.CreateAdd(lane, b)
           : ast.has(Mod::Bfly) ? b_.CreateXor(lane, b)
                                : b_.CreateOr(minLane, b_.CreateAnd(b, b_.CreateNot(segment)));
    valid = b_.CreateICmpSLE(from, maxLane);
  }
  return {b_.CreateSelect(valid, from, lane), valid};
}

// The numbered lanes of data that lies in memory, for W lanes.
llvm::Value* Lanes::lanesFromMemory(llvm::AllocaInst* data, Value* from) {
  LType* const word = b_.getInt32Ty();
  Value* got = llvm::PoisonValue::get(b_.vectorOf(word));
  for (uint32_t lane = 0; lane < w_; ++lane) {
    Value* const index = b_.CreateAnd(b_.CreateExtractElement(from, lane), b_.getInt32(31));
    got = b_.CreateInsertElement(got, b_.CreateLoad(word, b_.laneAddress(data, index, word)), lane);
  }
  return got;
}

void Lanes::shuffleByLanes(const Instruction& i, const Chunks& data, Form& value, Form& inRange) {
  const bool permutes = options_.avx512 && k_ == 2;  // two registers of 16 lanes
  auto* const array = permutes ? nullptr : b_.spill(0, data);
  for (uint32_t c = 0; c < k_; ++c) {
    const auto [from, valid] = sourceLanes(i, c);
    value.chunks.push_back(permutes
                               ? b_.callIntrinsic(Intrinsic::x86_avx512_vpermi2var_d_512, {}, {data[0], from, data[1]})
                               : lanesFromMemory(array, from));
    inRange.chunks.push_back(valid);
  }
}

void Lanes::emitShuffle(const Instruction& i) {
  const Chunks data = held_.brought(i, 32);
  Form value = varyingForm(), inRange = varyingForm();
  const std::optional<uint64_t> b = knownBits(program_, i.sources[1]), c = knownBits(program_, i.sources[2]);
  b&& c ? shuffleKnown(i, data, *b, *c, value, inRange) : shuffleByLanes(i, data, value, inRange);
  if (i.results[0] != kNone) values_.finish(i, 0, std::move(value));
  if (i.results.size() > 1 && i.results[1] != kNone) values_.finish(i, 1, std::move(inRange));
}

}  // namespace vg::ptx::gen
