// Memory of this process that may not be there, such as what an application's pointer says.
#pragma once

#include <sys/uio.h>

#include <cstddef>

namespace vg::safe_read {

// Copies the `count` (up to 64) places one behind the other; how many bytes from the beginning on could be read. Works
// in sandboxes, too, that refuse process_vm_readv.
size_t gather(void* to, const iovec* places, size_t count);
// How many of the bytes, from the beginning on.
size_t some(void* to, const void* from, size_t size);
inline bool all(void* to, const void* from, size_t size) { return some(to, from, size) == size; }
// True when every page of the range is mapped.
bool mapped(const void* start, size_t size);

}  // namespace vg::safe_read
