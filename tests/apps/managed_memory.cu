// cudaMallocManaged: host and device take turns on the same addresses, lists of pointers included.
#include "check.h"

struct Node {
  int value;
  Node* next;
};

__global__ void scale(float* values, int size, float factor) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x) values[i] *= factor;
}

__global__ void sumList(const Node* head, int* out) {
  int sum = 0;
  for (const Node* node = head; node; node = node->next) sum += node->value;
  *out = sum;
}

int main() {
  constexpr int kSize = 100000;
  float* values = nullptr;
  CHECK(cudaMallocManaged(&values, kSize * sizeof(float)));
  for (int i = 0; i < kSize; ++i) values[i] = float(i);
  for (int round = 0; round < 5; ++round) {
    scale<<<16, 128>>>(values, kSize, 2);
    CHECK_LAUNCH();
    for (int i = 0; i < kSize; i += 1000) values[i] += 1;
  }
  for (int i = 0; i < kSize; ++i) EXPECT(values[i] == (i % 1000 ? i * 32.0f : i * 32.0f + 16 + 8 + 4 + 2 + 1));

  Node* nodes = nullptr;
  int* sum = nullptr;
  CHECK(cudaMallocManaged(&nodes, 100 * sizeof(Node)));
  CHECK(cudaMallocManaged(&sum, sizeof *sum));
  for (int i = 0; i < 100; ++i) nodes[i] = {i * i, i + 1 < 100 ? &nodes[(i + 1)] : nullptr};
  sumList<<<1, 1>>>(nodes, sum);
  CHECK_LAUNCH();
  EXPECT(*sum == 99 * 100 * 199 / 6);
  CHECK(cudaFree(values));
  CHECK(cudaFree(nodes));
  CHECK(cudaFree(sum));
  return passed();
}
