// Who calls whom, calls through registers included: those may reach every function whose address the module takes and
// whose parameters and results have the sizes that the call's prototype says.
#pragma once

#include <optional>
#include <vector>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// The operands of a call; null where there are none.
struct CallOperands {
  const Operand *target = nullptr, *returns = nullptr, *arguments = nullptr, *prototype = nullptr;
  bool byName() const { return target && target->symbolKind == SymbolKind::Function; }
};
CallOperands callOperands(const Function& caller, const ptx::Instruction& call);

// Bytes of each parameter or result: functions where these are alike can stand for each other in a call.
std::vector<uint64_t> sizesOf(const std::vector<Variable>& formals);

// Whether lanes do something together, or wait for each other.
bool lanesMeet(const ptx::Instruction& i);

// How large copies of functions may make a kernel: so that its good code can be made, or only so that a launch that
// waits for it does not wait for long.
enum class Copies { Many, FewForNow };

class CallGraph {
 public:
  // Of the functions that a kernel reaches; `entry`: the kernel, or one of them whose code is made apart.
  CallGraph(const Module& module, const std::vector<uint32_t>& functions, uint32_t entry, Copies copies);
  // Functions that a call through a register may reach; they have bodies.
  std::vector<uint32_t> targets(const Function& caller, const CallOperands& call) const;
  // A number for the functions that can call each other again; kNone: a call of this one never comes back to it.
  uint32_t cycle(uint32_t function) const { return cycles_[function]; }
  // Whether copies for all calls would be too many: then functions that are called at several places, unless they are
  // small, and those that can call themselves, have this for their number. They are in the kernel once, as states of
  // one loop of which the kernel itself is the first.
  std::optional<uint32_t> shared() const { return shared_; }
  // Whether what is called through registers is to have code of its own, made when it is called first: lanes meet in
  // it, so that it cannot be in the kernel once, and copies of all that may be called would be too many.
  bool apart() const { return apart_; }
  // Whether `shared` is so only because a launch waits.
  bool sharedForNow() const { return forNow_; }

 private:
  void findCycles(const std::vector<uint32_t>& functions);
  std::vector<uint32_t> callees(uint32_t function) const;
  std::vector<uint32_t> callSites(uint32_t function) const;
  std::vector<uint32_t> calleesFirst(uint32_t entry) const;
  double mostCopied(const std::vector<uint32_t>& functions, Copies copies) const;
  void shareBodies(uint32_t entry, Copies copies);
  bool mayBeApart(const std::vector<uint32_t>& functions) const;
  bool lanesMeetIn(const std::vector<uint32_t>& functions) const;

  const Module& module_;
  std::vector<uint32_t> addressed_;
  std::vector<uint32_t> cycles_;
  std::optional<uint32_t> shared_;
  bool forNow_ = false, apart_ = false;
};

}  // namespace vg::ptx::gen
