// Kernels of PTX files, compiled and interpreted. Arguments: [-w] [-c] FILE... [-k kernel]; -w: good and quick code of
// every variant for every target; -c: they count what they run.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "ptx_compiler/compare.h"

using namespace vg::ptx::test;

int main(int argc, char** argv) {
  std::string only;
  bool whole = false, counted = false;
  std::vector<std::string> files;
  for (int a = 1; a < argc; ++a) {
    if (std::string(argv[a]) == "-k" && a + 1 < argc) {
      only = argv[++a];
    } else if (std::string(argv[a]) == "-w") {
      whole = true;
    } else if (std::string(argv[a]) == "-c") {
      counted = true;
    } else {
      files.push_back(argv[a]);
    }
  }
  Counts counts;
  for (const std::string& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (!compare(text, path, only, counts, whole, counted)) return 2;
  }
  std::printf("%u equal, %u differ, %u not compiled\n", counts.equal, counts.differ, counts.refused);
  return counts.differ != 0;
}
