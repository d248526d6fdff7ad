// Libraries and their kernels: code that belongs to no context.
#include "core/modules/library.h"

#include <algorithm>

#include "api/entry/call.h"
#include "base/raw_enum.h"
#include "core/contexts/current_context.h"
#include "core/modules/module.h"
#include "core/modules/variable_ranges.h"
#include "core/process/device.h"

namespace vg::handlers {
namespace {

// Whether the image is preserved means nothing here, as everything is read while it loads. The values may be missing
// altogether: cuBLASLt leaves them out.
CUresult checkLibraryOptions(unsigned count, const CUlibraryOption* options, void** values) {
  if (count && !options) return fail(CUDA_ERROR_INVALID_VALUE, "%u library options, but no array of them", count);
  for (unsigned i = 0; i < count; ++i) {
    const int option = rawValue(options[i]);
    if (option < 0 || option >= CU_LIBRARY_NUM_OPTIONS)
      return fail(CUDA_ERROR_INVALID_VALUE, "there is no library option %d", option);
    if (option == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE && values && values[i])
      return unsupported("tables of functions for host and device");
  }
  return CUDA_SUCCESS;
}

CUresult global(core::Library& library, const char* name, CUdeviceptr* dptr, size_t* bytes) {
  VG_TRY(core::Context & context, core::currentContext());
  VG_TRY(core::Module & module, library.in(context));
  const Result<backend::Global> found = module.global(name);
  if (!found && module.function(name)) return fail(CUDA_ERROR_INVALID_VALUE, "%s is a kernel", name);
  if (!found) return found.error();
  core::variables::note(module, found.value());
  if (dptr) *dptr = found.value().address;
  if (bytes) *bytes = found.value().size;
  return CUDA_SUCCESS;
}

// The device that a call about a kernel means.
CUresult checkDevice(CUdevice dev) { return core::findDevice(dev).error(); }

}  // namespace

CUresult cuLibraryLoadData(const Call&, CUlibrary* library, const void* code, CUjit_option* jitOptions,
                           void** jitOptionsValues, unsigned int numJitOptions, CUlibraryOption* libraryOptions,
                           void** libraryOptionValues, unsigned int numLibraryOptions) {
  if (!library || !code) return missing("library or code");
  VG_CHECK(checkLibraryOptions(numLibraryOptions, libraryOptions, libraryOptionValues));
  core::JitOptions options;
  VG_CHECK(options.read(numJitOptions, jitOptions, jitOptionsValues));
  const Result<core::Library&> loaded = core::libraries::load(code, options);
  options.writeBack();
  if (!loaded) return loaded.error();
  *library = loaded->handle();
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadFromFile(const Call&, CUlibrary* library, const char* fileName, CUjit_option* jitOptions,
                               void** jitOptionsValues, unsigned int numJitOptions, CUlibraryOption* libraryOptions,
                               void** libraryOptionValues, unsigned int numLibraryOptions) {
  if (!library || !fileName) return missing("library or fileName");
  VG_CHECK(checkLibraryOptions(numLibraryOptions, libraryOptions, libraryOptionValues));
  core::JitOptions options;
  VG_CHECK(options.read(numJitOptions, jitOptions, jitOptionsValues));
  const Result<core::Library&> loaded = core::libraries::loadFile(fileName, options);
  options.writeBack();
  if (!loaded) return loaded.error();
  *library = loaded->handle();
  return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(const Call&, CUlibrary library) {
  VG_TRY(core::Library & found, core::libraries::find(library));
  return core::libraries::unload(found);
}

CUresult cuLibraryGetKernel(const Call&, CUkernel* pKernel, CUlibrary library, const char* name) {
  if (!pKernel || !name) return missing("pKernel or name");
  VG_TRY(core::Library & found, core::libraries::find(library));
  VG_TRY(core::Kernel & kernel, found.kernel(name));
  *pKernel = kernel.handle();
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernelCount(const Call&, unsigned int* count, CUlibrary lib) {
  if (!count) return missing("count");
  VG_TRY(core::Library & found, core::libraries::find(lib));
  *count = static_cast<unsigned>(found.kernelNames().size());
  return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(const Call&, CUkernel* kernels, unsigned int numKernels, CUlibrary lib) {
  if (!kernels) return missing("kernels");
  VG_TRY(core::Library & found, core::libraries::find(lib));
  VG_TRY(const std::vector<core::Kernel*> all, found.kernels());
  const size_t count = std::min<size_t>(numKernels, all.size());
  for (size_t i = 0; i < count; ++i) kernels[i] = all[i]->handle();
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(const Call&, CUmodule* pMod, CUlibrary library) {
  if (!pMod) return missing("pMod");
  VG_TRY(core::Library & found, core::libraries::find(library));
  VG_TRY(core::Context & context, core::currentContext());
  VG_TRY(core::Module & module, found.in(context));
  *pMod = module.handle();
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(const Call&, CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  if (!name || (!dptr && !bytes)) return missing("name, or dptr and bytes");
  VG_TRY(core::Library & found, core::libraries::find(library));
  return global(found, name, dptr, bytes);
}

CUresult cuLibraryGetManaged(const Call&, CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  if (!name || (!dptr && !bytes)) return missing("name, or dptr and bytes");
  VG_TRY(core::Library & found, core::libraries::find(library));
  VG_TRY(const backend::Global managed, found.managed(name));
  if (dptr) *dptr = managed.address;
  if (bytes) *bytes = managed.size;
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetUnifiedFunction(const Call&, void** fptr, CUlibrary library, const char* symbol) {
  if (!fptr || !symbol) return missing("fptr or symbol");
  VG_CHECK(core::libraries::find(library));
  return fail(CUDA_ERROR_NOT_FOUND, "the library has no unified function %s", symbol);
}

CUresult cuKernelGetFunction(const Call&, CUfunction* pFunc, CUkernel kernel) {
  if (!pFunc) return missing("pFunc");
  VG_TRY(core::Kernel & found, core::findKernel(kernel));
  VG_TRY(core::Context & context, core::currentContext());
  VG_TRY(core::Function & function, found.in(context));
  *pFunc = function.handle();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(const Call&, CUlibrary* pLib, CUkernel kernel) {
  if (!pLib) return missing("pLib");
  VG_TRY(core::Kernel & found, core::findKernel(kernel));
  *pLib = found.library().handle();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const Call&, const char** name, CUkernel hfunc) {
  if (!name) return missing("name");
  if (!hfunc) return missing("hfunc");
  VG_TRY(core::Kernel & found, core::findKernel(hfunc));
  *name = found.name().c_str();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(const Call&, int* pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev) {
  if (!pi) return missing("pi");
  VG_TRY(core::Kernel & found, core::findKernel(kernel));
  VG_CHECK(checkDevice(dev));
  VG_TRY(*pi, found.attribute(dev, attrib));
  return CUDA_SUCCESS;
}

CUresult cuKernelSetAttribute(const Call&, CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev) {
  VG_TRY(core::Kernel & found, core::findKernel(kernel));
  VG_CHECK(checkDevice(dev));
  return found.setAttribute(dev, attrib, val);
}

// A preference about caches: no call tells of it, and occupancy is a question about functions.
CUresult cuKernelSetCacheConfig(const Call&, CUkernel kernel, CUfunc_cache config, CUdevice dev) {
  VG_CHECK(core::findKernel(kernel));
  VG_CHECK(checkDevice(dev));
  if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)
    return fail(CUDA_ERROR_INVALID_VALUE, "there is no cache configuration %d", static_cast<int>(config));
  return CUDA_SUCCESS;
}

CUresult cuKernelGetParamCount(const Call&, CUkernel kernel, size_t* paramCount) {
  if (!paramCount) return missing("paramCount");
  VG_TRY(core::Kernel & found, core::findKernel(kernel));
  VG_TRY(backend::Image & image, found.library().description());
  VG_TRY(backend::Kernel * described, image.kernel(found.name()));
  *paramCount = described->parameters().size();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(const Call&, CUkernel kernel, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  if (!paramOffset) return missing("paramOffset");
  VG_TRY(core::Kernel & found, core::findKernel(kernel));
  VG_TRY(backend::Image & image, found.library().description());
  VG_TRY(backend::Kernel * described, image.kernel(found.name()));
  const std::vector<backend::Kernel::Parameter>& parameters = described->parameters();
  if (paramIndex >= parameters.size())
    return fail(CUDA_ERROR_INVALID_VALUE, "%s has %zu parameters", found.name().c_str(), parameters.size());
  *paramOffset = parameters[paramIndex].offset;
  if (paramSize) *paramSize = parameters[paramIndex].size;
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
