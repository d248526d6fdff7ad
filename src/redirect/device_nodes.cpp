#include "redirect/device_nodes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <tuple>

namespace vg::redirect {
namespace {

bool isThere(const char* path) { return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0; }

// Another character device that everybody may see takes the place of those that are missing.
const char* shown(const char* path) {
  if (!path || std::strncmp(path, "/dev/nvidia", 11)) return path;
  const bool node = !std::strcmp(path + 11, "0") || !std::strcmp(path + 11, "ctl");
  return node && !isThere(path) ? "/dev/null" : path;
}

// The functions differ in where the path stands among their arguments. Each has one original, whose errors are those of
// the program: this library has a C library of its own.
enum class Function { Stat, LinkStat, OldStat, OldLinkStat, StatAt, OldStatAt, Access, AccessAt, Count };
std::atomic<void*> originals[static_cast<size_t>(Function::Count)];

template <Function kFunction, size_t kPath, class... Arguments>
int ask(Arguments... arguments) {
  std::tuple<Arguments...> all(arguments...);
  std::get<kPath>(all) = shown(std::get<kPath>(all));
  const auto original = reinterpret_cast<int (*)(Arguments...)>(originals[static_cast<size_t>(kFunction)].load());
  return std::apply(original, all);
}

struct Replacement {
  const char* name;
  Function function;
  void* replacement;
};

using Path = const char*;
using Result = struct stat*;

template <Function kFunction, size_t kPath, class... Arguments>
Replacement made(const char* name) {
  return {name, kFunction, reinterpret_cast<void*>(&ask<kFunction, kPath, Arguments...>)};
}

// On this machine the functions of either size are one.
const Replacement kReplacements[] = {
    made<Function::Stat, 0, Path, Result>("stat"),
    made<Function::Stat, 0, Path, Result>("stat64"),
    made<Function::LinkStat, 0, Path, Result>("lstat"),
    made<Function::LinkStat, 0, Path, Result>("lstat64"),
    made<Function::OldStat, 1, int, Path, Result>("__xstat"),
    made<Function::OldStat, 1, int, Path, Result>("__xstat64"),
    made<Function::OldLinkStat, 1, int, Path, Result>("__lxstat"),
    made<Function::OldLinkStat, 1, int, Path, Result>("__lxstat64"),
    made<Function::StatAt, 1, int, Path, Result, int>("fstatat"),
    made<Function::StatAt, 1, int, Path, Result, int>("fstatat64"),
    made<Function::OldStatAt, 2, int, int, Path, Result, int>("__fxstatat"),
    made<Function::OldStatAt, 2, int, int, Path, Result, int>("__fxstatat64"),
    made<Function::Access, 0, Path, int>("access"),
    made<Function::AccessAt, 1, int, Path, int, int>("faccessat"),
};

}  // namespace

void* deviceNodeReplacement(std::string_view name, void* original) {
  for (const Replacement& each : kReplacements) {
    if (name != each.name) continue;
    originals[static_cast<size_t>(each.function)] = original;
    return each.replacement;
  }
  return nullptr;
}

}  // namespace vg::redirect
