#include "host_register/placement.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace vg::host_register {

void placeNearCaller(void* start, size_t bytes) {
  constexpr unsigned kNodes = 1024;
  unsigned node = 0;
  if (syscall(SYS_getcpu, nullptr, &node, nullptr) || node >= kNodes) return;
  unsigned long nodes[kNodes / (8 * sizeof(unsigned long))] = {};
  nodes[node / (8 * sizeof(unsigned long))] = 1ul << node % (8 * sizeof(unsigned long));
  syscall(SYS_mbind, start, bytes, MPOL_PREFERRED, nodes, kNodes, 0);
}

}  // namespace vg::host_register
