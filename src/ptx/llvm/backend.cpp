#include "ptx/llvm/backend.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/BlockFrequencyInfo.h>
#include <llvm/Analysis/BranchProbabilityInfo.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/MemorySSA.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ProfileSummaryInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SCCP.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <memory>
#include <vector>

#include "ptx/llvm/ir/warp_ir.h"
#include "ptx/llvm/numbers/canonical_nans.h"
#include "ptx/llvm/numbers/exact_products.h"
#include "ptx/llvm/object/target_machines.h"
#include "ptx/llvm/passes/flag_slots.h"
#include "ptx/llvm/passes/hidden_freezes.h"
#include "ptx/llvm/passes/hoped_rows.h"
#include "ptx/llvm/passes/known_places.h"
#include "ptx/llvm/passes/narrow_lanes.h"
#include "ptx/llvm/passes/number_choices.h"
#include "ptx/llvm/passes/promoted_slots.h"
#include "ptx/llvm/passes/row_conditions.h"
#include "ptx/llvm/passes/row_lanes.h"
#include "ptx/llvm/passes/shared_operations.h"
#include "ptx/llvm/passes/single_loads.h"
#include "ptx/llvm/passes/split_blocks.h"
#include "ptx/llvm/passes/split_tests.h"
#include "ptx/llvm/passes/stepped_places.h"
#include "ptx/llvm/passes/wide_masks.h"
#include "ptx/llvm/warps/jammed_warps.h"
#include "ptx/llvm/warps/told_warps.h"

namespace vg::ptx::gen {
namespace {

// The analyses that our passes ask for, and no others: a PassBuilder would link all of LLVM.
struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::ModuleAnalysisManager modules;
  llvm::PassInstrumentationCallbacks callbacks;

  explicit Analyses(llvm::TargetMachine& machine) {
    functions.registerPass([&] { return llvm::PassInstrumentationAnalysis(&callbacks); });
    loops.registerPass([&] { return llvm::PassInstrumentationAnalysis(&callbacks); });
    modules.registerPass([&] { return llvm::PassInstrumentationAnalysis(&callbacks); });
    functions.registerPass([] { return llvm::AssumptionAnalysis(); });
    functions.registerPass([] { return llvm::DominatorTreeAnalysis(); });
    functions.registerPass([] { return llvm::PostDominatorTreeAnalysis(); });
    functions.registerPass([] { return llvm::LoopAnalysis(); });
    functions.registerPass([] { return llvm::BranchProbabilityAnalysis(); });
    functions.registerPass([] { return llvm::BlockFrequencyAnalysis(); });
    functions.registerPass([] { return llvm::MemorySSAAnalysis(); });
    functions.registerPass([] { return llvm::ScalarEvolutionAnalysis(); });
    functions.registerPass([] { return llvm::OptimizationRemarkEmitterAnalysis(); });
    functions.registerPass([&] { return machine.getTargetIRAnalysis(); });
    functions.registerPass([] {
      // No function of the C library may be assumed: kernels call nothing.
      llvm::TargetLibraryInfoImpl none{llvm::Triple(kTriple)};
      none.disableAllFunctions();
      return llvm::TargetLibraryAnalysis(none);
    });
    functions.registerPass([] { return llvm::BasicAA(); });
    functions.registerPass([] {
      llvm::AAManager manager;
      manager.registerFunctionAnalysis<llvm::BasicAA>();
      return manager;
    });
    modules.registerPass([] { return llvm::ProfileSummaryAnalysis(); });
    functions.registerPass([&] { return llvm::ModuleAnalysisManagerFunctionProxy(modules); });
    functions.registerPass([&] { return llvm::LoopAnalysisManagerFunctionProxy(loops); });
    loops.registerPass([&] { return llvm::FunctionAnalysisManagerLoopProxy(functions); });
    modules.registerPass([&] { return llvm::FunctionAnalysisManagerModuleProxy(functions); });
  }
};

// Changes of ours to a function that leave its branches as they are.
template <auto... kChanges>
struct ChangePass : llvm::PassInfoMixin<ChangePass<kChanges...>> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    (kChanges(function), ...);
    llvm::PreservedAnalyses kept;
    kept.preserveSet<llvm::CFGAnalyses>();
    return kept;
  }
};

// Modules of more instructions than these take seconds to become good code, and minutes.
constexpr uint64_t kLarge = 10'000, kHuge = 150'000;
// Longer blocks are split; a whole block's instructions are selected and scheduled together.
constexpr size_t kLongestGood = 3000, kLongestQuick = 400;

// Operations on vectors that quick code may have in loops beside calls of them.
constexpr size_t kMostInPlace = 600;

// Processors of AMD gather and scatter lane by lane, so that as many loads take no longer.
bool gathersSlowly(const BackendOptions& options) { return !options.wideMasks && options.cpu.starts_with("znver"); }

void addGoodPasses(llvm::FunctionPassManager& passes, const BackendOptions& options) {
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass());
  // Once, and early: narrowing sees constants only after it, and kernels run no faster for a second time at the end.
  llvm::InstCombineOptions once;
  once.setMaxIterations(1);
  passes.addPass(ChangePass<hideFreezes>());
  passes.addPass(llvm::InstCombinePass(once));
  passes.addPass(ChangePass<showFreezes, combineRowConditions>());
  // Masks that stay empty all around a loop, which only a look at the whole loop tells.
  passes.addPass(llvm::SCCPPass());
  passes.addPass(KnownPlacesPass(gathersSlowly(options)));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(100, 250, /*AllowSpeculation=*/true),
                                                       /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));  // finds here what value numbering does, for half the time
  passes.addPass(ChangePass<loadSingly, narrowLanes>());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::SimplifyCFGPass());
}

