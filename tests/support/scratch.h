// Files of a test: a folder of this process, so that tests which run at the same time do not meet, gone with it.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace vg::test {

class ScratchFolder {
 public:
  ScratchFolder() {
    const char* const base = getenv("TMPDIR");
    path_ = std::string(base ? base : "/tmp") + "/verdigris-test-XXXXXX";
    if (!mkdtemp(path_.data())) abort();
  }
  // Children of the process that end leave it alone.
  ~ScratchFolder() {
    std::error_code ignored;
    if (getpid() == owner_) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  const pid_t owner_ = getpid();
};

// A path in the folder of this process.
inline std::string scratchFile(const std::string& name) {
  static const ScratchFolder folder;
  return folder.file(name);
}

}  // namespace vg::test
