// Compiled kernels on disk: one file each, named by a hash of everything the code depends on.
//
// What is read is run, so it must be of the user's own making. The folder and each file have to belong to the user that
// the process runs as, or to root, and nobody else may write to them; a folder that is otherwise is not used, which the
// log says once. Files are opened without following links and without waiting, are plain files of bounded size, and are
// copied before they are looked at. Each holds its own name and a checksum.
//
// Safe with any number of processes and threads: a file appears whole, by rename; every error is a miss. When the files
// take more than CUDA_CACHE_MAXSIZE the oldest go first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vg {

class KernelCache {
 public:
  struct Key {
    uint64_t high, low;
  };

  // The cache that the settings name; inactive with CUDA_CACHE_DISABLE or when there is no place for it.
  static KernelCache& shared();
  // `limit`: bytes of all files.
  KernelCache(std::string folder, uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}

  // What files of base/system/compile_attempts.h are called.
  static constexpr const char* kAttemptsSuffix = ".attempts";

  bool active() const { return !folder_.empty(); }
  const std::string& folder() const { return folder_; }
  // The bytes stored under the key; empty when there are none. Marks the file as used.
  std::vector<uint8_t> read(const Key& key) const noexcept;
  void write(const Key& key, const std::vector<uint8_t>& bytes) const noexcept;
  // Whether there is a file under the key.
  bool holds(const Key& key) const noexcept;
  // Forgets a file that turned out to be damaged.
  void remove(const Key& key) const noexcept;

 private:
  std::vector<uint8_t> find(const Key& key) const;
  void keep(const Key& key, const std::vector<uint8_t>& bytes) const;
  void evict(int folder) const;

  const std::string folder_;
  const uint64_t limit_;
};

}  // namespace vg
