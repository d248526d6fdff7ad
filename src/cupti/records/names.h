// Texts that records point to. They live as long as the process, as programs may read a record at any time.
#pragma once

#include <string_view>

namespace vg::cupti {

// The same text gives the same pointer. Throws std::bad_alloc. Thread-safe.
const char* kept(std::string_view text);

}  // namespace vg::cupti
