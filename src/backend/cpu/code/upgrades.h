// Good code for kernels that run with quick code meanwhile: made by one thread in the background, which comes when
// there is something to do and ends when there is nothing left. Where no thread can be had kernels keep the code they
// have. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "backend/cpu/code/engine.h"

namespace vg::backend::cpu::upgrades {

// A kernel of a program.
class Upgradable {
 public:
  virtual const std::string& name() const = 0;
  // Puts good code in the place of a variant's quick code, for launches from then on. Takes long.
  virtual void upgrade(const CodeVariant& variant) = 0;

 protected:
  ~Upgradable() = default;
};

// Has that done, unless nobody has the kernel's owner any more when its turn comes.
void enqueue(std::weak_ptr<const void> owner, Upgradable& kernel, const CodeVariant& variant);

}  // namespace vg::backend::cpu::upgrades
