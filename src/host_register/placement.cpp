#include "host_register/placement.h"

#include <dlfcn.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "base/log.h"

namespace vg::host_register {
namespace {

constexpr unsigned kNodes = 1024;

using Bind = long (*)(void* start, unsigned long bytes, int mode, const unsigned long* nodes, unsigned long count,
                      unsigned flags);

long bindBySystem(void* start, unsigned long bytes, int mode, const unsigned long* nodes, unsigned long count,
                  unsigned flags) {
  return syscall(SYS_mbind, start, bytes, mode, nodes, count, flags);
}

Bind findBind() {
  void* const library = dlopen("libnuma.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto bind = library ? reinterpret_cast<Bind>(dlsym(library, "mbind")) : nullptr;
  VG_LOG(Info, "host memory is placed on memory nodes by %s", bind ? "libnuma" : "system calls: there is no libnuma");
  return bind ? bind : bindBySystem;
}

bool severalNodes() {
  char online[64] = "0";  // "0", "0-1", "0,2"
  if (FILE* const file = fopen("/sys/devices/system/node/online", "re")) {
    if (!fgets(online, sizeof online, file)) online[0] = 0;
    fclose(file);
  }
  return strpbrk(online, "-,");
}

}  // namespace

void placeOnNode(void* start, size_t bytes, int number) {
  static const Bind bind = findBind();
  const auto node = static_cast<unsigned>(number);
  if (node >= kNodes) return;
  unsigned long nodes[kNodes / (8 * sizeof(unsigned long))] = {};
  nodes[node / (8 * sizeof(unsigned long))] = 1ul << node % (8 * sizeof(unsigned long));
  bind(start, bytes, MPOL_PREFERRED, nodes, kNodes, 0);
}

void placeNearCaller(void* start, size_t bytes) {
  static const bool matters = severalNodes();
  if (matters) placeOnNode(start, bytes, currentNode());
}

int currentNode() {
  unsigned node = 0;
  return syscall(SYS_getcpu, nullptr, &node, nullptr) ? 0 : static_cast<int>(node);
}

bool nodeExists(int node) {
  if (node < 0) return false;
  char folder[64];
  snprintf(folder, sizeof folder, "/sys/devices/system/node/node%d", node);
  return node == 0 || access(folder, F_OK) == 0;  // a machine without nodes is node 0
}

}  // namespace vg::host_register
