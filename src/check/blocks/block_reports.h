// What is told of faults in a block: which kernel, line and thread, once for each place.
#pragma once

#include <string>
#include <vector>

#include "check/memory/shared_memory.h"
#include "check/races/global_races.h"
#include "check/reports/report.h"
#include "ptx/abi/kernel_abi.h"
#include "ptx/text/ast.h"

namespace vg::check {

class BlockReports {
 public:
  // What follows is of this block.
  void enter(const ptx::BlockState& block, const ptx::Module& module, const ptx::Function& entry) {
    block_ = &block, module_ = &module, entry_ = &entry;
  }
  // Whether nobody has been told of such a fault. `kind`: of the tool's faults at one line. `other`: the other line, of
  // faults that two have part in.
  bool isNewAt(Tool tool, unsigned kind, const ptx::Instruction* at, uint32_t other = 0, uint64_t memory = 0);
  // Tells of the fault that was found new last.
  void describeLast(const std::string& headline, const std::vector<std::string>& details);
  // Races, if they are new.
  void hazard(const Hazard& hazard);
  void conflict(const global_memory::Conflict& conflict, const ptx::Instruction* at, const GlobalRaces& races);
  FaultKey keyOf(const global_memory::Conflict& conflict, const ptx::Instruction* at) const;

  // Words: the kernel and the line; the line alone; a thread; a thread and its block. Threads by number in the block.
  std::string where(const ptx::Instruction* at) const;
  std::string placeOf(const ptx::Instruction* at) const;
  std::string threadName(uint32_t thread) const;
  std::string byWhom(uint32_t thread) const;

 private:
  const ptx::BlockState* block_ = nullptr;
  const ptx::Module* module_ = nullptr;
  const ptx::Function* entry_ = nullptr;
  FaultKey last_;                             // the fault that was found new
  const ptx::Instruction* lastAt_ = nullptr;  // where it is
};

}  // namespace vg::check
