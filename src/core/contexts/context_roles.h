// What the rooms above contexts do for them, set once by cuInit (core/process/process.cpp), so that contexts need not
// know what belongs to them.
#pragma once

#include <span>

#include "backend/launches/fault_scene.h"

namespace vg::core {

class Context;

// Gives back what a room has of the context. Its work is done, and nobody uses it any more.
using ContextEnd = void (*)(Context& context);

struct ContextRoles {
  std::span<const ContextEnd> ends;  // in their order
  // A context begins; `byFlag`: it asks for dumps on request.
  void (*begins)(bool byFlag);
  // A kernel of it has faulted, and nobody knows yet; then: it has failed.
  void (*faulted)(Context& context, const backend::FaultScene& scene) noexcept;
  void (*failed)(Context& context) noexcept;
};
inline constinit const ContextRoles* contextRoles = nullptr;

}  // namespace vg::core
