// What is known of one allocation. Records are type-stable: their memory never goes away, so a lookup that races with a
// release reads a stale record at worst, never a wild one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace vg::alloc {

enum class Kind : uint8_t {
  Device,      // cuMemAlloc
  Array,       // cuArrayCreate: no pointer of an application names it
  Pool,        // cuMemAllocAsync
  Managed,     // cuMemAllocManaged, __managed__ variables
  Pinned,      // cuMemHostAlloc: host memory of ours
  Registered,  // cuMemHostRegister: host memory of the application
  Mapped,    // cuMemMap; `owner` is core's mapping (core/virtual/virtual_memory.h), `window` the device whose memory it
             // is
  Graph,     // of a memory node of a graph (core/graphs/graph_memory.h); no owner
  Imported,  // memory of another process or library that was mapped here; `window` is its device
};

// Whether memory of this kind belongs to a device and not to the host. Mapped memory may be either: its flags say so.
constexpr bool alwaysOfDevice(Kind kind) {
  return kind == Kind::Device || kind == Kind::Array || kind == Kind::Pool || kind == Kind::Graph ||
         kind == Kind::Imported;
}

// Released: freed in the order of a stream; lookups do not find it, but its memory has not gone back to its heap.
enum class State : uint8_t { Free, Live, Released };

// 16 bytes of alignment, not a cache line's: what heaps add to a record (alloc/heap.h) begins in its last bytes, so
// that no allocation costs more than 128 bytes.
//
// All members are written before `state` becomes Live and stay constant until it becomes Free, except where said.
struct alignas(16) Record {
  std::atomic<uintptr_t> base{0};
  std::atomic<size_t> size{0};        // bytes asked for
  std::atomic<uint64_t> id{0};        // unique in the process, never used twice (CU_POINTER_ATTRIBUTE_BUFFER_ID)
  std::atomic<void*> owner{nullptr};  // core::Context, null when no context owns it
  std::atomic<State> state{State::Free};
  std::atomic<Kind> kind{Kind::Device};
  std::atomic<uint16_t> window{0};      // number of the window in the memory table
  std::atomic<uint32_t> flags{0};       // of the call that made it
  std::atomic<uint32_t> attributes{0};  // changes while Live: core/memory/memory.h says which bits
  std::atomic<uint32_t> access{0};  // changes while Live: who may touch mapped memory, core/virtual/virtual_access.cpp
  std::atomic<bool> shared{false};  // changes while Live: the heap has shared it (heap_share.cpp)

  bool live() const { return state.load(std::memory_order_acquire) == State::Live; }
  std::byte* data() const { return reinterpret_cast<std::byte*>(base.load(std::memory_order_relaxed)); }
  size_t bytes() const { return size.load(std::memory_order_relaxed); }
  bool contains(uintptr_t address) const { return address - base.load(std::memory_order_relaxed) < bytes(); }
};
static_assert(sizeof(Record) == 64);

}  // namespace vg::alloc
