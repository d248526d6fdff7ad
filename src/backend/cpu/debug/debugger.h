// Kernels that a debugger sees (VERDIGRIS_DEBUG): functions, source lines, frames. They are registered by the interface
// that GDB and LLDB have for code that programs make, __jit_debug_register_code, which libcuda.so.1 exports for this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ptx/abi/kernel_abi.h"
#include "ptx/text/ast.h"

namespace vg::backend::cpu {
class LoadedKernel;
}

namespace vg::backend::cpu::debugger {

// Constant. Kernels are compiled apart, with frame pointers and a line for every instruction.
bool on();

// Takes a kernel from the debugger's list before its code goes.
class Shown {
 public:
  Shown() = default;
  virtual ~Shown() = default;
  Shown(const Shown&) = delete;
};

// Puts a compiled kernel on the list: function number `function` of the module, made of `texts`. Where the text has no
// lines of its source, it is the source itself, in a file beside the kernel cache. Null where there is nothing to show.
std::unique_ptr<Shown> show(const LoadedKernel& kernel, const ptx::Module& module, uint32_t function,
                            const std::vector<std::string>& texts);

// Where a thread stands, for the debugger's script (src/gdb). In a table of libcuda.so.1, verdigris_debug_threads, one
// entry a thread that runs blocks.
struct Standing {
  uint64_t thread;                        // the system's number; 0: none
  const ptx::BlockState* volatile block;  // that it runs; null: none
  const char* kernel;
};
// The entry of the thread with this ThreadNumber, which calls; null unless on().
Standing* standing(uint32_t thread);

}  // namespace vg::backend::cpu::debugger
