// The few kernels that memory tests need, as PTX that every device takes. A module is loaded once for each context.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace suite {

// Keeps `stream` busy for `seconds` of device time ("1 s kernel" of the open questions).
void launchSpin(CUstream stream, double seconds);

// Waits on the device until the 32-bit word at `flag` is not 0 (mapped host memory, say), at most 10 s.
void launchWaitForFlag(CUstream stream, CUdeviceptr flag);

// One thread reads or writes a 32-bit word at `address`: what a device can reach.
void launchStore(CUstream stream, CUdeviceptr address, uint32_t value);
void launchLoad(CUstream stream, CUdeviceptr from, CUdeviceptr to);

// to[i] = from[i] + 1 for `words` 32-bit words.
void launchIncrement(CUstream stream, CUdeviceptr to, CUdeviceptr from, size_t words);

// A kernel of the module above by its name (spin, waitForFlag, store, load, increment, trap), of the current context.
CUfunction kernel(const char* name);

}  // namespace suite
