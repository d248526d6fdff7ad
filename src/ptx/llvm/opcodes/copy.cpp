// cp.async: the copy happens at once, so that waiting for groups has nothing to do.
#include "ptx/llvm/opcodes/copy.h"

#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

// Whether lanes may read less than they write. Compilers name the size twice where they do not.
static bool isLimited(const Program& program, const Instruction& i, uint32_t bytes) {
  if (i.sources.size() - i.ast->has(Mod::L2CacheHint) <= 3) return false;
  const ValueId limit = i.sources[3];
  const std::optional<uint64_t> known = knownBits(program, limit);
  return program.values[limit].type == Class::Pred || !known || static_cast<uint32_t>(*known) < bytes;
}

// How many bytes of `bytes` the lanes of a chunk read: those beyond the source size are zero, and where the predicate
// to ignore the source is true all are.
llvm::Value* LaneCopies::bytesToRead(const Instruction& i, uint32_t chunk, uint32_t bytes) {
  const ValueId limit = i.sources[3];
  Value* const bound = values_.chunkOf(limit, chunk);
  if (program_.values[limit].type != Class::Pred) return b_.asInteger(bound, 32);
  LType* const words = b_.vectorOf(b_.getInt32Ty());
  return b_.CreateSelect(i.negated[3] ? b_.CreateNot(bound) : bound, llvm::ConstantInt::get(words, 0),
                         llvm::ConstantInt::get(words, bytes));
}

// Bytes of lanes that read a part of what they write, one after another; `bound` says how many. The rest is there.
void LaneCopies::copyParts(const Address& to, const Address& from, const Chunks& bound, const Mask& lanes) {
  LType* const wide = b_.getInt64Ty();
  auto* const targets = b_.spill(0, addresses_.addressChunks(to));
  auto* const origins = b_.spill(1, addresses_.addressChunks(from));
  auto* const bounds = b_.spill(2, bound);
  masks_.forEachLane(lanes, [&](Value* lane) {
    Value* const target = b_.CreateLoad(wide, b_.laneAddress(targets, lane, wide));
    Value* const origin = b_.CreateLoad(wide, b_.laneAddress(origins, lane, wide));
    Value* const count =
        b_.CreateZExt(b_.CreateLoad(b_.getInt32Ty(), b_.laneAddress(bounds, lane, b_.getInt32Ty())), wide);
    BB* const before = b_.GetInsertBlock();
    BB* const loop = b_.newBlock("bytes");
    BB* const after = b_.newBlock("after");
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    auto* const byte = b_.CreatePHI(wide, 2);
    byte->addIncoming(b_.getInt64(0), before);
    b_.CreateStore(b_.CreateLoad(b_.getInt8Ty(), b_.pointer(b_.CreateAdd(origin, byte))),
                   b_.pointer(b_.CreateAdd(target, byte)));
    Value* const next = b_.CreateAdd(byte, b_.getInt64(1));
    byte->addIncoming(next, loop);
    b_.CreateCondBr(b_.CreateICmpULT(next, count), loop, after);
    b_.SetInsertPoint(after);
  });
}

// Most lanes read all that they write or nothing. They are loaded at once, and a few that read a part follow.
void LaneCopies::copyLimited(const Instruction& i, const Address& to, const Address& from, uint32_t bits,
                             uint32_t count, const Mask& mask) {
  const uint32_t bytes = count * bits / 8;
  Chunks bound;
  Mask whole, some;
  whole.full = some.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    bound.push_back(bytesToRead(i, c, bytes));
    Value* const all = llvm::ConstantInt::get(bound[c]->getType(), bytes);
    whole.chunks.push_back(b_.CreateICmpUGE(bound[c], all));
    some.chunks.push_back(b_.CreateAnd(b_.CreateICmpULT(bound[c], all), b_.CreateIsNotNull(bound[c])));
  }
  tests_.checkReach(i, 1, Space::Global, bytes, masks_.both(mask, masks_.either(whole, some)));
  const Mask source = checks_.allowed({i, 1, Space::Global, bytes, 1}, masks_.both(mask, whole));
  Components data = checks_.zeroed(loads_.loadLanes(from, bits, count, source, false), source);
  for (Chunks& elements : data)
    for (uint32_t c = 0; c < k_; ++c)
      elements[c] = b_.CreateSelect(whole.chunks[c], elements[c], llvm::Constant::getNullValue(elements[c]->getType()));
  stores_.storeLanes(to, bits, data, mask, false);
  if (program_.values[i.sources[3]].type == Class::Pred) return;
  const Mask parts = checks_.allowed({i, 1, Space::Global, 1, 1}, masks_.both(mask, some));
  b_.ifTrue(masks_.anyLane(parts), [&] { copyParts(to, from, bound, parts); });
}

uint32_t LaneCopies::bytesToCopy(const Instruction& i) {
  if (!i.ast->has(Mod::Async) || i.ast->has(Mod::Bulk) || i.ast->has(Mod::Mbarrier)) unsupported(i, "this kind of cp");
  if (i.sources.size() < 3) unsupported(i, "cp.async without a size");
  const auto& size = program_.values[i.sources[2]];
  if (size.kind != vg::ptx::gen::Value::Constant) unsupported(i, "cp.async of variable size");
  if (size.bits != 4 && size.bits != 8 && size.bits != 16) unsupported(i, "size of cp.async");
  return static_cast<uint32_t>(size.bits);
}

void LaneCopies::copyAsync(const Instruction& i) {
  if (i.ast->has(Mod::CommitGroup) || i.ast->has(Mod::WaitGroup) || i.ast->has(Mod::WaitAll)) return;
  const uint32_t bytes = bytesToCopy(i);
  Address to = addresses_.addressOf(i, 0, Space::Shared), from = addresses_.addressOf(i, 1, Space::Global);
  const Mask guarded = predicates_.guardedMask(i);
  tests_.checkAlignment(i, 0, guarded);
  tests_.checkAlignment(i, 1, guarded);
  const Mask mask = checks_.allowed({i, 0, Space::Shared, bytes, bytes}, guarded);
  // Where every lane has the same place there is still one access a lane, which keeps this rare case short.
  for (Address* address : {&to, &from})
    if (address->shape.uniform()) address->shape = {Shape::Varying, 0, false};
  const uint32_t bits = bytes == 4 ? 32 : 64, count = bytes == 16 ? 2 : 1;
  if (isLimited(program_, i, bytes)) return copyLimited(i, to, from, bits, count, mask);
  tests_.checkReach(i, 1, Space::Global, bytes, mask);
  const Mask source = checks_.allowed({i, 1, Space::Global, bytes, bytes}, mask);
  const Components data = loads_.loadLanes(from, bits, count, source, false);
  stores_.storeLanes(to, bits, checks_.on() ? checks_.zeroed(data, source) : data, mask, false);
}

}  // namespace vg::ptx::gen
