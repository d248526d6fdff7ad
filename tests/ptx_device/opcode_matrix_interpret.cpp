// opcode_matrix_interpret RECORD [FILTER]: the interpreter against the recorded answers of a device (plain or zstd).
#include <unistd.h>
#include <zstd.h>

#include <cinttypes>
#include <fstream>
#include <iterator>

#include "unit/ptx/opcode_interpret.h"
#include "unit/ptx/opcode_record.h"

using namespace vg::ptx;
using namespace vg::ptx::matrix;

namespace {

// A plain copy of a compressed record, under a temporary name.
std::string unpacked(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string packed((std::istreambuf_iterator<char>(file)), {});
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) return path;
  std::string plain(size, '\0');
  ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size());
  char name[] = "/tmp/opcode_record.XXXXXX";
  const int descriptor = mkstemp(name);
  if (descriptor >= 0) close(descriptor);
  std::ofstream(name, std::ios::binary) << plain;
  return name;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s RECORD [FILTER]\n", argv[0]), 2;
  const std::vector<Case> cases = allCases();
  const std::string plain = unpacked(argv[1]);
  const auto records = readRecords(plain.c_str(), cases);
  if (plain != argv[1]) std::remove(plain.c_str());
  uint32_t compared = 0, differing = 0;
  for (const Case& c : cases) {
    const auto expected = records.find(c.name);
    if (expected == records.end() || expected->second.status != 0) continue;
    if (argc > 2 && c.name.find(argv[2]) == std::string::npos) continue;
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
