// Memory that is allocated and freed in the order of streams, as checked mode sees it: who touches it without being
// ordered behind the allocation and before the free, and who does so behind the free. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "check/races/order.h"

namespace vg::check::stream_memory {

// Requires: order::on().
void allocated(const order::Line& line, uint64_t address, size_t bytes);
void freed(const order::Line& line, uint64_t address, size_t bytes);

}  // namespace vg::check::stream_memory
