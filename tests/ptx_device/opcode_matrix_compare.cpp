// opcode_matrix_compare REFERENCE OTHER: which cases of two recorded opcode matrices differ, with an example each.
#include <cinttypes>

#include "unit/ptx/matrix_arguments.h"

using namespace vg::ptx::matrix;

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s REFERENCE OTHER\n", argv[0]);
    return 2;
  }
  const std::vector<Case> cases = everyCase();
  const auto reference = readPackedRecords(argv[1], cases), other = readPackedRecords(argv[2], cases);
  uint32_t compared = 0, differing = 0, missing = 0;
  for (const Case& c : cases) {
    const auto expected = reference.find(c.name), actual = other.find(c.name);
    if (expected == reference.end() || actual == other.end() || expected->second.status != 0) {
      ++missing;
      continue;
    }
    if (actual->second.status != 0) {
      std::printf("%-40s not run: error %u\n", c.name.c_str(), actual->second.status);
      ++differing;
      continue;
    }
    ++compared;
    uint32_t thread = 0;
    size_t result = 0;
    const uint32_t count = differences(c, expected->second, actual->second, &thread, &result);
    if (!count) continue;
    ++differing;
    const std::vector<uint64_t> in = inputsOf(c);
    std::printf("%-40s %4u lanes; thread %u:", c.name.c_str(), count, thread);
    for (size_t k = 0; k < c.operands.size(); ++k) std::printf(" %" PRIx64, in[size_t{thread} * kOperands + k]);
    std::printf(" -> %c %" PRIx64 ", not %" PRIx64 "\n", static_cast<char>('x' + result),
                actual->second.results[result][thread], expected->second.results[result][thread]);
  }
  std::printf("%u cases compared, %u differ, %u in only one record or refused by the reference\n", compared, differing,
              missing);
  return differing ? 1 : 0;
}
