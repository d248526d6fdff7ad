// Compiled code against the interpreter: a kernel must leave the same bytes in memory, for every target and with blocks
// of many shapes.
#pragma once

#include <cstdint>
#include <string>

namespace vg::ptx::test {

struct Counts {
  uint32_t equal = 0, differ = 0, refused = 0;
};

// Every kernel of a module, or the one named `only`, in all variants for shapes of blocks: each as good code for one
// target and as quick code for the next, by turns; `whole`: as both for each target. Kernels have one signature: input
// words, output (eight words a thread), count. What the code generator refuses counts as a difference for blocks of one
// row on targets with FMA: those it has to compile. False, and says why, when the text (`what`) is no module that can
// be interpreted. `counted`: kernels count which instructions lanes run, and both must have counted the same.
bool compare(const std::string& text, const std::string& what, const std::string& only, Counts& counts,
             bool whole = false, bool counted = false);

// Makes code of every kernel, in all variants, for the processors that this machine is not: that ends, and with code
// that is well formed. False, and says why, where it is not.
bool compileForOthers(const std::string& text, const std::string& what);

}  // namespace vg::ptx::test
