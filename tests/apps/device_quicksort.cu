// Quicksort whose kernels launch themselves: two streams a level, selection sort at the bottom.
#include <algorithm>

#include "check.h"

namespace {

constexpr int kDeepest = 16, kSmall = 24;

__device__ void selectionSort(unsigned* data, int left, int right) {
  for (int i = left; i <= right; ++i) {
    int least = i;
    for (int j = i + 1; j <= right; ++j)
      if (data[j] < data[least]) least = j;
    const unsigned value = data[i];
    data[i] = data[least];
    data[least] = value;
  }
}

__global__ void quicksort(unsigned* data, int left, int right, int depth) {
  if (depth >= kDeepest || right - left <= kSmall) return selectionSort(data, left, right);
  const unsigned pivot = data[(left + right) / 2];
  int low = left, high = right;
  while (low <= high) {
    while (data[low] < pivot) ++low;
    while (data[high] > pivot) --high;
    if (low > high) break;
    const unsigned value = data[low];
    data[low++] = data[high];
    data[high--] = value;
  }
  cudaStream_t stream;
  if (left < high) {
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    quicksort<<<1, 1, 0, stream>>>(data, left, high, depth + 1);
    cudaStreamDestroy(stream);
  }
  if (low < right) {
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    quicksort<<<1, 1, 0, stream>>>(data, low, right, depth + 1);
    cudaStreamDestroy(stream);
  }
}

}  // namespace

int main() {
  RandomWords random(5);
  for (const int size : {1, 2, 25, 1000, 20000}) {
    std::vector<unsigned> values(size);
    for (unsigned& value : values) value = random() % (2 * size);
    DeviceArray<unsigned> data(values);
    quicksort<<<1, 1>>>(data, 0, size - 1, 0);
    CHECK_LAUNCH();
    std::sort(values.begin(), values.end());
    expectEqual(data.host(), values, "sorted");
  }
  return passed();
}
