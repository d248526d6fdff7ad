// Coverage: what of their PTX kernels have run is counted in files that `verdigris cover` reads, in the folder that
// VERDIGRIS_COVERAGE names. ptx/facts/coverage_file.h has their format.
//
// Counters lie in shared mappings of files, so that nothing has to happen at the end of the process, which may be
// killed. Each thread that runs blocks has counters of its own: no thread waits for another one's cache lines, and
// kernels add to them without locks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/sync/mutex.h"
#include "base/system/kernel_cache.h"
#include "ptx/text/ast.h"

namespace vg::backend::cpu::coverage {

// Whether anything is counted: constant.
bool on();

// Makes a module count what it runs; how many counters it has.
uint32_t instrument(ptx::Module& module);

// A number that no other living thread has. Where there are more threads than that, the last ones share one.
class ThreadNumber {
 public:
  static constexpr uint32_t kMost = 1024;

  ThreadNumber();
  ~ThreadNumber();
  ThreadNumber(const ThreadNumber&) = delete;
  uint32_t value() const { return value_; }

 private:
  uint32_t value_ = kMost - 1;
};

// Of one program, in this process. Thread-safe.
class Recording {
 public:
  // Texts with line information are written at once, so that a report has kernels that never run, too; others before
  // their first kernel runs.
  Recording(const std::vector<std::string>& texts, KernelCache::Key hash, uint32_t counters);
  ~Recording();
  Recording(const Recording&) = delete;

  // Those that belong to the thread of that number; never null. Where no file can be written they are only memory,
  // and the log says so once. Throws std::bad_alloc.
  uint64_t* countersOf(uint32_t thread) {
    if (uint64_t* const known = rows_[thread].load(std::memory_order_acquire)) [[likely]]
      return known;
    return makeRow(thread);
  }

 private:
  uint64_t* makeRow(uint32_t thread);
  uint64_t* mapNextRow() VG_REQUIRES(mutex_);
  bool makeFile() VG_REQUIRES(mutex_);
  void writeTexts() VG_REQUIRES(mutex_);

  const std::vector<std::string>& texts_;
  const std::string name_;  // of the program, in the folder
  const uint32_t counters_;
  const size_t rowBytes_;
  Mutex mutex_;
  bool textsWritten_ VG_GUARDED_BY(mutex_) = false;
  std::string path_ VG_GUARDED_BY(mutex_);  // of the file of counts, once it is there
  bool failed_ VG_GUARDED_BY(mutex_) = false;
  uint64_t rowsInFile_ VG_GUARDED_BY(mutex_) = 0;
  std::array<std::atomic<uint64_t*>, ThreadNumber::kMost> rows_{};
};

}  // namespace vg::backend::cpu::coverage
