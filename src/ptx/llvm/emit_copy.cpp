// cp.async: the copy happens at once, so that waiting for groups has nothing to do.
#include "ptx/llvm/emitter.h"
#include "ptx/llvm/ptx_facts.h"

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
llvm::Value* Emitter::bytesToRead(const Instruction& i, uint32_t chunk, uint32_t bytes) {
  const ValueId limit = i.sources[3];
  Value* const bound = chunkOf(limit, chunk);
  if (program_.values[limit].type != Class::Pred) return asInteger(bound, 32);
  LType* const words = vectorOf(b_.getInt32Ty());
  return b_.CreateSelect(i.negated[3] ? b_.CreateNot(bound) : bound, llvm::ConstantInt::get(words, 0),
                         llvm::ConstantInt::get(words, bytes));
}

// Elements of which lanes read as many bytes as `bound` leaves from byte `first` on, byte by byte.
llvm::Value* Emitter::loadBytes(Value* addresses, uint32_t bits, Value* bound, uint32_t first, Value* lanes) {
  LType* const type = vectorOf(integerType(bits));
  Value* out = llvm::ConstantInt::get(type, 0);
  for (uint32_t byte = 0; byte < bits / 8; ++byte) {
    Value* const inside = b_.CreateICmpUGT(bound, llvm::ConstantInt::get(bound->getType(), first + byte));
    Value* const at = b_.CreateAdd(addresses, llvm::ConstantInt::get(addresses->getType(), byte));
    Value* const one = gather(at, 8, b_.CreateAnd(inside, lanes), false);
    Value* const read = b_.CreateSelect(inside, one, llvm::Constant::getNullValue(one->getType()));
    out = b_.CreateOr(out, b_.CreateShl(b_.CreateZExt(read, type), llvm::ConstantInt::get(type, byte * 8)));
  }
  return out;
}

Emitter::Components Emitter::loadLimited(const Instruction& i, const Address& source, uint32_t bits, uint32_t count,
                                         const Mask& mask) {
  Components data(count);
  const Chunks lanes = chunksOf(mask);
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const bound = bytesToRead(i, c, count * bits / 8);
    for (uint32_t n = 0; n < count; ++n) {
      Value* const addresses =
          b_.CreateAdd(addressChunk(source, c), llvm::ConstantInt::get(vectorOf(b_.getInt64Ty()), uint64_t{n} * 8));
      data[n].push_back(loadBytes(addresses, bits, bound, n * 8, lanes[c]));
    }
  }
  return data;
}

uint32_t Emitter::bytesToCopy(const Instruction& i) {
  if (!i.ast->has(Mod::Async) || i.ast->has(Mod::Bulk) || i.ast->has(Mod::Mbarrier)) unsupported(i, "this kind of cp");
  if (i.sources.size() < 3) unsupported(i, "cp.async without a size");
  const auto& size = program_.values[i.sources[2]];
  if (size.kind != vg::ptx::gen::Value::Constant) unsupported(i, "cp.async of variable size");
  if (size.bits != 4 && size.bits != 8 && size.bits != 16) unsupported(i, "size of cp.async");
  return static_cast<uint32_t>(size.bits);
}

void Emitter::copyAsync(const Instruction& i) {
  if (i.ast->has(Mod::CommitGroup) || i.ast->has(Mod::WaitGroup) || i.ast->has(Mod::WaitAll)) return;
  const uint32_t bytes = bytesToCopy(i);
  Address to = addressOf(i, 0, Space::Shared), from = addressOf(i, 1, Space::Global);
  const Mask mask = guardedMask(i);
  checkAlignment(i, 0, mask);
  checkAlignment(i, 1, mask);
  // Where every lane has the same place there is still one access a lane, which keeps this rare case short.
  for (Address* address : {&to, &from})
    if (address->shape.uniform()) address->shape = {Shape::Varying, 0, false};
  const uint32_t bits = bytes == 4 ? 32 : 64, count = bytes == 16 ? 2 : 1;
  const Components data = isLimited(program_, i, bytes) ? loadLimited(i, from, bits, count, mask)
                                                        : loadLanes(from, bits, count, mask, false);
  storeLanes(to, bits, data, mask, false);
}

}  // namespace vg::ptx::gen
