// What the programs of this folder share that run one of many cases: `program NAME`.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                    \
  do {                                                                 \
    if (const cudaError_t error = (call)) {                            \
      std::printf("line %d: %s\n", __LINE__, cudaGetErrorName(error)); \
      std::exit(3);                                                    \
    }                                                                  \
  } while (0)

// Runs the case; the program's own.
void run(const char* name);

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  run(argv[1]);
  std::printf("end: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
