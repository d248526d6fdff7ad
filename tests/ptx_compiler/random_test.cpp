// Kernels made at random, compiled and interpreted. Arguments: [-w] [control|counts|unwritten|counted] FIRST COUNT; -w:
// all variants, good and quick code; -p SEED prints the text of one. Counted ones are those of control, which count
// what they run.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ptx_compiler/compare.h"
#include "ptx_compiler/random_kernel.h"

using namespace vg::ptx::test;

int main(int argc, char** argv) {
  const bool whole = argc > 1 && std::string(argv[1]) == "-w";
  argc -= whole, argv += whole;
  const std::string kind = argc > 3 ? argv[1] : "";
  argc -= argc > 3, argv += !kind.empty();
  if (argc != 3)
    return std::fprintf(stderr,
                        "usage: ptx_compiler_random [-w] [control|counts|unwritten|counted] FIRST COUNT | -p SEED\n"),
           2;
  const auto make = kind == "control" || kind == "counted" ? randomControl
                    : kind == "counts"                     ? randomCounts
                    : kind == "unwritten"                  ? randomUnwritten
                                                           : randomKernel;
  const uint64_t count = std::strtoull(argv[2], nullptr, 10);
  if (std::string(argv[1]) == "-p") return std::fputs(make(count).c_str(), stdout), 0;
  const uint64_t first = std::strtoull(argv[1], nullptr, 10);
  Counts counts;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const uint32_t before = counts.differ;
    if (kind == "control" && !compileForOthers(make(seed), "seed " + std::to_string(seed), whole)) return 1;
    if (!compare(make(seed), "seed " + std::to_string(seed), "", counts, whole, kind == "counted")) return 2;
    if (counts.differ != before) std::printf("^ seed %llu\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
  }
  std::printf("%u equal, %u differ, %u not compiled\n", counts.equal, counts.differ, counts.refused);
  return counts.differ != 0;
}
