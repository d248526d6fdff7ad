// Functions: what a kernel of a context is called, looks like and may be told. A CUkernel is accepted wherever a
// CUfunction is and stands for its function in the current context.

#include "api/entry/call.h"
#include "core/modules/kernel.h"
#include "core/modules/module.h"

namespace vg::handlers {
CUresult cuFuncGetModule(const Call&, CUmodule* hmod, CUfunction hfunc) {
  if (!hmod) return missing("hmod");
  VG_TRY(core::Function & function, core::findFunction(hfunc));
  *hmod = function.module();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const Call&, const char** name, CUfunction hfunc) {
  if (!name) return missing("name");
  if (!hfunc) return missing("hfunc");
  VG_TRY(core::Function & function, core::findFunction(hfunc));
  *name = function.kernel().name().c_str();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamCount(const Call&, CUfunction func, size_t* paramCount) {
  if (!paramCount) return missing("paramCount");
  VG_TRY(core::Function & function, core::findFunction(func));
  *paramCount = function.kernel().parameters().size();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(const Call&, CUfunction func, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  if (!paramOffset) return missing("paramOffset");
  VG_TRY(core::Function & function, core::findFunction(func));
  const std::vector<backend::Kernel::Parameter>& parameters = function.kernel().parameters();
  if (paramIndex >= parameters.size())
    return fail(CUDA_ERROR_INVALID_VALUE, "%s has %zu parameters", function.kernel().name().c_str(), parameters.size());
  *paramOffset = parameters[paramIndex].offset;
  if (paramSize) *paramSize = parameters[paramIndex].size;
  return CUDA_SUCCESS;
}

// Every function that has a handle is there to be launched; its native code is made or fetched with the first launch.
CUresult cuFuncIsLoaded(const Call&, CUfunctionLoadingState* state, CUfunction function) {
  if (!state) return missing("state");
  VG_CHECK(core::findFunction(function));
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(const Call&, CUfunction function) { return core::findFunction(function).error(); }

CUresult cuFuncGetAttribute(const Call&, int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  if (!pi) return missing("pi");
  VG_TRY(core::Function & function, core::findFunction(hfunc));
  VG_TRY(*pi, function.kernel().attribute(attrib));
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(const Call&, CUfunction hfunc, CUfunction_attribute attrib, int value) {
  VG_TRY(core::Function & function, core::findFunction(hfunc));
  return function.kernel().setAttribute(attrib, value);
}

CUresult cuFuncSetCacheConfig(const Call&, CUfunction hfunc, CUfunc_cache config) {
  VG_TRY(core::Function & function, core::findFunction(hfunc));
  if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)
    return fail(CUDA_ERROR_INVALID_VALUE, "there is no cache configuration %d", static_cast<int>(config));
  function.kernel().setCacheConfig(config);
  return CUDA_SUCCESS;
}

// A preference about banks that no device here has.
CUresult cuFuncSetSharedMemConfig(const Call&, CUfunction hfunc, CUsharedconfig config) {
  VG_CHECK(core::findFunction(hfunc));
  if (config < CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE || config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
    return fail(CUDA_ERROR_INVALID_VALUE, "there is no bank configuration %d", static_cast<int>(config));
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
