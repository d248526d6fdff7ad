// Where things of a kernel lie: parameters, shared variables. One truth for launch, interpreter and code generator.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/facts/function_uses.h"
#include "ptx/facts/reserved_shared.h"
#include "ptx/text/ast.h"

namespace vg::ptx {

struct ParameterSlot {
  uint32_t offset = 0, size = 0;  // bytes in the parameter buffer
};
// C layout: each parameter at its alignment. The last element's end is the size of the buffer.
std::vector<ParameterSlot> parameterLayout(const Function& entry);

// Shared memory of an entry: every .shared variable of the entry and of all functions it can call, and the
// module-scope ones they use, at fixed offsets from the block's shared base; dynamic (unsized extern) arrays all start
// at `dynamicOffset`. In front of them lies what the system keeps for itself, in kernels that ask where that is
// (cooperative groups do, for tiles of several warps); it counts neither as the kernel's static shared memory nor
// against what a block may have.
struct SharedLayout {
  struct Slot {
    bool moduleScope = false;
    uint32_t function = 0;  // index into Module::functions when not moduleScope
    uint32_t variable = 0;  // index into Module::variables or Function::variables
    uint32_t offset = 0;    // bytes from the shared base
  };
  std::vector<Slot> slots;
  uint32_t reserved = 0;       // bytes: 0 or kReservedShared
  uint32_t staticSize = 0;     // bytes, with those
  uint32_t dynamicOffset = 0;  // bytes, aligned to 16 or more
  uint32_t offsetOf(bool moduleScope, uint32_t function, uint32_t variable) const;
};
SharedLayout sharedLayout(const Module& module, uint32_t entry);
const Variable& variableOf(const Module& module, const SharedLayout::Slot& slot);

// What an entry touches, transitively through calls: the order of `globals` is the order of KernelLaunch::globals.
struct KernelReferences {
  std::vector<uint32_t> functions;  // Module::functions, the entry itself first
  std::vector<uint32_t> globals;    // Module::variables in .global and .const, ascending
  bool addressTaken = false;        // takes a function's address or calls through a register
  bool clusterAddresses = false;    // names the state space shared::cluster
};
KernelReferences references(const Module& module, uint32_t entry);

// As those that take a module, for whoever asks for many of its entries.
SharedLayout sharedLayout(UsesOfFunctions& uses, uint32_t entry);
KernelReferences references(UsesOfFunctions& uses, uint32_t entry);

// The value of a function's address, in registers and memory, for all machines: its index in Module::functions.
inline constexpr uint64_t kFunctionAddressTag = 0x7F50'0000'0000'0000ull;
inline uint64_t functionAddress(uint32_t index) { return kFunctionAddressTag + 16 * uint64_t{index}; }

}  // namespace vg::ptx
