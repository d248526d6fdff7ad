// Fibres: stacks of their own that a worker thread switches between, one a warp of a kernel that may wait.
//
// A switch saves the callee-saved registers on the stack it leaves. It ends in an indirect jump, not a return: return
// prediction is wrong after a change of stacks and costs three times the whole switch. A fibre belongs to one thread.
// `abandon` is the way out of a fault: it edits a signal context so that the thread goes on where `to` left off.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory/guarded_range.h"
#include "base/system/stack_switch.h"

// Sanitizers must be told of every switch.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VG_FIBRES_ANNOTATED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define VG_FIBRES_ANNOTATED 1
#endif
#endif

namespace vg::backend::cpu {

// A piece of address space for stacks: each with a gap below that faults.
class StackGroup {
 public:
  StackGroup() = default;
  StackGroup(const StackGroup&) = delete;
  ~StackGroup();
  // Room for `count` stacks of `bytes` each; nothing is touched. False when the system refuses.
  bool reserve(uint32_t count, size_t bytes);
  std::byte* low(uint32_t index) const { return range_.start + index * stride_ + kGap; }
  size_t bytes() const { return stride_ - kGap; }
  uint32_t count() const { return count_; }
  // True when the address lies in a gap below a stack.
  bool inGap(const void* address) const;

  static constexpr size_t kGap = 64 * 1024;  // wide: a frame with large local arrays touches memory far below

 private:
  GuardedRange range_;
  size_t stride_ = 0;
  uint32_t count_ = 0;
};

// For functions that are still to return when abandon() has run: what the address sanitizer keeps of the left stack is
// gone then, and with it the variables that it keeps there to notice their use after a return.
#define VG_OUTLIVES_FIBRE __attribute__((no_sanitize("address")))

class Fibre {
 public:
  using Main = void (*)(void* argument);  // never returns

  Fibre() = default;
  Fibre(const Fibre&) = delete;
  ~Fibre();
  // Makes the next switch to this fibre call main(argument) on the stack. `colour` staggers the stack tops of
  // neighbours over a page, so that their hot lines do not share cache sets.
  void prepare(std::byte* stackLow, size_t stackBytes, uint32_t colour, Main main, void* argument);
  // Makes this the fibre of the calling thread's own stack.
  void adoptThread();

  // Leaves `this`, which is running, for `to`; returns when somebody switches back.
  void switchTo(Fibre& to) {
#if defined(VG_FIBRES_ANNOTATED)
    switchAnnotated(to);
#else
    vgFibreSwitch(&stackPointer_, to.stackPointer_);
#endif
  }
  // For a signal handler: the interrupted thread will go on in `to`; the fibre it was
  // in must be prepared anew.
  VG_OUTLIVES_FIBRE static void abandon(void* signalContext, Fibre& to);

 private:
  static void begin(void* fibre);
  void switchAnnotated(Fibre& to);
  void arrived();

  void* stackPointer_ = nullptr;
  void* stackLow_ = nullptr;
  size_t stackBytes_ = 0;
  Main main_ = nullptr;
  void* argument_ = nullptr;
  [[maybe_unused]] void* sanitizer_ = nullptr;  // ASan's fake stack, or TSan's fibre
  bool abandoned_ = false;                      // the switch to this fibre came from a signal handler
};

}  // namespace vg::backend::cpu
