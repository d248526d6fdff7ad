#include "backend/cpu/code/coverage.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/log.h"
#include "base/round.h"
#include "base/settings.h"
#include "base/system/file_by_name.h"
#include "base/system/file_size_guard.h"
#include "base/undying.h"
#include "ptx/facts/coverage.h"
#include "ptx/facts/coverage_file.h"

namespace vg::backend::cpu::coverage {
namespace {

constexpr size_t kPage = 4096;

constinit Mutex numbersMutex;
constinit uint64_t numbersTaken[ThreadNumber::kMost / 64] VG_GUARDED_BY(numbersMutex) = {};

constinit std::atomic<uint32_t> recordings{0};  // of this process, to tell their files apart
constinit std::atomic<bool> told{false};

const std::string& folder() { return settings().coverage; }

void tellWhyNot(const char* what) {
  const int error = errno;
  if (told.exchange(true, std::memory_order_relaxed)) return;
  VG_LOG(Warn, "coverage: %s in %s: %s; some counts are missing", what, folder().c_str(), std::strerror(error));
}

std::string programName(KernelCache::Key hash) {
  char name[40];
  std::snprintf(name, sizeof name, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
  return name;
}

bool writeAll(int file, const char* bytes, size_t size) {
  while (size) {
    const ssize_t written = write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// The number of a process may be another one's in another container. The lock goes with the process, which keeps one
// descriptor for it. Empty, with errno, where it cannot be made.
std::string newProcessWord() {
  for (uint32_t n = 0;; ++n) {
    const std::string word = std::to_string(getpid()) + "-" + std::to_string(n);
    const std::string path = folder() + "/" + word + ptx::coverage::kLockEnd;
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) continue;
    if (file >= 0) static_cast<void>(flock(file, LOCK_SH | LOCK_NB));
    return file < 0 ? std::string() : word;
  }
}

const std::string& processWord() {
  struct Word {
    std::string text;
  };
  return undyingFrom<Word>([] { return Word{newProcessWord()}; }).text;
}

// Another process may write the same: whoever is there last has written equal bytes.
bool writeWhole(const std::string& path, const std::string& text) {
  if (!access(path.c_str(), F_OK)) return true;
  const std::string draft = path + "." + std::to_string(getpid());
  const int file = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const bool whole = writeAll(file, text.data(), text.size());
  close(file);
  if (whole && !rename(draft.c_str(), path.c_str())) return true;
  unlink(draft.c_str());
  return false;
}

}  // namespace

bool on() { return !folder().empty(); }

uint32_t instrument(ptx::Module& module) {
  const ptx::coverage::Plan plan = ptx::coverage::planOf(module);
  ptx::coverage::instrument(module, plan);
  return plan.counters;
}

ThreadNumber::ThreadNumber() {
  const MutexLock lock(numbersMutex);
  for (uint32_t n = 0; n + 1 < kMost; ++n)
    if (uint64_t& word = numbersTaken[n / 64]; !(word >> n % 64 & 1)) {
      word |= uint64_t{1} << n % 64;
      value_ = n;
      return;
    }
}

ThreadNumber::~ThreadNumber() {
  if (value_ == kMost - 1) return;
  const MutexLock lock(numbersMutex);
  numbersTaken[value_ / 64] &= ~(uint64_t{1} << value_ % 64);
}

Recording::Recording(const std::vector<std::string>& texts, KernelCache::Key hash, uint32_t counters)
    : texts_(texts),
      name_(programName(hash)),
      counters_(counters),
      rowBytes_(roundUp<size_t>(counters * sizeof(uint64_t), kPage)) {
  bool lines = false;
  for (const std::string& text : texts) lines |= text.find("\t.loc") != std::string::npos;
  const MutexLock lock(mutex_);
  if (lines) writeTexts();
}

Recording::~Recording() {
  for (std::atomic<uint64_t*>& row : rows_)
    if (uint64_t* const memory = row.load(std::memory_order_relaxed)) munmap(memory, rowBytes_);
}

void Recording::writeTexts() {
  textsWritten_ = true;
  const FileSizeGuard guard;
  mkdir(folder().c_str(), 0777);
  for (size_t n = 0; n < texts_.size(); ++n)
    if (!writeWhole(folder() + "/" + ptx::coverage::textName(name_, n), texts_[n])) return tellWhyNot("cannot write");
}

bool Recording::makeFile() {
  if (!path_.empty()) return true;
  if (failed_) return false;
  failed_ = true;
  if (!textsWritten_) writeTexts();
  const std::string& process = processWord();
  const std::string path =
      folder() + "/" + ptx::coverage::countsName(name_, process, recordings.fetch_add(1, std::memory_order_relaxed));
  const FileByName file(process.empty() ? "" : path, O_WRONLY | O_CREAT | O_EXCL);
  const ptx::coverage::FileHeader header{ptx::coverage::kMagic, counters_, rowBytes_};
  if (*file < 0 || !writeAll(*file, reinterpret_cast<const char*>(&header), sizeof header)) {
    tellWhyNot("cannot write counts");
    return false;
  }
  path_ = path;
  failed_ = false;
  return true;
}

// Its blocks are there before anybody writes: a full disk would be a fault of a kernel.
uint64_t* Recording::mapNextRow() {
  const FileSizeGuard guard;
  if (!makeFile()) return nullptr;
  const FileByName file(path_, O_RDWR);
  const auto at = static_cast<off_t>(ptx::coverage::kHeaderBytes + rowsInFile_ * rowBytes_);
  const int error = *file < 0 ? errno : posix_fallocate(*file, at, static_cast<off_t>(rowBytes_));
  void* const row = error ? MAP_FAILED : mmap(nullptr, rowBytes_, PROT_READ | PROT_WRITE, MAP_SHARED, *file, at);
  if (row == MAP_FAILED) {
    if (error) errno = error;
    tellWhyNot("no room for counters");
    failed_ = true;
    path_.clear();
    return nullptr;
  }
  ++rowsInFile_;
  return static_cast<uint64_t*>(row);
}

uint64_t* Recording::makeRow(uint32_t thread) {
  const MutexLock lock(mutex_);
  if (uint64_t* const known = rows_[thread].load(std::memory_order_relaxed)) return known;
  uint64_t* row = mapNextRow();
  if (!row) {
    void* const memory = mmap(nullptr, rowBytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    row = static_cast<uint64_t*>(memory);
  }
  rows_[thread].store(row, std::memory_order_release);
  return row;
}

}  // namespace vg::backend::cpu::coverage
