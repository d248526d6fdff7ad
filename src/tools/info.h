// `verdigris info`: what this installation offers, as the library itself answers.
#pragma once

#include <string>

namespace vg::tools {

struct InfoOptions {
  std::string libraryFolder;  // empty: found from the command's own place
  bool settings = false;      // also print every environment setting
  bool entryPoints = false;   // also list the entry points that are not implemented
};

// 0, or 1 when the library cannot be used.
int info(const InfoOptions& options);

}  // namespace vg::tools
