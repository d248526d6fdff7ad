#include "record/writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/system/file_size_guard.h"
#include "record/recording.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace vg::record {

namespace {

constexpr int kLevel = 1;  // of zstd: what the program waits for

bool writeAll(int file, const void* bytes, size_t size) {
  const FileSizeGuard guard;
  for (const char* at = static_cast<const char*>(bytes); size;) {
    const ssize_t written = ::write(file, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// A block as it lies in the file; empty: no memory.
std::vector<char> pack(std::string_view bytes) {
  std::vector<char> block(sizeof(BlockHeader) + ZSTD_compressBound(bytes.size()));
  const size_t stored = ZSTD_compress(block.data() + sizeof(BlockHeader), block.size() - sizeof(BlockHeader),
                                      bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(stored)) return {};
  block.resize(sizeof(BlockHeader) + stored);
  const BlockHeader header{kBlockMagic, static_cast<uint32_t>(stored), static_cast<uint32_t>(bytes.size()),
                           static_cast<uint32_t>(XXH3_64bits(bytes.data(), bytes.size()))};
  std::memcpy(block.data(), &header, sizeof header);
  return block;
}

// A mapping of a new file; null: it cannot be made.
char* mapTail(const std::string& path) {
  const FileSizeGuard guard;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (!::posix_fallocate(file, 0, kTailBytes))  // a full disk is found here, and not by a signal
    memory = ::mmap(nullptr, kTailBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory != MAP_FAILED) return static_cast<char*>(memory);
  ::unlink(path.c_str());
  return nullptr;
}

// Those that a file has.
uint64_t countBlocks(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  uint64_t count = 0;
  BlockHeader header{};
  for (off_t at = sizeof kMagic + sizeof kVersion; file >= 0; at += sizeof header + header.stored, ++count)
    if (::pread(file, &header, sizeof header, at) != sizeof header || header.magic != kBlockMagic) break;
  if (file >= 0) ::close(file);
  return count;
}

TailHeader& headerOf(char* tail) { return *reinterpret_cast<TailHeader*>(tail); }

}  // namespace

bool Writer::open(const std::string& path, uint64_t limit, std::string& reason) {
  const MutexLock lock(lock_);
  path_ = path;
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0 && errno == EEXIST) {
    path_ = path + "." + std::to_string(::getpid());
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  limit_ = limit;
  if (file_ >= 0 && writeAll(file_, kMagic, sizeof kMagic) && writeAll(file_, &kVersion, sizeof kVersion))
    tail_ = mapTail(path_ + ".tail");
  if (!tail_) {
    reason = path_ + ": " + std::strerror(errno);
    stopped_.store(true);
    return false;
  }
  std::memcpy(tail_, kMagic, sizeof kMagic);
  return true;
}

bool Writer::append(std::string_view record) {
  const MutexLock lock(lock_);
  return put(record);
}

bool Writer::put(std::string_view record) {
  if (stopped_.load(std::memory_order_relaxed)) return false;
  TailHeader& header = headerOf(tail_);
  constexpr size_t kRoom = kTailBytes - sizeof(TailHeader);
  const auto size = static_cast<uint32_t>(record.size());
  // What lies uncompressed counts as it is; where that is too much, compressing may help.
  const auto tooMuch = [&]() VG_REQUIRES(lock_) { return written_ + header.used + sizeof size + size > limit_; };
  if (tooMuch() && header.used > kPieceBytes && !flush({tail_ + sizeof header, header.used})) return false;
  if (tooMuch()) return stop("the limit of its size is reached (verdigris record --limit)");
  if (header.used + sizeof size + size > kRoom && !flush({tail_ + sizeof header, header.used})) return false;
  if (sizeof size + size > kRoom) return flush(Encoder().text(record).bytes());
  char* const end = tail_ + sizeof header + header.used;
  std::memcpy(end, &size, sizeof size);
  std::memcpy(end + sizeof size, record.data(), size);
  std::atomic_ref(header.used).store(header.used + sizeof size + size, std::memory_order_release);
  return true;
}

bool Writer::flush(std::string_view bytes) {
  if (bytes.empty()) return true;
  const std::vector<char> block = pack(bytes);
  if (block.empty()) return stop("there is no memory");
  if (written_ + block.size() > limit_) return stop("the limit of its size is reached (verdigris record --limit)");
  if (!writeAll(file_, block.data(), block.size())) return stop(std::strerror(errno));
  written_ += block.size();
  TailHeader& header = headerOf(tail_);
  ++header.block;
  header.used = 0;
  return true;
}

void Writer::giveUp(const char* why) {
  const MutexLock lock(lock_);
  if (!stopped()) stop(why);
}

bool Writer::stop(const char* why) {
  stopped_.store(true, std::memory_order_relaxed);
  std::fprintf(stderr, "verdigris: recording stops here, %s holds what was before: %s\n", path_.c_str(), why);
  return false;
}

bool Writer::piece(const char* bytes, size_t size, uint32_t& number) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  const auto [found, fresh] =
      pieces_.try_emplace({hash.low64 ^ size, hash.high64}, static_cast<uint32_t>(pieces_.size()));
  number = found->second;
  if (!fresh) return true;
  Encoder record;
  record.put(Tag::Piece).text(bytes, size);
  return put(record.bytes());
}

bool Writer::data(Encoder& to, const void* bytes, size_t size) {
  const MutexLock lock(lock_);
  for (size_t at = 0; at < size; at += kPieceBytes) {
    uint32_t number = 0;
    if (!piece(static_cast<const char*>(bytes) + at, std::min(kPieceBytes, size - at), number)) return false;
    to.put(number);
  }
  return true;
}

void finishFile(const std::string& path) {
  const std::string tailPath = path + ".tail";
  const int tail = ::open(tailPath.c_str(), O_RDONLY | O_CLOEXEC);
  if (tail < 0) return;
  std::vector<char> bytes(kTailBytes);
  const ssize_t size = ::pread(tail, bytes.data(), bytes.size(), 0);
  ::close(tail);
  TailHeader header{};
  if (size >= static_cast<ssize_t>(sizeof header)) std::memcpy(&header, bytes.data(), sizeof header);
  if (header.used > bytes.size() - sizeof header) return;
  if (header.used && header.block == countBlocks(path)) {
    const std::vector<char> block = pack({bytes.data() + sizeof header, header.used});
    const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0) return;
    const bool written = writeAll(file, block.data(), block.size());
    ::close(file);
    if (!written) return;
  }
  ::unlink(tailPath.c_str());
}

}  // namespace vg::record
