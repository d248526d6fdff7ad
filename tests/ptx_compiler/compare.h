// Compiled code against the interpreter: a kernel must leave the same bytes in memory, for every target and with blocks
// of many shapes.
#pragma once

#include <cstdint>
#include <string>

namespace vg::ptx::test {

struct Counts {
  uint32_t equal = 0, differ = 0, refused = 0;
};

// Every kernel of a module, or the one named `only`, in variants for shapes of blocks: half of them for the best
// target, a quarter for the others, as good code and as quick code by turns; `whole`: all of them, as both, for each
// target. Kernels have one signature: input words, output (eight words a thread), count. What the code generator
// refuses counts as a difference for blocks of one row on targets with FMA: those it has to compile. False, and says
// why, when the text (`what`) is no module that can be interpreted. `counted`: kernels count which instructions lanes
// run, and both must have counted the same.
bool compare(const std::string& text, const std::string& what, const std::string& only, Counts& counts,
             bool whole = false, bool counted = false);

// Makes code of every kernel, in half of its variants or in all (`whole`), for the processors that this machine is not:
// that ends, and with code that is well formed. False, and says why, where it is not.
bool compileForOthers(const std::string& text, const std::string& what, bool whole = false);

}  // namespace vg::ptx::test
