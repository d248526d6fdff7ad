#include "replay/driver.h"

#include <dlfcn.h>

#include <stdexcept>

namespace vg::replay {

Driver::Driver(const std::string& path) : library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!library_) throw std::runtime_error(std::string("no driver: ") + dlerror());
  if (!function("cuInit")) throw std::runtime_error(path + " is no driver library");
}

void* Driver::function(const char* symbol) const { return dlsym(library_, symbol); }

}  // namespace vg::replay
