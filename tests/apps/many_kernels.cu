// A hundred kernels in one program of which a run uses a few; loading must find each by name when it is asked for.
#include <utility>

#include "check.h"

template <int kNumber>
__global__ void numbered(int* out) {
  *out = *out * 3 + kNumber;
}

using Kernel = void (*)(int*);

template <int... kNumbers>
std::vector<Kernel> allKernels(std::integer_sequence<int, kNumbers...>) {
  return {numbered<kNumbers>...};
}

int main() {
  const auto kernels = allKernels(std::make_integer_sequence<int, 100>());
  DeviceArray<int> out(1);
  out.clear();
  unsigned expected = 0;
  for (int number : {0, 99, 42, 7, 7, 63}) {
    kernels[number]<<<1, 1>>>(out);
    expected = expected * 3 + unsigned(number);
  }
  CHECK_LAUNCH();
  EXPECT(out.host()[0] == int(expected));
  int* argument = out;
  void* arguments[] = {&argument};
  CHECK(cudaLaunchKernel((const void*)kernels[5], 1, 1, arguments, 0, nullptr));
  expected = expected * 3 + 5;
  cudaLaunchConfig_t config = {};
  config.gridDim = config.blockDim = 1;
  CHECK(cudaLaunchKernelEx(&config, kernels[6], argument));
  expected = expected * 3 + 6;
  CHECK(cudaDeviceSynchronize());
  EXPECT(out.host()[0] == int(expected));
  return passed();
}
