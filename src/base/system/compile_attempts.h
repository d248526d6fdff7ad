// How often processes wanted optimised code of a kernel and ended before it was made: a small file beside the kernel's
// own ones in the cache, there until the code is. A process that finds enough of them owes the code: it makes sure that
// its own work is not thrown away, too.
//
// Who owes it holds a lock on the file, which the system takes back when the process ends in whatever way: of several
// processes at once one owes it. Where the file cannot be written, nothing is counted and nobody owes anything.
#pragma once

#include <cstdint>
#include <optional>

#include "base/system/kernel_cache.h"
#include "base/system/kernel_cache_folder.h"

namespace vg {

class CompileAttempt {
 public:
  // Counts one more process that wants the code of this key.
  static CompileAttempt begin(const KernelCache& cache, const KernelCache::Key& key) noexcept;

  // Whether this process owes the code. So does the third one, and the fifth, ninth, ..., until three have waited in
  // vain.
  bool owed() const { return static_cast<bool>(file_); }
  // Whether it owes the code as early as possible: those before that owed it ended without coming to their end, killed
  // or by _exit.
  bool owedAtOnce() const { return owed() && kept_.begun >= kAbruptEnds && !kept_.ends; }

  // It waits for the code now.
  void waits() noexcept;
  // It waited in vain.
  void waitedInVain() noexcept;
  // The code is there, or `made` is false and nobody will ever make it. Nothing is owed any more.
  void over(bool made) noexcept;

 private:
  struct Kept {
    static constexpr uint64_t kMagic = 0x31747067764756;
    uint64_t magic = kMagic;
    uint32_t begun = 0;   // processes that wanted the code
    uint32_t ends = 0;    // ... that owed it and waited for it
    uint32_t inVain = 0;  // ... and gave up
    uint32_t unused = 0;
  };
  static constexpr uint32_t kPatient = 2;     // processes that throw their work away before one owes it
  static constexpr uint32_t kMostInVain = 3;  // waits that do not help
  static constexpr uint32_t kAbruptEnds = 8;

  CompileAttempt(const KernelCache& cache, const KernelCache::Key& key) : cache_(&cache), key_(key) {}
  void count();
  bool read(int file);
  void write(int file) const;

  const KernelCache* cache_;
  KernelCache::Key key_;
  OpenFile file_{-1};  // locked; none: nothing is owed
  Kept kept_;
};

}  // namespace vg
