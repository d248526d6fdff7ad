#include "backend/cpu/faults/faults.h"

#include <atomic>
#include <cerrno>
#include <csignal>

#include "alloc/memory_move.h"
#include "backend/cpu/run/fibre.h"
#include "base/sync/caller_time.h"
#include "base/sync/mutex.h"
#include "check/races/host_accesses.h"
#include "copy/guard.h"

namespace vg::backend::cpu::faults {
namespace {

constexpr int kInterrupt = SIGURG;
constexpr int kSynchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr int kStep = SIGTRAP;
constexpr int kSignals = 65;

// Whom to ask when a signal is none of ours. An application that installs a handler after us usually calls us from it:
// `older` breaks that circle.
struct Previous {
  struct sigaction newest;
  struct sigaction older;
};
constinit Previous previous[kSignals]{};
constinit std::atomic<bool> installed[kSignals]{};
constinit Mutex installMutex;
constinit std::atomic<Thrower> thrower{nullptr};
constinit std::atomic<Abandoner> abandoner{nullptr};
// The signal that this thread is passing on, if its handler has not returned: one that comes again with the same
// context from deeper in the stack came back to us. (A handler may also leave by a long jump.)
struct Passing {
  const void* context;
  const void* frame;
};
constinit thread_local Passing passing [[gnu::tls_model("initial-exec")]] = {nullptr, nullptr};

void passOn(int signal, siginfo_t* info, void* context) {
  const void* const frame = __builtin_frame_address(0);
  const bool cameBack = passing.context == context && frame < passing.frame;
  const struct sigaction& action = cameBack ? previous[signal].older : previous[signal].newest;
  const bool wantsInfo = action.sa_flags & SA_SIGINFO;
  if (!wantsInfo && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
    if (signal == kInterrupt) return;
    // The instruction runs again and meets the system's own answer.
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
    if (info->si_code <= 0) raise(signal);
    return;
  }
  const Passing outer = passing;
  passing = {context, frame};
  if (wantsInfo) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
  passing = outer;
}

VG_OUTLIVES_FIBRE bool throwOut(int signal, const siginfo_t& info, void* context) {
  const Thrower known = thrower.load(std::memory_order_acquire);
  return known && known(signal, info, context, signal == kInterrupt);
}

void abandonCompile(const siginfo_t& info) {
  const Abandoner known = abandoner.load(std::memory_order_acquire);
  if (known && info.si_code > 0) known();
}

VG_OUTLIVES_FIBRE void handle(int signal, siginfo_t* info, void* context) {
  const int savedError = errno;
  const bool closed = signal == SIGSEGV && info->si_code == SEGV_ACCERR;
  const bool opened =
      closed && (check::host_accesses::faulted(info->si_addr, context) || alloc::awaitMove(info->si_addr));
  const bool copying =
      !opened && (signal == SIGSEGV || signal == SIGBUS) && info->si_code > 0 && copy::throwOut(context);
  if (!opened && !copying && !throwOut(signal, *info, context)) {
    abandonCompile(*info);
    passOn(signal, info, context);
  }
  errno = savedError;
}

void handleStep(int signal, siginfo_t* info, void* context) {
  const int savedError = errno;
  if (!check::host_accesses::stepped(context)) passOn(signal, info, context);
  errno = savedError;
}

bool isOurs(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) && (action.sa_sigaction == handle || action.sa_sigaction == handleStep);
}

void install(int signal) {
  struct sigaction present {};
  if (sigaction(signal, nullptr, &present) || isOurs(present)) return;
  const bool first = !installed[signal].load(std::memory_order_relaxed);
  if (first) previous[signal].older = present;
  previous[signal].newest = present;
  struct sigaction ours {};
  ours.sa_sigaction = signal == kStep ? handleStep : handle;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER;
  sigemptyset(&ours.sa_mask);
  sigaction(signal, &ours, nullptr);
  installed[signal].store(true, std::memory_order_release);
}

}  // namespace

void throwWith(Thrower known) { thrower.store(known, std::memory_order_release); }

void abandonWith(Abandoner known) { abandoner.store(known, std::memory_order_release); }

namespace {

// Ticks that it takes to ask whose handler is in place: the least seen. An application that changes it takes longer.
struct Asking {
  static constexpr uint32_t kSamples = 16;  // before it is believed
  static constexpr uint64_t kOften = 256;   // it is asked no later than after so many times what that takes

  std::atomic<uint64_t> least{~uint64_t{0}};
  std::atomic<uint32_t> samples{0};

  void learn(uint64_t ticks) {
    if (ticks < least.load(std::memory_order_relaxed)) least.store(ticks, std::memory_order_relaxed);
    if (samples.load(std::memory_order_relaxed) < kSamples) samples.fetch_add(1, std::memory_order_relaxed);
  }
  uint64_t known() const {
    return samples.load(std::memory_order_relaxed) < kSamples ? 0 : least.load(std::memory_order_relaxed);
  }
};
constinit Asking asking;
constinit thread_local uint64_t askedAt [[gnu::tls_model("initial-exec")]] = 0;  // ticks; when it was ours

// May miss that the application changed the handler, for kOften times the cost of asking at most, some 50 us: if
// another thread did, or a handler of a signal that came while this thread was inside a launch.
bool isInPlace() {
  const uint64_t now = tick_clock::ticksNow<false>(), cheap = asking.known();
  if (CallerTime::take() < cheap && now - askedAt < Asking::kOften * cheap) return true;
  struct sigaction present {};
  if (sigaction(SIGSEGV, nullptr, &present) || !isOurs(present)) return false;
  askedAt = now;
  asking.learn(tick_clock::ticksNow<false>() - now);
  return true;
}

}  // namespace

void arm() {
  if (installed[SIGSEGV].load(std::memory_order_acquire) && isInPlace()) [[likely]]
    return;
  const MutexLock lock(installMutex);
  for (int signal : kSynchronous) install(signal);
}

bool armForSteps() {
  if (!check::host_accesses::canFollow()) return false;
  arm();
  const MutexLock lock(installMutex);
  install(kStep);
  struct sigaction step {
  }, fault{};
  return !sigaction(kStep, nullptr, &step) && isOurs(step) && !sigaction(SIGSEGV, nullptr, &fault) && isOurs(fault);
}

void interrupt(pthread_t thread) {
  if (!installed[kInterrupt].load(std::memory_order_acquire)) {
    const MutexLock lock(installMutex);
    install(kInterrupt);
  }
  pthread_kill(thread, kInterrupt);
}

}  // namespace vg::backend::cpu::faults
