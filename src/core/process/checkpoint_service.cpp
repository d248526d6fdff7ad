// The thread that other processes ask to stop this one and to let it go on. It begins with what cuInit does not wait
// for.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/log.h"
#include "base/sync/spin.h"
#include "base/system/os.h"
#include "base/system/process_board.h"
#include "core/contexts/context.h"
#include "core/process/checkpoint.h"
#include "core/process/device.h"
#include "core/process/gate.h"
#include "ipc/process_channel.h"
#include "ipc/service.h"

namespace vg::core::checkpoint {
namespace {

using ipc::ProcessAnswer;
using ipc::ProcessQuestion;

constinit std::atomic<int> listener{-1};

// Work that ends makes no sound: it is looked for again and again.
constexpr int kLook = 1;  // ms
// A thread that passed the gate before it was closed may not have given its work to a stream yet.
constexpr int kQuietLooks = 5;

bool workHasEnded() {
  try {
    return pendingEverywhere().empty();
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool isGone(int client) {
  pollfd polled{client, POLLRDHUP, 0};
  return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

Device* deviceWith(const CUuuid& uuid) {
  for (int ordinal = 0; ordinal < deviceCount(); ++ordinal)
    if (std::memcmp(&deviceAt(ordinal).traits().uuid, &uuid, sizeof uuid) == 0) return &deviceAt(ordinal);
  return nullptr;
}

CUresult checkPairs(const ProcessQuestion& question) {
  for (const ProcessQuestion::Pair* pair = question.pairs; pair < question.pairs + question.pairCount; ++pair) {
    const Device* const from = deviceWith(pair->from);
    const Device* const to = deviceWith(pair->to);
    if (!from || !to) return fail(CUDA_ERROR_INVALID_VALUE, "a pair of devices names one that is not there");
    if (from != to) return unsupported("to restore device %d in the place of %d", to->ordinal(), from->ordinal());
  }
  return CUDA_SUCCESS;
}

class CheckpointService final : public ipc::Service {
 public:
  explicit CheckpointService(int listening) : Service(listening, true) {}

 private:
  struct Locking {
    int client;
    uint64_t until;  // ns; 0: as long as it takes
    int quietLooks;
  };

  bool asked(int client) override {
    ProcessQuestion question;
    if (!ipc::hear(client, question)) return false;
    if (question.verb == ProcessQuestion::Verb::Lock) return beginLock(client, question.milliseconds);
    ipc::tell(client, answer(perform(question)));
    return false;
  }

  ProcessAnswer answer(CUresult result) const { return {result, state_, static_cast<int>(gettid())}; }

  CUresult perform(const ProcessQuestion& question) {
    switch (question.verb) {
      case ProcessQuestion::Verb::State:
        return CUDA_SUCCESS;
      case ProcessQuestion::Verb::Checkpoint:
        return checkpoint();
      case ProcessQuestion::Verb::Restore:
        return restore(question);
      case ProcessQuestion::Verb::Unlock:
        VG_CHECK(expect(CU_PROCESS_STATE_LOCKED, "unlocked"));
        return move(Gate::Locked, Gate::Open, CU_PROCESS_STATE_RUNNING);
      default:
        return fail(CUDA_ERROR_INVALID_VALUE, "another process asked for an object that is not known here");
    }
  }

  CUresult expect(CUprocessState state, const char* what) const {
    if (state_ == state) return CUDA_SUCCESS;
    return fail(CUDA_ERROR_ILLEGAL_STATE, "this process is in state %d and cannot be %s", static_cast<int>(state_),
                what);
  }

  CUresult move(Gate from, Gate to, CUprocessState state) {
    if (!moveGate(from, to)) return fail(CUDA_ERROR_DEINITIALIZED, "the process is exiting");
    state_ = state;
    return CUDA_SUCCESS;
  }

  CUresult mayLock() const {
    if (locking_.client >= 0) return fail(CUDA_ERROR_ILLEGAL_STATE, "another process is about to lock this one");
    VG_CHECK(expect(CU_PROCESS_STATE_RUNNING, "locked"));
    return checkNoFault();
  }

  // True: the client waits, and the answer is turn()'s.
  bool beginLock(int client, unsigned milliseconds) {
    CUresult result = mayLock();
    if (!result && !moveGate(Gate::Open, Gate::Locked)) result = CUDA_ERROR_DEINITIALIZED;
    if (result) {
      ipc::tell(client, answer(result));
      return false;
    }
    locking_ = {client, milliseconds ? monotonicNanoseconds() + milliseconds * uint64_t{1'000'000} : 0, 0};
    return true;
  }

  int turn() override {
    if (locking_.client < 0) return -1;
    locking_.quietLooks = workHasEnded() ? locking_.quietLooks + 1 : 0;
    if (locking_.quietLooks >= kQuietLooks) return endLock(checkNoFault());
    if (isGone(locking_.client)) return endLock(CUDA_ERROR_NOT_READY);
    if (locking_.until && monotonicNanoseconds() >= locking_.until)
      return endLock(fail(CUDA_ERROR_NOT_READY, "the work of this process has not ended in time to lock it"));
    return kLook;
  }

  int endLock(CUresult result) {
    if (!result) {
      state_ = CU_PROCESS_STATE_LOCKED;
    } else {
      moveGate(Gate::Locked, Gate::Open);
    }
    ipc::tell(locking_.client, answer(result));
    close(locking_.client);
    locking_.client = -1;
    return -1;
  }

  CUresult checkpoint() {
    VG_CHECK(expect(CU_PROCESS_STATE_LOCKED, "checkpointed"));
    for (int ordinal = 0; ordinal < deviceCount(); ++ordinal) VG_CHECK(deviceAt(ordinal).backend().canDetach());
    VG_CHECK(move(Gate::Locked, Gate::Stopped, CU_PROCESS_STATE_CHECKPOINTED));
    for (int ordinal = 0; ordinal < deviceCount(); ++ordinal) deviceAt(ordinal).backend().detach();
    board::leave();
    return CUDA_SUCCESS;
  }

  CUresult restore(const ProcessQuestion& question) {
    VG_CHECK(expect(CU_PROCESS_STATE_CHECKPOINTED, "restored"));
    VG_CHECK(checkPairs(question));
    for (int ordinal = 0; ordinal < deviceCount(); ++ordinal) deviceAt(ordinal).backend().attach();
    board::join();
    return move(Gate::Stopped, Gate::Locked, CU_PROCESS_STATE_LOCKED);
  }

  CUprocessState state_ = CU_PROCESS_STATE_RUNNING;
  Locking locking_{-1, 0, 0};
};

// The memory of emulated devices is found when somebody asks, in files that the program may have made unreadable by
// then: it may have changed its root, or have no descriptor left.
void findMemory() noexcept {
  for (int i = 0; i < deviceCount(); ++i) try {
      (void)uint64_t{deviceAt(i).backend().traits().totalMemory};
    } catch (const std::bad_alloc&) {  // then whoever asks finds it
    }
}

void threadMain(void* listening) {
  findMemory();
  CheckpointService service(static_cast<int>(reinterpret_cast<intptr_t>(listening)));
  service.run();
}

bool startService() {
  const int made = ipc::listenAsProcess();
  if (made < 0) {
    VG_LOG(Info, "other processes cannot lock or checkpoint this one: no socket, %s", strerror(errno));
    return false;
  }
  listener.store(made);
  if (os::startThread("vg-checkpoint", threadMain, reinterpret_cast<void*>(static_cast<intptr_t>(made)))) return true;
  listener.store(-1);
  close(made);
  return false;
}

}  // namespace

void serve() {
  if (!startService()) findMemory();
}

void leaveInChild() {
  const int inherited = listener.exchange(-1);
  if (inherited >= 0) close(inherited);
}

}  // namespace vg::core::checkpoint
