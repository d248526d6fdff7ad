// What ptxas, the linkers and the JIT options call the most registers of a thread, put into the PTX itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vg::ptx {

// The text with `.maxnreg` in each kernel that has none of its own, as those options mean it. Of text that is no PTX
// the result is that text. Pure.
std::string withRegisterLimit(std::string_view text, uint32_t registers);

}  // namespace vg::ptx
