// Which addresses have to be tested for alignment, and where. A device faults when an address is no multiple of what is
// accessed; a processor would serve it.
//
// Most addresses are a pointer that the kernel was given plus multiples of what is accessed. Those need no test in the
// code: the rules say what the pointers must be multiples of, and who launches the kernel with others runs a variant
// that tests them too. What is left comes out of memory or out of odd arithmetic, and is tested before its access.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ptx/abi/kernel_blob.h"
#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// Of an address that has to be a multiple of `bytes`, a power of two.
struct AlignmentTest {
  uint32_t bytes = 0;
  uint32_t displacement = 0;  // what the instruction adds to its operand, modulo `bytes`
  ValueId root = kNone;       // the operand has its remainder from this value
};

struct AlignmentTests {
  // By instruction and source: addresses to test before they are used.
  std::map<std::pair<const Instruction*, size_t>, AlignmentTest> needed;
  std::vector<AlignmentRule> rules;  // what is left untested holds while the parameters keep these
};
// `trustsParameters` false: no rules, everything that is not aligned as it was made is tested.
AlignmentTests alignmentTests(const Program& program, const ShapeOptions& options, bool trustsParameters);

}  // namespace vg::ptx::gen
