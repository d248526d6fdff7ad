// What the interpreter tells an observer.
#include <algorithm>

#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx {

Access::Kind kindOfAccess(const Instruction& i, bool first) {
  switch (rowOf(i.op).memory) {
    case MemoryUse::Loads:
      return Access::Kind::Load;
    case MemoryUse::Stores:
      return Access::Kind::Store;
    case MemoryUse::Updates:
      return i.has(Mod::Init) ? Access::Kind::Store : Access::Kind::Atomic;
    case MemoryUse::Moves:  // cp.async [to], [from]
      return first ? Access::Kind::Store : Access::Kind::Load;
    case MemoryUse::ByForm:  // wmma
      return i.has(Mod::Load) ? Access::Kind::Load : Access::Kind::Store;
    default:
      return Access::Kind::Touch;
  }
}

bool isStrongAccess(const Instruction& i) {
  return rowOf(i.op).memory == MemoryUse::Updates || i.has(Mod::Volatile) || i.has(Mod::Relaxed) ||
         i.has(Mod::Acquire) || i.has(Mod::Release) || i.has(Mod::Mmio);
}

bool carriesOrder(const Instruction& i) {
  const Opcode& row = rowOf(i.op);
  return row.has(Trait::Orders) || row.meets == Meets::Object || i.has(Mod::Volatile) || i.has(Mod::Acquire) ||
         i.has(Mod::Release) || i.has(Mod::AcqRel);
}

// Objects that threads wait at say in other words whom they are for.
bool carriesOrderBetweenBlocks(const Instruction& i) {
  return carriesOrder(i) && (!i.has(Mod::Cta) || rowOf(i.op).meets == Meets::Object);
}

bool waitsForCopies(const Instruction& i) {
  return i.op == Op::Cp && !i.has(Mod::Bulk) &&
         (i.has(Mod::CommitGroup) || i.has(Mod::WaitGroup) || i.has(Mod::WaitAll));
}

}  // namespace vg::ptx

namespace vg::ptx::interpreter {

// Copies are done at once, so that there is nothing to wait for.
void tellCopies(Warp& w, const Step& s, uint32_t mask) {
  using Copies = BlockObserver::Copies;
  if (!w.watched) return;
  const Copies what = s.i->has(Mod::CommitGroup) ? Copies::Commit
                      : s.i->has(Mod::WaitAll)   ? Copies::WaitForAll
                                                 : Copies::Wait;
  const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
  const uint64_t left = what == Copies::Wait && s.sourceCount ? w.read(lane, s.sources[0]) : 0;
  w.observer->copies(w.index, mask, what, static_cast<uint32_t>(left));
}

// The lane's frames, what alloca made, the parameters of the launch.
BlockObserver::Own Warp::ownership(uint32_t lane, uint64_t address, uint64_t bytes) const {
  using Own = BlockObserver::Own;
  const auto within = [&](const void* start, uint64_t size) {
    const uint64_t offset = address - reinterpret_cast<uint64_t>(start);
    return offset <= size && bytes <= size - offset;
  };
  for (const Frame& f : lanes[lane].frames)
    if (within(f.memory, f.code->frameBytes)) return Own::Yes;
  for (size_t k = 0; k < lanes[lane].chunks.size(); ++k)
    if (within(lanes[lane].chunks[k].get(), lanes[lane].chunkSizes[k]))
      return program->allocates ? Own::Yes : Own::Beside;
  const std::vector<ParameterSlot>& slots = program->parameters;
  const bool parameter = !slots.empty() && within(block->launch->parameters, slots.back().offset + slots.back().size);
  return parameter ? Own::Yes : Own::No;
}

std::byte* Warp::observed(uint32_t lane, const Step& s, const Source& base, uint64_t at, uint64_t bytes,
                          uint64_t alignment, Space space) {
  noteWhere(lane, s.i);
  Access access;
  access.kind = kindOfAccess(*s.i, &base == &s.sources[0]);
  access.strong = isStrongAccess(*s.i);
  access.isShared = space == Space::Shared || space == Space::SharedCluster;
  access.lane = static_cast<uint8_t>(lane);
  access.warp = index;
  access.address = access.isShared ? at & 0xffffffff : at;
  access.bytes = bytes;
  access.alignment = alignment;
  access.space = space;
  access.instruction = s.i;
  const BlockObserver::Own own = access.isShared ? BlockObserver::Own::No : ownership(lane, at, bytes);
  if (observer->allows(access, own)) return checked(lane, s, at, bytes, alignment, space);
  if (bytes > sizeof forbidden_) trap(1u << lane, TrapReason::SharedOutOfRange, s);
  std::memset(forbidden_, 0, sizeof forbidden_);
  return forbidden_;
}

void Warp::tellArrival(const Step& s, uint32_t id, uint32_t count, uint32_t mask, bool waits) {
  if (s.i->has(Mod::Cluster)) {
    bool sameLine = true;
    eachLane(mask, [&](uint32_t lane) { sameLine &= stepOf(lane).i == s.i; });
    return observer->arrivesCluster({index, mask, liveMask(), waits, s.i->has(Mod::Aligned), sameLine, s.i});
  }
  BarrierArrival arrival;
  arrival.warp = index;
  arrival.id = id;
  arrival.threads = count;
  arrival.mask = mask;
  arrival.live = liveMask();
  arrival.waits = waits;
  arrival.aligned = s.i->op == Op::Bar || s.i->has(Mod::Aligned);
  arrival.instruction = s.i;
  for (uint32_t left = waits ? mask : 0; left; left &= left - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(left));
    arrival.sameLine &= &stepOf(lane) == &s;
  }
  observer->arrives(arrival);
}

// `present` are at the warp operation of `lane`, which has just been done.
void Warp::tellMeeting(uint32_t lane, uint32_t present) {
  const Step& s = stepOf(lane);
  const uint32_t named = lanes[lane].syncMask;
  if (present != (named & liveMask())) observer->missing(index, named, present, *s.i);
  if (s.number == 1 && !s.execute)
    observer->meet(index, present);
  else
    observer->operate(index, present);
}

}  // namespace vg::ptx::interpreter
