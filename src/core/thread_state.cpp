#include "core/thread_state.h"

namespace vg::core {

constinit thread_local ThreadState threadState;

}  // namespace vg::core
