// The dynamic linker's side (rtld-audit): a library that is named in LD_AUDIT, as `verdigris run` does, is asked where
// symbols shall lead, those of dlsym as well, and where it shall look for a library. Only symbols of the run-time
// compilers lead elsewhere, and in Python those that are asked whether a device node is there; of libraries that of
// profilers.
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/undying.h"
#include "redirect/compilers.h"
#include "redirect/device_nodes.h"
#include "redirect/replacement.h"
#include "redirect/started_compiler.h"
#include "redirect/surroundings.h"

namespace vg::redirect {

namespace {

// What the linker keeps for us of each library: which it is, and for compilers the how many-th of its kind.
struct Cookie {
  Library library = Library::Other;
  unsigned number = 0;
  Handle handle = nullptr;
};

constexpr unsigned kCookies = 2 * kMost;
Cookie cookies[kCookies];
std::atomic<unsigned> cookiesTaken{0};

Cookie* newCookie(Library library, Handle handle) {
  const unsigned index = cookiesTaken.fetch_add(1);
  if (index >= kCookies) return nullptr;
  cookies[index] = {library, nextNumber(library), handle};
  return &cookies[index];
}

bool isPython() {
  static const bool python = programOf(getpid()).starts_with("python");
  return python;
}

// Whether this process finds our driver as those do that `verdigris run` starts. Children of a process that has
// activated Verdigris in itself alone (python/verdigris) do not: of those, only compilers that are programs are
// redirected.
bool findsOurDriver() {
  static const bool found = [] {
    const char* const folders = std::getenv("LD_LIBRARY_PATH");
    return folders && (":" + std::string(folders) + ":").find(":" + ownFolder() + ":") != std::string::npos;
  }();
  return found;
}

// With real GPUs, `verdigris run` wants compilers to be left alone.
bool profilersOnly() {
  const char* const what = std::getenv("VERDIGRIS_REDIRECT");
  return what && !std::strcmp(what, "profilers");
}

// The library of profilers beside our driver, where it is installed: a vendor's does not know our driver, and programs
// find one through a path of their own before LD_LIBRARY_PATH.
char* ownProfilers() {
  const auto& path = undyingFrom<std::string>([] {
    const std::string own = realPath(ownFolder() + "/cupti/libcupti.so.13");
    return findsOurDriver() && !access(own.c_str(), R_OK) ? own : std::string();
  });
  return path.empty() ? nullptr : const_cast<char*>(path.c_str());
}

bool isProfilers(const char* name) {
  const char* const slash = std::strrchr(name, '/');
  const char* const file = slash ? slash + 1 : name;
  return !std::strcmp(file, "libcupti.so.13") || !std::strcmp(file, "libcupti.so");
}

Library kindOf(const char* path) {
  if (!findsOurDriver()) return Library::Other;
  return isNamed(path, "libc.so.") && isPython() ? Library::C : libraryOf(path);
}

}  // namespace
}  // namespace vg::redirect

using namespace vg::redirect;

extern "C" {

[[gnu::visibility("default")]] unsigned la_version(unsigned version) {
  if (!profilersOnly()) becomeStandIn();
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

// Where the linker looks for a library; it takes what this returns in its place.
[[gnu::visibility("default")]] char* la_objsearch(const char* name, uintptr_t*, unsigned flag) {
  if (flag == LA_SER_ORIG && isProfilers(name))
    if (char* const own = ownProfilers()) return own;
  return const_cast<char*>(name);
}

[[gnu::visibility("default")]] unsigned la_objopen(link_map* map, Lmid_t, uintptr_t* cookie) {
  *cookie = 0;
  if (profilersOnly()) return 0;
  if (isNamed(map->l_name, "libnvidia-ml.so")) return 0;
  if (isNamed(map->l_name, "libcuda.so")) return theDriver = map, 0;  // it looks for device nodes itself
  const Library library = kindOf(map->l_name);
  if (library == Library::Other) return LA_FLG_BINDFROM;
  *cookie = reinterpret_cast<uintptr_t>(newCookie(library, map));
  return LA_FLG_BINDFROM | (*cookie ? LA_FLG_BINDTO : 0);
}

[[gnu::visibility("default")]] uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned, uintptr_t*, uintptr_t* definedBy,
                                                      unsigned*, const char* name) {
  const auto* cookie = reinterpret_cast<const Cookie*>(*definedBy);
  if (!cookie || askingForOriginal()) return symbol->st_value;
  void* const replacement = cookie->library == Library::C
                                ? deviceNodeReplacement(name, reinterpret_cast<void*>(symbol->st_value))
                                : replacementIn(cookie->library, name, cookie->handle, cookie->number);
  return replacement ? reinterpret_cast<uintptr_t>(replacement) : symbol->st_value;
}

}  // extern "C"
