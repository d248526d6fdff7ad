#include "base/system/kernel_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "base/log.h"
#include "base/settings.h"
#include "base/system/file_size_guard.h"
#include "base/system/kernel_cache_folder.h"
#include "base/undying.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace vg {
namespace {

constexpr const char* kSuffix = ".vgk";
constexpr uint64_t kDefaultLimit = uint64_t{1} << 30;
constexpr off_t kLargestFile = off_t{1} << 30;
constexpr time_t kAbandoned = 600;          // seconds after which a temporary file belongs to nobody
constexpr time_t kForgotten = 30 * 86'400;  // ... after which attempts at a kernel that nobody runs any more go

// What a file begins with.
struct Header {
  static constexpr uint64_t kMagic = 0x31656863614b4756;  // "VGKache1"
  uint64_t magic = kMagic;
  KernelCache::Key key{};
  uint64_t size = 0;      // of what follows
  uint64_t checksum = 0;  // of that and of the header with 0 here

  Header(const KernelCache::Key& name, const uint8_t* bytes, size_t count) : key(name), size(count) {
    checksum = XXH3_64bits_withSeed(bytes, count, XXH3_64bits(this, sizeof *this));
  }
};

bool readAll(int descriptor, uint8_t* bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    const ssize_t got = read(descriptor, bytes + at, size - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += static_cast<size_t>(got);
  }
  return true;
}

bool writeAll(int descriptor, const void* bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    const ssize_t put = write(descriptor, static_cast<const uint8_t*>(bytes) + at, size - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += static_cast<size_t>(put);
  }
  return true;
}

struct Name {
  char text[40];
  explicit Name(const KernelCache::Key& key) {
    std::snprintf(text, sizeof text, "%016llx%016llx%s", static_cast<unsigned long long>(key.high),
                  static_cast<unsigned long long>(key.low), kSuffix);
  }
};

// The size of a file that may be read; 0: it is none.
size_t sizeOf(int file, const char* name) {
  struct stat status;
  if (fstat(file, &status)) return 0;
  const char* const why = S_ISREG(status.st_mode) ? cache_folder::distrust(status) : "it is no file";
  if (why) VG_LOG(Warn, "kernel cache: %s is not read: %s", name, why);
  const bool fits = status.st_size > static_cast<off_t>(sizeof(Header)) && status.st_size <= kLargestFile;
  return !why && fits ? static_cast<size_t>(status.st_size) : 0;
}

// A copy of what a file holds behind its header; empty when that is not what was once written under the key.
std::vector<uint8_t> contentOf(int file, const char* name, const KernelCache::Key& key) {
  const size_t size = sizeOf(file, name);
  if (!size) return {};
  std::vector<uint8_t> bytes(size);
  if (!readAll(file, bytes.data(), size)) return {};
  const Header wanted(key, bytes.data() + sizeof(Header), size - sizeof(Header));
  if (std::memcmp(bytes.data(), &wanted, sizeof wanted)) {
    VG_LOG(Info, "kernel cache: %s is damaged, or was another file", name);
    return {};
  }
  bytes.erase(bytes.begin(), bytes.begin() + sizeof(Header));
  return bytes;
}

}  // namespace

KernelCache& KernelCache::shared() {
  return undyingFrom<KernelCache>([] {
    const uint64_t limit = parseBytes(settings().cacheMaxSize);
    return KernelCache(vg::kernelCacheFolder(), limit ? limit : kDefaultLimit);
  });
}

std::vector<uint8_t> KernelCache::read(const Key& key) const noexcept {
  try {
    return find(key);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

std::vector<uint8_t> KernelCache::find(const Key& key) const {
  if (!active()) return {};
  const OpenFile folder = cache_folder::open(folder_, false);
  if (!folder) return {};
  const Name name(key);
  const OpenFile file(openat(folder.descriptor(), name.text, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return {};
  std::vector<uint8_t> bytes = contentOf(file.descriptor(), name.text, key);
  if (!bytes.empty()) (void)futimens(file.descriptor(), nullptr);  // eviction goes by the time of last use
  return bytes;
}

void KernelCache::write(const Key& key, const std::vector<uint8_t>& bytes) const noexcept {
  try {
    if (active() && !bytes.empty()) keep(key, bytes);
  } catch (const std::bad_alloc&) {  // the next process compiles, too
  }
}

void KernelCache::keep(const Key& key, const std::vector<uint8_t>& bytes) const {
  const FileSizeGuard guard;
  const OpenFile folder = cache_folder::open(folder_, true);
  if (!folder) return;
  static constinit std::atomic<unsigned> counter{0};
  char temporary[64];
  std::snprintf(temporary, sizeof temporary, "temporary-%d-%u", static_cast<int>(getpid()), counter.fetch_add(1));
  const int at = folder.descriptor();
  bool written = false;
  {
    const OpenFile file(openat(at, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) {
      VG_LOG(Info, "kernel cache %s: %s", folder_.c_str(), std::strerror(errno));
      return;
    }
    const Header header(key, bytes.data(), bytes.size());
    written =
        writeAll(file.descriptor(), &header, sizeof header) && writeAll(file.descriptor(), bytes.data(), bytes.size());
  }
  if (!written || renameat(at, temporary, at, Name(key).text)) {
    VG_LOG(Info, "kernel cache %s: %s", folder_.c_str(), std::strerror(errno));
    unlinkat(at, temporary, 0);
    return;
  }
  evict(at);
}

bool KernelCache::holds(const Key& key) const noexcept {
  const OpenFile folder = cache_folder::open(folder_, false);
  return folder && !faccessat(folder.descriptor(), Name(key).text, F_OK, 0);
}

void KernelCache::remove(const Key& key) const noexcept {
  const OpenFile folder = cache_folder::open(folder_, false);
  if (folder) unlinkat(folder.descriptor(), Name(key).text, 0);
}

void KernelCache::evict(int at) const {
  struct Found {
    timespec used;
    uint64_t size;
    std::string name;
  };
  const int own = fcntl(at, F_DUPFD_CLOEXEC, 0);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(own < 0 ? nullptr : fdopendir(own), closedir);
  if (!folder) {
    if (own >= 0) close(own);
    return;
  }
  std::vector<Found> files;
  uint64_t total = 0;
  const time_t now = time(nullptr);
  while (const dirent* entry = readdir(folder.get())) {
    struct stat status;
    if (fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode)) continue;
    const std::string_view name = entry->d_name;
    if (name.ends_with(kSuffix)) {
      files.push_back({status.st_mtim, static_cast<uint64_t>(status.st_size), std::string(name)});
      total += files.back().size;
    } else if ((name.starts_with("temporary-") && status.st_mtime + kAbandoned < now) ||
               (name.ends_with(kAttemptsSuffix) && status.st_mtime + kForgotten < now)) {
      unlinkat(at, entry->d_name, 0);
    }
  }
  if (total <= limit_) return;
  std::sort(files.begin(), files.end(), [](const Found& a, const Found& b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
  });
  for (const Found& file : files) {
    if (total <= limit_) break;
    if (!unlinkat(at, file.name.c_str(), 0)) total -= file.size;
  }
}

}  // namespace vg
