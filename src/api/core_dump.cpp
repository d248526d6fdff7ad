// What is wanted of core dumps: of the process, before cuInit too, and of the current context.
#include "api/call.h"
#include "core/core_dump_attributes.h"

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

}  // namespace vg::handlers
