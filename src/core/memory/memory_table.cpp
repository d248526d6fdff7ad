#include "core/memory/memory_table.h"

namespace vg::core::memory {

constinit alloc::MemoryTable theTable;

}  // namespace vg::core::memory
