// The file of a recording, written as the program runs.
//
// Behind a header the file has blocks, each compressed by zstd. The block that grows lies uncompressed in a second
// file, FILE.tail, which is mapped: what is written there outlives the process, however it ends. finishFile() moves it
// to the first one. Data is kept in pieces; one that was there before is not written again.
//
// Any thread may call any function. Nothing throws but std::bad_alloc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/sync/mutex.h"
#include "record/bytes.h"

namespace vg::record {

inline constexpr size_t kPieceBytes = 64 << 10;
inline constexpr size_t kTailBytes = 8 << 20;

// How the second file begins.
struct TailHeader {
  char magic[8];
  uint64_t block;  // which one it is: the number of blocks before it
  uint64_t used;   // bytes behind this header
};

// How a block begins.
struct BlockHeader {
  uint32_t magic;
  uint32_t stored;  // bytes behind this header
  uint32_t size;    // and unpacked
  uint32_t hash;
};
inline constexpr uint32_t kBlockMagic = 0x6b6c6276;

class Writer {
 public:
  // Makes the file, or one with the process's number behind its name where there is one already. False: it cannot be
  // written, `reason` says why.
  bool open(const std::string& path, uint64_t limit, std::string& reason);
  // False: the limit is reached, or the disk is full, and nothing is written any more.
  bool append(std::string_view record);
  // Writes "u32 number" of each piece to `to`, after the pieces themselves have been written.
  bool data(Encoder& to, const void* bytes, size_t size);
  // Nothing is written any more, and standard error says why.
  void giveUp(const char* why);
  const std::string& path() const { return path_; }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  struct Hash {
    uint64_t low, high;
    bool operator==(const Hash&) const = default;
  };
  struct Hasher {
    size_t operator()(const Hash& hash) const { return hash.low; }
  };

  bool put(std::string_view record) VG_REQUIRES(lock_);
  bool piece(const char* bytes, size_t size, uint32_t& number) VG_REQUIRES(lock_);
  bool flush(std::string_view bytes) VG_REQUIRES(lock_);
  bool stop(const char* why) VG_REQUIRES(lock_);

  Mutex lock_;
  std::string path_;
  int file_ = -1;
  char* tail_ = nullptr;  // a TailHeader and what follows
  uint64_t limit_ VG_GUARDED_BY(lock_) = 0;
  uint64_t written_ VG_GUARDED_BY(lock_) = 0;
  std::unordered_map<Hash, uint32_t, Hasher> pieces_ VG_GUARDED_BY(lock_);
  std::atomic<bool> stopped_{false};
};

// Puts what FILE.tail holds behind FILE and removes it. Nothing where there is none.
void finishFile(const std::string& path);

}  // namespace vg::record
