// `verdigris cover`: runs a program, counts what of its kernels runs, and writes reports of that.
#pragma once

#include <string>
#include <vector>

#include "tools/run.h"

namespace vg::tools {

struct CoverOptions {
  std::string folder = "coverage";  // of the reports, and of what runs have left
  std::string only, skip;           // comma lists of folders of sources
  bool anew = false;                // forgets earlier runs
};

// The program's exit status, or 128 and the number of the signal that ended it; without a program, of the reports: 0,
// or 1 when they cannot be written. 2 for bad options.
int runCovered(const CoverOptions& options, RunOptions run);

}  // namespace vg::tools
