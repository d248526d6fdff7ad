// What the code for 64-bit ARM has to say that the code for x86-64 need not.
#pragma once

#include "ptx/llvm/emit/emission.h"

namespace vg::ptx::gen {

// Vectors of NEON, which none of the others has.
inline bool isArm(const EmitOptions& options) { return options.features.find("+neon") != std::string::npos; }

// Of fences that order loads, or stores, among each other. x86-64 keeps those orders by itself: only the compiler has
// to be told.
inline llvm::SyncScope::ID orderScope(const EmitOptions& options) {
  return isArm(options) ? llvm::SyncScope::System : llvm::SyncScope::SingleThread;
}

// Between volatile accesses of lanes, whose order others count on (operations/store_order.h).
inline void keepOrder(Builder& b, const EmitOptions& options, bool isVolatile, llvm::AtomicOrdering order) {
  if (isVolatile && isArm(options)) b.CreateFence(order);
}

}  // namespace vg::ptx::gen
