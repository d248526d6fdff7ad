// The second half of the program of rdc_main.cu.
#include "rdc_part.h"

#include "check.h"

__device__ int otherTable[8];
__device__ int otherCounter = 1000;
__constant__ int otherConstant = 77;

__device__ int otherFunction(int value, int factor) { return value * factor + value / 2; }

__global__ void otherKernel(int* values) {
  values[threadIdx.x] *= 2;
  atomicAdd(&otherCounter, 1);
}

void setTable(const int* table) { CHECK(cudaMemcpyToSymbol(otherTable, table, sizeof otherTable)); }

int readCounter() {
  int value = 0;
  CHECK(cudaMemcpyFromSymbol(&value, otherCounter, sizeof value));
  return value;
}
