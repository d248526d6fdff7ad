__device__ int seen;

__device__ int part(int value) {
  if (value < 8) {        // lanes: 48, branch
    atomicAdd(&seen, 1);  // lanes: 8
    return value / 3;
  }
  atomicMax(&seen, 7);  // lanes: 40
  return value * 5;
}
