// Texture and surface references (CUtexref, CUsurfref): variables of a module that kernels read through, bound to
// memory or arrays by the host.
//
// A change reaches the kernels launched after it; those that run are waited for. References of a module end with it.
// All functions are thread-safe. Handles that are no references answer CUDA_ERROR_INVALID_HANDLE.
#pragma once

#include <cuda.h>

#include "base/result.h"

namespace vg::core {

class Context;
class Module;

namespace references {

// The same handle each time. CUDA_ERROR_NOT_FOUND.
Result<CUtexref> texture(Module& module, const char* name);
Result<CUsurfref> surface(Module& module, const char* name);
// A reference of no module, and its end. Those of modules stay until their module ends: destroying changes nothing.
Result<CUtexref> create(Context& context);
CUresult destroy(CUtexref reference);

// What a texture reference is set to. Requires valid enumerators where the type is an enum.
struct TextureState {
  CUarray_format format = CU_AD_FORMAT_FLOAT;
  int channels = 1;
  CUDA_TEXTURE_DESC sampling{{CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP}};
  CUDA_RESOURCE_DESC resource{};
  bool bound = false;
};
Result<TextureState> state(CUtexref reference);
// Replaces the state as `apply` changes it, and what kernels see. `apply` may refuse; then nothing changes.
CUresult change(CUtexref reference, CUresult (*apply)(TextureState& state, void* arguments), void* arguments);

// CUDA_ERROR_INVALID_VALUE unless the array was made for surfaces.
CUresult setSurface(CUsurfref reference, CUarray array);
Result<CUarray> surfaceArray(CUsurfref reference);  // CUDA_ERROR_INVALID_VALUE: nothing is bound

// Ends the references of a module, or of a context, that ends. Requires: nothing runs that reads them.
void releaseAll(const Module& module);
void releaseAll(Context& context);

}  // namespace references
}  // namespace vg::core
