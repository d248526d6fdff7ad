// Where the time of a compile goes, and how much it does.
#pragma once

#include <chrono>
#include <cstdint>

#include "ptx/facts/compile_facts.h"

namespace vg::ptx::gen {

class PhaseClock {
 public:
  // Everything since the last phase ended was `phase`.
  void end(CompilePhase phase) {
    const auto now = std::chrono::steady_clock::now();
    microseconds[static_cast<uint32_t>(phase)] +=
        static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(now - last_).count());
    last_ = now;
  }

  void count(CompileWork what, uint64_t amount) { work[static_cast<uint32_t>(what)] += amount; }

  uint64_t work[static_cast<uint32_t>(CompileWork::Count)] = {};
  uint32_t microseconds[static_cast<uint32_t>(CompilePhase::Count)] = {};

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace vg::ptx::gen
