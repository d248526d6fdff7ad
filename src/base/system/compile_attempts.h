// How often processes wanted optimised code of a kernel and ended before it was made: a small file beside the kernel's
// own ones in the cache, there until the code is. A process that finds enough of them owes the code: it makes sure that
// its own work is not thrown away, too.
//
// The file says which process owes the code, by its number and when it began: of several processes at once one owes it,
// until it ends in whatever way. No descriptor is kept, which an application that closes all it does not know would
// take for another file. Where the folder cannot be written, nothing is counted and nobody owes anything.
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
  bool owed() const { return owed_; }
  // Whether it owes the code as early as possible: those before that owed it ended without coming to their end, killed
  // or by _exit.
  bool owedAtOnce() const { return owed() && kept_.begun >= kAbruptEnds && !kept_.ends; }

  // It waits for the code now.
  void waits() noexcept;
  // It waited in vain.
  void waitedInVain() noexcept;
  // The code is made, or `made` is false and nobody will ever make it. Nothing is owed any more, nor will be by others
  // where the cache could not keep it.
  void over(bool made) noexcept;

 private:
  struct Kept {
    static constexpr uint64_t kMagic = 0x32747067764756;
    uint64_t magic = kMagic;
    uint32_t begun = 0;   // processes that wanted the code
    uint32_t ends = 0;    // ... that owed it and waited for it at their end
    uint32_t inVain = 0;  // waits that did not help, and such at a launch of which that is not known yet
    uint32_t owner = 0;   // the last process that owed it; 0: none
    uint64_t ownerBegan = 0;
  };
  static constexpr uint32_t kPatient = 2;     // processes that throw their work away before one owes it
  static constexpr uint32_t kMostInVain = 3;  // waits that do not help
  static constexpr uint32_t kAbruptEnds = 8;

  CompileAttempt(const KernelCache& cache, const KernelCache::Key& key) : cache_(&cache), key_(key) {}
  void count();
  bool read(int file);
  void write(int file) const;
  OpenFile open(int folder, int flags) const;
  bool isOwedByOther() const;
  template <class Change>
  void change(const Change& what) noexcept;

  const KernelCache* cache_;
  KernelCache::Key key_;
  bool owed_ = false;
  Kept kept_;
};

}  // namespace vg
