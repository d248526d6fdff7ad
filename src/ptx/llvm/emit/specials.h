// Values that are there before the kernel begins: special registers, addresses of variables, constants. Each is made
// once a launch, a block or a warp.
#pragma once

#include <array>
#include <map>

#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/runner.h"

namespace vg::ptx::gen {

using ThreadIndex = std::array<llvm::Value*, 3>;

class Specials : public EmitterPart {
 public:
  Specials(Emission& emission, Runner& runner) : EmitterPart(emission), runner_(runner) {}

  Value* constantValue(const vg::ptx::gen::Value& v);
  Form specialForm(const vg::ptx::gen::Value& v);
  Form symbolForm(const vg::ptx::gen::Value& v);

  Value* laneThread[3] = {};                     // %tid of lane 0, where it advances from warp to warp; from Frame
  llvm::SmallVector<ThreadIndex, 4> partThread;  // of the first lane of each part, where warps are made of such

 private:
  Value* launchWord(size_t field, uint32_t n = 0);
  Value* special(Special s);
  Value* specialOnce(Special s);
  Value* gridSpecial(Special s);
  Value* runSpecial(Special s);
  Value* timeSpecial(Special s);
  Value* sharedSpecial(Special s);
  Value* clusterSpecial(Special s);
  Value* environmentSpecial(Special s);
  void formThreadIndex(Form& form, uint32_t axis);
  void formRowIndices(Form& form, uint32_t axis);
  Value* threadIndex(uint32_t axis, uint32_t chunk);
  Value* laneMasks(Special s, uint32_t chunk);

  Runner& runner_;
  std::map<Special, Value*> specials_;
  std::map<uint32_t, Value*> threadIndices_;
};

}  // namespace vg::ptx::gen
