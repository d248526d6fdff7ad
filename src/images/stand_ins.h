// PTX that stands in for images that hold native code only: the files *.ptx of a folder (VERDIGRIS_IMAGES), found by
// the names of kernels. For those who have the PTX of a program or a library, but not in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vg::images {

struct StandIn {
  std::string path;
  std::string text;
  uint32_t target = 0;               // 90 for sm_90
  std::vector<std::string> missing;  // kernels that it lacks
};

class StandIns {
 public:
  // Reads all files of the folder and of those in it. What cannot be read is named in the log and left out.
  explicit StandIns(const std::string& folder);

  // The file that runs on `capability` (121 for 12.1) and has most of these kernels, then the highest target; nothing
  // when none has any. It is read again: an error is a line in the log and nothing.
  std::optional<StandIn> find(const std::vector<std::string>& kernels, uint32_t capability) const;

  size_t files() const { return files_.size(); }

 private:
  struct File {
    std::string path;
    uint32_t target;
    char suffix;
  };
  void add(const std::string& path);
  bool better(size_t one, size_t than, const std::unordered_map<size_t, size_t>& counts) const;

  std::vector<File> files_;  // by path
  std::unordered_map<std::string, std::vector<size_t>> byKernel_;
};

// Those that the setting names, read when they are first asked for; null when it names none. Thread-safe.
const StandIns* standIns();

// The kernels that a PTX text defines.
std::vector<std::string_view> kernelsOf(std::string_view text);
// Those of native code; none when it cannot be read.
std::vector<std::string> kernelsOfNative(std::string_view code);

}  // namespace vg::images
