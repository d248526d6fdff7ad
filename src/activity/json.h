// Appending JSON to a text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vg::activity {

// With quotes. Bytes that are no UTF-8 become question marks.
void appendJsonText(std::string& out, std::string_view text);
void appendNumber(std::string& out, uint64_t value);
void appendNumber(std::string& out, int64_t value);
// As text, which keeps all 64 bits: "0x7f00".
void appendAddress(std::string& out, uint64_t value);
// Microseconds with three digits behind the point, of nanoseconds.
void appendMicroseconds(std::string& out, uint64_t nanoseconds);
// A finite number with about six digits; null for others.
void appendReal(std::string& out, double value);

}  // namespace vg::activity
