#include "host_register/mappings.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace vg::host_register {
namespace {

std::optional<std::string> contentOf(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string content;
  char piece[16384];
  ssize_t got;
  while ((got = read(file, piece, sizeof piece)) > 0) content.append(piece, static_cast<size_t>(got));
  close(file);
  return got ? std::nullopt : std::optional(std::move(content));
}

template <class Visit>
void eachLine(const std::string& text, Visit visit) {
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    visit(std::string(text, at, end - at));
  }
}

struct Mapping {
  uintptr_t start, end;
  bool readable, writable, shared;
  unsigned major, minor;
  std::string name;
};

bool parse(const std::string& line, Mapping& out) {
  char access[5];
  int name = 0;
  if (sscanf(line.c_str(), "%lx-%lx %4s %*x %x:%x %*u %n", &out.start, &out.end, access, &out.major, &out.minor,
             &name) != 5)
    return false;
  out.readable = access[0] == 'r';
  out.writable = access[1] == 'w';
  out.shared = access[3] == 's';
  out.name = name ? line.substr(static_cast<size_t>(name)) : "";
  return true;
}

bool livesInMemory(std::string_view type) { return type == "tmpfs" || type == "hugetlbfs" || type == "ramfs"; }

// The mount that the system keeps to itself for anonymous shared memory, memfd and System V segments.
dev_t systemsOwnMount() {
  struct stat status {};
  const int file = memfd_create("verdigris", MFD_CLOEXEC);
  if (file < 0) return 0;
  fstat(file, &status);
  close(file);
  return status.st_dev;
}

// A line of mountinfo: id parent major:minor root place options fields... - type source options.
bool mountedInMemory(unsigned major, unsigned minor) {
  bool found = false;
  const std::optional<std::string> mounts = contentOf("/proc/self/mountinfo");
  if (!mounts) return false;
  eachLine(*mounts, [&](const std::string& line) {
    unsigned foundMajor, foundMinor;
    if (sscanf(line.c_str(), "%*d %*d %u:%u", &foundMajor, &foundMinor) != 2) return;
    const size_t dash = line.find(" - ");
    if (foundMajor != major || foundMinor != minor || dash == std::string::npos) return;
    const size_t type = dash + 3;
    found |= livesInMemory(std::string_view(line).substr(type, line.find(' ', type) - type));
  });
  return found;
}

bool lasting(const Mapping& mapping) {
  if (!mapping.shared || !mapping.writable) return true;
  if (mapping.name.starts_with("/anon_hugepage")) return true;
  return makedev(mapping.major, mapping.minor) == systemsOwnMount() || mountedInMemory(mapping.major, mapping.minor);
}

}  // namespace

std::optional<Mapped> mappedAs(const void* pointer, size_t bytes) {
  const std::optional<std::string> maps = contentOf("/proc/self/maps");
  if (!maps) return std::nullopt;
  const auto start = reinterpret_cast<uintptr_t>(pointer), end = start + bytes;
  uintptr_t reached = start;  // mappings are in the order of their addresses
  Mapped all{false, true, true, true};
  eachLine(*maps, [&](const std::string& line) {
    Mapping mapping;
    if (!parse(line, mapping) || mapping.end <= start || mapping.start >= end) return;
    if (mapping.start <= reached) reached = mapping.end;
    all.accessible &= mapping.readable || mapping.writable;
    all.writable &= mapping.writable;
    all.lasting &= lasting(mapping);
  });
  all.everywhere = reached >= end;
  return all;
}

}  // namespace vg::host_register
