#include "backend/nvidia/prepared_work.h"

#include <algorithm>

namespace vg::backend::nvidia {

uint64_t PreparedWork::localBytes() const {
  uint64_t bytes = 0;
  for (const GpuKernel* kernel : kernels) bytes += kernel->code().localBytes;
  return bytes;
}

const GpuKernel* PreparedWork::kernelAt(uint64_t address) const {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const GpuKernel* kernel) {
    const KernelCode code = kernel->code();
    return address - code.program < code.programBytes;
  });
  return found == kernels.end() ? nullptr : *found;
}

}  // namespace vg::backend::nvidia
