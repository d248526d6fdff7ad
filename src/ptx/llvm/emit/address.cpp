// Addresses of loads, stores and atomics, in the shape of the register that holds them.
#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

// Bytes by which an address of the processor can multiply an index.
constexpr uint64_t kLargestStep = 8;

// The address in 64 bits. A register of 32 bits plus its displacement wraps around at 32: the register may hold a
// negative number.
llvm::Value* Emitter::displaced(Value* address, int64_t offset) {
  const bool narrow = address->getType()->getScalarSizeInBits() <= 32;
  Value* const base = asInteger(address, narrow ? 32 : 64);
  const auto amount = narrow ? static_cast<uint32_t>(offset) : static_cast<uint64_t>(offset);
  return asInteger(b_.CreateAdd(base, llvm::ConstantInt::get(base->getType(), amount)), 64);
}

// The same of the first lane of a row, to which the lanes' distances are added in 64 bits. That lane may be switched
// off and lie before the window: then its address is negative, and those of the others are still right.
llvm::Value* Emitter::rowStart(Value* first, int64_t offset) {
  if (first->getType()->getScalarSizeInBits() > 32) return displaced(first, offset);
  return b_.CreateAdd(b_.CreateSExt(asInteger(first, 32), b_.getInt64Ty()), b_.getInt64(static_cast<uint64_t>(offset)));
}

Emitter::Address Emitter::addressOf(const Instruction& i, size_t source, Space space) {
  Address a;
  a.space = space == Space::SharedCluster ? Space::Shared : space;
  a.value = i.sources[source];
  a.offset = i.offsets[source];
  const Form form = formOf(a.value);
  a.shape = program_.values[a.value].shape;
  a.holds = form.holds;
  const auto place = [&](Value* first) {
    const bool lanesDiffer = a.shape.straight() && !a.shape.sameInRow();
    Value* const at = lanesDiffer ? rowStart(first, a.offset) : displaced(first, a.offset);
    return a.space == Space::Shared ? b_.CreateAdd(sharedBase(), at) : at;
  };
  if (form.scalar) a.scalar = place(form.scalar);
  for (Value* first : form.rows) a.rows.push_back(place(first));
  return a;
}

// Where a lane accesses memory when `step` bytes are from one to the next, in the warp or in each row.
llvm::Value* Emitter::placeInRow(const Address& a, uint32_t lane, int64_t step, int64_t offset) {
  Value* const first = a.rows.empty() ? a.scalar : a.rows[a.rows.size() > 1 ? lane / rowLanes_ : 0];
  const uint32_t before = a.rows.empty() ? lane : lane % rowLanes_;
  return pointer(b_.CreateAdd(first, b_.getInt64(static_cast<uint64_t>(before * step + offset))));
}

llvm::Value* Emitter::addressChunk(const Address& a, uint32_t c) {
  // Displacements in scalars: as vectors they are constants of their own, each to be told from all others.
  if (hasSteps(a) && a.scalar)
    return b_.CreateAdd(b_.CreateVectorSplat(w_, a.scalar), iota(c, b_.getInt64Ty(), a.shape.stride));
  Value* const v = displaced(chunkOf(a.value, c), a.offset);
  return a.space == Space::Shared ? b_.CreateAdd(v, b_.CreateVectorSplat(w_, sharedBase())) : v;
}

llvm::Value* Emitter::addressLane(const Address& a, Value* lane) {
  Value* const v = displaced(laneOf(a.value, lane), a.offset);
  return a.space == Space::Shared ? b_.CreateAdd(sharedBase(), v) : v;
}

// Of one lane after the other: computed where its number tells, else from vectors that are kept for it.
Emitter::LanePlaces Emitter::placesOfLanes(const Address& a) {
  if (hasSteps(a) && a.scalar) return [this, a](Value* lane) { return addressLane(a, lane); };
  Chunks addresses;
  for (uint32_t c = 0; c < k_; ++c) addresses.push_back(addressChunk(a, c));
  llvm::AllocaInst* const kept = spill(0, addresses);
  LType* const address = b_.getInt64Ty();
  return [this, kept, address](Value* lane) { return b_.CreateLoad(address, laneAddress(kept, lane, address)); };
}

