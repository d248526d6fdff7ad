// The interpreter against the recorded answers of a device, and the cases that no record answers, which must run.
// Arguments: unit/ptx/matrix_arguments.h.
#include <cinttypes>

#include "unit/ptx/matrix_arguments.h"
#include "unit/ptx/opcode_interpret.h"

using namespace vg::ptx;
using namespace vg::ptx::matrix;

namespace {

using Records = std::map<std::string, Record>;

bool isRecorded(const Records& records, const Case& c) {
  const auto found = records.find(c.name);
  return found != records.end() && found->second.status == 0;
}

void report(const Case& c, const std::string& problem, const Record& expected, const Record& actual, uint32_t count,
            uint32_t thread, size_t result) {
  const std::vector<uint64_t> in = inputsOf(c);
  std::printf("%s%s: %u lanes; thread %u:", problem.c_str(), c.text.c_str(), count, thread);
  for (size_t k = 0; k < c.operands.size(); ++k) std::printf(" %" PRIx64, in[size_t{thread} * kOperands + k]);
  std::printf(" -> %c %" PRIx64 ", not %" PRIx64 "\n", static_cast<char>('x' + result), actual.results[result][thread],
              expected.results[result][thread]);
}

bool agrees(const Case& c, const Record& expected) {
  std::string problem;
  const Record actual = recordOf(c, harness::interpretCase(c, &problem));
  uint32_t thread = 0;
  size_t result = 0;
  const uint32_t count = problem.empty() ? differences(c, expected, actual, &thread, &result) : 1;
  if (count) report(c, problem, expected, actual, count, thread, result);
  return count == 0;
}

int compare(const Arguments& arguments) {
  const std::vector<Case> cases = allCases();
  const Records records = readPackedRecords(arguments.record(), cases);
  uint32_t compared = 0, differing = 0;
  for (size_t number = 0; number < cases.size(); ++number) {
    const Case& c = cases[number];
    if (!arguments.wants(c, number) || !isRecorded(records, c)) continue;
    ++compared;
    differing += !agrees(c, records.at(c.name));
  }
  std::printf("%u cases compared, %u differ\n", compared, differing);
  return compared == 0 || differing ? 1 : 0;
}

bool runs(const Case& c) {
  std::string problem;
  harness::interpretCase(c, &problem);
  if (!problem.empty()) std::printf("%s: %s\n", c.text.c_str(), problem.c_str());
  return problem.empty();
}

int runUnrecorded(const Arguments& arguments) {
  const std::vector<Case> cases = allCases();
  const std::set<std::string> recorded = answeredBy(arguments.records(), cases);
  uint32_t ran = 0, failed = 0;
  for (const Case& c : cases) {
    if (recorded.count(c.name)) continue;
    ++ran;
    failed += !runs(c);
  }
  std::printf("%zu cases, %zu recorded, %u run, %u of them fail\n", cases.size(), recorded.size(), ran, failed);
  return recorded.empty() || failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  if (arguments.valid()) return arguments.unrecorded() ? runUnrecorded(arguments) : compare(arguments);
  std::fprintf(stderr, "usage: %s RECORD [--part K/N] [CASE]\n       %s --unrecorded RECORD...\n", argv[0], argv[0]);
  return 2;
}
