// Which accesses of memory have to be tested for what they lead to, where a device does not reach all memory of the
// host (abi/reach_abi.h), and by which value.
//
// All memory that a device reaches without a look at who has it lies in one window of addresses, with kReachSlack on
// both sides where nothing can be touched. So an address is good when a value in the window is, and what was added to
// that value since is no more than the slack: an array that the kernel was given and 32-bit indices into it. Whatever
// is outside is asked about. The kernel's own variables need no test as far as what is added to them stays inside.
#pragma once

#include <optional>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

struct ReachTest {
  ValueId base = kNone;  // within the slack of the address: lanes are good when this is in the window
  bool isLocal = false;  // the base is one of the kernel's local variables
};
// Of the access by operand `source` to `bytes` bytes; none where nothing can be wrong.
std::optional<ReachTest> reachTest(const Program& program, const Instruction& i, size_t source, uint32_t bytes);

// The same for devices that reach all memory but the library's own. What the kernel was given needs no test: the launch
// has looked at it.
std::optional<ReachTest> ownTest(const Program& program, const Instruction& i, size_t source, uint32_t bytes);

// What an access by operand `source` to `bytes` bytes begins with: a value, and how far from it the access may reach.
struct AccessOrigin {
  ValueId value = kNone;
  std::optional<uint64_t> reach;  // bytes; none: not known
};
AccessOrigin accessOrigin(const Program& program, const Instruction& i, size_t source, uint32_t bytes);

// The one symbol that a value is computed from by moves, sums and products that are added; kNone: none, or several.
ValueId symbolOf(const Program& program, ValueId id, int depth = 8);

}  // namespace vg::ptx::gen
