#include "activity/json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace vg::activity {
namespace {

constexpr char kHex[] = "0123456789abcdef";

// Bytes of the UTF-8 sequence that begins the text; 0: it is none.
size_t sequence(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool longForm = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool none = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  return longForm || none ? 0 : length;
}

void appendAscii(std::string& out, char c) {
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (static_cast<unsigned char>(c) < 0x20) {
    out += "\\u00";
    out += kHex[c >> 4];
    out += kHex[c & 15];
  } else {
    out += c;
  }
}

template <class Number>
void append(std::string& out, Number value, int base = 10) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value, base);
  out.append(digits, static_cast<size_t>(end - digits));
}

// Bytes at the beginning that need no change, nearly always all.
size_t plain(std::string_view text) {
  size_t size = 0;
  while (size < text.size() && text[size] >= 0x20 && text[size] < 0x7f && text[size] != '"' && text[size] != '\\')
    ++size;
  return size;
}

}  // namespace

void appendJsonText(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const size_t same = plain(text);
    out.append(text.substr(0, same));
    text.remove_prefix(same);
    if (text.empty()) break;
    const size_t length = sequence(text);
    if (length > 1)
      out.append(text.substr(0, length));
    else
      appendAscii(out, length ? text[0] : '?');
    text.remove_prefix(length ? length : 1);
  }
  out += '"';
}

void appendNumber(std::string& out, uint64_t value) { append(out, value); }
void appendNumber(std::string& out, int64_t value) { append(out, value); }

void appendAddress(std::string& out, uint64_t value) {
  out += "\"0x";
  append(out, value, 16);
  out += '"';
}

char* writeNumber(char* to, uint64_t value) { return std::to_chars(to, to + 20, value).ptr; }

char* NearNumbers::write(char* to, uint64_t value) {
  const uint64_t high = value / 1000;
  if (!high) return writeNumber(to, value);
  if (high != high_) {
    size_ = static_cast<unsigned>(writeNumber(digits_, high) - digits_);
    high_ = high;
  }
  std::memcpy(to, digits_, sizeof digits_);
  return writeThreeDigits(to + size_, static_cast<uint32_t>(value - high * 1000));
}

char* writeMicroseconds(char* to, uint64_t nanoseconds) {
  to = writeNumber(to, nanoseconds / 1000);
  *to++ = '.';
  return writeThreeDigits(to, static_cast<uint32_t>(nanoseconds % 1000));
}

void appendMicroseconds(std::string& out, uint64_t nanoseconds) {
  char digits[32];
  out.append(digits, static_cast<size_t>(writeMicroseconds(digits, nanoseconds) - digits));
}

void appendReal(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char digits[40];
  out.append(digits, static_cast<size_t>(std::snprintf(digits, sizeof digits, "%.6g", value)));
}

}  // namespace vg::activity
