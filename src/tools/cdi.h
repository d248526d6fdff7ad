// `verdigris cdi`: a specification of the Container Device Interface, by which container engines offer emulated
// devices.
#pragma once

#include <string>

namespace vg::tools {

struct CdiOptions {
  std::string libraryFolder, devices;
};

// 0; 1: there is no library; 2: an option is wrong.
int cdi(const CdiOptions& options);

}  // namespace vg::tools
