#include "ptx/llvm/flow/suspensions.h"

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/warps/suspend.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

using PtxValue = vg::ptx::gen::Value;

namespace {
// Kernels beyond this many instructions wait on fibres: what a warp keeps at a barrier is found in quadratic time.
constexpr size_t kSuspendLimit = 2500;
}  // namespace

void Suspensions::plan() { suspends_ = suspendsOnly(); }

bool Suspensions::mayWait() const {
  if (emission_.traits.polls || emission_.apart()) return true;
  for (const Instruction& i : program_.instructions) {
    if (isBarrierOfBlock(i)) return true;
    if (ptx::rowOf(i.ast->op).has(Trait::Yields)) return true;
  }
  return false;
}

// Whether warps wait for all others of their block, always at the same barrier, and for nothing else: they then return
// at barriers and need no stacks of their own.
bool Suspensions::suspendsOnly() const {
  if (emission_.apart() || emission_.traits.polls || emission_.traits.allocates || program_.localSize ||
      program_.instructions.size() > kSuspendLimit)
    return false;
  std::optional<uint64_t> barrier;
  for (const Instruction& i : program_.instructions) {
    if (ptx::rowOf(i.ast->op).has(Trait::Yields)) return false;
    if (!isBarrierOfBlock(i) || isPause(i)) continue;
    if (i.ast->has(Mod::Arrive) || i.ast->has(Mod::Red) || i.ast->has(Mod::Cluster) || i.sources.size() > 1)
      return false;
    const PtxValue* const id = i.sources.empty() ? nullptr : &program_.values[i.sources[0]];
    if (id && id->kind != PtxValue::Constant) return false;
    const uint64_t number = id ? id->bits : 0;
    if (barrier && *barrier != number) return false;
    barrier = number;
  }
  return barrier.has_value();
}

void Suspensions::emitSuspend(const Instruction& i) {
  if (!suspendMark_)
    suspendMark_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), false),
                                          llvm::GlobalValue::ExternalLinkage, "vg_suspend", module_);
  suspendCalls_.push_back(b_.CreateCall(suspendMark_));
  if (isPause(i)) markPause(*suspendCalls_.back());
  teller_.beginCopy();      // others run in between
  values_.forgetVectors();  // cheaper made again than kept
}

void Suspensions::eraseMark() {
  if (suspendMark_) suspendMark_->eraseFromParent();
}

}  // namespace vg::ptx::gen
