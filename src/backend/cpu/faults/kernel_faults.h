// How kernels end by a signal: which fault it is, and the way out of the kernel.
#pragma once

namespace vg::backend::cpu {

// faults::arm(), for a thread that is going to run a kernel.
void armForKernels();

}  // namespace vg::backend::cpu
