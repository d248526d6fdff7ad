// What each function of a module names, looked for once in its text: kernels may share thousands of functions, and each
// is asked what it can reach. Not thread-safe. Requires: the module lives as long and does not change.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/text/ast.h"

namespace vg::ptx {

struct FunctionUses {
  struct Name {
    bool variable = false;  // else a function
    uint32_t index = 0;     // of Module::variables or Module::functions
  };
  std::vector<Name> names;      // each once, as the text has them
  bool reservedShared = false;  // asks where the system's shared memory is
  bool givenConstants = false;  // reads constants by addresses that may come from anywhere
  bool indirect = false;        // calls through a register
  bool addressTaken = false;    // takes a function's address, or does that
  bool clusterAddresses = false;
};

class UsesOfFunctions {
 public:
  explicit UsesOfFunctions(const Module& module) : module_(module), known_(module.functions.size()) {}

  const Module& module() const { return module_; }
  const FunctionUses& of(uint32_t function);
  // As addressedFunctions().
  const std::vector<uint32_t>& addressed();

 private:
  const Module& module_;
  std::vector<std::optional<FunctionUses>> known_;
  std::optional<std::vector<uint32_t>> addressed_;
};

// The functions whose address anything in the module takes, ascending: what calls through registers may reach.
std::vector<uint32_t> addressedFunctions(const Module& module);

}  // namespace vg::ptx
