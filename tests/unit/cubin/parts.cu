// Relocatable code: calls and addresses that only the relocations know.
extern __device__ int elsewhere(int);
__device__ int here = 3;
extern "C" __global__ void calls(int* out) { *out = elsewhere(*out) + here; }
