// `verdigris conform`: runs the conformance suite on a libcuda.so.1 and says, function by function, what holds.
#pragma once

#include <string>

namespace vg::tools {

struct ConformOptions {
  std::string library;        // the libcuda.so.1 under test; empty: this installation's
  std::string libraryFolder;  // of this installation; empty: found from the command's own place
  std::string compare;        // a record to compare with; empty: none
  std::string html;           // where a report goes; empty: nowhere
  std::string record;         // where this run's record goes; empty: nowhere
  std::string filter;         // tests to run, as --gtest_filter; empty: all
};

// 0: no rule differs; 1: some do; 2: the suite or the library cannot be used.
int conform(const ConformOptions& options);

}  // namespace vg::tools
