// Who calls whom, calls through registers included: those may reach every function whose address the module takes and
// whose parameters and results have the sizes that the call's prototype says.
#pragma once

#include <vector>

#include "ptx/llvm/warp_ir.h"

namespace vg::ptx::gen {

// The operands of a call; null where there are none.
struct CallOperands {
  const Operand *target = nullptr, *returns = nullptr, *arguments = nullptr, *prototype = nullptr;
  bool byName() const { return target && target->symbolKind == SymbolKind::Function; }
};
CallOperands callOperands(const Function& caller, const ptx::Instruction& call);

// Bytes of each parameter or result: functions where these are alike can stand for each other in a call.
std::vector<uint64_t> sizesOf(const std::vector<Variable>& formals);

class CallGraph {
 public:
  // Of the functions that a kernel reaches.
  CallGraph(const Module& module, const std::vector<uint32_t>& functions);
  // Functions that a call through a register may reach; they have bodies.
  std::vector<uint32_t> targets(const Function& caller, const CallOperands& call) const;
  // A number for the functions that can call each other again; kNone: a call of this one never comes back to it.
  uint32_t cycle(uint32_t function) const { return cycles_[function]; }

 private:
  void findCycles(const std::vector<uint32_t>& functions);
  std::vector<uint32_t> callees(uint32_t function) const;

  const Module& module_;
  std::vector<uint32_t> addressed_;
  std::vector<uint32_t> cycles_;
};

}  // namespace vg::ptx::gen
