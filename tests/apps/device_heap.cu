// malloc, free, new and memcpy on the device; memory of one kernel is used by the next one.
#include "check.h"

struct Node {
  int value;
  Node* next;
};

__global__ void build(Node** heads, int length) {
  Node* head = nullptr;
  for (int i = 0; i < length; ++i) {
    Node* node = static_cast<Node*>(malloc(sizeof(Node)));
    if (!node) break;
    *node = {int(threadIdx.x) * 100 + i, head};
    head = node;
  }
  heads[threadIdx.x] = head;
}

__global__ void sumAndFree(Node** heads, int* sums) {
  int sum = 0;
  for (Node* node = heads[threadIdx.x]; node;) {
    Node* next = node->next;
    sum += node->value;
    free(node);
    node = next;
  }
  sums[threadIdx.x] = sum;
}

__global__ void copies(int* out) {
  int* scratch = new int[64];
  int local[16];
  for (int i = 0; i < 16; ++i) local[i] = i + threadIdx.x;
  memset(scratch, 0, 64 * sizeof(int));
  memcpy(scratch + 8, local, sizeof local);
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += scratch[i];
  delete[] scratch;
  out[threadIdx.x] = sum;
}

int main() {
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
  const int threads = 64, length = 20;
  DeviceArray<Node*> heads(threads);
  DeviceArray<int> sums(threads);
  for (int round = 0; round < 3; ++round) {
    build<<<1, threads>>>(heads, length);
    sumAndFree<<<1, threads>>>(heads, sums);
    CHECK_LAUNCH();
    const auto seen = sums.host();
    for (int i = 0; i < threads; ++i) EXPECT(seen[i] == i * 100 * length + length * (length - 1) / 2);
  }
  copies<<<1, threads>>>(sums);
  CHECK_LAUNCH();
  const auto seen = sums.host();
  for (int i = 0; i < threads; ++i) EXPECT(seen[i] == 16 * i + 120);
  return passed();
}
