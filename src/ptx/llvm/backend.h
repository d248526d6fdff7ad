// LLVM's part after emission: a short pass pipeline and an object file.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Module.h>

#include <string>

#include "ptx/llvm/object/phase_clock.h"

namespace vg::ptx::gen {

struct BackendOptions {
  std::string cpu, features;
  bool wideMasks = false;   // the processor has no registers for masks
  bool mayBeQuick = false;  // large modules become machine code soon rather than well
  bool lean = false;        // fewer copies of blocks were planned for it (Emitter::lean): it gets quick code
  bool asWritten = false;   // code comes in the order of its text, for debuggers
  std::string dumpPrefix;   // empty, or the path without suffix of .ll and .s files
};

struct MachineCode {
  llvm::SmallVector<char, 0> object;
  bool quick = false;  // it could be better
};

// Throws Unsupported when the target does not exist or the module is malformed.
MachineCode compileModule(llvm::Module& module, const BackendOptions& options, PhaseClock& clock);

}  // namespace vg::ptx::gen
