// Runs cases of the opcode matrix in the interpreter.
#pragma once

#include "unit/ptx/harness.h"
#include "unit/ptx/opcode_matrix.h"

namespace vg::ptx::harness {

// What the kernel of the case writes; *problem says why it did not run.
inline std::vector<uint64_t> interpretCase(const matrix::Case& c, std::string* problem) {
  harness::Interpreted kernel(matrix::kHeader + matrix::kernelText(c, "k"));
  std::vector<uint64_t> in = matrix::inputsOf(c), out(size_t{matrix::kThreads} * matrix::kResults);
  if (!kernel.ok()) {
    *problem = kernel.log;
    return out;
  }
  harness::Launch launch;
  launch.grid[0] = matrix::kThreads / matrix::kBlock;
  launch.block[0] = matrix::kBlock;
  launch.cluster = c.cluster;
  const matrix::HostTensor tensor(c);
  launch.parameters = matrix::parametersOf(c, reinterpret_cast<uint64_t>(in.data()),
                                           reinterpret_cast<uint64_t>(out.data()), tensor.address());
  const harness::Outcome outcome = kernel.run("k", launch);
  if (outcome.trapped) *problem = "trap " + std::to_string(static_cast<int>(outcome.reason)) + " " + kernel.gaps;
  return out;
}

}  // namespace vg::ptx::harness
