// A header with a template, for the tests of coverage. Numbers behind "lanes:" are what program.cu makes of a line.
#pragma once

template <class T>
__device__ __noinline__ T weighed(T value, T limit, int* seen) {
  if (value < limit) {   // lanes: 100, branch
    atomicAdd(seen, 1);  // lanes: 70
    return value * limit;
  }
  atomicMax(seen + 1, 7);  // lanes: 30
  return value + limit;
}
