// Which bytes of device memory nobody has written yet: one bit for each byte of the address windows, set while the byte
// holds nothing. Memory that is not tracked counts as written. All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/memory_table.h"

namespace vg::check::initialised {

// Reserves the bits. False when the system has no addresses for them. Requires: the table is reserved.
bool start(const alloc::MemoryTable& table);
// The range was allocated: it holds nothing.
void forget(uintptr_t address, size_t bytes);
// Somebody wrote the range.
void written(uintptr_t address, size_t bytes);
// Bytes were copied: each is as good as the one it came from.
void copied(uintptr_t to, uintptr_t from, size_t bytes);
// How many bytes from the first on were written; `bytes` when all were.
size_t writtenBytes(uintptr_t address, size_t bytes);

}  // namespace vg::check::initialised
