#include "backend/cpu/run/fibre.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/memory/own_range.h"

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

#if !defined(__x86_64__)
#error "the fibre switch is written for x86-64"
#endif

extern "C" {
// The second half: continues where the stack in rsi left off.
void vgFibreResume();
// Where a new fibre begins: rbx holds the argument, r12 the function.
void vgFibreStart();
}

// The layout of a left stack, upwards: r15 r14 r13 r12 rbp rbx, address to go on at.
asm(R"(
.text
.p2align 4
.globl vgFibreSwitch
.hidden vgFibreSwitch
.type vgFibreSwitch, @function
vgFibreSwitch:
  pushq %rbx
  pushq %rbp
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
.globl vgFibreResume
.hidden vgFibreResume
.type vgFibreResume, @function
vgFibreResume:
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbp
  popq %rbx
  popq %rcx
  jmpq *%rcx
.size vgFibreSwitch, .-vgFibreSwitch
.p2align 4
.globl vgFibreStart
.hidden vgFibreStart
.type vgFibreStart, @function
vgFibreStart:
  movq %rbx, %rdi
  xorl %ebp, %ebp
  pushq $0
  jmpq *%r12
.size vgFibreStart, .-vgFibreStart
)");

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
  auto* top = reinterpret_cast<uint64_t*>(stackLow + stackBytes - (colour * kColourStep) % kPage);
  // vgFibreStart begins with a stack aligned to 16, as a caller's is.
  *--top = 0;
  *--top = 0;
  *--top = reinterpret_cast<uint64_t>(&vgFibreStart);
  *--top = reinterpret_cast<uint64_t>(this);    // rbx
  *--top = 0;                                   // rbp
  *--top = reinterpret_cast<uint64_t>(&begin);  // r12
  for (int i = 0; i < 3; ++i) *--top = 0;       // r13, r14, r15
  stackPointer_ = top;
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
  auto& registers = static_cast<ucontext_t*>(signalContext)->uc_mcontext.gregs;
  constexpr greg_t kDirectionFlag = 0x400;
  registers[REG_RIP] = reinterpret_cast<greg_t>(&vgFibreResume);
  registers[REG_RSI] = reinterpret_cast<greg_t>(to.stackPointer_);
  registers[REG_EFL] &= ~kDirectionFlag;
}

}  // namespace vg::backend::cpu
