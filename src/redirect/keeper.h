// Keeps functions of intermediate code that only PTX names. nvJitLink, asked for PTX, gets the intermediate code alone
// and drops what nothing in it uses; a variable for each such function, which holds its address, uses it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vg::redirect {

// How the names of these variables begin.
inline constexpr std::string_view kKeeper = "verdigris_keeps_";

// Intermediate code with a variable for each of the functions, made by the program's NVRTC for an architecture such as
// sm_90; empty when the program has none, or it refuses.
std::string keeperOf(const std::vector<std::string>& functions, const std::string& architecture);

}  // namespace vg::redirect
