#include "base/kernel_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/log.h"
#include "base/settings.h"

namespace vg {
namespace {

constexpr const char* kSuffix = ".vgk";
constexpr uint64_t kDefaultLimit = uint64_t{1} << 30;
constexpr off_t kLargestFile = off_t{1} << 30;
constexpr time_t kAbandoned = 600;  // seconds after which a temporary file belongs to nobody

class File {
 public:
  File(const char* path, int flags) : descriptor_(open(path, flags | O_CLOEXEC, 0600)) {}
  File(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int descriptor() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  const int descriptor_;
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

bool writeAll(int descriptor, const uint8_t* bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    const ssize_t put = write(descriptor, bytes + at, size - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += static_cast<size_t>(put);
  }
  return true;
}

bool makeFolders(const std::string& path) {
  for (size_t at = 1; at <= path.size(); ++at)
    if (at == path.size() || path[at] == '/')
      if (mkdir(path.substr(0, at).c_str(), 0700) && errno != EEXIST) return false;
  return true;
}

}  // namespace

KernelCache& KernelCache::shared() {
  static KernelCache* const instance = [] {
    const uint64_t limit = parseBytes(settings().cacheMaxSize);
    return new KernelCache(vg::kernelCacheFolder(), limit ? limit : kDefaultLimit);
  }();
  return *instance;
}

std::string KernelCache::pathOf(const Key& key) const {
  char name[40];
  std::snprintf(name, sizeof name, "/%016llx%016llx", static_cast<unsigned long long>(key.high),
                static_cast<unsigned long long>(key.low));
  return folder_ + name + kSuffix;
}

std::vector<uint8_t> KernelCache::read(const Key& key) const {
  if (!active()) return {};
  const File file(pathOf(key).c_str(), O_RDONLY);
  struct stat status;
  if (!file || fstat(file.descriptor(), &status) || status.st_size <= 0 || status.st_size > kLargestFile) return {};
  std::vector<uint8_t> bytes(static_cast<size_t>(status.st_size));
  if (!readAll(file.descriptor(), bytes.data(), bytes.size())) return {};
  (void)futimens(file.descriptor(), nullptr);  // eviction goes by the time of last use
  return bytes;
}

void KernelCache::write(const Key& key, const std::vector<uint8_t>& bytes) const {
  if (!active()) return;
  if (!makeFolders(folder_)) {
    VG_LOG(Info, "kernel cache %s: %s", folder_.c_str(), std::strerror(errno));
    return;
  }
  static std::atomic<unsigned> counter{0};
  const std::string temporary =
      folder_ + "/temporary-" + std::to_string(getpid()) + "-" + std::to_string(counter.fetch_add(1));
  bool written = false;
  {
    const File file(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL);
    if (!file) {
      VG_LOG(Info, "kernel cache %s: %s", temporary.c_str(), std::strerror(errno));
      return;
    }
    written = writeAll(file.descriptor(), bytes.data(), bytes.size());
  }
  if (!written || rename(temporary.c_str(), pathOf(key).c_str())) {
    VG_LOG(Info, "kernel cache %s: %s", temporary.c_str(), std::strerror(errno));
    unlink(temporary.c_str());
    return;
  }
  evict();
}

void KernelCache::remove(const Key& key) const { unlink(pathOf(key).c_str()); }

void KernelCache::evict() const {
  struct Found {
    timespec used;
    uint64_t size;
    std::string path;
  };
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(folder_.c_str()), closedir);
  if (!folder) return;
  std::vector<Found> files;
  uint64_t total = 0;
  const time_t now = time(nullptr);
  while (const dirent* entry = readdir(folder.get())) {
    const std::string path = folder_ + "/" + entry->d_name;
    struct stat status;
    if (stat(path.c_str(), &status) || !S_ISREG(status.st_mode)) continue;
    const std::string_view name = entry->d_name;
    if (name.size() > 4 && name.substr(name.size() - 4) == kSuffix) {
      files.push_back({status.st_mtim, static_cast<uint64_t>(status.st_size), path});
      total += files.back().size;
    } else if (!name.rfind("temporary-", 0) && status.st_mtime + kAbandoned < now) {
      unlink(path.c_str());
    }
  }
  if (total <= limit_) return;
  std::sort(files.begin(), files.end(), [](const Found& a, const Found& b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
  });
  for (const Found& file : files) {
    if (total <= limit_) break;
    if (!unlink(file.path.c_str())) total -= file.size;
  }
}

}  // namespace vg
