// Kernels made at random: integers and predicates that are the same, affine or different between lanes, branches,
// loops, guarded instructions, loads and stores, shared memory, votes. What they do is defined on every path, though
// they read registers that nothing wrote and throw away what they make of them: random_unwritten.cpp.
#pragma once

#include <cstdint>
#include <string>

namespace vg::ptx::test {

// A module with one kernel, of the signature of compare.h. The same number gives the same text.
std::string randomKernel(uint64_t seed);

// The same, with many registers that may not have been written.
std::string randomUnwritten(uint64_t seed);

// The same, with control flow that is hard to compile: random_control.h.
std::string randomControl(uint64_t seed);
// The same, whose lanes often meet in branches and loops more or less often than others.
std::string randomCounts(uint64_t seed);

}  // namespace vg::ptx::test
