#include "backend/cpu/run/thread.h"

#include <pthread.h>
#include <sys/mman.h>

#include <csignal>
#include <memory>
#include <new>

#include "backend/cpu/code/coverage.h"
#include "backend/cpu/code/kernel_code.h"
#include "base/log.h"
#include "base/memory/own_range.h"
#include "base/sync/once.h"

namespace vg::backend::cpu {
namespace {

// Shared memory of a block ends at a gap, and offsets are 32 bits: the tail makes a negative offset fault too.
constexpr size_t kWindow = 256 * 1024, kWindowGap = 256 * 1024, kTail = size_t{4} << 30;
static_assert(kWindow + kWindowGap == ptx::kSharedStride);
constexpr size_t kSignalStack = 64 * 1024;

constinit thread_local KernelThread* currentThread [[gnu::tls_model("initial-exec")]] = nullptr;
constinit pthread_key_t endKey = 0;
constinit Once endKeyOnce;

}  // namespace

void endKernelThread(void* thread) {
  currentThread = nullptr;
  delete static_cast<KernelThread*>(thread);
}

KernelThread* KernelThread::ifAny() { return currentThread; }

KernelThread& KernelThread::current() {
  if (currentThread) [[likely]]
    return *currentThread;
  endKeyOnce.call([] {
    if (pthread_key_create(&endKey, endKernelThread)) throw std::bad_alloc();
  });
  std::unique_ptr<KernelThread, void (*)(void*)> made(new KernelThread, [](void* t) { endKernelThread(t); });
  if (!made->reserveWindows()) throw std::bad_alloc();
  if (pthread_setspecific(endKey, made.get())) throw std::bad_alloc();
  return *(currentThread = made.release());
}

KernelThread::KernelThread() : signalStack_(new std::byte[kSignalStack]) {
  standing_ = debugger::standing(number_.value());
  // A fault of a thread that blocks its signal would end the process.
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGURG}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

KernelThread::~KernelThread() {
  stack_t present;
  if (ownsSignalStack_ && !sigaltstack(nullptr, &present) && present.ss_sp == signalStack_.get()) {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  if (standing_) standing_->thread = 0;
  blocks_.clear();
  releaseOwnRange(windows_);
}

bool KernelThread::reserveWindows() {
  constexpr size_t kStride = kWindow + kWindowGap;
  // Where address space is limited: fewer blocks at once, and negative offsets may go unnoticed.
  for (size_t bytes : {kMaxResident * kStride + kTail, 64 * kStride, kStride})
    if ((windows_ = reserveOwnRange(bytes, GuardedRange::kOfOffsets))) return true;
  VG_LOG(Error, "no address space for the shared memory of kernels");
  return false;
}

ResidentBlock* KernelThread::block(size_t number, const RunningLaunch& launch) {
  constexpr size_t kStride = kWindow + kWindowGap;
  while (blocks_.size() <= number) {
    const size_t offset = blocks_.size() * kStride;
    if (blocks_.size() >= kMaxResident || offset + kStride > windows_.bytes) return nullptr;
    std::byte* const window = windows_.start + offset;
    if (mprotect(window, kWindow, PROT_READ | PROT_WRITE)) return nullptr;
    blocks_.push_back(std::make_unique<ResidentBlock>(*this, window + kWindow));
  }
  return blocks_[number]->reserve(launch) ? blocks_[number].get() : nullptr;
}

void KernelThread::abandonBlocks() noexcept {
  for (const auto& block : blocks_) block->abandon();
}

// The application may take away the stack for signals at any time, and asking the system costs as much as a tiny grid.
// Generated code fits its fibre, with room for a handler: only for code whose depth nobody knows is it asked each time.
void KernelThread::ensureSignalStack(const RunningLaunch& launch) {
  const bool depthKnown = !launch.code->interpreted && launch.code->traits.stackPerWarp;
  if (signalStackCheckedFor_ == launch.abi.gridId || (signalStackCheckedFor_ && depthKnown)) return;
  signalStackCheckedFor_ = launch.abi.gridId;
  stack_t present;
  if (sigaltstack(nullptr, &present) || !(present.ss_flags & SS_DISABLE)) return;
  stack_t own{};
  own.ss_sp = signalStack_.get();
  own.ss_size = kSignalStack;
  ownsSignalStack_ = !sigaltstack(&own, nullptr);
}

KernelThread::Inside::Inside(KernelThread& thread, RunningLaunch& launch, uint32_t worker)
    : launch_(launch), worker_(worker) {
  if (launch.recording) launch.counters[worker] = launch.recording->countersOf(thread.number_.value());
  if (thread.standing_) thread.standing_->kernel = launch.kernelName;
  thread.ensureSignalStack(launch);
  launch.enter(worker);
}

KernelThread::Inside::~Inside() { launch_.leave(worker_); }

}  // namespace vg::backend::cpu
