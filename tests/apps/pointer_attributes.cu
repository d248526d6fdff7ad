// cudaPointerGetAttributes tells device, host, managed and unknown memory apart, also for addresses inside.
#include "check.h"

static void expectType(const void* pointer, cudaMemoryType type) {
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, pointer));
  EXPECT(attributes.type == type);
  if (type == cudaMemoryTypeDevice) EXPECT(attributes.device == 0 && attributes.devicePointer == pointer);
}

int main() {
  char *device = nullptr, *host = nullptr, *managed = nullptr;
  int local = 0;
  CHECK(cudaMalloc(&device, 1 << 20));
  CHECK(cudaMallocHost(&host, 1 << 20));
  CHECK(cudaMallocManaged(&managed, 1 << 20));
  for (size_t offset : {size_t(0), size_t(1), size_t(4096), (size_t(1) << 20) - 1}) {
    expectType(device + offset, cudaMemoryTypeDevice);
    expectType(host + offset, cudaMemoryTypeHost);
    expectType(managed + offset, cudaMemoryTypeManaged);
  }
  expectType(&local, cudaMemoryTypeUnregistered);
  CHECK(cudaFree(device));
  CHECK(cudaFree(managed));
  CHECK(cudaFreeHost(host));
  expectType(host, cudaMemoryTypeUnregistered);

  std::vector<char*> many(3000);
  for (size_t i = 0; i < many.size(); ++i) CHECK(cudaMalloc(&many[i], 1 + i * 7 % 5000));
  for (size_t i = 0; i < many.size(); i += 2) CHECK(cudaFree(many[i]));
  for (size_t i = 1; i < many.size(); i += 2) expectType(many[i] + i * 7 % 5000, cudaMemoryTypeDevice);
  for (size_t i = 1; i < many.size(); i += 2) CHECK(cudaFree(many[i]));
  return passed();
}
