#include "tools/installation.h"

#include <filesystem>

namespace vg::tools {

namespace fs = std::filesystem;

std::string canonical(const std::string& path) {
  std::error_code error;
  const fs::path found = fs::canonical(path, error);
  return error ? path : found.string();
}

bool fileExists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

Installation findInstallation(const std::string& wanted) {
  Installation result;
  if (!wanted.empty()) {
    result.searched = {wanted};
  } else {
    const fs::path bin = fs::path(canonical("/proc/self/exe")).parent_path();
    // A build folder, and the two places where packages put private libraries.
    for (const char* relative : {"../lib", "../lib/verdigris", "../lib/x86_64-linux-gnu/verdigris", "."})
      result.searched.push_back((bin / relative).lexically_normal().string());
  }
  for (const std::string& folder : result.searched) {
    if (!fileExists(folder + "/libcuda.so.1")) continue;
    result.libraryFolder = canonical(folder);
    break;
  }
  return result;
}

}  // namespace vg::tools
