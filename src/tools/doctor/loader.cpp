#include "tools/doctor/loader.h"

#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/settings.h"
#include "base/system/machine.h"
#include "tools/common/installation.h"

namespace vg::tools {

namespace {

std::string folderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string expandOrigin(std::string folder, const Program& asker) {
  for (const char* token : {"${ORIGIN}", "$ORIGIN"})
    for (size_t at; (at = folder.find(token)) != std::string::npos;)
      folder.replace(at, std::string(token).size(), folderOf(canonical(asker.path)));
  return folder;
}

std::string searchFolders(const std::string& list, const std::string& name, const Program& asker) {
  for (const std::string& folder : splitList(list, ':')) {
    std::string candidate = expandOrigin(folder.empty() ? "." : folder, asker) + "/" + name;
    if (fileExists(candidate)) return candidate;
  }
  return "";
}

// From the loader's cache, as ldconfig prints it: "\tlibm.so.6 (libc6,x86-64) => /lib/x86_64-linux-gnu/libm.so.6".
std::string searchCache(const std::string& name) {
  FILE* const pipe = popen("PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null", "r");
  if (!pipe) return "";
  std::string found;
  char line[4096];
  while (fgets(line, sizeof line, pipe)) {
    const std::string text = line;
    const size_t arrow = text.find(" => ");
    if (text.rfind("\t" + name + " (", 0) != 0 || arrow == std::string::npos) continue;
    if (text.find("x86-64") == std::string::npos) continue;
    if (found.empty()) found = text.substr(arrow + 4, text.find('\n') - arrow - 4);
  }
  pclose(pipe);
  return found;
}

}  // namespace

Resolution resolve(const std::string& name, const Program& asker) {
  if (name.find('/') != std::string::npos) return {fileExists(name) ? name : "", "a full path"};
  std::string found;
  const char* const preload = std::getenv("LD_PRELOAD");
  if (preload && !asker.privileged)
    for (const char separator : {':', ' '})
      for (const std::string& item : splitList(preload, separator))
        if (fileExists(item) && inspect(item).soname == name) return {item, "LD_PRELOAD"};
  if (asker.runpath.empty() && !(found = searchFolders(asker.rpath, name, asker)).empty())
    return {found, "RPATH of " + asker.path};
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  if (path && !asker.privileged && !(found = searchFolders(path, name, asker)).empty())
    return {found, "LD_LIBRARY_PATH"};
  if (!(found = searchFolders(asker.runpath, name, asker)).empty()) return {found, "RUNPATH of " + asker.path};
  if (!(found = searchCache(name)).empty()) return {found, "the system's library cache"};
  const std::string folder = machine::kLibraries;
  found = searchFolders("/lib/" + folder + ":/usr/lib/" + folder + ":/lib64:/usr/lib64:/lib:/usr/lib", name, asker);
  if (!found.empty()) return {found, "the system's library folders"};
  return {"", "nowhere"};
}

std::vector<Program> dependencies(const Program& program) {
  std::vector<Program> found;
  std::set<std::string> seen;
  const auto add = [&](const Program& asker) {
    for (const std::string& name : asker.needed) {
      if (!seen.insert(name).second) continue;
      const Resolution where = resolve(name, asker);
      if (!where.path.empty()) found.push_back(inspect(where.path));
    }
  };
  add(program);
  for (size_t i = 0; i < found.size(); ++i) {
    const Program asker = found[i];
    add(asker);
  }
  return found;
}

}  // namespace vg::tools
