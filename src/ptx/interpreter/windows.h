// Addresses of local, constant and parameter memory that a kernel keeps in 32 bits, as a GPU's fit there.
#pragma once

#include "ptx/interpreter/interpreter_impl.h"

namespace vg::ptx::interpreter {

// The whole address of what a lane means by `at` in a state space: `at` itself unless nothing is left of it but its low
// 32 bits.
uint64_t wholeAddress(const Warp& w, uint32_t lane, Space space, uint64_t at);

}  // namespace vg::ptx::interpreter
