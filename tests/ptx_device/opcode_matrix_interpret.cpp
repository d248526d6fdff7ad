// The interpreter against the recorded answers of a device. Arguments: unit/ptx/matrix_arguments.h.
#include <cinttypes>

#include "unit/ptx/matrix_arguments.h"
#include "unit/ptx/opcode_interpret.h"

using namespace vg::ptx;
using namespace vg::ptx::matrix;

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  if (!arguments.valid()) return std::fprintf(stderr, "usage: %s RECORD [--part K/N] [CASE]\n", argv[0]), 2;
  const std::vector<Case> cases = allCases();
  const auto records = readPackedRecords(arguments.record(), cases);
  uint32_t compared = 0, differing = 0;
  for (size_t number = 0; number < cases.size(); ++number) {
    const Case& c = cases[number];
    const auto expected = records.find(c.name);
    if (!arguments.wants(c, number) || expected == records.end() || expected->second.status != 0) continue;
    ++compared;
    std::string problem;
    const Record actual = recordOf(c, harness::interpretCase(c, &problem));
    uint32_t thread = 0;
    size_t result = 0;
    const uint32_t count = problem.empty() ? differences(c, expected->second, actual, &thread, &result) : 1;
    if (!count) continue;
    ++differing;
    const std::vector<uint64_t> in = inputsOf(c);
    std::printf("%s%s: %u lanes; thread %u:", problem.c_str(), c.text.c_str(), count, thread);
    for (size_t k = 0; k < c.operands.size(); ++k) std::printf(" %" PRIx64, in[size_t{thread} * kOperands + k]);
    std::printf(" -> %c %" PRIx64 ", not %" PRIx64 "\n", static_cast<char>('x' + result),
                actual.results[result][thread], expected->second.results[result][thread]);
  }
  std::printf("%u cases compared, %u differ\n", compared, differing);
  return compared == 0 || differing ? 1 : 0;
}
