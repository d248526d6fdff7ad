#include "core/modules/function.h"

#include "base/memory/slab.h"

namespace vg::core {
namespace {

constinit Slab<Function> functions;

}  // namespace

Function* asFunction(CUfunction handle) { return functions.find(handle); }

Function* makeFunction(Context& context, CUmodule module, backend::Kernel& kernel) {
  return functions.create(context, module, kernel);
}
void dropFunction(Function* function) { functions.destroy(function); }

}  // namespace vg::core
