// How far beside the memory table's addresses nothing can be touched: who tests an address against them may count on
// that for what it adds to it.
#pragma once

#include <cstddef>

namespace vg::alloc {

// Bytes on each side of the last table that was reserved; 0 before. Any thread.
size_t tableGuard();

}  // namespace vg::alloc
