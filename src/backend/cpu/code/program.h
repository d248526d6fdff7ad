// The code of a module apart from any context: parsed once for all images with the same texts, each kernel made native
// once for each variant that launches need. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/code/coverage.h"
#include "backend/cpu/code/engine.h"
#include "backend/cpu/code/kernel_code.h"
#include "backend/cpu/code/upgrades.h"
#include "backend/cpu/debug/debugger.h"
#include "backend/cpu/functions/apart_functions.h"
#include "backend/device.h"
#include "base/result.h"
#include "base/sync/mutex.h"
#include "base/sync/once.h"
#include "check/blocks/compiled.h"
#include "ptx/abi/kernel_abi.h"
#include "ptx/facts/function_uses.h"
#include "ptx/facts/layout.h"
#include "ptx/text/ast.h"
#include "ptx/text/entry_bodies.h"

namespace vg::backend::cpu {

class Program;

// A kernel of a program.
class ProgramKernel final : public upgrades::Upgradable, FunctionMaker {
 public:
  // What its text says, before anything is compiled.
  struct Facts {
    std::vector<uint32_t> globals;                       // Module::variables that KernelLaunch::globals lists
    uint32_t staticShared = 0, dynamicSharedOffset = 0;  // bytes
    uint32_t localBytes = 0;                             // a thread
    uint32_t constantBytes = 0;
    uint32_t registers = 0;  // estimate
    bool usesDeviceRuntime = false;
    Kernel::Calls calls;  // of it
  };

  ProgramKernel(const Program& program, uint32_t function);
  ProgramKernel(const ProgramKernel&) = delete;

  const ptx::Function& function() const;
  const std::string& name() const override { return function().name; }
  uint32_t index() const { return function_; }  // of Module::functions
  const std::vector<Kernel::Parameter>& parameters() const { return parameters_; }
  uint32_t parameterBytes() const { return parameterBytes_; }
  coverage::Recording* recording() const;
  const Facts& facts();
  const ptx::Module& module() const;
  // The code of a variant. Compiles at first; others that want the same variant wait, nobody else does.
  Result<const LoadedKernel*> variant(const CodeVariant& wanted);
  // The same as variant() if it is there already; else null.
  const LoadedKernel* readyVariant(const CodeVariant& wanted) const;
  // Code that is fast for the variant's textures, if it is there: it is made in the background for a kernel that is
  // launched with such ones again, or at once where launches wait for good code.
  const LoadedKernel* forTextures(const CodeVariant& wanted);
  KernelCache::Key keyOfGood(const CodeVariant& variant) const override;
  CUresult upgrade(const CodeVariant& variant, engine::Effort effort) override;
  // Has that done in the background; true when it was waited for after all.
  bool upgradeLater(const CodeVariant& variant, bool mayWait);

 private:
  struct Variant {
    Mutex mutex;  // held while compiling
    std::atomic<const LoadedKernel*> ready{nullptr};
    // As it was made first, and what took its place; both stay, since launches may still run the first.
    std::unique_ptr<const LoadedKernel> kernel VG_GUARDED_BY(mutex), better VG_GUARDED_BY(mutex);
    CUresult failure VG_GUARDED_BY(mutex) = CUDA_SUCCESS;  // what trying again would meet again
    std::atomic<uint32_t> asked{0};                        // how often, of code for textures
  };
  static unsigned indexOf(const CodeVariant& v) {
    return static_cast<unsigned>(v.shape) * 8 + v.testsReach * 4u + v.fullWarps * 2u + v.testsParameters;
  }
  using Code = std::unique_ptr<const LoadedKernel>;
  Variant& variantFor(const CodeVariant& wanted);
  template <class Make>
  Result<const LoadedKernel*> madeOnce(Variant& variant, Make make);
  Result<Code> make(const CodeVariant& wanted);
  Made makeFunction(const CodeVariant& wanted, uint32_t function) override;
  Made makeBetter(const CodeVariant& wanted, uint32_t function, engine::Effort effort) override;
  KernelCache::Key keyOfBetter(const CodeVariant& wanted, uint32_t function) const override;
  Result<Code> makeNative(const engine::Request& request);
  Result<Code> makeGood(const engine::Request& request, engine::Effort effort);
  Result<Code> makeInterpreted();
  Result<Code> load(ptx::KernelBlob blob, Maturity maturity, const engine::Request& request);
  std::shared_ptr<ApartFunctions> apartOf(const CodeVariant& wanted);
  const check::CompiledKernel* checks();
  engine::Request requestFor(const CodeVariant& wanted, uint32_t function = 0) const;
  Result<engine::Made> compile(const engine::Request& request, engine::Effort effort) const;

