// Tells the runner which warp runs, for whoever reports a fault.
#pragma once

#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/runner.h"

namespace vg::ptx::gen {

class WarpTeller : public EmitterPart {
 public:
  WarpTeller(Emission& emission, Runner& runner) : EmitterPart(emission), runner_(runner) {}

  void beginCopy() { told_ = false; }  // also behind what lets other warps run
  void atStart();                      // of a warp
  void before(const Instruction& i);
  void plan();  // once, when traits.waits is known
  bool accessesMemory(const Instruction& i) const;

 private:
  void tellWarp();

  Runner& runner_;
  enum class Tells : uint8_t { No, AtItsStart, AtAccesses };
  Tells tells_ = Tells::No;
  bool told_ = false;  // in the present copy
};

}  // namespace vg::ptx::gen
