// A file that is open as long as this lives; negative, with errno, where it cannot be opened.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

namespace vg {

class FileByName {
 public:
  FileByName(const std::string& path, int flags) : file_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~FileByName() {
    if (file_ >= 0) ::close(file_);
  }
  FileByName(const FileByName&) = delete;
  FileByName& operator=(const FileByName&) = delete;
  int operator*() const { return file_; }

 private:
  const int file_;
};

}  // namespace vg
