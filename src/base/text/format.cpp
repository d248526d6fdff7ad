#include "base/text/format.h"

#include <cstdio>

namespace vg {

std::string format(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  std::string text = formatList(pattern, arguments);
  va_end(arguments);
  return text;
}

std::string formatList(const char* pattern, va_list arguments) {
  char most[512];  // enough for nearly all
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(most, sizeof most, pattern, arguments);
  std::string text;
  if (length > 0 && static_cast<size_t>(length) < sizeof most) {
    text.assign(most, static_cast<size_t>(length));
  } else if (length > 0) {
    text.resize(static_cast<size_t>(length));
    std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  }
  va_end(again);
  return text;
}

}  // namespace vg
