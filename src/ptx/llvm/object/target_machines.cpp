#include "ptx/llvm/object/target_machines.h"

#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <vector>

#include "base/sync/mutex.h"
#include "base/sync/once.h"
#include "base/undying.h"
#include "ptx/llvm/ir/warp_ir.h"

// VG_LLVM_TARGET and VG_LLVM_TRIPLE are the build's (CMakeLists.txt).
#define VG_JOINED(first, target, last) first##target##last
#define VG_OF_TARGET(target, part) VG_JOINED(LLVMInitialize, target, part)
extern "C" {
void VG_OF_TARGET(VG_LLVM_TARGET, TargetInfo)();
void VG_OF_TARGET(VG_LLVM_TARGET, Target)();
void VG_OF_TARGET(VG_LLVM_TARGET, TargetMC)();
void VG_OF_TARGET(VG_LLVM_TARGET, AsmPrinter)();
}

namespace vg::ptx::gen {

const char* const kTriple = VG_LLVM_TRIPLE;

namespace {

struct IdleMachine {
  std::string cpu, features;
  std::unique_ptr<llvm::TargetMachine> machine;
};

struct Idle {
  Mutex mutex;
  std::vector<IdleMachine> machines VG_GUARDED_BY(mutex);  // as many as ever compiled at the same time
};

Idle& idle() { return undying<Idle, Idle>(); }

std::unique_ptr<llvm::TargetMachine> takeIdle(const std::string& cpu, const std::string& features) {
  const MutexLock lock(idle().mutex);
  auto& all = idle().machines;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const IdleMachine& one) { return one.cpu == cpu && one.features == features; });
  if (found == all.end()) return nullptr;
  std::unique_ptr<llvm::TargetMachine> machine = std::move(found->machine);
  all.erase(found);
  return machine;
}

std::unique_ptr<llvm::TargetMachine> makeMachine(const std::string& cpu, const std::string& features) {
  std::string error;
  const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!target) throw Unsupported{"no target: " + error, 0};
  llvm::TargetOptions settings;
  settings.EmitStackSizeSection = true;
  settings.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      kTriple, cpu, features, settings, llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

// What finds nothing to do in kernels: they have line numbers but no variables to debug, no garbage collector, no
// probes or patch points, and a stack frame that is made once for a whole row of blocks. Constants that
// EarlyMachineLICM takes out of loops are operands in memory where they stay, and fewer live values are sooner
// allocated.
void leaveOut(llvm::TargetPassConfig& config) {
  for (char* pass :
       {&llvm::LiveDebugValuesID, &llvm::RemoveRedundantDebugValuesID, &llvm::StackMapLivenessID,
        &llvm::FuncletLayoutID, &llvm::XRayInstrumentationID, &llvm::FEntryInserterID, &llvm::PatchableFunctionID,
        &llvm::ImplicitNullChecksID, &llvm::ShrinkWrapID, &llvm::StackColoringID, &llvm::LocalStackSlotAllocationID,
        &llvm::EarlyIfConverterID, &llvm::EarlyMachineLICMID})
    config.disablePass(pass);
}

// What has no other switch. Kernels measure the same or faster: addresses are sums of one register and a constant
// already when they get here; large kernels are scheduled and get their registers sooner when the scheduler
// looks at fewer accesses to memory at once and the allocator gives up sooner on regions to split values around.
constexpr struct {
  const char *name, *value;
} kSettings[] = {{"disable-lsr", "true"},
                 {"disable-constant-hoisting", "true"},
                 {"disable-x86-domain-reassignment", "true"},
                 {"dag-maps-huge-region", "200"},
                 {"grow-region-complexity-budget", "100"}};

void setForAll() {
  auto& options = llvm::cl::getRegisteredOptions();
  for (const auto& [name, value] : kSettings)
    if (const auto found = options.find(name); found != options.end()) found->second->addOccurrence(0, name, value);
}

}  // namespace

void initialiseBackend() {
  static constinit Once once;
  once.call([] {
    VG_OF_TARGET(VG_LLVM_TARGET, TargetInfo)();
    VG_OF_TARGET(VG_LLVM_TARGET, Target)();
    VG_OF_TARGET(VG_LLVM_TARGET, TargetMC)();
    VG_OF_TARGET(VG_LLVM_TARGET, AsmPrinter)();
    setForAll();
  });
}

LentMachine::LentMachine(std::string cpu, std::string features)
    : cpu_(std::move(cpu)), features_(std::move(features)), machine_(takeIdle(cpu_, features_)) {
  if (!machine_) machine_ = makeMachine(cpu_, features_);
}

LentMachine::~LentMachine() {
  const MutexLock lock(idle().mutex);
  try {
    idle().machines.push_back({cpu_, features_, std::move(machine_)});
  } catch (const std::bad_alloc&) {
    machine_.reset();  // the next compile makes its own
  }
}

llvm::SmallVector<char, 0> generateCode(llvm::Module& module, llvm::TargetMachine& target, llvm::CodeGenFileType type) {
  auto& machine = static_cast<llvm::LLVMTargetMachine&>(target);
  llvm::SmallVector<char, 0> out;
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  auto* const information = new llvm::MachineModuleInfoWrapperPass(&machine);
  llvm::TargetPassConfig* const config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  passes.add(config);
  passes.add(information);
  leaveOut(*config);
  if (config->addISelPasses()) throw Unsupported{"no instruction selector for this target", 0};
  config->addMachinePasses();
  config->setInitialized();
  if (machine.addAsmPrinter(passes, stream, nullptr, type, information->getMMI().getContext()))
    throw Unsupported{"no code generator for this target", 0};
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return out;
}

}  // namespace vg::ptx::gen
