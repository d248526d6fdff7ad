// What rdc_part.cu offers to rdc_main.cu.
#pragma once

extern __device__ int otherTable[8];
extern __device__ int otherCounter;
extern __constant__ int otherConstant;
__device__ int otherFunction(int value, int factor);
__global__ void otherKernel(int* values);

void setTable(const int* table);
int readCounter();
