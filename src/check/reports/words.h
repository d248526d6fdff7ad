// How records call things.
#pragma once

#include <cstdint>
#include <string>

#include "check/reports/fault.h"
#include "ptx/interpreter/observer.h"

namespace vg::check::words {

// "a load of 4 bytes of global memory at 0x7f0012340000"
std::string access(const ptx::Access& access);
// "scale(float*, int)"
std::string kernel(const ptx::Function& entry);
// "at scale.cu:12, PTX line 34"
std::string place(const ptx::Module& module, const ptx::Instruction& at);
// The instruction of a PTX line; null when there is none.
const ptx::Instruction* instructionAt(const ptx::Module& module, uint32_t line);
// The same in parts; `at` may be null.
FaultPlace placeOf(const ptx::Module& module, const ptx::Function& kernel, const ptx::Instruction* at);
// "shfl", as the PTX has it.
std::string operation(const ptx::Instruction& at);
// "lane 3", "lanes 0 to 15", "16 lanes"
std::string lanes(uint32_t mask);
std::string hex(uint32_t mask);

}  // namespace vg::check::words
