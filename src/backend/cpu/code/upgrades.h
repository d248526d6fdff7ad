// Good code for kernels that run with quick code meanwhile: made by one thread in the background, which comes when
// there is something to do and ends when there is nothing left. Where no thread can be had kernels keep the code they
// have. Thread-safe.
//
// A process that is shorter than the compile would throw it away, and so would the next one. So the cache counts who
// did (base/system/compile_attempts.h), and a process that owes the code makes it at the priority of the program's own
// threads and waits for it when it exits, for VERDIGRIS_EXIT_WAIT seconds at most in all.
#pragma once

#include <memory>
#include <string>

#include "backend/cpu/code/engine.h"

namespace vg::backend::cpu::upgrades {

// A kernel of a program.
class Upgradable {
 public:
  virtual const std::string& name() const = 0;
  // What its good code is called in the cache.
  virtual KernelCache::Key keyOfGood(const CodeVariant& variant) const = 0;
  // Puts good code in the place of a variant's quick code, for launches from then on. Takes long.
  virtual CUresult upgrade(const CodeVariant& variant, engine::Effort effort) = 0;

 protected:
  ~Upgradable() = default;
};

// Has that done, unless nobody has the kernel's owner any more when its turn comes and nothing is owed. With `mayWait`
// the caller waits for code that is owed at once; true when it did.
bool enqueue(std::weak_ptr<const void> owner, Upgradable& kernel, const CodeVariant& variant, bool mayWait);

// For the end of the process: waits for what is owed. Later calls do nothing.
void finish() noexcept;

}  // namespace vg::backend::cpu::upgrades
