// LLVM's description of a processor, and its code generator as kernels need it. Making a description takes half a
// millisecond, so they are kept for the next kernel; only one thread at a time uses one.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

namespace vg::ptx::gen {

extern const char* const kTriple;

// Registers the target; safe to call often and from several threads.
void initialiseBackend();

// A machine lent to one compile. One whose compile never ends is never given back.
class LentMachine {
 public:
  // Throws Unsupported when the target does not exist.
  LentMachine(std::string cpu, std::string features);
  ~LentMachine();
  LentMachine(const LentMachine&) = delete;
  LentMachine& operator=(const LentMachine&) = delete;
  llvm::TargetMachine& operator*() const { return *machine_; }

 private:
  const std::string cpu_, features_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

// Machine code or assembly of an optimised module, which it uses up. Throws Unsupported.
llvm::SmallVector<char, 0> generateCode(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type);

}  // namespace vg::ptx::gen
