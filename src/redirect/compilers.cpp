#include "redirect/compilers.h"

#include <atomic>
#include <cstring>

namespace vg::redirect {

bool isNamed(const char* path, const char* prefix) {
  const char* slash = std::strrchr(path, '/');
  return !std::strncmp(slash ? slash + 1 : path, prefix, std::strlen(prefix));
}

Library libraryOf(const char* path) {
  if (isNamed(path, "libnvrtc.so")) return Library::Nvrtc;
  if (isNamed(path, "libnvJitLink.so")) return Library::NvJitLink;
  return Library::Other;
}

unsigned nextNumber(Library library) {
  static constinit std::atomic<unsigned> numbers[4];
  return numbers[static_cast<uintptr_t>(library)].fetch_add(1);
}

void* replacementIn(Library library, std::string_view name, Handle handle, unsigned number) {
  if (library == Library::Nvrtc) return nvrtcReplacement(name, handle, number);
  if (library == Library::NvJitLink) return nvJitLinkReplacement(name, handle, number);
  return nullptr;
}

}  // namespace vg::redirect
