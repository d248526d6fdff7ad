// The interpreter on the opcode matrix: every case is known and runs; recorded answers of a GPU, where they are at hand
// (VERDIGRIS_OPCODE_RECORD names a file of opcode_matrix_run), agree.
#include <gtest/gtest.h>

#include "unit/ptx/harness.h"
#include "unit/ptx/opcode_record.h"

namespace vg::ptx {
namespace {

using matrix::Case;

std::vector<uint64_t> interpret(const Case& c, std::string* problem) {
  harness::Interpreted kernel(matrix::kHeader + matrix::kernelText(c, "k"));
  std::vector<uint64_t> in = matrix::inputsOf(c), out(size_t{matrix::kThreads} * matrix::kResults);
  if (!kernel.ok()) {
    *problem = kernel.log;
    return out;
  }
  harness::Launch launch;
  launch.grid[0] = matrix::kThreads / matrix::kBlock;
  launch.block[0] = matrix::kBlock;
  launch.add(reinterpret_cast<uint64_t>(in.data()));
  launch.add(reinterpret_cast<uint64_t>(out.data()));
  const harness::Outcome outcome = kernel.run("k", launch);
  if (outcome.trapped) *problem = "trap " + std::to_string(static_cast<int>(outcome.reason)) + " " + kernel.gaps;
  return out;
}

TEST(OpcodeMatrix, EveryCaseRuns) {
  for (const Case& c : matrix::allCases()) {
    std::string problem;
    interpret(c, &problem);
    EXPECT_EQ(problem, "") << c.text;
  }
}

TEST(OpcodeMatrix, AgreesWithTheRecordedDevice) {
  const char* path = std::getenv("VERDIGRIS_OPCODE_RECORD");
  if (!path) GTEST_SKIP() << "VERDIGRIS_OPCODE_RECORD is not set";
  const std::vector<Case> cases = matrix::allCases();
  const auto records = matrix::readRecords(path, cases);
  ASSERT_FALSE(records.empty()) << path;
  for (const Case& c : cases) {
    const auto found = records.find(c.name);
    if (found == records.end() || found->second.status != 0) continue;
    std::string problem;
    const matrix::Record actual = matrix::recordOf(c, interpret(c, &problem));
    uint32_t thread = 0;
    size_t result = 0;
    const uint32_t count = matrix::differences(c, found->second, actual, &thread, &result);
    const std::vector<uint64_t> in = matrix::inputsOf(c);
    EXPECT_EQ(count, 0u) << c.text << std::hex << "\n  operands " << in[thread * 4] << " " << in[thread * 4 + 1] << " "
                         << in[thread * 4 + 2] << " " << in[thread * 4 + 3] << "\n  result "
                         << static_cast<char>('x' + result) << " " << actual.results[result][thread]
                         << ", the device has " << found->second.results[result][thread];
  }
}

}  // namespace
}  // namespace vg::ptx
