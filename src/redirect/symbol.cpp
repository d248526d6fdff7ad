#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "redirect/replacement.h"

namespace vg::redirect {

namespace {
thread_local bool asking = false;
}

bool askingForOriginal() { return asking; }

// The functions of libraries whose symbols lead elsewhere for the whole process (in_process.cpp).
namespace {
struct Original {
  Handle library;
  const char* name;  // the library's own text
  void* function;
};
constexpr unsigned kOriginals = 256;
Original originals[kOriginals];
std::atomic<unsigned> originalsKnown{0};

void* originalOf(Handle library, const char* name) {
  for (unsigned i = 0; i < originalsKnown.load(std::memory_order_acquire); ++i)
    if (originals[i].library == library && !std::strcmp(originals[i].name, name)) return originals[i].function;
  return nullptr;
}
}  // namespace

bool keepOriginal(Handle library, const char* name, void* function) {
  const unsigned known = originalsKnown.load(std::memory_order_relaxed);
  if (known == kOriginals) return false;
  originals[known] = {library, name, function};
  originalsKnown.store(known + 1, std::memory_order_release);
  return true;
}

// A library that came with the program, not by dlopen, has no scope to search until it is opened.
void* symbolOf(Handle library, const char* name) {
  if (void* const kept = originalOf(library, name)) return kept;
  asking = true;
  void* const opened = dlmopen(LM_ID_BASE, library->l_name, RTLD_NOLOAD | RTLD_LAZY);
  void* const found = opened ? dlsym(opened, name) : nullptr;
  if (opened) dlclose(opened);
  asking = false;
  return found;
}

}  // namespace vg::redirect
