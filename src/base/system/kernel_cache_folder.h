// The folder of the kernel cache, opened: whom it belongs to is checked once it is open, so that nobody can put another
// one in its place afterwards.
#pragma once

#include <sys/stat.h>

#include <string>
#include <utility>

namespace vg {

// An open file, closed at the end; none when the value is negative.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(OpenFile&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~OpenFile();
  int descriptor() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

namespace cache_folder {

// Why the content may be somebody else's; null: it is the user's own, or root's.
const char* distrust(const struct stat& status);
// None where it is not there, or is not to be trusted, which the log says once. `make`: makes it where it is not there.
OpenFile open(const std::string& path, bool make);

}  // namespace cache_folder
}  // namespace vg
