// Registers that compiled code keeps in memory for whoever looks at a kernel from outside: debuggers and core dumps.
//
// Instructions that no text has write each register behind whatever wrote it, and where lanes are, to memory of the
// warp (BlockState::kept). Where a register lies there depends on the module alone, so that whoever has it finds it.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/text/ast.h"

namespace vg::ptx::kept {

// An instruction that keeps a register, its operand, for the lanes that execute it; or, where its operand is a number,
// that notes this PTX line as theirs. An event of the performance monitor, with a width that no text gives it.
inline constexpr uint8_t kWidth = 9;
bool keeps(const Instruction& i);
bool notes(const Instruction& i, const Function& f);

// What a warp's memory begins with.
struct Head {
  uint32_t lines[32];  // of each lane, where it was seen last; 0: nowhere yet
  uint32_t lanes;      // that were there when one of them was seen last
};
inline constexpr uint32_t kEnded = ~0u;  // Head::lines of lanes that have left the kernel

// Of predicates a register is a bit for each lane; of all others 32 values in a row.
struct Layout {
  std::vector<uint32_t> functions;             // of the module that have registers here, the entry first
  std::vector<std::vector<uint32_t>> offsets;  // of the registers of each of them, in bytes
  uint32_t bytes = 0;                          // of a warp; 0: there are too many registers, none is kept

  // Null: the function has none.
  const std::vector<uint32_t>* of(uint32_t function) const;
};
Layout layoutOf(const Module& module, uint32_t entry);

// The register of a lane, whose memory that is; `high`: the upper half of one of 128 bits.
uint64_t valueOf(const std::byte* warp, const Register& r, uint32_t offset, uint32_t lane, bool high = false);

// Puts the instructions that keep registers into the functions of the layout. Labels stay where they are.
void instrument(Module& module, const Layout& layout);

}  // namespace vg::ptx::kept
