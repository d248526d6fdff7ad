// printf into a string of any length.
#pragma once

#include <cstdarg>
#include <string>

namespace vg {

// Throws std::bad_alloc.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);
std::string formatList(const char* pattern, va_list arguments);

}  // namespace vg
