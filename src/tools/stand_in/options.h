// The command lines of ptxas and nvlink, as far as PTX that stays PTX is concerned.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vg::tools {

struct StandInOptions {
  std::string architecture;         // sm_90a; empty: none was named
  std::string output;               // empty: the compiler's own default
  std::vector<std::string> inputs;  // files
  std::vector<std::string> texts;   // PTX that was given as an argument
  uint32_t maxRegisters = 0;        // 0: no limit
  bool verbose = false;
  bool relocatable = false;  // what the PTX calls may be elsewhere
  bool version = false;
  bool other = false;  // asks for something that has nothing to do with code: help, lists
};

StandInOptions readStandInOptions(const std::vector<std::string>& words);

}  // namespace vg::tools