// What an address that varies is away from by the same distance in all lanes: several addresses have one such origin,
// and LLVM finds that their lanes are tested alike.
ValueId Emitter::originOf(ValueId address) const {
  for (;;) {
    const auto& v = program_.values[address];
    if (v.kind != vg::ptx::gen::Value::Result) return address;
    const Instruction& i = program_.instructions[v.instruction];
    const bool sum = (i.ast->op == Op::Add || i.ast->op == Op::Sub) && i.guard == kNone && i.results.size() == 1 &&
                     i.sources.size() == 2 && i.carryIn == kNone && i.ast->typeCount == 1 &&
                     !ptx::isFloat(i.ast->type()) && !i.ast->has(Mod::Sat);
    if (!sum || ptx::bitsOf(i.ast->type()) != bitsOf(v.type)) return address;
    const auto shapeOf = [&](size_t n) { return program_.values[i.sources[n]].shape; };
    const size_t other = shapeOf(1).uniform() ? 0 : i.ast->op == Op::Add && shapeOf(0).uniform() ? 1 : 2;
    if (other == 2 || !shapeOf(other).varying()) return address;
    const ValueId origin = i.sources[other];
    if (!readable(origin) || bitsOf(program_.values[origin].type) != bitsOf(v.type)) return address;
    address = origin;
  }
}

// As compilers write a[i]: the array plus the product of mul.wide.
std::optional<Emitter::Elements> Emitter::elementsOf(const Address& a) {
  const auto madeBy = [&](ValueId id, Op op) -> const Instruction* {
    const auto& v = program_.values[id];
    if (v.kind != vg::ptx::gen::Value::Result) return nullptr;
    const Instruction& i = program_.instructions[v.instruction];
    const bool plain = i.guard == kNone && i.carryIn == kNone && i.results.size() == 1 && i.sources.size() == 2 &&
                       i.ast->typeCount == 1 && !ptx::isFloat(i.ast->type());
    return plain && i.ast->op == op ? &i : nullptr;
  };
  const Instruction* const sum = madeBy(a.value, Op::Add);
  if (a.space == Space::Shared || !sum || ptx::bitsOf(sum->ast->type()) != 64) return {};
  for (size_t n = 0; n < 2; ++n) {
    const ValueId array = sum->sources[n];
    const Instruction* const product = madeBy(sum->sources[1 - n], Op::Mul);
    if (!product || !product->ast->has(Mod::Wide) || ptx::bitsOf(product->ast->type()) != 32) continue;
    const ValueId index = product->sources[0];
    const std::optional<uint64_t> step = knownBits(program_, product->sources[1]);
    if (!program_.values[array].shape.uniform() || !program_.values[index].shape.varying()) continue;
    if (!step || *step > kLargestStep || !readable(array) || !readable(index)) continue;
    return Elements{displaced(scalarOf(array), a.offset), index, *step, isSigned(product->ast->type())};
  }
  return {};
}

llvm::Value* Emitter::placeOf(const Elements& all, Value* index) {
  return b_.CreateAdd(all.base, b_.CreateMul(extend(index, 64, all.isSigned), b_.getInt64(all.step)));
}

// Whether the lanes of a warp, or of each of its rows, access consecutive elements; a.value varies.
llvm::Value* Emitter::consecutive(const Address& a, uint32_t stride, const Mask& mask) {
  const ValueId origin = originOf(a.value);
  Chunks values = vectorsOf(origin);
  for (Value*& value : values) value = asInteger(value, bitsOf(program_.values[origin].type));
  LType* const element = values[0]->getType()->getScalarType();
  Chunks firsts;
  for (uint32_t lane = 0; lane < kWarpSize; lane += rows_ ? rowLanes_ : kWarpSize)
    firsts.push_back(b_.CreateExtractElement(values[lane / w_], lane % w_));
  Mask equal;
  equal.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const from = rows_ ? firstsOfRows(firsts, c) : b_.CreateVectorSplat(w_, firsts[0]);
    Value* const expected = b_.CreateAdd(from, iota(c, element, stride, rows_ ? rowLanes_ : kWarpSize));
    Value* same = b_.CreateICmpEQ(values[c], expected);
    if (!mask.full) same = b_.CreateOr(same, b_.CreateNot(mask.chunks[c]));
    equal.chunks.push_back(same);
  }
  return allLanes(equal);
}

// Of an address that varies: as if its lanes, or those of each row, were side by side.
void Emitter::startAtFirstLanes(Address& a) {
  const auto place = [&](uint32_t lane) {
    Value* const at = rowStart(b_.CreateExtractElement(chunkOf(a.value, lane / w_), lane % w_), a.offset);
    return a.space == Space::Shared ? b_.CreateAdd(sharedBase(), at) : at;
  };
  if (!rows_) a.scalar = place(0);
  for (uint32_t r = 0; r < rows_; ++r) a.rows.push_back(place(r * rowLanes_));
}

}  // namespace vg::ptx::gen
