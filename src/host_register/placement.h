// Where on a machine of several memory nodes host memory should lie.
#pragma once

#include <cstddef>

namespace vg::host_register {

// Asks for pages of the memory node that the calling thread runs on. Only a wish: nothing is touched and nothing fails.
// By system call: libnuma reads files when a process loads it, which this library must not do.
void placeNearCaller(void* start, size_t bytes);
// The same for a node by number.
void placeOnNode(void* start, size_t bytes, int node);
bool nodeExists(int node);
// The node that the calling thread runs on.
int currentNode();

}  // namespace vg::host_register
