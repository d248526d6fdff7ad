// Where toolkits lie: the folders of CUDA_HOME and CUDA_PATH, the usual place, and Python packages of environments that
// this process is in or has loaded libraries from.
#include <glob.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/settings.h"
#include "cubin/compiler_tools.h"

namespace vg::cubin {
namespace {

using Folders = std::vector<std::string>;

void add(Folders& folders, std::string folder) {
  if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(std::move(folder));
}

void addMatching(Folders& folders, const std::string& pattern) {
  glob_t found{};
  if (!glob(pattern.c_str(), 0, nullptr, &found))
    for (size_t i = 0; i < found.gl_pathc; ++i) add(folders, found.gl_pathv[i]);
  globfree(&found);
}

Folders toolkits() {
  Folders roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* const root = std::getenv(variable); root && *root) add(roots, root);
  add(roots, "/usr/local/cuda");
  return roots;
}

// ".../site-packages" of whatever library of the vendor's packages is loaded.
int noteLoaded(dl_phdr_info* info, size_t, void* folders) {
  const char* const end = info->dlpi_name ? std::strstr(info->dlpi_name, "/nvidia/") : nullptr;
  if (end && std::strstr(info->dlpi_name, "-packages/nvidia/"))
    add(*static_cast<Folders*>(folders), std::string(info->dlpi_name, end));
  return 0;
}

Folders pythonPackages() {
  Folders packages;
  dl_iterate_phdr(noteLoaded, &packages);
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* const root = std::getenv(variable); root && *root)
      addMatching(packages, std::string(root) + "/lib/python3*/site-packages");
  return packages;
}

}  // namespace

std::vector<std::string> compilerLibraryFolders() {
  Folders folders;
  for (const std::string& root : toolkits())
    for (const char* inside : {"/lib64", "/lib"}) add(folders, root + inside);
  for (const std::string& packages : pythonPackages())
    for (const char* inside : {"/nvidia/cu*/lib", "/nvidia/nvjitlink/lib"}) addMatching(folders, packages + inside);
  return folders;
}

std::vector<std::string> compilerProgramFolders() {
  const char* const path = std::getenv("PATH");
  Folders folders = splitList(path ? path : "", ':');
  for (const std::string& root : toolkits()) add(folders, root + "/bin");
  for (const std::string& packages : pythonPackages())
    for (const char* inside : {"/nvidia/cu*/bin", "/nvidia/cuda_nvcc/bin", "/triton/backends/nvidia/bin"})
      addMatching(folders, packages + inside);
  return folders;
}

}  // namespace vg::cubin
