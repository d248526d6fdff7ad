// Functions that a kernel calls through registers and that have code of their own (ptx::RuntimeCalls::callApart): a
// library may hold hundreds of them for each of its kernels, of which a program calls a few. Each is made when it is
// called first, by a thread of its own, as the stack of a kernel is too small for that. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/code/kernel_code.h"
#include "backend/cpu/code/upgrades.h"
#include "base/sync/mutex.h"
#include "ptx/text/ast.h"

namespace vg::backend::cpu {

// The kernel, which has code of functions made by their numbers in Module::functions: soon, and when nobody waits.
class FunctionMaker {
 public:
  using Made = Result<std::unique_ptr<const LoadedKernel>>;
  virtual Made makeFunction(const CodeVariant& wanted, uint32_t function) = 0;
  virtual Made makeBetter(const CodeVariant& wanted, uint32_t function, engine::Effort effort) = 0;
  virtual KernelCache::Key keyOfBetter(const CodeVariant& wanted, uint32_t function) const = 0;

 protected:
  ~FunctionMaker() = default;
};

// Those of one variant of a kernel. Belongs to the kernel.
class ApartFunctions final : public CalledFunctions {
 public:
  // `owner` keeps the kernel and the module while code is made.
  ApartFunctions(std::weak_ptr<const void> owner, const ptx::Module& module, FunctionMaker& kernel,
                 const CodeVariant& variant);
  ~ApartFunctions() override;
  ApartFunctions(const ApartFunctions&) = delete;

  bool isFunction(uint64_t address, uint32_t& number) const override;
  const LoadedKernel* ready(uint32_t number) const override;
  const LoadedKernel* code(uint32_t number) override;
  void upgradeLater(uint32_t number) override;
  uint32_t lineAt(const void* codeAddress) const override;

 private:
  class Function;
  struct Order;
  static void make(void* order);
  bool begin(Function& function);

  const std::weak_ptr<const void> owner_;
  const ptx::Module& module_;
  FunctionMaker& kernel_;
  const CodeVariant variant_;
  std::vector<std::unique_ptr<Function>> functions_;  // by Module::functions; null: cannot be called so
};

}  // namespace vg::backend::cpu
