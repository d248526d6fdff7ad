// Structures by value as kernel parameters: padding, alignment, nested arrays, nearly 4 KiB, and more than that.
#include "check.h"

struct Small {
  char tag;
  double weight;
  short kind;
};

struct alignas(16) Aligned {
  float4 colour;
  char name[5];
};

struct Large {
  int values[1000];
};

struct Huge {
  int values[4000];
};

__global__ void readAll(char first, Small small, short between, Aligned aligned, const Large large, double* out) {
  out[0] = first;
  out[1] = small.tag + small.weight + small.kind;
  out[2] = between;
  out[3] = aligned.colour.x + aligned.colour.w + aligned.name[4];
  double sum = 0;
  for (int i = 0; i < 1000; ++i) sum += large.values[i];
  out[4] = sum;
  out[5] = large.values[(int)(out[2]) % 1000];
}

__global__ void readIndexed(Large large, int* out) { out[threadIdx.x] = large.values[(threadIdx.x * 37) % 1000]; }

__global__ void readHuge(const __grid_constant__ Huge huge, long long* out) {
  long long sum = 0;
  for (int value : huge.values) sum += value;
  *out = sum;
}

int main() {
  Large large;
  double sum = 0;
  for (int i = 0; i < 1000; ++i) sum += large.values[i] = i * i % 977;
  DeviceArray<double> out(6);
  readAll<<<1, 1>>>('x', {'y', 2.5, -4}, 321, {{1, 2, 3, 4}, "abcd"}, large, out);
  CHECK_LAUNCH();
  const auto values = out.host();
  EXPECT(values[0] == 'x' && values[1] == 'y' + 2.5 - 4 && values[2] == 321 && values[3] == 5);
  EXPECT(values[4] == sum && values[5] == large.values[321]);

  DeviceArray<int> indexed(256);
  readIndexed<<<1, 256>>>(large, indexed);
  large.values[0] = -1;  // the launch has taken its copy
  CHECK_LAUNCH();
  const auto seen = indexed.host();
  EXPECT(seen[0] == 0);
  for (int i = 1; i < 256; ++i) EXPECT(seen[i] == large.values[i * 37 % 1000]);

  Huge huge;
  long long hugeSum = 0;
  for (int i = 0; i < 4000; ++i) hugeSum += huge.values[i] = i * 7919;
  DeviceArray<long long> total(1);
  readHuge<<<1, 1>>>(huge, total);
  CHECK_LAUNCH();
  EXPECT(total.host()[0] == hugeSum);
  return passed();
}
