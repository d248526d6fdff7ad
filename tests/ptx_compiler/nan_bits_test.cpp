// No instruction of a program sees bits of a NaN that the processor made: settleNaNs over every case of the opcode
// matrix, random chains of them (opcode_chains.cpp; OPCODE_CHAINS is how many), and the kernels of the files named.
// Arguments: PTX files.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "ptx/llvm/analysis/nan_bits.h"
#include "ptx/llvm/ir/call_graph.h"
#include "ptx/llvm/ir/warp_ir.h"
#include "ptx/text/parser.h"
#include "unit/ptx/opcode_matrix.h"

using namespace vg::ptx;

namespace {

struct Counts {
  uint32_t kernels = 0, settled = 0, left = 0, wrong = 0;
};

void check(const char* name, const std::string& text, Counts& counts) {
  auto module = parse(text);
  if (!module.ok()) return void(++counts.left);
  for (uint32_t f = 0; f < module->functions.size(); ++f) {
    if (!module->functions[f].isEntry) continue;
    try {
      gen::Program program = gen::buildProgram(*module, f, f, {}, gen::Copies::Many);
      const size_t before = program.instructions.size();
      gen::settleNaNs(program);
      ++counts.kernels;
      counts.settled += program.instructions.size() > before;
      if (const uint32_t line = gen::lineOfWrongNaN(program)) {
        ++counts.wrong;
        std::printf("%s: line %u of %s\n", name, line, module->functions[f].name.c_str());
      }
    } catch (const gen::Unsupported&) {
      ++counts.left;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Counts counts;
  for (int k = 1; k < argc; ++k) {
    std::ifstream file(argv[k]);
    check(argv[k], std::string(std::istreambuf_iterator<char>(file), {}), counts);
  }
  for (const matrix::Case& c : matrix::everyCase())
    check(c.name.c_str(), matrix::kHeader + matrix::kernelText(c, "k"), counts);
  std::printf("%u kernels, %u settled, %u wrong; %u not built\n", counts.kernels, counts.settled, counts.wrong,
              counts.left);
  return counts.wrong || counts.settled < 500 || counts.left > counts.kernels / 20;
}
