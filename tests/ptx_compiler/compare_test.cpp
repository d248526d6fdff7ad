// Kernels of PTX files, compiled and interpreted. Arguments: FILE... [-k kernel].
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "ptx_compiler/compare.h"

using namespace vg::ptx::test;

int main(int argc, char** argv) {
  std::string only;
  std::vector<std::string> files;
  for (int a = 1; a < argc; ++a) {
    if (std::string(argv[a]) == "-k" && a + 1 < argc) {
      only = argv[++a];
    } else {
      files.push_back(argv[a]);
    }
  }
  Counts counts;
  for (const std::string& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (!compare(text, path, only, counts)) return 2;
  }
  std::printf("%u equal, %u differ, %u not compiled\n", counts.equal, counts.differ, counts.refused);
  return counts.differ != 0;
}
