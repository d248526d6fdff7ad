// Whoever keeps memory of a device out of the host's sight until the host wants it: asked when a copy or a fill did not
// find its memory.
#pragma once

#include <atomic>
#include <cstddef>

namespace vg::copy {

// Whether there is more to see in the range than before. Null: nobody.
extern constinit std::atomic<bool (*)(const std::byte* start, size_t bytes)> revealer;

}  // namespace vg::copy
