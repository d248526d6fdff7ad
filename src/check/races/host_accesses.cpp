#include "check/races/host_accesses.h"

#include <ucontext.h>
#include <csignal>

#include <algorithm>
#include <cstring>

#include "activity/recorder.h"
#include "base/system/os.h"
#include "check/memory/host_pages.h"
#include "check/races/global_races.h"
#include "check/races/host_instruction.h"
#include "check/reports/caller.h"

namespace vg::check::host_accesses {
namespace {

constexpr unsigned kMostPages = 4;     // of one instruction
constexpr unsigned kMostAgain = 1000;  // times that one address faults although its page is open
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
};
constinit thread_local Step step [[gnu::tls_model("initial-exec")]];

struct Again {
  uint64_t address = 0;
  unsigned times = 0;
};
constinit thread_local Again again [[gnu::tls_model("initial-exec")]];

bool ofProgram() { return !os::isOwnThread() && !activity::threadPart.correlation; }

ucontext_t& of(void* context) { return *static_cast<ucontext_t*>(context); }

// Before the instruction runs. What it stores is looked at when it has.
void judge(uint64_t address, const ucontext_t& at) {
  const auto instruction = static_cast<uint64_t>(at.uc_mcontext.gregs[REG_RIP]);
  const bool writes = at.uc_mcontext.gregs[REG_ERR] & kWriteFault;
  const uint32_t bytes = accessedBytes(reinterpret_cast<const uint8_t*>(instruction));
  const auto inPage = static_cast<uint32_t>(std::min<uint64_t>(bytes, host_pages::kPage - address % host_pages::kPage));
  global_memory::Conflict conflict;
  if (!global_races::hostConflicts(address, inPage, writes, conflict)) return;
  if (!writes) return global_races::tellOfHost(conflict, Caller::at(instruction));
  if (step.pending) return;
  step.pending = true;
  step.conflict = conflict;
  step.address = address;
  step.caller = Caller::at(instruction);
  step.bytes = std::min<uint32_t>(inPage, sizeof step.before);
  std::memcpy(step.before, reinterpret_cast<const void*>(address), step.bytes);
}

bool isGenuine(uint64_t address) {
  if (again.address != address) again = {address, 0};
  return ++again.times > kMostAgain;
}

}  // namespace

bool faulted(const void* pointer, void* context) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (!host_pages::mayBeClosed(address)) return false;
  ucontext_t& at = of(context);
  // Who has SIGTRAP blocked cannot be followed from one instruction to the next.
  const bool followed = ofProgram() && !sigismember(&at.uc_sigmask, SIGTRAP) && step.count < kMostPages;
  const host_pages::Fault answer = host_pages::fault(address, followed);
  if (answer == host_pages::Fault::Foreign) return false;
  if (answer == host_pages::Fault::Again) return !isGenuine(address);
  again = {};
  step.pages[step.count++] = address;
  at.uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  judge(address, at);
  return true;
}

bool stepped(void* context) {
  if (!step.count) return false;
  of(context).uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  const bool changed =
      step.pending && std::memcmp(step.before, reinterpret_cast<const void*>(step.address), step.bytes);
  for (; step.count; --step.count) host_pages::stepped(step.pages[step.count - 1]);
  step.pending = false;
  if (changed) global_races::tellOfHost(step.conflict, step.caller);
  return true;
}

}  // namespace vg::check::host_accesses
