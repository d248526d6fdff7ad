#include <dlfcn.h>

#include "redirect/replacement.h"

namespace vg::redirect {

namespace {
thread_local bool asking = false;
}

bool askingForOriginal() { return asking; }

// A library that came with the program, not by dlopen, has no scope to search until it is opened.
void* symbolOf(Handle library, const char* name) {
  asking = true;
  void* const opened = dlmopen(LM_ID_BASE, library->l_name, RTLD_NOLOAD | RTLD_LAZY);
  void* const found = opened ? dlsym(opened, name) : nullptr;
  if (opened) dlclose(opened);
  asking = false;
  return found;
}

}  // namespace vg::redirect
