// The interpreter on the opcode matrix: every case is known and runs. What it answers is compared with a GPU's answers
// by tests/ptx_device.
#include <gtest/gtest.h>

#include "unit/ptx/opcode_interpret.h"

namespace vg::ptx {
namespace {

using matrix::Case;

TEST(OpcodeMatrix, EveryCaseRuns) {
  for (const Case& c : matrix::allCases()) {
    std::string problem;
    harness::interpretCase(c, &problem);
    EXPECT_EQ(problem, "") << c.text;
  }
}

}  // namespace
}  // namespace vg::ptx
