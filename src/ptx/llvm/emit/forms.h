// What values and masks look like in LLVM IR: one scalar when all lanes agree or differ by a constant step, else K
// vectors of W lanes (K * W = 32).
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Value.h>

#include <utility>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

using Chunks = llvm::SmallVector<llvm::Value*, 8>;
using Components = llvm::SmallVector<Chunks, 4>;  // what lanes load or store, element after element

// The LLVM form of a value.
struct Form {
  Shape shape;
  llvm::Value* scalar = nullptr;  // uniform: the value; affine: lane 0's
  llvm::Value* holds = nullptr;   // fragile: i1, whether the affine form is right
  Chunks rows;                    // of rows: the first lane's of each; one where they are repeated
  Chunks chunks;                  // varying
};

inline Form uniformForm(llvm::Value* scalar) {
  Form form;
  form.shape = {Shape::Uniform, 0, false};
  form.scalar = scalar;
  return form;
}

inline Form varyingForm(Chunks chunks = {}) {
  Form form;
  form.shape = {Shape::Varying, 0, false};
  form.chunks = std::move(chunks);
  return form;
}

struct Mask {
  bool full = true;       // statically all lanes
  Chunks chunks;          // <W x i1> unless full
  bool occupied = false;  // statically a lane at least; of those that are not full
};

// The mask of a predicate of which a part may be the same in all lanes: what each lane says, and a bit that must hold
// too or that is enough alone.
struct PartedMask {
  Mask lanes;
  llvm::Value* bit = nullptr;  // null: there is no such part
  bool needsBoth = true;
};

}  // namespace vg::ptx::gen
