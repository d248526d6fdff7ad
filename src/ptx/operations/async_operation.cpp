#include "ptx/operations/async_operation.h"

#include <cuda.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "ptx/abi/cancelled_cluster.h"
#include "ptx/facts/reach.h"
#include "ptx/operations/barrier_object.h"
#include "ptx/operations/element_reduction.h"
#include "ptx/operations/tensor_copy.h"

namespace vg::ptx {
namespace {

constexpr uint64_t kBulkAlignment = 16, kSharedTileAlignment = 128, kMapAlignment = 64;

// One lane's part of an operation; the lanes of a warp take turns.
class Lane {
 public:
  Lane(BlockState* block, uint32_t warp, AsyncForm form, uint32_t line, uint64_t* lanes, ObjectWatch* watch)
      : block_(block), warp_(warp), form_(form), line_(line), lanes_(lanes), watch_(watch) {}
  void is(uint32_t lane) { lane_ = lane; }

  // True when the phase of a barrier object ended.
  bool perform();
  // The object that the lane names, mostly that of the lane before.
  std::byte* object() {
    if (!lastObject_ || get(kAsyncTo) != lastAddress_) {
      lastObject_ = to(8, 8);
      lastAddress_ = get(kAsyncTo);
    }
    return lastObject_;
  }
  // Whether the phase that the lane asks for is over.
  bool test(const std::byte* object) const;

 private:
  uint64_t get(uint32_t slot) const { return lanes_[slot * kWarpSize + lane_]; }
  uint32_t word(uint32_t slot) const { return static_cast<uint32_t>(get(slot)); }
  void result(uint64_t value) { lanes_[kAsyncResult * kWarpSize + lane_] = value; }
  [[noreturn]] void trap(TrapReason reason) const {
    block_->launch->calls->trap(block_, warp_, 1u << lane_, reason, line_);
    std::abort();
  }

  // The host address of `bytes` bytes, checked as far as that can be.
  std::byte* at(uint64_t address, AsyncSpace space, uint64_t bytes, uint64_t alignment) const;
  std::byte* to(uint64_t bytes, uint64_t alignment) const { return at(get(kAsyncTo), form_.to, bytes, alignment); }
  std::byte* from(uint64_t bytes, uint64_t alignment) const {
    return at(get(kAsyncFrom), form_.from, bytes, alignment);
  }

  template <class Change>
  bool change(std::byte* object, Change change);
  bool setUp(std::byte* object, uint64_t count);
  bool barrier();
  bool arrive(std::byte* object);
  // Bytes are about to come whose report may end phases: who has yet to look at the objects may want what they replace,
  // and an object of another block may not be there yet.
  void awaitLooks(uint64_t bytes);
  // Bytes have come: the barrier objects that the operation names hear of it, in all blocks that received them.
  bool report(uint64_t bytes);
  // visit(address in the block's shared memory that corresponds to `address`), for all blocks of a multicast.
  template <class Visit>
  void eachReceiver(uint64_t address, Visit visit);
  uint64_t cut(uint32_t slot) const;
  bool copy();
  void copyTo(std::byte* to, const std::byte* from, uint64_t bytes) const;
  bool reduce();
  TensorMap map(uint32_t slot) const;
  TensorPlace place(const TensorMap& map) const;
  bool loadTensor();
  void storeTensor();
  bool store();
  bool answerCancelling();
  void replace();
  bool goesThroughCluster() const;

