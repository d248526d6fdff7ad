// `verdigris replay`: a recording on this installation's driver, or on another.
#pragma once

#include <cstdint>
#include <string>

namespace vg::tools {

struct ReplayOptions {
  std::string file, library, devices, libraryFolder;
  uint64_t until = ~0ull;
  unsigned patience = 60;
  bool list = false, verbose = false, ownAddresses = false;
};

// 0: all is as recorded. 1: something differs. 2: bad options, no recording, no driver. 3: some calls were not made.
int replay(const ReplayOptions& options);

}  // namespace vg::tools
