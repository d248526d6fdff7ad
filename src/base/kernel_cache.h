// Compiled kernels on disk: one file each, named by a hash of everything the code depends on.
//
// Safe with any number of processes and threads: a file appears whole, by rename, and what is read is checked; every
// error is a miss. When the files take more than CUDA_CACHE_MAXSIZE the oldest go first.
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

  bool active() const { return !folder_.empty(); }
  const std::string& folder() const { return folder_; }
  // The bytes stored under the key; empty when there are none. Marks the file as used.
  std::vector<uint8_t> read(const Key& key) const;
  void write(const Key& key, const std::vector<uint8_t>& bytes) const;
  // Forgets a file that turned out to be damaged.
  void remove(const Key& key) const;

 private:
  std::string pathOf(const Key& key) const;
  void evict() const;

  const std::string folder_;
  const uint64_t limit_;
};

}  // namespace vg
