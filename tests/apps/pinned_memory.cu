// Page-locked memory: allocated, mapped, registered by the program; device pointers, flags, and the errors of misuse.
#include "check.h"

__global__ void doubleAll(int* values, int size) {
  for (int i = threadIdx.x; i < size; i += blockDim.x) values[i] *= 2;
}

static void useFromDevice(int* host, int* device, int size) {
  for (int i = 0; i < size; ++i) host[i] = i;
  doubleAll<<<1, 128>>>(device, size);
  CHECK_LAUNCH();
  for (int i = 0; i < size; ++i) EXPECT(host[i] == 2 * i);
}

int main() {
  constexpr int kSize = 5000;
  int *mapped = nullptr, *device = nullptr;
  CHECK(cudaHostAlloc(&mapped, kSize * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
  CHECK(cudaHostGetDevicePointer(&device, mapped, 0));
  useFromDevice(mapped, device, kSize);
  unsigned flags = 0;
  CHECK(cudaHostGetFlags(&flags, mapped));
  EXPECT(flags & cudaHostAllocMapped);  // which other bits the driver keeps depends on how the context was made
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, mapped + 10));
  EXPECT(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == mapped + 10);
  CHECK(cudaFreeHost(mapped));

  int* combined = nullptr;
  CHECK(cudaHostAlloc(&combined, kSize * sizeof(int), cudaHostAllocMapped | cudaHostAllocWriteCombined));
  CHECK(cudaHostGetDevicePointer(&device, combined, 0));
  useFromDevice(combined, device, kSize);
  CHECK(cudaFreeHost(combined));

  // Memory of the program's own, at no particular alignment.
  std::vector<int> own(kSize + 3);
  int* inside = own.data() + 3;
  EXPECT_CODE(cudaHostGetDevicePointer(&device, inside, 0), cudaErrorInvalidValue);
  CHECK(cudaHostRegister(inside, kSize * sizeof(int), cudaHostRegisterMapped));
  EXPECT_CODE(cudaHostRegister(inside, kSize * sizeof(int), cudaHostRegisterMapped),
              cudaErrorHostMemoryAlreadyRegistered);
  cudaGetLastError();
  CHECK(cudaHostGetDevicePointer(&device, inside, 0));
  useFromDevice(inside, device, kSize);
  CHECK(cudaPointerGetAttributes(&attributes, inside + 100));
  EXPECT(attributes.type == cudaMemoryTypeHost);
  CHECK(cudaHostUnregister(inside));
  EXPECT_CODE(cudaHostUnregister(inside), cudaErrorHostMemoryNotRegistered);
  CHECK(cudaPointerGetAttributes(&attributes, inside + 100));
  EXPECT(attributes.type == cudaMemoryTypeUnregistered);
  EXPECT_CODE(cudaFreeHost(inside), cudaErrorInvalidValue);
  cudaGetLastError();

  // Asynchronous copies from page-locked memory, in both directions.
  int *source = nullptr, *target = nullptr;
  CHECK(cudaMallocHost(&source, kSize * sizeof(int)));
  CHECK(cudaMallocHost(&target, kSize * sizeof(int)));
  DeviceArray<int> middle(kSize);
  for (int i = 0; i < kSize; ++i) source[i] = i * 3;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMemcpyAsync(middle, source, kSize * sizeof(int), cudaMemcpyDefault, stream));
  doubleAll<<<1, 256, 0, stream>>>(middle, kSize);
  CHECK(cudaMemcpyAsync(target, middle, kSize * sizeof(int), cudaMemcpyDefault, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < kSize; ++i) EXPECT(target[i] == i * 6);
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFreeHost(source));
  CHECK(cudaFreeHost(target));
  return passed();
}
