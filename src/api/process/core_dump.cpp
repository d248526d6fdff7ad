// What is wanted of core dumps: of the process, before cuInit too, and of the current context.
#include "core/dumps/core_dump.h"
#include "api/entry/call.h"
#include "core/dumps/core_dump_attributes.h"

namespace vg::handlers {

CUresult cuCoredumpGetAttribute(const Call& call, CUcoredumpSettings attrib, void* value, size_t* size) {
  return call.context->dumpAttributes().get(attrib, value, size);
}

CUresult cuCoredumpGetAttributeGlobal(const Call&, CUcoredumpSettings attrib, void* value, size_t* size) {
  return core::processDumpAttributes().get(attrib, value, size);
}

CUresult cuCoredumpSetAttribute(const Call& call, CUcoredumpSettings attrib, void* value, size_t* size) {
  return call.context->dumpAttributes().set(attrib, value, size);
}

CUresult cuCoredumpSetAttributeGlobal(const Call&, CUcoredumpSettings attrib, void* value, size_t* size) {
  return core::processDumpAttributes().set(attrib, value, size);
}

namespace {

CUresult add(core::dump::Moment moment, CUcoredumpStatusCallback callback, void* data, CUcoredumpCallbackHandle* out) {
  if (!callback) return missing("callback");
  const CUcoredumpCallbackHandle handle = core::dump::addCallback(moment, callback, data);
  if (out) *out = handle;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuCoredumpRegisterStartCallback(const Call&, CUcoredumpStatusCallback callback, void* userData,
                                         CUcoredumpCallbackHandle* callbackOut) {
  return add(core::dump::Moment::Start, callback, userData, callbackOut);
}

CUresult cuCoredumpRegisterCompleteCallback(const Call&, CUcoredumpStatusCallback callback, void* userData,
                                            CUcoredumpCallbackHandle* callbackOut) {
  return add(core::dump::Moment::Complete, callback, userData, callbackOut);
}

CUresult cuCoredumpDeregisterStartCallback(const Call&, CUcoredumpCallbackHandle callback) {
  return core::dump::removeCallback(core::dump::Moment::Start, callback);
}

CUresult cuCoredumpDeregisterCompleteCallback(const Call&, CUcoredumpCallbackHandle callback) {
  return core::dump::removeCallback(core::dump::Moment::Complete, callback);
}

}  // namespace vg::handlers
