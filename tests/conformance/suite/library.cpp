#include "library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdlib>

// In trampolines.S: at start each entry leads to suiteAbsentSymbol with its index.
extern "C" void* suiteEntries[];

// What a trampoline calls when the library has no such function. The value is no result code of any driver.
extern "C" int suiteAbsentSymbol(int index) {
  ADD_FAILURE() << "the library does not export " << suite::kSymbolNames[index];
  return -1;
}

namespace suite {
namespace {

void* library = nullptr;

}  // namespace

bool openLibrary(const std::string& path, std::string* error) {
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    *error = dlerror();
    return false;
  }
  for (size_t i = 0; i < kSymbolCount; ++i)
    if (void* const address = dlsym(library, kSymbolNames[i])) suiteEntries[i] = address;
  return true;
}

std::string libraryFile() {
  struct link_map* map = nullptr;
  if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return "";
  char* const real = realpath(map->l_name, nullptr);
  std::string file = real ? real : map->l_name;
  free(real);
  return file;
}

void* symbolAddress(const char* name) { return dlsym(library, name); }

}  // namespace suite