  BlockState* const block_;
  const uint32_t warp_;
  uint32_t lane_ = 0;
  const AsyncForm form_;
  const uint32_t line_;
  uint64_t* const lanes_;
  ObjectWatch* const watch_;
  uint64_t lastAddress_ = 0;
  std::byte* lastObject_ = nullptr;
};

std::byte* Lane::at(uint64_t address, AsyncSpace space, uint64_t bytes, uint64_t alignment) const {
  if (address & (alignment - 1)) trap(TrapReason::MisalignedAddress);
  if (space == AsyncSpace::Host) {
    if (!mayReach(*block_, address, bytes)) trap(TrapReason::OutOfReach);
    return reinterpret_cast<std::byte*>(address);
  }
  const uint32_t* const size = block_->launch->clusterSize;
  const uint64_t offset = address & 0xffffffff;
  if (offset >> kSharedStrideBits >= size[0] * size[1] * size[2] ||
      offset % kSharedStride + bytes > block_->sharedLimit)
    trap(TrapReason::SharedOutOfRange);
  return block_->shared + offset;
}

// Barrier objects ---------------------------------------------------------------------------------------------------

BarrierObject objectAt(const std::byte* object) {
  uint64_t word;
  std::memcpy(&word, object, sizeof word);
  return BarrierObject::of(word);
}

void keepObject(std::byte* object, const BarrierObject& value) {
  const uint64_t word = value.word();
  std::memcpy(object, &word, sizeof word);
}

// `change` is done to the object as it is in the end, and may be done to a copy before that.
template <class Change>
bool Lane::change(std::byte* object, Change change) {
  for (;;) {
    BarrierObject value = objectAt(object);
    const bool ended = change(value);
    if (ended && watch_) [[unlikely]] {
      if (watch_->letOthersLook(object)) continue;
      watch_->changed(object);
    }
    keepObject(object, value);
    return ended;
  }
}

// Gives it up with a count of 0.
bool Lane::setUp(std::byte* object, uint64_t count) {
  while (watch_ && watch_->letOthersLook(object)) continue;
  keepObject(object, {count, count, 0, 0});
  if (watch_) watch_->changed(object);
  return false;
}

bool Lane::arrive(std::byte* object) {
  const bool expects = form_.has(kExpects);
  const uint64_t count = form_.has(kCounted) ? word(kAsyncCount) : 1;
  uint64_t state = 0;
  const bool ended = change(object, [&](BarrierObject& o) {
    std::memcpy(&state, object, sizeof state);
    if (expects) o.bytes += word(kAsyncCount);
    o.pending -= count;
    if (form_.has(kDrops)) o.expected -= count;
    return o.advance();
  });
  result(state);
  return ended;
}

bool Lane::barrier() {
  if (form_.operation == AsyncOperation::BarrierPending) {
    result(BarrierObject::of(get(kAsyncCount)).pending);
    return false;
  }
  std::byte* const object = this->object();
  const uint64_t operand = get(kAsyncCount);
  switch (form_.operation) {
    case AsyncOperation::BarrierInit:
      return setUp(object, operand & BarrierObject::kCountMask);
    case AsyncOperation::BarrierInvalidate:
      return setUp(object, 0);
    case AsyncOperation::BarrierArrive:
      return arrive(object);
    case AsyncOperation::BarrierCopies:
      return change(object, [](BarrierObject& o) { return --o.pending, o.advance(); });
    case AsyncOperation::BarrierExpect:
      return change(object, [&](BarrierObject& o) { return o.bytes += static_cast<uint32_t>(operand), false; });
    case AsyncOperation::BarrierComplete:
      return change(object, [&](BarrierObject& o) { return o.bytes -= static_cast<uint32_t>(operand), o.advance(); });
    default:
      return false;
  }
}

bool Lane::test(const std::byte* object) const {
  const uint64_t operand = get(kAsyncCount);
  const uint64_t phase = form_.has(kByParity) ? operand & 1 : BarrierObject::of(operand).phase;
  return objectAt(object).phase != phase;
}

// Copies ------------------------------------------------------------------------------------------------------------

template <class Visit>
void Lane::eachReceiver(uint64_t address, Visit visit) {
  if (!form_.has(kMulticast)) return visit(address);
  for (uint32_t left = word(kAsyncBlocks) & 0xffff; left; left &= left - 1)
    visit(address % kSharedStride + static_cast<uint64_t>(std::countr_zero(left)) * kSharedStride);
}

bool receive(BarrierObject& object, uint64_t bytes) {
  object.bytes -= static_cast<int64_t>(bytes);
  return object.advance();
}

void Lane::awaitLooks(uint64_t bytes) {
  if (!watch_ || !form_.has(kReports)) return;
  eachReceiver(get(kAsyncBarrier) & 0xffffffff, [&](uint64_t address) {
    const std::byte* const object = at(address, AsyncSpace::Shared, 8, 8);
    watch_->awaitSetUp(object);
    for (BarrierObject o = objectAt(object); receive(o, bytes) && watch_->letOthersLook(object);) o = objectAt(object);
  });
}

bool Lane::report(uint64_t bytes) {
  if (!form_.has(kReports)) return false;
  bool ended = false;
  eachReceiver(get(kAsyncBarrier) & 0xffffffff, [&](uint64_t address) {
    ended |=
        change(at(address, AsyncSpace::Shared, 8, 8), [&](BarrierObject& object) { return receive(object, bytes); });
  });
  return ended;
}

void Lane::copyTo(std::byte* to, const std::byte* from, uint64_t bytes) const {
  if (!form_.has(kMasked)) {
    std::memmove(to, from, bytes);
    return;
  }
  for (uint64_t k = 0; k < bytes; ++k)
    if (word(kAsyncMask) >> k % kBulkAlignment & 1) to[k] = from[k];
}

// What of a bulk copy need not be there: up to 15 bytes at an end. They are not read, and stay as they were.
uint64_t Lane::cut(uint32_t slot) const {
  if (!form_.has(kCutShort)) return 0;
  const uint32_t bytes = word(slot);
  if (bytes >= kBulkAlignment) trap(TrapReason::IllegalInstruction);
  return bytes;
}

bool Lane::copy() {
  const uint64_t bytes = word(kAsyncCount);
  if (bytes % kBulkAlignment) trap(TrapReason::MisalignedAddress);
  if (!bytes) return false;
  const uint64_t first = cut(kAsyncCut), last = bytes - std::min<uint64_t>(bytes, cut(kAsyncCut + 1));
  if (get(kAsyncFrom) % kBulkAlignment) trap(TrapReason::MisalignedAddress);
  const uint64_t kept = last - std::min(first, last);
  const std::byte* const source = at(get(kAsyncFrom) + first, form_.from, kept, 1);
  awaitLooks(bytes);
  eachReceiver(get(kAsyncTo),
               [&](uint64_t address) { copyTo(at(address, form_.to, bytes, kBulkAlignment) + first, source, kept); });
  return report(bytes);
}

bool Lane::reduce() {
  const uint64_t bytes = word(kAsyncCount);
  const auto operation = static_cast<AsyncReduction>(form_.detail);
  if (bytes % kBulkAlignment) trap(TrapReason::MisalignedAddress);
  if (!canReduce(operation, form_.type)) trap(TrapReason::IllegalInstruction);
  if (!bytes) return false;
  awaitLooks(bytes);
  reduceElements(operation, form_.type, to(bytes, kBulkAlignment), from(bytes, kBulkAlignment),
                 bytes / (bitsOf(form_.type) / 8));
  return report(bytes);
}

// Tensors -----------------------------------------------------------------------------------------------------------

TensorMap Lane::map(uint32_t slot) const {
  TensorMapBits bits;
  std::memcpy(bits.words, at(get(slot), AsyncSpace::Host, sizeof bits, kMapAlignment), sizeof bits);
  const TensorMap map = decode(bits);
  if (!canCopyTensor(map, form_.mode, form_.count)) trap(TrapReason::IllegalInstruction);
  return map;
}

// Elements of which the innermost coordinate has to be a multiple.
uint32_t rowBeginnings(const TensorMap& map) {
  constexpr uint32_t kPackedBox = 128;
  const TensorUnit unit = map.unit();
  if (unit.memory != unit.shared) return kPackedBox;
  return std::max<uint32_t>(kBulkAlignment * unit.elements / unit.memory, 1);
}

// Rows begin at multiples of 16 bytes, or of a whole box of packed elements with gaps: an H200 ends kernels that ask
// for others with this error.
TensorPlace Lane::place(const TensorMap& map) const {
  TensorPlace place;
  if (!map.interleave && word(kAsyncCoordinates) % rowBeginnings(map)) trap(TrapReason::IllegalInstruction);
  if (form_.mode == TensorMode::Rows) place.rows = kRowCoordinates - 1;
  const uint32_t coordinates = place.rows ? kRowCoordinates : form_.count;
  for (uint32_t d = 0; d < coordinates; ++d) place.coordinates[d] = static_cast<int32_t>(word(kAsyncCoordinates + d));
  for (uint32_t d = 0; form_.has(kShifted) && d + 2 < form_.count; ++d)
    place.offsets[d] = word(kAsyncOffsets + d) & 0xffff;
  return place;
}

bool Lane::loadTensor() {
  const TensorMap tensor = map(kAsyncFrom);
  const TensorPlace where = place(tensor);
  const uint64_t span = tensorSpan(tensor, where), bytes = tensorBytes(tensor, where);
  awaitLooks(bytes);
  eachReceiver(get(kAsyncTo), [&](uint64_t address) {
    ptx::loadTensor(tensor, where, at(address, form_.to, span, kSharedTileAlignment));
  });
  return report(bytes);
}

void Lane::storeTensor() {
  const TensorMap tensor = map(kAsyncTo);
  const TensorPlace where = place(tensor);
  if (!canStoreTensor(tensor, where)) trap(TrapReason::IllegalInstruction);
  std::byte* const tile = from(tensorSpan(tensor, where), kSharedTileAlignment);
  if (form_.operation == AsyncOperation::StoreTensor) return ptx::storeTensor(tensor, where, tile);
  if (!reduceTensor(tensor, where, tile, static_cast<AsyncReduction>(form_.detail)))
    trap(TrapReason::IllegalInstruction);
}

// tensormap.replace. Atomicities make further swizzles of the widest one.
constexpr uint8_t kWidestSwizzle = CU_TENSOR_MAP_SWIZZLE_128B;

void Lane::replace() {
  std::byte* const at = to(sizeof(TensorMapBits), kMapAlignment);
  TensorMapBits bits;
  std::memcpy(bits.words, at, sizeof bits);
  TensorMap map = decode(bits);
  if (!map.rank) trap(TrapReason::IllegalInstruction);
  const uint64_t value = get(kAsyncValues);
  const uint32_t number = word(kAsyncCount), small = static_cast<uint32_t>(value);
  const auto field = static_cast<MapField>(form_.detail);
  const bool numbered = field == MapField::Box || field == MapField::Size || field == MapField::Stride ||
                        field == MapField::ElementStride;
  if (numbered && number >= TensorMap::kMostDimensions - (field == MapField::Stride))
    trap(TrapReason::IllegalInstruction);
  switch (field) {
    case MapField::Address:
      map.address = value;
      break;
    case MapField::Rank:
      map.rank = static_cast<uint8_t>(small % TensorMap::kMostDimensions + 1);
      break;
    case MapField::Box:
      map.box[number] = static_cast<uint16_t>(small);
      break;
    case MapField::Size:
      map.lastIndex[number] = small - 1;
      break;
    case MapField::Stride:
      map.strides[number] = value;
      break;
    case MapField::ElementStride:
      map.elementStrides[number] = static_cast<uint8_t>(small);
      break;
    case MapField::ElementType: {
      // The numbers of the instruction are not those of CUtensorMapDataType.
      static constexpr uint8_t kTypes[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12, 13, 14, 15};
      map.type = kTypes[small % 16];
      break;
    }
    case MapField::Interleave:
      map.interleave = static_cast<uint8_t>(small);
      break;
    case MapField::Swizzle:
      map.swizzle = static_cast<uint8_t>(small);
      break;
    case MapField::SwizzleAtomicity:
      if (small > 3 || (small && map.swizzle < kWidestSwizzle)) trap(TrapReason::IllegalInstruction);
      if (map.swizzle >= kWidestSwizzle) map.swizzle = static_cast<uint8_t>(kWidestSwizzle + small);
      break;
    case MapField::Fill:
      map.nanFill = small & 1;
      break;
  }
  bits = encode(map);
  std::memcpy(at, &bits, sizeof bits);
}

// st.async, red.async.
bool Lane::store() {
  const uint64_t each = bitsOf(form_.type) / 8, bytes = each * form_.count;
  std::byte* const target = to(bytes, bytes);
  const auto operation = static_cast<AsyncReduction>(form_.detail);
  const bool reduces = form_.operation == AsyncOperation::ReduceValue;
  if (reduces && !canReduce(operation, form_.type)) trap(TrapReason::IllegalInstruction);
  awaitLooks(bytes);
  for (uint32_t k = 0; k < form_.count; ++k) {
    const uint64_t value = get(kAsyncValues + k);
    if (reduces)
      reduceElements(operation, form_.type, target, reinterpret_cast<const std::byte*>(&value), 1);
    else
      std::memcpy(target + k * each, &value, each);
  }
  return report(bytes);
}

// clusterlaunchcontrol.try_cancel: the runner has tried, its answer goes where the instruction wants it.
bool Lane::answerCancelling() {
  if (form_.to != AsyncSpace::Shared)
    for (const uint32_t slot : {kAsyncTo, kAsyncBarrier}) {
      const uint64_t offset = get(slot) - reinterpret_cast<uint64_t>(block_->shared);
      if (offset >> 32) trap(TrapReason::SharedOutOfRange);
      lanes_[slot * kWarpSize + lane_] = offset;
    }
  const uint32_t* const size = block_->launch->clusterSize;
  lanes_[kAsyncBlocks * kWarpSize + lane_] = (1u << size[0] * size[1] * size[2]) - 1;
  const CancelledCluster answer{get(kAsyncValues), get(kAsyncValues + 1)};
  eachReceiver(get(kAsyncTo), [&](uint64_t address) {
    std::memcpy(at(address, AsyncSpace::Shared, sizeof answer, kBulkAlignment), &answer, sizeof answer);
  });
  return report(sizeof answer);
}

// What goes from a block or its registers to shared memory of its cluster: hardware has that way only in grids of
// clusters, be they of one block. Copies out of global memory go another one.
bool Lane::goesThroughCluster() const {
  if (form_.to != AsyncSpace::Shared) return false;
  switch (form_.operation) {
    case AsyncOperation::Store:
    case AsyncOperation::ReduceValue:
      return true;
    case AsyncOperation::Copy:
    case AsyncOperation::Reduce:
      return form_.from == AsyncSpace::Shared;
    default:
      return false;
  }
}

bool Lane::perform() {
  if (goesThroughCluster() && !(block_->launch->flags & kExplicitCluster)) trap(TrapReason::IllegalInstruction);
  switch (form_.operation) {
    case AsyncOperation::Nothing:
      return false;
    case AsyncOperation::Copy:
      return copy();
    case AsyncOperation::Reduce:
      return reduce();
    case AsyncOperation::LoadTensor:
      return loadTensor();
    case AsyncOperation::StoreTensor:
    case AsyncOperation::ReduceTensor:
      storeTensor();
      return false;
    case AsyncOperation::ReplaceMap:
      replace();
      return false;
    case AsyncOperation::Store:
    case AsyncOperation::ReduceValue:
      return store();
    case AsyncOperation::CancelCluster:
      return answerCancelling();
    case AsyncOperation::Zero: {
      const uint64_t bytes = get(kAsyncCount);
      std::memset(to(bytes, 8), 0, bytes);
      return false;
    }
    default:
      return barrier();
  }
}

// mbarrier.test_wait, .try_wait: the runner hears of neighbours that ask for one object at once.
void testObjects(Lane& lane, uint32_t mask, uint64_t* lanes, ObjectWatch* watch) {
  const std::byte* object = nullptr;
  uint32_t asked = 0, again = 0;
  const auto tell = [&] {
    if (watch && asked) watch->asked(object, asked, again);
    asked = again = 0;
  };
  for (; mask; mask &= mask - 1) {
    const auto number = static_cast<uint32_t>(std::countr_zero(mask));
    lane.is(number);
    const std::byte* const own = lane.object();
    if (own != object) tell();
    object = own;
    const bool over = lane.test(own);
    asked |= 1u << number;
    again |= uint32_t{!over} << number;
    lanes[kAsyncResult * kWarpSize + number] = over;
  }
  tell();
}

}  // namespace

bool performAsync(BlockState* block, uint32_t warp, uint32_t mask, AsyncForm form, uint32_t line, uint64_t* lanes,
                  ObjectWatch* watch) {
  Lane lane(block, warp, form, line, lanes, watch);
  if (form.operation == AsyncOperation::BarrierTest) {
    testObjects(lane, mask, lanes, watch);
    return false;
  }
  bool ended = false;
  for (; mask; mask &= mask - 1) {
    lane.is(static_cast<uint32_t>(std::countr_zero(mask)));
    ended |= lane.perform();
  }
  return ended;
}

}  // namespace vg::ptx
