// PTX that stands in for images that hold native code only: the files *.ptx of a folder (VERDIGRIS_IMAGES), found by
// the names of kernels. For those who have the PTX of a program or a library, but not in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "base/sync/mutex.h"

namespace vg::images {

struct StandIn {
  std::string path;
  std::string text;
  uint32_t target = 0;               // 90 for sm_90
  std::vector<std::string> missing;  // kernels that it lacks
};

// Thread-safe.
class StandIns {
 public:
  // Reads all files of the folder and of those in it. What cannot be read is named in the log and left out.
  explicit StandIns(const std::string& folder);

  // The file that runs on `capability` (121 for 12.1) and has most of these kernels, then the highest target; nothing
  // when none has any. It is read again: an error is a line in the log and nothing. Where kernels are missing it looks
  // for files that are new or were written since: compilers that keep their PTX do so while the program runs.
  std::optional<StandIn> find(const std::vector<std::string>& kernels, uint32_t capability);

  size_t files();

 private:
  struct File {
    std::string path;
    uint32_t target;
    char suffix;
  };
  // Of a file when it was read: another one has other contents.
  struct Version {
    std::filesystem::file_time_type time;
    uintmax_t bytes = 0;
    bool operator==(const Version&) const = default;
  };
  bool addNewFiles() VG_REQUIRES(mutex_);  // whether there are any
  void add(const std::string& path) VG_REQUIRES(mutex_);
  void forget(const std::string& path) VG_REQUIRES(mutex_);
  size_t count() const VG_REQUIRES(mutex_);  // of the files that are known
  std::optional<StandIn> findKnown(const std::vector<std::string>& kernels, uint32_t capability) const
      VG_REQUIRES(mutex_);
  bool better(size_t one, size_t than, const std::unordered_map<size_t, size_t>& counts) const VG_REQUIRES(mutex_);

  const std::string folder_;
  Mutex mutex_;
  std::error_code error_ VG_GUARDED_BY(mutex_);                          // of the last look into the folder
  std::unordered_map<std::string, Version> seen_ VG_GUARDED_BY(mutex_);  // by path; those that are no PTX, too
  std::vector<File> files_ VG_GUARDED_BY(mutex_);                        // without a path: forgotten
  std::unordered_map<std::string, std::vector<size_t>> byKernel_ VG_GUARDED_BY(mutex_);
};

// Those that the setting names, read when they are first asked for; null when it names none. Thread-safe.
StandIns* standIns();

// The kernels that a PTX text defines.
std::vector<std::string_view> kernelsOf(std::string_view text);
// Those of native code; none when it cannot be read.
std::vector<std::string> kernelsOfNative(std::string_view code);

}  // namespace vg::images
