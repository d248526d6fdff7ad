// The functions of CUDA's device runtime by which code that was not compiled with the header of cooperative groups
// (what numba-cuda makes, say) knows its grid and waits for all of it: cudaCGGetIntrinsicHandle, cudaCGSynchronize and
// their kin, as PTX of our own. Like that header they keep the grid's barrier in the second word of the cooperative
// workspace, so code of both kinds may meet in one grid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vg::ptx {

// One PTX text that begins with `head` (version, target, address size) and defines them all, weakly; empty if the texts
// name none.
std::string gridFunctionsNamedIn(const std::vector<std::string>& texts, std::string_view head);

}  // namespace vg::ptx
