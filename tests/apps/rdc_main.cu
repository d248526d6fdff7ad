// Relocatable device code: a function, a variable, a constant and a kernel that another file defines.
#include "check.h"
#include "rdc_part.h"

__device__ int ownVariable = 3;

__global__ void useOther(int* out) {
  const int i = threadIdx.x;
  out[i] = otherFunction(i, ownVariable) + otherTable[i % 8] + otherConstant;
  if (i == 0) atomicAdd(&otherCounter, 5);
}

int main() {
  const int table[8] = {10, 20, 30, 40, 50, 60, 70, 80};
  setTable(table);
  DeviceArray<int> out(64);
  useOther<<<1, 64>>>(out);
  otherKernel<<<1, 64>>>(out);
  CHECK_LAUNCH();
  const auto seen = out.host();
  for (int i = 0; i < 64; ++i) EXPECT(seen[i] == 2 * (i * 3 + i / 2 + table[i % 8] + 77));
  EXPECT(readCounter() == 1005 + 64);
  return passed();
}
