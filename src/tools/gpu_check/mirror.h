// Everything that this process prints goes to a file as well, up to the last byte however the process ends.
#pragma once

#include <sys/types.h>

#include <string>

namespace vg::tools {

class Mirror {
 public:
  // Standard output and errors, from now on. Requires: no other thread runs. Check ok() afterwards.
  explicit Mirror(const std::string& path);
  // Until all of it is written.
  ~Mirror();
  Mirror(const Mirror&) = delete;
  bool ok() const { return writer_ > 0; }

 private:
  pid_t writer_ = -1;  // a process of its own, which outlives a crash of this one
};

}  // namespace vg::tools
