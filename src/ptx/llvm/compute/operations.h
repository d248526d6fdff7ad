// All instructions that compute results from sources of one form, whether these are scalars or vectors of W lanes.
#pragma once

#include "ptx/llvm/compute/compare.h"
#include "ptx/llvm/compute/convert.h"
#include "ptx/llvm/compute/float.h"
#include "ptx/llvm/compute/integer.h"
#include "ptx/llvm/compute/move.h"
#include "ptx/llvm/compute/sparse.h"
#include "ptx/llvm/compute/video.h"
#include "ptx/llvm/emit/part.h"

namespace vg::ptx::gen {

class Operations : public EmitterPart {
 public:
  Operations(Emission& emission, Integers& integers, Video& video, Conversions& conversions, Floats& floats,
             Comparisons& comparisons, Moves& moves, Sparse& sparse)
      : EmitterPart(emission),
        integers_(integers),
        video_(video),
        conversions_(conversions),
        floats_(floats),
        comparisons_(comparisons),
        moves_(moves),
        sparse_(sparse) {}

  // Computes results from sources of one form: all scalars or all vectors of W lanes.
  void compute(const Instruction& i, llvm::ArrayRef<Value*> sources, llvm::SmallVectorImpl<Value*>& results);

 private:
  Integers& integers_;
  Video& video_;
  Conversions& conversions_;
  Floats& floats_;
  Comparisons& comparisons_;
  Moves& moves_;
  Sparse& sparse_;
};

}  // namespace vg::ptx::gen
