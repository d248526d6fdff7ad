#include "check/races/host_accesses.h"

#include <pthread.h>
#include <ucontext.h>
#include <csignal>

#include <algorithm>
#include <cstring>

#include "activity/recorder.h"
#include "base/sync/spin.h"
#include "base/system/os.h"
#include "check/memory/host_pages.h"
#include "check/races/global_races.h"
#include "check/races/host_instruction.h"
#include "check/reports/caller.h"

namespace vg::check::host_accesses {
namespace {

constexpr unsigned kMostPages = 4;  // of one instruction
// Times that one address faults although its page is open, each soon after the last one.
constexpr unsigned kMostAgain = 1000;
constexpr uint64_t kSoon = 10'000'000;  // ns
// As instructions number them.
constexpr int kRegisters[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                              REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
constexpr greg_t kTrapFlag = 1 << 8, kWriteFault = 1 << 1;

// An instruction that runs on its own.
struct Step {
  uint64_t pages[kMostPages] = {};
  unsigned count = 0;
  // A store that is a race if it changes something.
  bool pending = false;
  global_memory::Conflict conflict;
  Caller caller;
  uint64_t address = 0;
  uint32_t bytes = 0;
  std::byte before[64] = {};
  uint64_t signals = 0;  // that were blocked before the first fault, as a mask of the kernel
};
constinit thread_local Step step [[gnu::tls_model("initial-exec")]];

struct Again {
  uint64_t address = 0;
  unsigned times = 0;
  uint64_t last = 0;  // ns
};
constinit thread_local Again again [[gnu::tls_model("initial-exec")]];

bool ofProgram() { return !os::isOwnThread() && !activity::threadPart.correlation; }

ucontext_t& of(void* context) { return *static_cast<ucontext_t*>(context); }

// Before the instruction runs. What it stores is looked at when it has.
void judge(uint64_t address, const ucontext_t& at) {
  const auto instruction = static_cast<uint64_t>(at.uc_mcontext.gregs[REG_RIP]);
  const bool writes = at.uc_mcontext.gregs[REG_ERR] & kWriteFault;
  uint64_t registers[16];
  for (unsigned k = 0; k < 16; ++k) registers[k] = static_cast<uint64_t>(at.uc_mcontext.gregs[kRegisters[k]]);
  const uint32_t bytes = accessedBytesFrom(address, reinterpret_cast<const uint8_t*>(instruction), registers);
  const auto inPage = static_cast<uint32_t>(std::min<uint64_t>(bytes, host_pages::kPage - address % host_pages::kPage));
  global_memory::Conflict conflict;
  if (!global_races::hostConflicts(address, inPage, writes, conflict)) return;
  if (!writes) return global_races::tellOfHost(conflict, Caller::at(instruction));
  if (step.pending) return;
  step.conflict = conflict;
  step.address = address;
  step.caller = Caller::at(instruction);
  step.bytes = std::min<uint32_t>(inPage, sizeof step.before);
  std::memcpy(step.before, reinterpret_cast<const void*>(address), step.bytes);
  step.pending = true;
}

bool isGenuine(uint64_t address) {
  const uint64_t now = monotonicNanoseconds();
  if (again.address != address || now - again.last > kSoon) again = {address, 0, now};
  again.last = now;
  return ++again.times > kMostAgain;
}

// The mask of a handler's context is as long as the kernel's: behind it lies something else, unlike in a sigset_t.
uint64_t kernelMask(const sigset_t& signals) {
  uint64_t mask;
  std::memcpy(&mask, &signals, sizeof mask);
  return mask;
}
void setMask(ucontext_t& at, uint64_t mask) { std::memcpy(&at.uc_sigmask, &mask, sizeof mask); }

// No handler of a signal that may come at any time runs between an instruction's fault and its step: what it touches
// would be taken for the instruction's.
void blockSignals(ucontext_t& at) { setMask(at, kernelMask(at.uc_sigmask) | kernelMask(os::asynchronousSignals())); }

// The same in a handler. Where the instruction is to run again, its end lets them come, as the context says then.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    const sigset_t others = os::asynchronousSignals();
    pthread_sigmask(SIG_BLOCK, &others, &before_);
  }
  ~SignalsBlocked() {
    if (!returns_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  bool returns() { return returns_ = true; }

 private:
  sigset_t before_;
  bool returns_ = false;
};

}  // namespace

bool canFollow() { return true; }

bool faulted(const void* pointer, void* context) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (!host_pages::mayBeClosed(address)) return false;
  SignalsBlocked blocked;
  ucontext_t& at = of(context);
  // Who has SIGTRAP blocked cannot be followed from one instruction to the next.
  const bool followed = ofProgram() && !sigismember(&at.uc_sigmask, SIGTRAP) && step.count < kMostPages;
  const host_pages::Fault answer = host_pages::fault(address, followed);
  if (answer == host_pages::Fault::Foreign) return false;
  if (answer == host_pages::Fault::WasOpen) return !isGenuine(address) && blocked.returns();
  again = {};
  if (answer == host_pages::Fault::Opened) return blocked.returns();
  judge(address, at);
  if (!step.count) step.signals = kernelMask(at.uc_sigmask);
  blockSignals(at);
  step.pages[step.count++] = address;
  at.uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  return blocked.returns();
}

bool stepped(void* context) {
  if (!step.count) return false;
  of(context).uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  setMask(of(context), step.signals);
  // Whatever faults from here on in is a step of its own.
  const Step done = step;
  step.count = 0;
  step.pending = false;
  // Before stepped(): until then its pages are open.
  const bool changed =
      done.pending && std::memcmp(done.before, reinterpret_cast<const void*>(done.address), done.bytes);
  for (unsigned k = 0; k < done.count; ++k) host_pages::stepped(done.pages[k]);
  if (changed) global_races::tellOfHost(done.conflict, done.caller);
  return true;
}

}  // namespace vg::check::host_accesses
