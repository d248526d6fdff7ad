// A file in memory, to be read. What is not there, empty or no ordinary file has no bytes.
#pragma once

#include <string>
#include <string_view>

namespace vg {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace vg
