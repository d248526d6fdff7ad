// The one memory table of the process, and what its records say by themselves.
//
// Every allocation has one record (alloc/memory_table.h); lookups take no lock and work before anything is allocated.
#pragma once

#include <cuda.h>

#include <atomic>

#include "alloc/memory_table.h"

namespace vg::core::memory {

extern constinit alloc::MemoryTable theTable;
inline alloc::MemoryTable& table() { return theTable; }
// The record of the live allocation or registered range that contains the address, or null.
inline const alloc::Record* lookup(const void* address) { return table().find(address); }
inline const alloc::Record* lookup(CUdeviceptr address) { return table().find(static_cast<uintptr_t>(address)); }

// Windows of records below this one are those of the devices, by their numbers. Set before there are any.
inline constinit std::atomic<unsigned> deviceWindows{0};

// Whether this is memory of a device, not of the host or managed.
inline bool inWindowOfDevice(const alloc::Record& record) {
  return record.window.load(std::memory_order_relaxed) < deviceWindows.load(std::memory_order_relaxed);
}
inline bool onDevice(const alloc::Record& record) {
  const alloc::Kind kind = record.kind.load(std::memory_order_relaxed);
  const bool either = kind == alloc::Kind::Mapped || kind == alloc::Kind::Pool;
  return either ? inWindowOfDevice(record) : alloc::alwaysOfDevice(kind);
}

// Bits of Record::attributes.
// CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is not what it was at first: on for managed memory, off for other.
inline constexpr uint32_t kSyncMemopsChanged = 1;
inline constexpr uint32_t kDormant = 4;  // of a graph that has not allocated it: only nodes may name it

// Whether the application has asked that calls which touch this memory return when the work is done.
inline bool asksForSynchrony(const alloc::Record& record) {
  return (record.attributes.load(std::memory_order_relaxed) & kSyncMemopsChanged) &&
         record.kind.load(std::memory_order_relaxed) != alloc::Kind::Managed;
}

inline bool wantsSynchrony(const alloc::Record* record) { return record && asksForSynchrony(*record); }

inline bool dormant(const alloc::Record* record) {
  return record && (record->attributes.load(std::memory_order_relaxed) & kDormant);
}

// True when the address is host memory that the device cannot reach on its own: pageable.
inline bool pageable(const void* address) { return !lookup(address); }

}  // namespace vg::core::memory
