#include "check/races/host_accesses.h"

namespace vg::check::host_accesses {

bool canFollow() { return false; }
bool faulted(const void*, void*) { return false; }
bool stepped(void*) { return false; }

}  // namespace vg::check::host_accesses
