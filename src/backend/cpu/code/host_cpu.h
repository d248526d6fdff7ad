// The processor that kernels are compiled for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vg::backend::cpu {

// As LLVM names it. Features are listed one by one, present ("+avx2") or not, because the system may hide some that the
// name implies.
struct HostCpu {
  std::string name;
  std::string features;
};

// This machine's, or the part of it that VERDIGRIS_ISA leaves.
const HostCpu& hostCpu();

// All that this machine can be taken for, as VERDIGRIS_ISA names them, the widest first.
struct InstructionSet {
  const char* name;
  uint32_t lanes;  // of a vector of 32-bit elements
  HostCpu cpu;
};
std::vector<InstructionSet> instructionSets();

}  // namespace vg::backend::cpu
