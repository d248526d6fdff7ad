// __device__, __constant__ and __managed__ variables: initial values, symbol copies both ways, addresses and sizes.
#include "check.h"

struct Coefficients {
  float weights[5];
  int shift;
  double scale;
};

__constant__ Coefficients coefficients = {{0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f}, 3, 2.5};
__device__ int counter = 41;
__device__ float table[1000];
__device__ const char* const greeting = "hello";
__device__ int* pointerToCounter = &counter;
__managed__ int managedValue = 17;
__managed__ double managedTable[64];
static __device__ unsigned long long fileLocal = 0x123456789abcdefull;

__global__ void useAll(double* out) {
  counter += 1;
  *pointerToCounter += 100;
  managedValue *= 2;
  for (int i = 0; i < 64; ++i) managedTable[i] += i * coefficients.scale;
  for (int i = 0; i < 1000; ++i) table[i] = table[i] * coefficients.weights[i % 5] + coefficients.shift;
  int length = 0;
  while (greeting[length]) ++length;
  out[0] = length;
  out[1] = greeting[1];
  out[2] = double(fileLocal >> 32);
}

int main() {
  EXPECT(managedValue == 17);
  for (int i = 0; i < 64; ++i) managedTable[i] = 1000 + i;

  const auto start = randomFloats(1000, 0, 1, 17);
  CHECK(cudaMemcpyToSymbol(table, start.data(), 1000 * sizeof(float)));
  Coefficients changed;
  CHECK(cudaMemcpyFromSymbol(&changed, coefficients, sizeof changed));
  EXPECT(changed.weights[2] == 0.375f && changed.shift == 3 && changed.scale == 2.5);
  changed.weights[2] = 0.5f;
  CHECK(cudaMemcpyToSymbol(coefficients, &changed, sizeof changed));
  const int nine = 9;
  CHECK(cudaMemcpyToSymbol(coefficients, &nine, sizeof nine, offsetof(Coefficients, shift)));

  DeviceArray<double> out(3);
  useAll<<<1, 1>>>(out);
  CHECK_LAUNCH();
  const auto results = out.host();
  EXPECT(results[0] == 5 && results[1] == 'e' && results[2] == double(0x1234567));

  int count = 0;
  CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  EXPECT(count == 142);
  EXPECT(managedValue == 34);
  for (int i = 0; i < 64; ++i) EXPECT(managedTable[i] == 1000 + i + i * 2.5);

  std::vector<float> actual(1000), expected(1000);
  CHECK(cudaMemcpyFromSymbol(actual.data(), table, 1000 * sizeof(float)));
  for (int i = 0; i < 1000; ++i) expected[i] = std::fma(start[i], i % 5 == 2 ? 0.5f : changed.weights[i % 5], 9.0f);
  expectEqual(actual, expected, "table");

  void* address = nullptr;
  size_t size = 0;
  CHECK(cudaGetSymbolAddress(&address, table));
  CHECK(cudaGetSymbolSize(&size, table));
  EXPECT(size == sizeof table);
  float tenth = 0;
  CHECK(cudaMemcpy(&tenth, static_cast<float*>(address) + 10, sizeof tenth, cudaMemcpyDeviceToHost));
  EXPECT(tenth == expected[10]);
  CHECK(cudaMemset(address, 0, size));
  CHECK(cudaMemcpyFromSymbol(&tenth, table, sizeof tenth, 10 * sizeof tenth));
  EXPECT(tenth == 0);
  return passed();
}
