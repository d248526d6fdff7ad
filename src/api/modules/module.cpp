// Modules: loading, looking up, unloading.
#include "core/modules/module.h"

#include <strings.h>
#include <algorithm>

#include "api/entry/call.h"
#include "api/memory/era.h"
#include "base/settings.h"
#include "core/modules/kernel.h"
#include "core/modules/variable_ranges.h"

namespace vg::handlers {
namespace {

CUresult load(core::Context& context, CUmodule* module, const void* image, core::JitOptions& options) {
  VG_TRY(core::Module & loaded, core::modules::load(context, image, options));
  *module = loaded.handle();
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuModuleLoad(const Call& call, CUmodule* module, const char* fname) {
  if (!module || !fname) return missing("module or fname");
  core::JitOptions options;
  VG_TRY(core::Module & loaded, core::modules::loadFile(*call.context, fname, options));
  *module = loaded.handle();
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(const Call& call, CUmodule* module, const void* image, unsigned int numOptions,
                            CUjit_option* options, void** optionValues) {
  if (!module || !image) return missing("module or image");
  core::JitOptions jit;
  VG_CHECK(jit.read(numOptions, options, optionValues));
  const CUresult result = load(*call.context, module, image, jit);
  jit.writeBack();
  return result;
}

CUresult cuModuleLoadData(const Call& call, CUmodule* module, const void* image) {
  return cuModuleLoadDataEx(call, module, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoadFatBinary(const Call& call, CUmodule* module, const void* fatCubin) {
  return cuModuleLoadData(call, module, fatCubin);
}

CUresult cuModuleUnload(const Call&, CUmodule hmod) {
  VG_TRY(core::Module & module, core::modules::find(hmod));
  return core::modules::unload(module);
}

CUresult cuModuleGetFunction(const Call&, CUfunction* hfunc, CUmodule hmod, const char* name) {
  if (!hfunc || !name || !*name) return missing("hfunc or name");
  VG_TRY(core::Module & module, core::modules::find(hmod));
  *hfunc = nullptr;
  VG_TRY(core::Function & function, module.function(name));
  *hfunc = function.handle();
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(const Call&, unsigned int* count, CUmodule mod) {
  if (!count) return missing("count");
  VG_TRY(core::Module & module, core::modules::find(mod));
  *count = static_cast<unsigned>(module.image().kernelNames().size());
  return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(const Call&, CUfunction* functions, unsigned int numFunctions, CUmodule mod) {
  if (!functions || !numFunctions) return missing("functions");
  VG_TRY(core::Module & module, core::modules::find(mod));
  VG_TRY(const std::vector<core::Function*> all, module.functions());
  const size_t count = std::min<size_t>(numFunctions, all.size());
  for (size_t i = 0; i < count; ++i) functions[i] = all[i]->handle();
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(const Call&, CUdeviceptr* dptr, size_t* bytes, CUmodule hmod, const char* name) {
  if (!name || !*name || (!dptr && !bytes)) return missing("name, or dptr and bytes");
  VG_TRY(core::Module & module, core::modules::find(hmod));
  if (dptr) *dptr = 0;
  if (bytes) *bytes = 0;
  const Result<backend::Global> global = module.global(name);
  if (!global && module.function(name)) return fail(CUDA_ERROR_INVALID_VALUE, "%s is a kernel", name);
  if (!global) return global.error();
  core::variables::note(module, global.value());
  if (dptr) *dptr = global.value().address;
  if (bytes) *bytes = global.value().size;
  return CUDA_SUCCESS;
}

// The first version's addresses have 32 bits, which no variable here has.
CUresult cuModuleGetGlobal(const Call& call, CUdeviceptr_v1* dptr, unsigned int* bytes, CUmodule hmod,
                           const char* name) {
  if (dptr) *dptr = 0;
  if (bytes) *bytes = 0;
  VG_CHECK(checkEra(call));
  CUdeviceptr address = 0;
  size_t size = 0;
  VG_CHECK(cuModuleGetGlobal_v2(call, &address, &size, hmod, name));
  if (dptr && address >> 32) return unsupported("address %#llx in 32 bits", static_cast<unsigned long long>(address));
  if (dptr) *dptr = static_cast<CUdeviceptr_v1>(address);
  if (bytes) *bytes = static_cast<unsigned>(size);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(const Call&, CUmoduleLoadingMode* mode) {
  if (!mode) return missing("mode");
  const bool eager = !strcasecmp(settings().moduleLoading.c_str(), "EAGER");
  *mode = eager ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
