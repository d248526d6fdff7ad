// Variables of modules as ranges of memory: to the vendor's driver each is an allocation of its own, here those of a
// module lie in one. Known are the variables whose addresses the application was told. Thread-safe.
#pragma once

#include <optional>

#include "backend/device.h"

namespace vg::core {

class Module;

namespace variables {

// Requires: the module lives; forget() follows before it ends.
void note(const Module& module, const backend::Global& variable);
void forget(const Module& module);
// The variable that holds the address.
std::optional<backend::Global> at(CUdeviceptr address);

}  // namespace variables
}  // namespace vg::core
