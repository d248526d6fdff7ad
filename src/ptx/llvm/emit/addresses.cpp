// Addresses of loads, stores and atomics, in the shape of the register that holds them.
#include "ptx/llvm/emit/addresses.h"

#include <cstdlib>

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/passes/hoped_rows.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

// Between lanes whose 32-bit addresses, if they lie in shared memory, are as far from each other in 64 bits.
constexpr int64_t kFarthestStep = 1 << 20;
constexpr int64_t kNearest = 1 << 17;  // bytes; less than what is unmapped in front of a window of shared memory

// The address in 64 bits. A register of 32 bits plus its displacement wraps around at 32: the register may hold a
// negative number.
llvm::Value* Addresses::displaced(Value* address, int64_t offset) {
  const bool narrow = address->getType()->getScalarSizeInBits() <= 32;
  Value* const base = b_.asInteger(address, narrow ? 32 : 64);
  const auto amount = narrow ? static_cast<uint32_t>(offset) : static_cast<uint64_t>(offset);
  return b_.asInteger(b_.CreateAdd(base, llvm::ConstantInt::get(base->getType(), amount)), 64);
}

// The same of the first lane of a row, to which the lanes' distances are added in 64 bits. That lane may be switched
// off and lie before the window: then its address is negative, and those of the others are still right.
llvm::Value* Addresses::rowStart(Value* first, int64_t offset) {
  if (first->getType()->getScalarSizeInBits() > 32) return displaced(first, offset);
  return b_.CreateAdd(b_.CreateSExt(b_.asInteger(first, 32), b_.getInt64Ty()),
                      b_.getInt64(static_cast<uint64_t>(offset)));
}

// The same in shared memory, for all lanes: in 64 bits, as every place there is far from where 32 bits wrap around, so
// that several places of one register become displacements of the processor's. Only with a displacement upwards may the
// register be negative; without, what is negative reaches no other window, but unmapped memory.
llvm::Value* Addresses::nearPlace(Value* first, int64_t offset) {
  if (offset > 0 || first->getType()->getScalarSizeInBits() > 32) return rowStart(first, offset);
  return b_.CreateAdd(b_.asInteger(b_.asInteger(first, 32), 64), b_.getInt64(static_cast<uint64_t>(offset)));
}

Address Addresses::addressOf(const Instruction& i, size_t source, Space space) {
  Address a;
  a.space = space == Space::SharedCluster ? Space::Shared : space;
  a.value = i.sources[source];
  a.offset = i.offsets[source];
  const Form form = values_.formOf(a.value);
  a.shape = program_.values[a.value].shape;
  a.holds = form.holds;
  const auto place = [&](Value* first) {
    const bool lanesDiffer = a.shape.straight() && !a.shape.sameInRow();
    const bool isNear = a.space == Space::Shared && std::abs(a.offset) < kNearest;
    Value* const at = lanesDiffer ? rowStart(first, a.offset)
                      : isNear    ? nearPlace(first, a.offset)
                                  : displaced(first, a.offset);
    return a.space == Space::Shared ? b_.CreateAdd(runner_.sharedBase(), at) : at;
  };
  if (form.scalar) a.scalar = place(form.scalar);
  for (Value* first : form.rows) a.rows.push_back(place(first));
  return a;
}

// Where a lane accesses memory when `step` bytes are from one to the next, in the warp or in each row.
llvm::Value* Addresses::placeInRow(const Address& a, uint32_t lane, int64_t step, int64_t offset) {
  Value* const first = a.rows.empty() ? a.scalar : a.rows[a.rows.size() > 1 ? lane / rowLanes_ : 0];
  const uint32_t before = a.rows.empty() ? lane : lane % rowLanes_;
  return b_.pointer(b_.CreateAdd(first, b_.getInt64(static_cast<uint64_t>(before * step + offset))));
}

llvm::Value* Addresses::addressChunk(const Address& a, uint32_t c) {
  // Displacements in scalars: as vectors they are constants of their own, each to be told from all others.
  if (hasSteps(a) && a.scalar)
    return b_.CreateAdd(b_.CreateVectorSplat(w_, a.scalar), b_.iota(c, b_.getInt64Ty(), a.shape.stride));
  Value* const v = displaced(values_.chunkOf(a.value, c), a.offset);
  return a.space == Space::Shared ? b_.CreateAdd(v, b_.CreateVectorSplat(w_, runner_.sharedBase())) : v;
}

