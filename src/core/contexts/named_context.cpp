#include "core/contexts/named_context.h"

#include "core/contexts/context.h"
#include "core/contexts/current_context.h"

namespace vg::core {

Result<ContextReference> contextOf(CUcontext handle) {
  if (!handle) {
    VG_TRY(Context & current, currentContext());
    return referenceTo(current);
  }
  VG_TRY(Context & context, findContext(handle));
  return referenceTo(context);
}

}  // namespace vg::core
