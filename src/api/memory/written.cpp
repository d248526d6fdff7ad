// What libraries of Verdigris's own tell that compute on the processor in memory of emulated devices, as PyTorch's
// operators do there (src/eager): checked mode knows of copies, fills and kernels by itself.
#include <cstddef>

#include "copy/watch.h"

extern "C" __attribute__((visibility("default"), used)) void verdigris_written(const void* address, size_t bytes) {
  vg::copy::tellWritten(address, bytes);
}
