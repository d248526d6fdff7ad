// Where the pieces of this installation are, found from the place of the running command.
#pragma once

#include <string>
#include <vector>

namespace vg::tools {

struct Installation {
  std::string libraryFolder;          // holds libcuda.so.1; empty when none was found
  std::vector<std::string> searched;  // the folders that were looked at

  std::string library() const { return libraryFolder + "/libcuda.so.1"; }
  std::string monitoringFolder() const { return libraryFolder + "/nvml"; }
  std::string profilersFolder() const { return libraryFolder + "/cupti"; }
  std::string recorderFolder() const { return libraryFolder + "/record"; }
  std::string commandFolder() const { return libraryFolder + "/path"; }
  std::string python() const { return libraryFolder + "/python"; }
  std::string suite() const { return libraryFolder + "/conformance_suite"; }
  std::string redirect() const { return libraryFolder + "/libverdigris_redirect.so"; }
  std::string compiler() const { return libraryFolder + "/libverdigris_ptx.so"; }
};

// `wanted` is a folder the user named, or empty.
Installation findInstallation(const std::string& wanted);

// Says on standard error that there is no library, where it was looked for and what to do. `wanted` as above.
void tellNotFound(const Installation& installation, const char* command, const std::string& wanted);

// Why the dynamic linker cannot be sent to this installation, and what to do: it has no way to write some characters of
// a folder in its variables. Empty when it can. `preload`: the library is to be named in LD_PRELOAD, too.
std::string unreachable(const Installation& installation, bool preload);

// The folder of the running command.
std::string ownFolder();

// The path without links and dots; the path itself when it does not exist.
std::string canonical(const std::string& path);
bool fileExists(const std::string& path);

}  // namespace vg::tools
