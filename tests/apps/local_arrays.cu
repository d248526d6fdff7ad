// Arrays that live with the thread: indexed by variables, sorted, passed to functions by address, of several types.
#include <algorithm>

#include "check.h"

constexpr int kSize = 24;

__device__ __noinline__ void insertionSort(int* values, int size) {
  for (int i = 1; i < size; ++i) {
    const int value = values[i];
    int j = i;
    for (; j > 0 && values[j - 1] > value; --j) values[j] = values[j - 1];
    values[j] = value;
  }
}

__global__ void sortRows(const int* in, int* out, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int values[kSize];
  for (int i = 0; i < kSize; ++i) values[i] = in[row * kSize + i];
  insertionSort(values, 1 + row % kSize);
  for (int i = 0; i < kSize; ++i) out[row * kSize + i] = values[i];
}

__global__ void permute(const unsigned char* text, unsigned char* out, int size) {
  unsigned char state[256];
  for (int i = 0; i < 256; ++i) state[i] = (unsigned char)i;
  for (int i = 0, j = 0; i < 256; ++i) {
    j = (j + state[i] + threadIdx.x * 11 + i) & 255;
    const unsigned char t = state[i];
    state[i] = state[j];
    state[j] = t;
  }
  for (int i = 0; i < size; ++i) out[threadIdx.x * size + i] = text[i] ^ state[(i * 7 + threadIdx.x) & 255];
}

int main() {
  const int rows = 500;
  std::vector<int> in;
  for (unsigned word : randomWords(rows * kSize, 1000, 18)) in.push_back(int(word));
  auto expected = in;
  for (int row = 0; row < rows; ++row) std::sort(&expected[row * kSize], &expected[row * kSize] + 1 + row % kSize);
  DeviceArray<int> deviceIn(in), out(in.size());
  sortRows<<<(rows + 63) / 64, 64>>>(deviceIn, out, rows);
  CHECK_LAUNCH();
  expectEqual(out.host(), expected, "sortRows");

  const int threads = 40, size = 50;
  std::vector<unsigned char> text, expectedText;
  for (unsigned word : randomWords(size, 256, 19)) text.push_back((unsigned char)word);
  for (int thread = 0; thread < threads; ++thread) {
    unsigned char state[256];
    for (int i = 0; i < 256; ++i) state[i] = (unsigned char)i;
    for (int i = 0, j = 0; i < 256; ++i) {
      j = (j + state[i] + thread * 11 + i) & 255;
      std::swap(state[i], state[j]);
    }
    for (int i = 0; i < size; ++i) expectedText.push_back(text[i] ^ state[(i * 7 + thread) & 255]);
  }
  DeviceArray<unsigned char> deviceText(text), outText(expectedText.size());
  permute<<<1, threads>>>(deviceText, outText, size);
  CHECK_LAUNCH();
  expectEqual(outText.host(), expectedText, "permute");
  return passed();
}
