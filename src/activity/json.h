// Appending JSON to a text.
#pragma once

#include <cstdint>
#include <cstring>
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

// The same into room that is there. What is behind the text.
inline char* writeText(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}
// Below a thousand.
inline char* writeThreeDigits(char* to, uint32_t value) {
  to[0] = static_cast<char>('0' + value / 100);
  to[1] = static_cast<char>('0' + value / 10 % 10);
  to[2] = static_cast<char>('0' + value % 10);
  return to + 3;
}
char* writeNumber(char* to, uint64_t value);

// Numbers that follow each other closely: their first digits are mostly known.
class NearNumbers {
 public:
  // Needs room for 28 characters.
  char* write(char* to, uint64_t value);

 private:
  uint64_t high_ = 0;  // whose digits these are
  char digits_[24] = {};
  unsigned size_ = 0;
};
char* writeMicroseconds(char* to, uint64_t nanoseconds);

}  // namespace vg::activity
