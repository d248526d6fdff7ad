// Good code for kernels that run with quick code meanwhile: made by one thread in the background, which comes when
// there is something to do and ends when there is nothing left. Where no thread can be had kernels keep the code they
// have. Thread-safe.
#pragma once

#include <memory>

#include "backend/cpu/code/program.h"

namespace vg::backend::cpu::upgrades {

// Makes good code of a variant and puts it in the place of the quick one, unless nobody has the program any more when
// its turn comes. `kernel` is one of the program's.
void enqueue(std::weak_ptr<const Program> program, ProgramKernel& kernel, const CodeVariant& variant);

}  // namespace vg::backend::cpu::upgrades
