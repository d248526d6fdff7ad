// Accesses of rows whose addresses may wrap inside a warp are tested each: a row where the test holds, else lane after
// lane. An element of a picture is often read at five places and written at one, by as many tests, and what is
// computed between them is kept from being mixed. They hold all or nearly never: this tests them together, before the
// first, and makes two lanes of the code from there to the last: rows without tests, and lane after lane.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace vg::ptx::gen {

// A branch to a row, or to the same lane after lane, which is right as well where the test holds.
void markRow(llvm::BranchInst& branch);
// To run on registers, before blocks are joined.
void splitRowLanes(llvm::Function& function);

}  // namespace vg::ptx::gen
