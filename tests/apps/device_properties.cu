// What a program asks about its devices before it starts: the answers must exist and agree with each other.
#include <string>

#include "check.h"

int main() {
  int count = 0, version = 0, runtime = 0;
  CHECK(cudaGetDeviceCount(&count));
  CHECK(cudaDriverGetVersion(&version));
  CHECK(cudaRuntimeGetVersion(&runtime));
  EXPECT(count >= 1 && version >= 12000 && runtime >= 12000);
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, device));
    std::printf("%d: %s, %d.%d, %d multiprocessors, %zu MiB\n", device, properties.name, properties.major,
                properties.minor, properties.multiProcessorCount, properties.totalGlobalMem >> 20);
    EXPECT(std::strlen(properties.name) > 0 && properties.warpSize == 32);
    EXPECT(properties.maxThreadsPerBlock == 1024 && properties.maxThreadsDim[2] == 64);
    EXPECT(properties.maxGridSize[0] == 2147483647 && properties.maxGridSize[1] == 65535);
    EXPECT(properties.sharedMemPerBlock == 48 * 1024 && properties.sharedMemPerBlockOptin >= 48 * 1024);
    EXPECT(properties.multiProcessorCount > 0 && properties.totalGlobalMem > 0 && properties.totalConstMem == 65536);
    EXPECT(properties.unifiedAddressing == 1 && properties.canMapHostMemory == 1 && properties.managedMemory == 1);
    int value = 0;
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, device));
    EXPECT(value == properties.major);
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device));
    EXPECT(value == properties.multiProcessorCount);
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    EXPECT(size_t(value) == properties.sharedMemPerBlockOptin);
    char bus[32];
    int found = -1;
    CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
    CHECK(cudaDeviceGetByPCIBusId(&found, bus));
    EXPECT(found == device);
    CHECK(cudaSetDevice(device));
    CHECK(cudaGetDevice(&found));
    EXPECT(found == device);
    size_t free = 0, total = 0, later = 0;
    CHECK(cudaMemGetInfo(&free, &total));
    EXPECT(free > 0 && free <= total && total == properties.totalGlobalMem);
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, size_t(64) << 20));
    CHECK(cudaMemGetInfo(&later, &total));
    EXPECT(later <= free - (size_t(64) << 20));
    CHECK(cudaFree(memory));
  }
  EXPECT_CODE(cudaSetDevice(count), cudaErrorInvalidDevice);
  EXPECT(std::string(cudaGetErrorName(cudaErrorInvalidDevice)) == "cudaErrorInvalidDevice");
  EXPECT(std::string(cudaGetErrorString(cudaErrorInvalidValue)) == "invalid argument");
  size_t limit = 0;
  CHECK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 << 20));
  CHECK(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
  EXPECT(limit >= 2 << 20);
  CHECK(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
  EXPECT(limit >= 1024);
  return passed();
}
