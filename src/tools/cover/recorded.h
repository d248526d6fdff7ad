// What processes have left in a folder of coverage (ptx/facts/coverage_file.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vg::tools::cover {

// One program: a module, or several that were linked.
struct Recorded {
  std::string name;
  std::vector<std::string> texts;
  std::vector<std::string> countFiles;  // paths
};

// All that is there, by name. `folder` may be missing.
std::vector<Recorded> readFolder(const std::string& folder);

// The sums of all rows of all files. A file that is of another number of counters is left out, and named on standard
// error.
std::vector<uint64_t> sumOf(const Recorded& program, size_t counters);

// Puts the files of processes that have ended into one, so that a folder does not grow with every run.
void join(const std::string& folder, const Recorded& program, size_t counters);

}  // namespace vg::tools::cover
