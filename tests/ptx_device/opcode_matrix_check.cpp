// opcode_matrix_check LIBCUDA RECORD [CASE]: runs the cases of a device's record through the given libcuda.so.1 and
// compares the answers. What is compiled and sampled is what programs get.
#include <cinttypes>

#include "ptx_device/runner.h"
#include "unit/ptx/matrix_arguments.h"

using namespace vg::ptx::matrix;

namespace {

class Judge {
 public:
  explicit Judge(const std::map<std::string, Record>& records) : records_(records) {}

  void take(const Case& c, const Record& actual) {
    ++compared_;
    if (actual.status != 0) {
      ++differing_;
      return;  // the runner has said why
    }
    uint32_t thread = 0;
    size_t result = 0;
    const Record& expected = records_.at(c.name);
    const uint32_t count = differences(c, expected, actual, &thread, &result);
    if (!count) return;
    ++differing_;
    const std::vector<uint64_t> in = inputsOf(c);
    std::printf("%s: %u lanes; thread %u:", c.name.c_str(), count, thread);
    for (size_t k = 0; k < c.operands.size(); ++k) std::printf(" %" PRIx64, in[size_t{thread} * kOperands + k]);
    std::printf(" -> %c %" PRIx64 ", not %" PRIx64 "\n", static_cast<char>('x' + result),
                actual.results[result][thread], expected.results[result][thread]);
  }

  // All were asked for and agree.
  bool content(size_t cases) const {
    std::printf("%zu cases, %u compared, %u differ\n", cases, compared_, differing_);
    return cases != 0 && compared_ == cases && differing_ == 0;
  }

 private:
  const std::map<std::string, Record>& records_;
  uint32_t compared_ = 0, differing_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc - 1, argv + 1);
  if (argc < 3 || !arguments.valid()) {
    std::fprintf(stderr, "usage: %s LIBCUDA RECORD [CASE]\n", argv[0]);
    return 2;
  }
  std::vector<Case> cases = everyCase();
  const auto records = readPackedRecords(arguments.record(), cases);
  std::erase_if(cases, [&](const Case& c) {
    const auto known = records.find(c.name);
    return known == records.end() || known->second.status != 0 || !arguments.wants(c, 0);
  });
  const Driver driver = open(argv[1]);
  Judge judge(records);
  Runner runner(driver, [&](const Case& c, const Record& record) { judge.take(c, record); });
  constexpr size_t kBatch = 64;
  for (size_t first = 0; first < cases.size(); first += kBatch) {
    const size_t end = std::min(first + kBatch, cases.size());
    if (runner.run(cases, first, end) < end) break;
  }
  return judge.content(cases.size()) ? 0 : 1;
}