Chunks Addresses::addressChunks(const Address& a) {
  Chunks addresses;
  for (uint32_t c = 0; c < k_; ++c) addresses.push_back(addressChunk(a, c));
  return addresses;
}

llvm::Value* Addresses::addressLane(const Address& a, Value* lane) {
  Value* const v = displaced(values_.laneOf(a.value, lane), a.offset);
  return a.space == Space::Shared ? b_.CreateAdd(runner_.sharedBase(), v) : v;
}

// Of one lane after the other: computed where its number tells, else from vectors that are kept for it.
LanePlaces Addresses::placesOfLanes(const Address& a) {
  if (hasSteps(a) && a.scalar) return [this, a](Value* lane) { return addressLane(a, lane); };
  llvm::AllocaInst* const kept = b_.spill(0, addressChunks(a));
  LType* const address = b_.getInt64Ty();
  return [this, kept, address](Value* lane) { return b_.CreateLoad(address, b_.laneAddress(kept, lane, address)); };
}

// What an address that varies is away from by the same distance in all lanes: several addresses have one such origin,
// and LLVM finds that their lanes are tested alike.
ValueId Addresses::originOf(ValueId address) const {
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
    if (!values_.readable(origin) || bitsOf(program_.values[origin].type) != bitsOf(v.type)) return address;
    address = origin;
  }
}

// i1: whether values of the lanes of a warp, or of each of its rows, are a step apart, one after the other.
llvm::Value* Addresses::inSteps(const Chunks& values, const Chunks& starts, uint32_t stride, const Mask& mask) {
  LType* const element = values[0]->getType()->getScalarType();
  const uint32_t rowLanes = kWarpSize / static_cast<uint32_t>(starts.size());
  Mask equal;
  equal.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const from = starts.size() > 1 ? values_.firstsOfRows(starts, c) : b_.CreateVectorSplat(w_, starts[0]);
    Value* same = b_.CreateICmpEQ(values[c], b_.CreateAdd(from, b_.iota(c, element, stride, rowLanes)));
    if (!mask.full) same = b_.CreateSelect(mask.chunks[c], same, llvm::Constant::getAllOnesValue(same->getType()));
    equal.chunks.push_back(same);
  }
  return masks_.allLanes(equal);
}

// What the first lane of each row would hold if all were in steps, by a lane that is there: that in the middle, since
// those at the ends may be switched off or stop at a border, or else the first one. Nothing is known of what lanes hold
// that are not there.
Chunks Addresses::startsOfRows(const Chunks& values, uint32_t stride, const Mask& mask) {
  Chunks starts;
  const uint32_t middle = middleOfRow();
  LType* const element = values[0]->getType()->getScalarType();
  for (uint32_t first = 0; first < kWarpSize; first += rows_ ? rowLanes_ : kWarpSize) {
    const uint32_t lane = first + middle;
    Value* start = b_.CreateExtractElement(values[lane / w_], lane % w_);
    start = b_.CreateSub(start, llvm::ConstantInt::get(element, uint64_t{middle} * stride));
    if (!mask.full)
      start = b_.CreateSelect(isThere(mask, lane), start, b_.CreateExtractElement(values[first / w_], first % w_));
    starts.push_back(b_.CreateFreeze(start));
  }
  return starts;
}

uint32_t Addresses::middleOfRow() const { return (rows_ ? rowLanes_ : options_.mostLanes) / 2; }

llvm::Value* Addresses::isThere(const Mask& mask, uint32_t lane) {
  return b_.CreateFreeze(b_.CreateExtractElement(mask.chunks[lane / w_], lane % w_));
}

// i1: whether one of the two lanes by which a row is found is there, in each row that has any.
llvm::Value* Addresses::areStartsKnown(const Mask& mask) {
  Value* known = nullptr;
  for (uint32_t first = 0; first < kWarpSize; first += rows_ ? rowLanes_ : kWarpSize) {
    Value* here = b_.CreateOr(isThere(mask, first + middleOfRow()), isThere(mask, first));
    if (rows_) here = b_.CreateOr(here, b_.CreateNot(masks_.anyLaneOfRow(mask, first / rowLanes_)));
    known = known ? b_.CreateAnd(known, here) : here;
  }
  return known;
}