  const Program& program_;
  const uint32_t function_;
  std::vector<Kernel::Parameter> parameters_;
  uint32_t parameterBytes_ = 0;
  Once factsOnce_;
  Facts facts_;
  Once checksOnce_;
  std::unique_ptr<check::CompiledKernel> checks_;  // by checksOnce_
  std::array<Variant, 8 * ptx::kBlockShapes> variants_;
  Mutex texturesMutex_;
  std::map<std::pair<unsigned, ptx::TextureHints>, Variant> textures_ VG_GUARDED_BY(texturesMutex_);
  Mutex apartMutex_;
  std::map<unsigned, std::shared_ptr<ApartFunctions>> apart_ VG_GUARDED_BY(apartMutex_);  // by variant
};

class Program : public std::enable_shared_from_this<Program> {
 public:
  // The program that these texts make; shared with every image that has the same. `errorLog` may be null.
  static Result<std::shared_ptr<Program>> of(const std::vector<std::string>& texts, uint32_t capability,
                                             std::string* errorLog);

  Program(std::vector<std::string> texts, KernelCache::Key hash, ptx::Module module);
  // Counts what its kernels run from then on. Requires: nothing has been compiled.
  void count(uint32_t counters);
  // Has debuggers see code of a kernel.
  void show(const LoadedKernel& code, uint32_t function) const;
  ~Program();
  Program(const Program&) = delete;

  const ptx::Module& module() const { return module_; }
  const std::vector<std::string>& texts() const { return texts_; }
  // What the code generator is to read for an entry: no more than it needs, where there is much of it.
  std::vector<std::string> textsFor(uint32_t entry) const;
  KernelCache::Key hash() const { return hash_; }
  coverage::Recording* recording() const { return recording_.get(); }  // null: nothing is counted
  bool usesDeviceRuntime() const;
  // What an entry refers to, and where its shared memory lies.
  std::pair<ptx::KernelReferences, ptx::SharedLayout> reachOf(uint32_t entry) const;
  // The estimate for a function, made once: kernels of one module may share thousands.
  uint32_t registersOf(uint32_t function) const;
  ProgramKernel* kernel(const std::string& name) const;
  const std::map<std::string, std::unique_ptr<ProgramKernel>>& kernels() const { return kernels_; }

 private:
  const std::vector<std::string> texts_;
  const KernelCache::Key hash_;
  const ptx::Module module_;
  std::map<std::string, std::unique_ptr<ProgramKernel>> kernels_;
  std::unique_ptr<coverage::Recording> recording_;
  mutable Mutex shownMutex_;
  mutable std::vector<std::unique_ptr<debugger::Shown>> shown_ VG_GUARDED_BY(shownMutex_);  // gone before kernels_ are
  mutable Once bodiesOnce_;
  mutable std::optional<ptx::EntryBodies> bodies_;  // by bodiesOnce_
  mutable Mutex usesMutex_;
  mutable ptx::UsesOfFunctions uses_ VG_GUARDED_BY(usesMutex_);
  mutable std::vector<std::atomic<uint32_t>> registers_;  // by function; 0: not estimated yet
};

// How many 32-bit registers a GPU's compiler would about give a thread: the most that are live at once.
uint32_t estimateRegisters(const ptx::Function& function);

}  // namespace vg::backend::cpu
