#include "backend/cpu/run/fibre.h"

#include <pthread.h>
#include <sys/mman.h>

#include "base/memory/own_range.h"
#include "base/system/signal_context.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace vg::backend::cpu {
namespace {

constexpr size_t kPage = 4096, kColourStep = 512;

}  // namespace

StackGroup::~StackGroup() { releaseOwnRange(range_); }

bool StackGroup::reserve(uint32_t count, size_t bytes) {
  stride_ = ((bytes + kPage - 1) & ~(kPage - 1)) + kGap;
  range_ = reserveOwnRange(stride_ * count, GuardedRange::kNarrow);
  if (!range_) return false;
  count_ = count;
  madvise(range_.start, range_.bytes, MADV_NOHUGEPAGE);
  for (uint32_t i = 0; i < count; ++i)
    if (mprotect(low(i), stride_ - kGap, PROT_READ | PROT_WRITE)) return false;
  return true;
}

bool StackGroup::inGap(const void* address) const {
  const size_t offset = static_cast<const std::byte*>(address) - range_.start;
  return range_ && offset < stride_ * count_ && offset % stride_ < kGap;
}

Fibre::~Fibre() {
#if defined(__SANITIZE_THREAD__)
  if (sanitizer_ && stackLow_) __tsan_destroy_fiber(sanitizer_);
#endif
}

void Fibre::prepare(std::byte* stackLow, size_t stackBytes, uint32_t colour, Main main, void* argument) {
  stackLow_ = stackLow;
  stackBytes_ = stackBytes;
  main_ = main;
  argument_ = argument;
  abandoned_ = false;
  stackPointer_ = prepareStack(stackLow + stackBytes - (colour * kColourStep) % kPage, &begin, this);
#if defined(__SANITIZE_THREAD__)
  if (sanitizer_) __tsan_destroy_fiber(sanitizer_);
  sanitizer_ = __tsan_create_fiber(0);
#elif defined(__SANITIZE_ADDRESS__)
  sanitizer_ = nullptr;
  __asan_unpoison_memory_region(stackLow, stackBytes);
#endif
}

void Fibre::begin(void* self) {
  auto& fibre = *static_cast<Fibre*>(self);
  fibre.arrived();
  fibre.main_(fibre.argument_);
}

void Fibre::adoptThread() {
#if defined(__SANITIZE_ADDRESS__)
  pthread_attr_t attributes;
  if (!pthread_getattr_np(pthread_self(), &attributes)) {
    pthread_attr_getstack(&attributes, &stackLow_, &stackBytes_);
    pthread_attr_destroy(&attributes);
  }
#elif defined(__SANITIZE_THREAD__)
  sanitizer_ = __tsan_get_current_fiber();
#endif
}

#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread")))
#endif
void Fibre::switchAnnotated(Fibre& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&sanitizer_, to.stackLow_, to.stackBytes_);
#elif defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.sanitizer_, 0);
#endif
  vgFibreSwitch(&stackPointer_, to.stackPointer_);
  arrived();
}

#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread")))
#endif
void Fibre::arrived() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(sanitizer_, nullptr, nullptr);
#elif defined(__SANITIZE_THREAD__)
  if (abandoned_) __tsan_switch_to_fiber(sanitizer_, 0);
#endif
  abandoned_ = false;
}

void Fibre::abandon(void* signalContext, Fibre& to) {
  to.abandoned_ = true;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, to.stackLow_, to.stackBytes_);
#endif
  signal_context::goOnAt(signalContext, vgFibreResume, to.stackPointer_);
}

}  // namespace vg::backend::cpu
