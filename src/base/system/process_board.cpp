#include "base/system/process_board.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "base/log.h"
#include "base/memory/own_memory.h"
#include "base/settings.h"
#include "base/sync/mutex.h"
#include "base/system/file_size_guard.h"

namespace vg::board {
namespace {

constexpr size_t kPage = 4096, kPlaceBytes = kEntries * kEntryBytes, kPlaces = 256;
constexpr uint64_t kMagic = 0x3120'6472'616f'6276;  // another layout would have another
constexpr off_t kFileBytes = kPage + kPlaces * kPlaceBytes;

// The first page of the file.
struct Header {
  std::atomic<uint64_t> magic;
  std::atomic<uint64_t> owners[kPlaces];  // pid << 32 | start; 0: nobody's
};
static_assert(sizeof(Header) <= kPage);

constexpr off_t startOf(size_t place) { return static_cast<off_t>(kPage + place * kPlaceBytes); }
constexpr pid_t pidOf(uint64_t owner) { return static_cast<pid_t>(owner >> 32); }

class File {
 public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~File() {
    if (descriptor_ < 0) return;
    flock(descriptor_, LOCK_UN);  // a mapping would keep the lock beyond the descriptor
    close(descriptor_);
  }
  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// ---- who lives

struct ProcessState {
  bool known = false, dead = false;
  uint32_t start = 0;
};

// /proc/PID/stat: the name, which may hold anything, ends with the last parenthesis; the state comes next, and the
// start is the twentieth word from there.
ProcessState stateOf(pid_t pid) {
  char path[32], text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const File file(open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t length = file ? read(file.get(), text, sizeof text - 1) : -1;
  if (length <= 0) return {};
  text[length] = 0;
  const char* at = std::strrchr(text, ')');
  if (!at || !at[1] || !at[2]) return {};
  at += 2;
  const char state = *at;
  for (int word = 0; word < 19 && at; ++word) at = std::strchr(at + 1, ' ');
  if (!at) return {};
  return {true, state == 'Z' || state == 'X', static_cast<uint32_t>(std::strtoull(at, nullptr, 10))};
}

uint64_t ownerNumber() {
  return static_cast<uint64_t>(getpid()) << 32 | stateOf(getpid()).start;  // without /proc the start is 0 for all
}

bool lives(uint64_t owner) {
  const pid_t pid = pidOf(owner);
  if (pid <= 0 || (kill(pid, 0) && errno == ESRCH)) return false;
  const ProcessState state = stateOf(pid);
  return !state.known ||
         (!state.dead && (state.start == static_cast<uint32_t>(owner) || !static_cast<uint32_t>(owner)));
}

// ---- the file

// Null when the file is what rule 3 wants.
const char* distrust(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "it is no plain file";
  if (status.st_uid != geteuid()) return "it belongs to somebody else";
  if (status.st_mode & (S_IRWXG | S_IRWXO)) return "it is open to others";
  if (status.st_nlink > 1) return "it has another name";
  if (status.st_size && status.st_size != kFileBytes) return "its size is another";
  return nullptr;
}

constinit std::atomic<bool> refusalSaid{false};
void refuse(const std::string& path, const char* why) {
  if (refusalSaid.exchange(true)) return;
  VG_LOG(Info,
         "%s is not used: %s; other programs do not see what this one uses of devices. VERDIGRIS_SHARED_STATE names "
         "another folder",
         path.c_str(), why);
}

File openTrusted(const std::string& path, int flags) {
  File file(open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600));
  struct stat status;
  if (!file) {
    if (errno != ENOENT || (flags & O_CREAT)) refuse(path, std::strerror(errno));
    return file;
  }
  if (fstat(file.get(), &status)) return File();
  if (const char* const why = distrust(status)) {
    refuse(path, why);
    return File();
  }
  return file;
}

// Others hold it for microseconds, or until they are scheduled again; one that was stopped meanwhile is not waited for.
bool lock(const File& file) {
  for (int milliseconds = 0; milliseconds < 300; ++milliseconds) {
    if (!flock(file.get(), LOCK_EX | LOCK_NB)) return true;
    usleep(1000);
  }
  return false;
}

bool isStill(const File& file, const std::string& path) {
  struct stat ours, named;
  return !fstat(file.get(), &ours) && !lstat(path.c_str(), &named) && ours.st_ino == named.st_ino &&
         ours.st_dev == named.st_dev;
}

// Open, locked and still of that name: what one process deletes another may have opened before.
File openLocked(const std::string& path, int flags) {
  for (int tries = 0; tries < 4; ++tries) {
    File file = openTrusted(path, flags);
    if (!file) return file;
    if (!lock(file)) break;
    if (isStill(file, path)) return file;
  }
  return File();
}

// A header is read with a call, not mapped: what somebody cuts off meanwhile must not end this process.
struct Owners {
  uint64_t magic = 0, owners[kPlaces] = {};
};
bool readOwners(const File& file, Owners& to) {
  return pread(file.get(), &to, sizeof to, 0) == static_cast<ssize_t>(sizeof to) && to.magic == kMagic;
}

bool anyLives(const File& file) {
  Owners header;
  if (!readOwners(file, header)) return false;
  for (const uint64_t owner : header.owners)
    if (owner && lives(owner)) return true;
  return false;
}

void deleteIfUnused(const std::string& path) {
  const File file = openLocked(path, O_RDWR);
  if (file && !anyLives(file)) unlink(path.c_str());
}

// ---- this process

constinit Mutex mutex;
constinit std::byte* entries VG_GUARDED_BY(mutex) = nullptr;
constinit size_t taken VG_GUARDED_BY(mutex) = 0;
constinit size_t ownPlace VG_GUARDED_BY(mutex) = 0;
constinit uint64_t ownNumber VG_GUARDED_BY(mutex) = 0;  // 0: not joined
constinit std::atomic<bool> settled{false};             // join() has nothing to do

// A place that is nobody's, or else of a process that has ended. Whether one lives is asked when there is no other
// place: it costs 20 us each, and the first context of a process waits for it.
size_t freePlace(const Owners& header) {
  const uint64_t* const end = std::end(header.owners);
  const uint64_t* found = std::find(std::begin(header.owners), end, uint64_t{0});
  if (found == end) found = std::find_if_not(std::begin(header.owners), end, lives);
  return static_cast<size_t>(found - header.owners);
}

bool setOwner(const File& file, size_t place, uint64_t owner) {
  const off_t at = static_cast<off_t>(offsetof(Header, owners) + place * sizeof owner);
  return pwrite(file.get(), &owner, sizeof owner, at) == static_cast<ssize_t>(sizeof owner);
}

bool prepare(const File& file, Owners& header) {
  struct stat status;
  if (fstat(file.get(), &status)) return false;
  if (!status.st_size && ftruncate(file.get(), kFileBytes)) return false;
  if (readOwners(file, header)) return true;
  header = {.magic = kMagic};
  return !fallocate(file.get(), 0, 0, kPage) &&
         pwrite(file.get(), &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header);
}

// What the entries hold goes to the place first; then the place is the entries.
bool show(const File& file, size_t place) VG_REQUIRES(mutex) {
  if (fallocate(file.get(), 0, startOf(place), kPlaceBytes)) return false;
  if (pwrite(file.get(), entries, kPlaceBytes, startOf(place)) != static_cast<ssize_t>(kPlaceBytes)) return false;
  return mmap(entries, kPlaceBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(), startOf(place)) !=
         MAP_FAILED;
}

// Memory of this process alone with what the entries hold. Other threads may write to them meanwhile.
void hide() VG_REQUIRES(mutex) {
  void* const fresh = mmap(nullptr, kPlaceBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) return;
  std::memcpy(fresh, entries, kPlaceBytes);
  if (mremap(fresh, kPlaceBytes, kPlaceBytes, MREMAP_MAYMOVE | MREMAP_FIXED, entries) == MAP_FAILED)
    munmap(fresh, kPlaceBytes);
}

bool makeEntries() noexcept VG_REQUIRES(mutex) {
  try {
    if (!entries) entries = own_memory::take(kPlaceBytes);
  } catch (const std::bad_alloc&) {
  }
  return entries;
}

void takePlace(const std::string& path) VG_REQUIRES(mutex) {
  const FileSizeGuard guard;
  const File file = openLocked(path, O_RDWR | O_CREAT);
  if (!file) return;
  Owners header;
  if (!prepare(file, header)) return refuse(path, std::strerror(errno));
  const size_t place = freePlace(header);
  if (place == kPlaces) return refuse(path, "every place is taken");
  const uint64_t number = ownerNumber();
  if (!show(file, place) || !setOwner(file, place, number)) return refuse(path, std::strerror(errno));
  ownPlace = place;
  ownNumber = number;
}

}  // namespace

std::string filePath() {
  const std::string& folder = settings().sharedState;
  if (folder.empty() || folder == "off" || getauxval(AT_SECURE)) return "";
  struct stat space {};
  if (stat("/proc/self/ns/pid", &space)) space.st_ino = 0;
  return folder + "/verdigris-" + std::to_string(geteuid()) + "-" + std::to_string(space.st_ino);
}

std::byte* takeEntry() {
  const MutexLock guard(mutex);
  if (taken == kEntries || !makeEntries()) return nullptr;
  return entries + kEntryBytes * taken++;
}

void join() noexcept {
  if (settled.load(std::memory_order_acquire)) return;
  const MutexLock guard(mutex);
  if (settled.load(std::memory_order_relaxed)) return;
  try {
    const std::string path = filePath();
    if (!path.empty() && makeEntries()) takePlace(path);
  } catch (const std::bad_alloc&) {  // then nobody sees the entries
  }
  settled.store(true, std::memory_order_release);
}

void leave() noexcept try {
  const MutexLock guard(mutex);
  settled.store(false, std::memory_order_relaxed);
  if (!std::exchange(ownNumber, 0)) return;
  hide();
  const FileSizeGuard sizes;
  const std::string path = filePath();
  const File file = openLocked(path, O_RDWR);
  if (!file) return;
  setOwner(file, ownPlace, 0);
  if (!anyLives(file)) unlink(path.c_str());
} catch (const std::bad_alloc&) {  // the place is then free when the process has ended
}

void readOthers(const std::function<void(pid_t, Entries)>& visit) {
  const std::string path = filePath();
  const File file = path.empty() ? File() : openTrusted(path, O_RDONLY);
  Owners header;
  if (!file || !readOwners(file, header)) return;
  bool anybody = false;
  alignas(kEntryBytes) std::byte read[kPlaceBytes];
  for (size_t place = 0; place < kPlaces; ++place) {
    const uint64_t owner = header.owners[place];
    if (!owner || !lives(owner)) continue;
    anybody = true;
    if (pidOf(owner) == getpid()) continue;
    if (pread(file.get(), read, kPlaceBytes, startOf(place)) == static_cast<ssize_t>(kPlaceBytes))
      visit(pidOf(owner), read);
  }
  if (!anybody) deleteIfUnused(path);
}

}  // namespace vg::board
