// The launch interface of CUDA 1 to 3: shape, shared memory and parameters are set on the function, one call at a time,
// and stay for later launches. Thread-safe.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace vg::core {

class Context;
class Stream;

namespace legacy {

CUresult setBlockShape(Context& context, CUfunction function, int x, int y, int z);
CUresult setSharedSize(Context& context, CUfunction function, unsigned bytes);
CUresult setParameterSize(Context& context, CUfunction function, unsigned bytes);
CUresult setParameter(Context& context, CUfunction function, int offset, const void* value, unsigned bytes);
CUresult launch(Stream& stream, CUfunction function, int width, int height);

}  // namespace legacy
}  // namespace vg::core
