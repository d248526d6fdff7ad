// The functions of CUDA's device runtime by which code that was not compiled with the header of cooperative groups
// (what numba-cuda makes, say) knows its grid and waits for all of it: cudaCGGetIntrinsicHandle, cudaCGSynchronize and
// their kin, as PTX of our own. Like that header they keep the grid's barrier in the second word of the cooperative
// workspace, so code of both kinds may meet in one grid.
#pragma once

#include <string>
#include <vector>

namespace vg::ptx {

// One PTX text that defines, weakly, those that the texts name; empty if they name none.
std::string gridFunctionsNamedIn(const std::vector<std::string>& texts);

}  // namespace vg::ptx