// Whether the lanes of a warp, or of each of its rows, access consecutive elements; a.value varies.
llvm::Value* Addresses::consecutive(const Address& a, uint32_t stride, const Mask& mask) {
  const ValueId origin = originOf(a.value);
  Chunks values = values_.vectorsOf(origin);
  for (Value*& value : values) value = b_.asInteger(value, bitsOf(program_.values[origin].type));
  Value* const straight = inSteps(values, startsOfRows(values, stride, mask), stride, mask);
  return mask.full ? straight : b_.CreateAnd(straight, areStartsKnown(mask));
}

llvm::Value* Addresses::goUpwards(const Address& a, uint32_t laneBytes, const Mask& mask) {
  const Chunks addresses = addressChunks(a);
  return b_.CreateFreeze(inSteps(addresses, {b_.CreateExtractElement(addresses[0], uint64_t{0})}, laneBytes, mask));
}

// Of an address that varies: as if its lanes, or those of each row, were side by side, and the test whether they are.
llvm::Value* Addresses::startAtFirstLanes(Address& a, uint32_t stride, const Mask& mask) {
  Chunks values = values_.vectorsOf(a.value);
  for (Value*& value : values) value = b_.asInteger(value, bitsOf(program_.values[a.value].type));
  Chunks starts = startsOfRows(values, stride, mask);
  const HopedRow row{values, mask.full ? Chunks{} : mask.chunks, static_cast<uint32_t>(starts.size()), stride};
  Value* const test = hopedTest(b_, module_, row, consecutive(a, stride, mask));
  for (uint32_t r = 0; r < starts.size(); ++r) {
    Value*& start = starts[r];
    start = rowStart(hopedStart(b_, module_, test, r, start), a.offset);
    if (a.space == Space::Shared) start = b_.CreateAdd(runner_.sharedBase(), start);
  }
  if (rows_)
    a.rows = std::move(starts);
  else
    a.scalar = starts[0];
  return test;
}

Addresses::SideBySide Addresses::sideBySide(const Address& a, uint32_t stride, uint32_t elements, const Mask& mask) {
  const bool row = a.shape.straight() && a.shape.stride == static_cast<int64_t>(stride);
  SideBySide found{row && !a.holds, row, row ? a.holds : nullptr, a};
  if (!row && a.shape.varying() && elements == 1 && !isScattered(program_, a.value)) {
    found.test = startAtFirstLanes(found.address, stride, mask);
  }
  return found;
}

void Addresses::branch(const SideBySide& found, BB* rows, BB* lanes) {
  Value* const holds = b_.CreateFreeze(found.test);
  found.likely ? b_.branchToRow(holds, rows, lanes) : void(b_.CreateCondBr(holds, rows, lanes));
}

bool Addresses::hasSteps(const Address& a) const {
  return a.shape.straight() && !a.holds && std::abs(a.shape.stride) <= kFarthestStep;
}

// 128-bit elements travel as two of 64 bits, the lower first.
Chunks Addresses::joinHalves(const Components& halves) {
  LType* const wide = b_.vectorOf(b_.getInt128Ty());
  Chunks out;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const high = b_.CreateShl(b_.CreateZExt(halves[1][c], wide), llvm::ConstantInt::get(wide, 64));
    out.push_back(b_.CreateOr(high, b_.CreateZExt(halves[0][c], wide)));
  }
  return out;
}

// 128-bit elements travel as two of 64 bits, the lower first.
Components Addresses::splitHalves(ValueId wide) {
  LType* const half = b_.vectorOf(b_.getInt64Ty());
  Components out(2);
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const v = b_.asInteger(values_.chunkOf(wide, c), 128);
    out[0].push_back(b_.CreateTrunc(v, half));
    out[1].push_back(b_.CreateTrunc(b_.CreateLShr(v, llvm::ConstantInt::get(v->getType(), 64)), half));
  }
  return out;
}

}  // namespace vg::ptx::gen
