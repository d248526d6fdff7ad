#include "redirect/surroundings.h"

#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace vg::redirect {
namespace {

std::string pathIn(pid_t process, const char* what) { return "/proc/" + std::to_string(process) + "/" + what; }

bool holds(const dl_phdr_info& file, uintptr_t address) {
  for (int i = 0; i < file.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = file.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && address - file.dlpi_addr - part.p_vaddr < part.p_memsz) return true;
  }
  return false;
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
File open(const std::string& path) { return {std::fopen(path.c_str(), "re"), std::fclose}; }

}  // namespace

std::string realPath(const std::string& path) {
  char real[PATH_MAX];
  return realpath(path.c_str(), real) ? real : std::string();
}

// Not by dladdr: up to glibc 2.33 functions of libdl crash while the linker asks an audit library about the first
// files.
std::string ownFolder() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* file, size_t, void* found) {
        if (!holds(*file, reinterpret_cast<uintptr_t>(&ownFolder))) return 0;
        *static_cast<std::string*>(found) = realPath(file->dlpi_name);
        return 1;
      },
      &path);
  return path.substr(0, path.rfind('/'));
}

std::string programOf(pid_t process) {
  char path[PATH_MAX];
  const ssize_t length = readlink(pathIn(process, "exe").c_str(), path, sizeof path);
  const std::string whole(path, length > 0 ? static_cast<size_t>(length) : 0);
  return whole.substr(whole.rfind('/') + 1);
}

std::vector<std::string> argumentsOf(pid_t process) {
  std::vector<std::string> words;
  const File file = open(pathIn(process, "cmdline"));
  std::string word;
  for (int c; file && (c = std::fgetc(file.get())) != EOF;) {
    if (c) {
      word.push_back(static_cast<char>(c));
    } else {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
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
