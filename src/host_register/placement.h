// Where on a machine of several memory nodes host memory should lie.
#pragma once

#include <cstddef>

namespace vg::host_register {

// Asks for pages of the memory node that the calling thread runs on, where there are several. Only a wish: nothing is
// touched and nothing fails. Through libnuma where there is one.
// It is opened at the first need: it reads files when it is loaded, which a process that only loads this library must
// not pay for, and for that reason it cannot be linked in either.
void placeNearCaller(void* start, size_t bytes);
// The same for a node by number.
void placeOnNode(void* start, size_t bytes, int node);
bool nodeExists(int node);
// The node that the calling thread runs on.
int currentNode();

}  // namespace vg::host_register
