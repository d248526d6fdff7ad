// What a program does with each part of the driver API, told so that a call that fails is no mistake, but a wrong
// result, a call that hangs and a process that ends are.
#pragma once

#include <cuda.h>

struct Tally {
  int calls = 0;   // made
  int failed = 0;  // of those
  int wrong = 0;   // results, of calls that said they had succeeded
};

// A part of the API. `kernels`: the device runs PTX.
struct Part {
  const char* name;
  void (*run)(Tally& tally);
  bool kernels;
};
extern const Part kParts[];
extern const int kPartCount;

// Devices that are not the library's own to find; nothing for libcuda.so.1.
void prepareDevices();
