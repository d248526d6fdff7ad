// What the files about pools, managed and page-locked memory share.
#pragma once

#include "probe.h"

// Properties of a plain pool on the probe's device.
CUmemPoolProps devicePool(void);

// One fact a pointer attribute: the answer and its size, for addresses only whether they are set.
void pointerFacts(const char* what, CUdeviceptr pointer);
