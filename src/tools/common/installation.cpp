#include "tools/common/installation.h"

#include <sys/auxv.h>

#include <cstdio>
#include <filesystem>

#include "base/system/machine.h"

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

// Where /proc is not mounted, the name that the program was started by has to do.
std::string ownFolder() {
  const char* const name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  const std::string self = fileExists("/proc/self/exe") || !name ? "/proc/self/exe" : name;
  return fs::path(canonical(self)).parent_path().string();
}

Installation findInstallation(const std::string& wanted) {
  Installation result;
  if (!wanted.empty()) {
    result.searched = {wanted};
  } else {
    const fs::path bin = ownFolder();
    // A build folder, and the two places where packages put private libraries.
    const std::string packaged = std::string("../lib/") + machine::kLibraries + "/verdigris";
    for (const std::string& relative :
         {std::string("../lib"), std::string("../lib/verdigris"), packaged, std::string(".")})
      result.searched.push_back((bin / relative).lexically_normal().string());
  }
  for (const std::string& folder : result.searched) {
    if (!fileExists(folder + "/libcuda.so.1")) continue;
    result.libraryFolder = canonical(folder);
    break;
  }
  return result;
}

void tellNotFound(const Installation& installation, const char* command, const std::string& wanted) {
  if (!wanted.empty()) {
    std::fprintf(stderr, "verdigris %s: --library-dir %s: there is no libcuda.so.1\n", command, wanted.c_str());
    return;
  }
  std::fprintf(stderr, "verdigris %s: libcuda.so.1 is in none of these folders:\n", command);
  for (const std::string& folder : installation.searched) std::fprintf(stderr, "  %s\n", folder.c_str());
  std::fprintf(stderr, "Build it, or name its folder with --library-dir.\n");
}

namespace {

// What the dynamic linker does to some names that it reads from variables; empty when it takes the folder as it is.
std::string misread(const std::string& folder, bool preload) {
  for (const char end : {':', ';'})
    if (folder.find(end) != std::string::npos) return std::string("ends the name of a folder at '") + end + "'";
  if (preload && folder.find(' ') != std::string::npos) return "ends a name in LD_PRELOAD at ' '";
  for (const char* word : {"$ORIGIN", "${ORIGIN}", "$LIB", "${LIB}", "$PLATFORM", "${PLATFORM}"})
    if (folder.find(word) != std::string::npos) return std::string("puts another name in place of ") + word;
  return "";
}

}  // namespace

std::string unreachable(const Installation& installation, bool preload) {
  const std::string why = misread(installation.libraryFolder, preload);
  if (why.empty()) return "";
  return "the dynamic linker " + why + ", which is part of " + installation.libraryFolder +
         "; install Verdigris in a folder of another name";
}

}  // namespace vg::tools
