// `verdigris doctor`: why does my program not see the device? Looks at the installation, the environment and, when one
// is given, the program; each finding says what to do.
#pragma once

#include <string>

namespace vg::tools {

struct DoctorOptions {
  std::string libraryFolder;  // empty: found from the command's own place
  std::string program;        // empty: only the installation and the environment
};

// 0 when nothing stands in the way, 1 otherwise.
int doctor(const DoctorOptions& options);

}  // namespace vg::tools