void optimise(llvm::Function& f, Analyses& analyses, const BackendOptions& options) {
  llvm::FunctionPassManager passes;
  addGoodPasses(passes, options);
  splitRowLanes(f);
  passes.run(f, analyses.functions);
  jamWarps(f);
  tellOnce(f);
  if (options.features.find("+fma,") != std::string::npos) fuseExactProducts(f);
  options.wideMasks ? askForNaNsTogether(f) : rangeNaNs(f);
  if (options.wideMasks) widenMasks(f);
  if (gathersSlowly(options)) accessStepsSingly(f);
  splitTests(f);
}

// What costs little and leaves less to do.
void tidy(llvm::Function& f, Analyses& analyses) {
  llvm::FunctionPassManager passes;
  passes.addPass(ChangePass<hideFreezes>());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(ChangePass<showFreezes>());
  passes.run(f, analyses.functions);
}

enum class Tier { Good, Quick, OnlyQuick };

Tier tierFor(uint64_t instructions, const BackendOptions& options) {
  if ((instructions > kHuge && !options.lean) || options.asWritten) return Tier::OnlyQuick;
  return options.lean || (options.mayBeQuick && instructions > kLarge) ? Tier::Quick : Tier::Good;
}

uint64_t joinedValues(llvm::Module& module) {
  uint64_t values = 0;
  for (llvm::Function& f : module)
    for (llvm::BasicBlock& block : f)
      for (const llvm::PHINode& phi : block.phis()) values += phi.getNumIncomingValues();
  return values;
}

// The code generator makes one instruction of a load and what alone uses it, which stands in the user's line: so that
// is the load's, where the user has none of its own.
void giveLinesOfLoads(llvm::Function& f) {
  const auto isLoad = [](const llvm::Instruction* i) {
    if (llvm::isa_and_nonnull<llvm::CastInst>(i)) i = llvm::dyn_cast<llvm::Instruction>(i->getOperand(0));
    return llvm::isa_and_nonnull<llvm::LoadInst>(i);
  };
  for (llvm::BasicBlock& block : f)
    for (llvm::Instruction& i : block) {
      if (i.getDebugLoc()) continue;
      for (llvm::Value* const operand : i.operands()) {
        const auto* const load = llvm::dyn_cast<llvm::Instruction>(operand);
        if (isLoad(load) && load->hasOneUse() && load->getParent() == &block && load->getDebugLoc())
          i.setDebugLoc(load->getDebugLoc());
      }
    }
}

Tier optimise(llvm::Module& module, llvm::TargetMachine& machine, const BackendOptions& options, PhaseClock& clock) {
  Analyses analyses(machine);
  for (llvm::Function& f : module)
    if (!f.isDeclaration()) {
      if (!options.lean) narrowFlags(f);
      options.lean ? promoteFreeSlots(f) : promoteSlots(f);
      settleHopedRows(f, !options.lean);
    }
  clock.count(CompileWork::Promoted, module.getInstructionCount());
  clock.count(CompileWork::Joined, joinedValues(module));
  const Tier tier = tierFor(module.getInstructionCount(), options);
  std::vector<llvm::Function*> functions;
  for (llvm::Function& f : module)
    if (!f.isDeclaration()) functions.push_back(&f);
  for (llvm::Function* const function : functions) {
    llvm::Function& f = *function;
    tier == Tier::Good ? optimise(f, analyses, options) : tidy(f, analyses);
    if (options.lean && f.getName() == "vg_kernel") shareOperations(f, kMostInPlace);
    splitBlocks(f, tier == Tier::Good ? kLongestGood : kLongestQuick);
    giveLinesOfLoads(f);
    if (options.features.find("+neon") != std::string::npos) keepChoices(f);
  }
  return tier;
}

void writeFile(const std::string& path, llvm::StringRef text) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (!error) out << text;
}

// LLVM goes on with malformed code as it comes, to faults and wrong code. This takes about 1 % of a compile.
void requireWellFormed(const llvm::Module& module) {
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (llvm::verifyModule(module, &stream)) throw Unsupported{"malformed module: " + problems, 0};
}

}  // namespace

MachineCode compileModule(llvm::Module& module, const BackendOptions& options, PhaseClock& clock) {
  const LentMachine machine(options.cpu, options.features);
  module.setTargetTriple(kTriple);
  module.setDataLayout((*machine).createDataLayout());
  const bool dump = !options.dumpPrefix.empty();
  const auto dumpModule = [&](const char* suffix) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream, nullptr);
    writeFile(options.dumpPrefix + suffix, text);
  };
  if (dump) dumpModule(".emitted.ll");
  requireWellFormed(module);
  clock.count(CompileWork::Emitted, module.getInstructionCount());
  const Tier tier = optimise(module, *machine, options, clock);
  requireWellFormed(module);
  (*machine).setOptLevel(tier == Tier::Good ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None);
  (*machine).setFastISel(tier != Tier::Good);  // LLVM only ever turns it on, and machines serve again
  clock.count(CompileWork::Optimised, module.getInstructionCount());
  clock.end(CompilePhase::Optimise);
  if (dump) {
    dumpModule(".ll");
    const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
    const llvm::SmallVector<char, 0> text = generateCode(*copy, *machine, llvm::CodeGenFileType::AssemblyFile);
    writeFile(options.dumpPrefix + ".s", llvm::StringRef(text.data(), text.size()));
  }
  llvm::SmallVector<char, 0> object = generateCode(module, *machine, llvm::CodeGenFileType::ObjectFile);
  clock.end(CompilePhase::Generate);
  return {std::move(object), tier == Tier::Quick};
}

}  // namespace vg::ptx::gen
