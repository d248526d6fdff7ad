#include "backend/cpu/code/interpreted.h"

#include <algorithm>
#include <string>

#include "backend/cpu/code/places.h"
#include "backend/cpu/run/block.h"
#include "backend/cpu/run/thread.h"
#include "base/log.h"
#include "check/check.h"
#include "ptx/interpreter/interpreter.h"

namespace vg::backend::cpu {
namespace {

class InterpretedKernel final : public LoadedKernel {
 public:
  explicit InterpretedKernel(std::unique_ptr<ptx::InterpreterProgram> made) : program_(std::move(made)) {
    entry = ptx::interpretWarps;
    traits = program_->traits();
    program = program_->code();
    interpreted = true;
  }

 private:
  const std::unique_ptr<ptx::InterpreterProgram> program_;
};

// The first of many lines, and how many more there are.
std::string firstOf(const std::string& lines) {
  const size_t end = lines.find('\n');
  const auto more = std::count(lines.begin(), lines.end(), '\n') - (lines.ends_with('\n') ? 1 : 0);
  return lines.substr(0, end) + (more > 0 ? ", and " + std::to_string(more) + " more" : "");
}

// What checked mode has reported, while it can be seen.
void tellFirstFault(const ptx::BlockState& state, CUresult error) {
  const ResidentBlock& block = *static_cast<const ResidentBlock*>(state.owner);
  KernelFault fault;
  fault.error = error;
  fault.line = state.line;
  fault.warp = state.warp;
  fault.lanes = 1u << state.lane;
  FaultScene scene = sceneOf(block.launch(), block, fault);
  scene.goesOn = true;
  const KernelThread::Critical critical(block.thread());
  block.launch().faults->witness(scene);
}

}  // namespace

void tellFirstFaults() { static_cast<void>(check::observer(tellFirstFault)); }

Result<std::unique_ptr<const LoadedKernel>> interpret(const ptx::Module& module, uint32_t function) {
  VG_TRY(std::unique_ptr<ptx::InterpreterProgram> program,
         ptx::prepare(module, function, check::observer(tellFirstFault)));
  if (!program->gaps().empty())
    VG_LOG(Warn, "kernel %s has instructions that cannot run: %s", module.functions[function].name.c_str(),
           firstOf(program->gaps()).c_str());
  return std::unique_ptr<const LoadedKernel>(std::make_unique<InterpretedKernel>(std::move(program)));
}

}  // namespace vg::backend::cpu
