#include "host_register/placement.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace vg::host_register {

namespace {
constexpr unsigned kNodes = 1024;
}

void placeOnNode(void* start, size_t bytes, int number) {
  const auto node = static_cast<unsigned>(number);
  if (node >= kNodes) return;
  unsigned long nodes[kNodes / (8 * sizeof(unsigned long))] = {};
  nodes[node / (8 * sizeof(unsigned long))] = 1ul << node % (8 * sizeof(unsigned long));
  syscall(SYS_mbind, start, bytes, MPOL_PREFERRED, nodes, kNodes, 0);
}

void placeNearCaller(void* start, size_t bytes) { placeOnNode(start, bytes, currentNode()); }

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
