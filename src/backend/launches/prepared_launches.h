// Launches of a graph that a device has made ready, so that to run them takes one command however many they are.
#pragma once

#include <cstdint>
#include <variant>

#include "backend/command.h"

namespace vg::backend {

// May be destroyed when no PreparedCommand of it is under way. What it launches stays until then.
class PreparedLaunches {
 public:
  virtual ~PreparedLaunches() = default;
};

// One of them, or a fill or copy that is done by a launch (Device::isLaunch). They stand by section, and in a section
// by chain: each of a chain but the first follows the one before it, chains run side by side, and a section begins when
// the one before it has ended.
struct ChainedWork {
  std::variant<LaunchCommand, FillCommand, CopyCommand> work;  // launches without a level; `early` is of their chain
  uint32_t section = 0;                                        // counted up
  bool follows = false;                                        // the one just before it
};

}  // namespace vg::backend
