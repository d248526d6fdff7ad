#include "core/process/inside_host_function.h"

namespace vg::core {

constinit thread_local bool insideHostFunction [[gnu::tls_model("initial-exec")]] = false;

}  // namespace vg::core
