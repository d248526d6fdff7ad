// Functions and kernels of the modules and libraries that are loaded, by the names that their PTX gives them.
#pragma once

#include "objects.h"

namespace calls {

extern Slots<CUfunction, 6> functions;
extern Slots<CUkernel, 4> kernels;
std::string nameOf(const Named<CUfunction>& function);
std::string nameOf(const Named<CUkernel>& kernel);

// An image in PTX: good, good with clusters, or bad; the text has zeroes behind it, as readers of other formats look
// there.
const void* drawSource(std::string& name);
const char* anyKernelName();

int anyFunctionAttribute();
int anyFunctionValue();
bool comparable(int attribute);  // no affair of the compiler

}  // namespace calls
