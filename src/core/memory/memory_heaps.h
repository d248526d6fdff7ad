// What the files of core/memory/ share: the heaps, one a window, made at the first need and never destroyed.
#pragma once

#include <span>

#include "alloc/address_space.h"
#include "alloc/heap.h"
#include "alloc/memory_source.h"
#include "backend/device.h"
#include "backend/movable_memory.h"
#include "base/result.h"
#include "base/sync/timeline.h"
#include "core/memory/memory_table.h"

namespace vg::core {

class Device;

namespace memory {

// The windows of records: those of the devices, by their numbers, then managed and page-locked memory, then pools.
unsigned managedWindow();
unsigned pinnedWindow();
// CUDA_ERROR_OUT_OF_MEMORY where the system has no addresses for it, or too many devices are in use.
Result<alloc::Heap&> heapOf(unsigned window);
// Null before the first allocation in the window.
alloc::Heap* heapMadeOf(unsigned window);

Result<alloc::Heap&> deviceHeap(Device& device);
Result<alloc::Heap&> managedHeap();
Result<alloc::Heap&> pinnedHeap();
// Who moves managed memory; null: nobody, because all devices work in the host's memory.
backend::MovableMemory* movableMemory();
// A new allocation of managed memory: who moves it is to know nothing of what was said of an earlier one.
void forgetAdvice(CUdeviceptr start, size_t bytes);
// What the pools of a device share; they count what they have reserved against the device's heap.
Result<alloc::Heap&> poolHeap(Device& device);
std::span<std::byte> poolAddresses(const Device& device);  // of that heap

// Gives back what heaps keep for reuse: for when a device has no more although its account says otherwise.
void trimHeaps();

// Where mappings and imports get their addresses.
Result<alloc::AddressSpace&> addressSpace();

// Before the host itself touches memory that may be a device's.
void showToHost(const void* start, size_t bytes);

// Bytes of memory of this machine.
size_t hostMemory();

}  // namespace memory
}  // namespace vg::core
