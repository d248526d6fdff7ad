// The system knows caches from its firmware: a program cannot ask the processor.
#include <cstdlib>
#include <new>
#include <string>

#include "base/system/os.h"
#include "base/system/small_file.h"

namespace {

// "32768K"; 0: there is none of that number.
size_t bytesOfCache(const std::string& number) {
  const std::string text = vg::contentOf("/sys/devices/system/cpu/cpu0/cache/index" + number + "/size");
  char* end = nullptr;
  const size_t size = std::strtoull(text.c_str(), &end, 10);
  return *end == 'K' ? size << 10 : *end == 'M' ? size << 20 : size;
}

}  // namespace

size_t vg::os::lastCacheBytes() {
  constexpr size_t kUnknown = size_t{16} << 20;
  try {
    const size_t found = bytesOfCache("3");
    return found ? found : kUnknown;
  } catch (const std::bad_alloc&) {
    return kUnknown;
  }
}
