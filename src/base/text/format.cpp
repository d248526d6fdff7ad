#include "base/text/format.h"

#include <cstdarg>
#include <cstdio>

namespace vg {

std::string format(const char* pattern, ...) {
  char most[512];  // enough for nearly all
  va_list arguments, again;
  va_start(arguments, pattern);
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
  va_end(arguments);
  return text;
}

}  // namespace vg
