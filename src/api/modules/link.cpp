// Linking PTX texts into one image.
#include "core/modules/link.h"

#include "api/entry/call.h"
#include "core/process/device.h"

namespace vg::handlers {
namespace {

// Options of single inputs are checked; those that matter are the link's.
CUresult checkOptions(unsigned count, const CUjit_option* options, void** values) {
  core::JitOptions checked;
  return checked.read(count, options, values);
}

// What was refused is in the logs of the link at once.
CUresult told(core::Link& link, CUresult result) {
  if (result != CUDA_SUCCESS) link.options().writeBack();
  return result;
}

}  // namespace

CUresult cuLinkCreate_v2(const Call& call, unsigned int numOptions, CUjit_option* options, void** optionValues,
                         CUlinkState* stateOut) {
  if (!stateOut) return missing("stateOut");
  core::JitOptions jit;
  VG_CHECK(jit.read(numOptions, options, optionValues));
  *stateOut = core::links::create(call.context->device(), std::move(jit)).handle();
  return CUDA_SUCCESS;
}

CUresult cuLinkCreate(const Call& call, unsigned int numOptions, CUjit_option* options, void** optionValues,
                      CUlinkState* stateOut) {
  return cuLinkCreate_v2(call, numOptions, options, optionValues, stateOut);
}

CUresult cuLinkAddData_v2(const Call&, CUlinkState state, CUjitInputType type, void* data, size_t size,
                          const char* name, unsigned int numOptions, CUjit_option* options, void** optionValues) {
  VG_TRY(core::Link & link, core::links::find(state));
  VG_CHECK(checkOptions(numOptions, options, optionValues));
  return told(link, link.add(type, data, size, name ? name : "input"));
}

CUresult cuLinkAddData(const Call& call, CUlinkState state, CUjitInputType type, void* data, size_t size,
                       const char* name, unsigned int numOptions, CUjit_option* options, void** optionValues) {
  return cuLinkAddData_v2(call, state, type, data, size, name, numOptions, options, optionValues);
}

CUresult cuLinkAddFile_v2(const Call&, CUlinkState state, CUjitInputType type, const char* path,
                          unsigned int numOptions, CUjit_option* options, void** optionValues) {
  if (!path) return missing("path");
  VG_TRY(core::Link & link, core::links::find(state));
  VG_CHECK(checkOptions(numOptions, options, optionValues));
  return told(link, link.addFile(type, path));
}

CUresult cuLinkAddFile(const Call& call, CUlinkState state, CUjitInputType type, const char* path,
                       unsigned int numOptions, CUjit_option* options, void** optionValues) {
  return cuLinkAddFile_v2(call, state, type, path, numOptions, options, optionValues);
}

CUresult cuLinkComplete(const Call&, CUlinkState state, void** cubinOut, size_t* sizeOut) {
  if (!cubinOut) return missing("cubinOut");
  VG_TRY(core::Link & link, core::links::find(state));
  size_t size = 0;
  const CUresult result = link.complete(cubinOut, &size);
  link.options().writeBack();
  if (result == CUDA_SUCCESS && sizeOut) *sizeOut = size;
  return result;
}

CUresult cuLinkDestroy(const Call&, CUlinkState state) {
  VG_TRY(core::Link & link, core::links::find(state));
  return core::links::destroy(link);
}

}  // namespace vg::handlers
