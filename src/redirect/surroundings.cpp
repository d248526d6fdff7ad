#include "redirect/surroundings.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace vg::redirect {
namespace {

std::string pathIn(pid_t process, const char* what) { return "/proc/" + std::to_string(process) + "/" + what; }

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
File open(const std::string& path) { return {std::fopen(path.c_str(), "re"), std::fclose}; }

}  // namespace

std::string realPath(const std::string& path) {
  char real[PATH_MAX];
  return realpath(path.c_str(), real) ? real : std::string();
}

std::string ownFolder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&ownFolder), &info) || !info.dli_fname) return {};
  const std::string path = realPath(info.dli_fname);
  return path.substr(0, path.rfind('/'));
}

std::string programOf(pid_t process) {
  char path[PATH_MAX];
  const ssize_t length = readlink(pathIn(process, "exe").c_str(), path, sizeof path);
  const std::string whole(path, length > 0 ? static_cast<size_t>(length) : 0);
  return whole.substr(whole.rfind('/') + 1);
}

// The name of the program stands in parentheses and may hold any character.
pid_t parentOf(pid_t process) {
  const File file = open(pathIn(process, "stat"));
  char line[512] = "";
  if (!file || !std::fgets(line, sizeof line, file.get())) return 0;
  const char* const end = std::strrchr(line, ')');
  int parent = 0;
  return end && std::sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

bool hasMapped(pid_t process, const std::string& path) {
  const File file = open(pathIn(process, "maps"));
  char* line = nullptr;
  size_t room = 0;
  bool found = false;
  while (file && !found && getline(&line, &room, file.get()) > 0) {
    const char* const slash = std::strchr(line, '/');
    found = slash && !std::strncmp(slash, path.c_str(), path.size()) && slash[path.size()] == '\n';
  }
  std::free(line);
  return found;
}

}  // namespace vg::redirect
