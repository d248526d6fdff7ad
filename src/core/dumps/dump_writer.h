// The tables and sections of a core dump: what this library knows of a device, in the words of debuggers for CUDA.
#pragma once

#include <string>

#include "backend/launches/fault_scene.h"
#include "base/result.h"

namespace vg::core {

class Context;

namespace dump {

// `scene` null: nothing has faulted. `flags`: CUCoredumpGenerationFlags. CUDA_ERROR_OPERATING_SYSTEM when the file
// cannot be written. Throws std::bad_alloc.
CUresult writeFile(Context& context, const backend::FaultScene* scene, const std::string& path, unsigned flags);

}  // namespace dump
}  // namespace vg::core
