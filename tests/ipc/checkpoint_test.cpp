// Processes that stop each other. Facts recorded from driver 580.159.04 on an H200, where nothing else is said.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "peer.h"

namespace {

constexpr int kShortly = 100, kLong = 10000;  // ms
constexpr uint32_t kSum = 1000 + 200 + 4 + 30;

class Checkpoint : public testing::Test {
 protected:
  void SetUp() override { start(); }
};

int stateOf(pid_t process) {
  CUprocessState state{};
  const CUresult result = cuCheckpointProcessGetState(process, &state);
  return result ? -static_cast<int>(result) : static_cast<int>(state);
}
constexpr int kRunning = CU_PROCESS_STATE_RUNNING, kLocked = CU_PROCESS_STATE_LOCKED,
              kCheckpointed = CU_PROCESS_STATE_CHECKPOINTED, kNone = -CUDA_ERROR_OPERATING_SYSTEM,
              kUninitialised = -CUDA_ERROR_NOT_INITIALIZED;

CUresult lock(pid_t process) { return cuCheckpointProcessLock(process, nullptr); }
CUresult checkpoint(pid_t process) { return cuCheckpointProcessCheckpoint(process, nullptr); }
CUresult restore(pid_t process) { return cuCheckpointProcessRestore(process, nullptr); }
CUresult unlock(pid_t process) { return cuCheckpointProcessUnlock(process, nullptr); }

Peer ready(const char* role) {
  Peer peer(role);
  EXPECT_TRUE(peer.link().await());
  return peer;
}
uint32_t answerOf(const Peer& peer) {
  uint32_t word = 0;
  EXPECT_TRUE(peer.link().receive(word));
  return word;
}

TEST_F(Checkpoint, AProcessGoesThroughAllStatesAndKeepsWhatItHas) {
  Peer peer = ready("worker");
  const pid_t process = peer.process();
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(stateOf(process), kRunning);
    ASSERT_OK(lock(process));
    EXPECT_EQ(stateOf(process), kLocked);
    peer.link().go();
    EXPECT_FALSE(peer.link().arrives(kShortly));
    ASSERT_OK(checkpoint(process));
    EXPECT_EQ(stateOf(process), kCheckpointed);
    EXPECT_FALSE(peer.link().arrives(kShortly));
    ASSERT_OK(restore(process));
    EXPECT_EQ(stateOf(process), kLocked);
    EXPECT_FALSE(peer.link().arrives(kShortly));
    ASSERT_OK(unlock(process));
    EXPECT_EQ(stateOf(process), kRunning);
    EXPECT_EQ(answerOf(peer), kSum);
  }
}

TEST_F(Checkpoint, AProcessWithoutContextsGoesThroughThemToo) {
  Peer peer = ready("counter");
  ASSERT_OK(lock(peer.process()));
  peer.link().go();
  EXPECT_EQ(answerOf(peer), 2u);  // asking for facts needs no lock
  ASSERT_OK(checkpoint(peer.process()));
  peer.link().go();
  EXPECT_FALSE(peer.link().arrives(kShortly));
  ASSERT_OK(restore(peer.process()));
  EXPECT_EQ(answerOf(peer), 2u);
  ASSERT_OK(unlock(peer.process()));
}

TEST_F(Checkpoint, StepsHaveAnOrder) {
  const Peer peer = ready("worker");
  const pid_t process = peer.process();
  EXPECT_EQ(checkpoint(process), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(restore(process), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(unlock(process), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_OK(lock(process));
  EXPECT_EQ(lock(process), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(restore(process), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_OK(checkpoint(process));
  EXPECT_EQ(lock(process), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(checkpoint(process), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(unlock(process), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_OK(restore(process));
  ASSERT_OK(unlock(process));
}

TEST_F(Checkpoint, LockingWaitsForWorkOrGivesUp) {
  const Peer peer = ready("busy-worker");
  CUcheckpointLockArgs impatient{};
  impatient.timeoutMs = 50;
  EXPECT_EQ(cuCheckpointProcessLock(peer.process(), &impatient), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(stateOf(peer.process()), kRunning);
  peer.link().go();
  ASSERT_TRUE(peer.link().await());  // it runs: there is work again
  const auto before = std::chrono::steady_clock::now();
  ASSERT_OK(lock(peer.process()));
  EXPECT_GT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(100));
  peer.link().go();
  EXPECT_FALSE(peer.link().arrives(kShortly));
  ASSERT_OK(unlock(peer.process()));
  EXPECT_TRUE(peer.link().await());
}

TEST_F(Checkpoint, WhoEndsWhileItWaitsForALockLeavesTheProcessRunning) {
  const Peer peer = ready("busy-worker");
  Peer impatient = ready("locker");
  impatient.link().send(peer.process());
  usleep(50000);
  impatient.end(SIGKILL);
  usleep(50000);
  peer.link().go();
  EXPECT_TRUE(peer.link().await());
  EXPECT_EQ(stateOf(peer.process()), kRunning);
}

TEST_F(Checkpoint, ALockOutlivesWhoTookItAndAnyoneMayUnlock) {
  const Peer peer = ready("worker");
  {
    const Peer other = ready("locker");
    other.link().send(peer.process());
    EXPECT_EQ(answerOf(other), unsigned{CUDA_SUCCESS});
  }
  EXPECT_EQ(stateOf(peer.process()), kLocked);
  peer.link().go();
  EXPECT_FALSE(peer.link().arrives(kShortly));
  ASSERT_OK(unlock(peer.process()));
  EXPECT_EQ(answerOf(peer), kSum);
}

TEST_F(Checkpoint, ProcessesThatAreNotThereAndThoseWithoutTheDriver) {
  for (const int none : {0, -1, 99999999}) {
    EXPECT_EQ(stateOf(none), kNone) << none;
    EXPECT_EQ(lock(none), CUDA_ERROR_OPERATING_SYSTEM);
    EXPECT_EQ(checkpoint(none), CUDA_ERROR_OPERATING_SYSTEM);
    EXPECT_EQ(restore(none), CUDA_ERROR_OPERATING_SYSTEM);
    EXPECT_EQ(unlock(none), CUDA_ERROR_OPERATING_SYSTEM);
  }
  const Peer idler = ready("idler");
  EXPECT_EQ(stateOf(idler.process()), kUninitialised);
  EXPECT_EQ(lock(idler.process()), CUDA_ERROR_NOT_INITIALIZED);
  Peer peer = ready("worker");
  const pid_t process = peer.process();
  ASSERT_OK(lock(process));
  peer.end(SIGKILL);
  EXPECT_EQ(stateOf(process), kNone);
  EXPECT_EQ(unlock(process), CUDA_ERROR_OPERATING_SYSTEM);
}

TEST_F(Checkpoint, AForkedChildMayAskButNotBeAsked) {
  const pid_t parent = getpid();
  int up[2];
  ASSERT_EQ(pipe(up), 0);
  const pid_t child = fork();
  if (!child) {
    const int state = stateOf(parent);
    (void)!write(up[1], &state, sizeof state);
    usleep(300000);
    _exit(0);
  }
  int told = 99;
  EXPECT_EQ(read(up[0], &told, sizeof told), static_cast<ssize_t>(sizeof told));
  EXPECT_EQ(told, kRunning);
  EXPECT_EQ(stateOf(child), kUninitialised);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  close(up[0]);
  close(up[1]);
}

TEST_F(Checkpoint, ArgumentsAreLookedAtFirst) {
  EXPECT_EQ(cuCheckpointProcessGetState(getpid(), nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCheckpointProcessGetRestoreThreadId(getpid(), nullptr), CUDA_ERROR_INVALID_VALUE);
  CUcheckpointLockArgs lockArgs{};
  lockArgs.reserved1[6] = 1;
  EXPECT_EQ(cuCheckpointProcessLock(99999999, &lockArgs), CUDA_ERROR_INVALID_VALUE);
  lockArgs = {};
  lockArgs.reserved0 = 1;
  EXPECT_EQ(cuCheckpointProcessLock(getpid(), &lockArgs), CUDA_ERROR_INVALID_VALUE);
  CUcheckpointCheckpointArgs checkpointArgs{};
  checkpointArgs.reserved[3] = 1;
  EXPECT_EQ(cuCheckpointProcessCheckpoint(getpid(), &checkpointArgs), CUDA_ERROR_INVALID_VALUE);
  CUcheckpointUnlockArgs unlockArgs{};
  unlockArgs.reserved[0] = 1;
  EXPECT_EQ(cuCheckpointProcessUnlock(getpid(), &unlockArgs), CUDA_ERROR_INVALID_VALUE);
  CUcheckpointRestoreArgs restoreArgs{};
  restoreArgs.reserved[0] = 1;
  EXPECT_EQ(cuCheckpointProcessRestore(getpid(), &restoreArgs), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(stateOf(getpid()), kRunning);
}

TEST_F(Checkpoint, DevicesComeBackWhereTheyWere) {
  const Peer peer = ready("worker");
  const pid_t process = peer.process();
  ASSERT_OK(lock(process));
  ASSERT_OK(checkpoint(process));
  CUcheckpointGpuPair pairs[2];
  for (int device = 0; device < 2; ++device) {
    ASSERT_OK(cuDeviceGetUuid(&pairs[device].oldUuid, device));
    pairs[device].newUuid = pairs[device].oldUuid;
  }
  CUcheckpointRestoreArgs args{};
  args.gpuPairsCount = 2;
  EXPECT_EQ(cuCheckpointProcessRestore(process, &args), CUDA_ERROR_INVALID_VALUE);  // the vendor's crashes
  args.gpuPairs = pairs;
  pairs[1].newUuid.bytes[0] ^= 1;
  EXPECT_EQ(cuCheckpointProcessRestore(process, &args), CUDA_ERROR_INVALID_VALUE);
  std::swap(pairs[1].newUuid, pairs[1].oldUuid);
  EXPECT_EQ(cuCheckpointProcessRestore(process, &args), CUDA_ERROR_INVALID_VALUE);
  pairs[1].newUuid = pairs[0].newUuid;
  ASSERT_OK(cuDeviceGetUuid(&pairs[1].oldUuid, 1));
  EXPECT_EQ(cuCheckpointProcessRestore(process, &args), CUDA_ERROR_NOT_SUPPORTED);  // not asked of the vendor's
  EXPECT_EQ(stateOf(process), kCheckpointed);
  pairs[1].newUuid = pairs[1].oldUuid;
  ASSERT_OK(cuCheckpointProcessRestore(process, &args));
  ASSERT_OK(unlock(process));
}

TEST_F(Checkpoint, AThreadMayStopItsOwnProcess) {
  CUcontext context = nullptr;
  ASSERT_OK(cuCtxGetCurrent(&context));
  const CUdeviceptr memory = filled(1 << 20, 7);
  ASSERT_OK(lock(getpid()));
  EXPECT_EQ(stateOf(getpid()), kLocked);
  std::atomic<int> queried{-1}, allocated{-1};
  std::thread other([&] {
    cuCtxSetCurrent(context);
    queried.store(cuCtxSynchronize());  // there is nothing to wait for
    CUdeviceptr more = 0;
    allocated.store(cuMemAlloc(&more, 4096));
  });
  while (queried.load() < 0) usleep(1000);
  EXPECT_EQ(queried.load(), int{CUDA_SUCCESS});
  usleep(kShortly * 1000);
  EXPECT_EQ(allocated.load(), -1);
  ASSERT_OK(checkpoint(getpid()));
  EXPECT_EQ(stateOf(getpid()), kCheckpointed);
  ASSERT_OK(restore(getpid()));
  ASSERT_OK(unlock(getpid()));
  other.join();
  EXPECT_EQ(allocated.load(), int{CUDA_SUCCESS});
  EXPECT_EQ(wordAt(memory), 7u);
}

TEST_F(Checkpoint, AnotherThreadLetsTheWaitingOneGoOn) {
  ASSERT_OK(lock(getpid()));
  std::thread other([] {
    usleep(kShortly * 1000);
    EXPECT_OK(unlock(getpid()));
  });
  EXPECT_EQ(wordAt(filled(4096, 5)), 5u);
  other.join();
}

TEST_F(Checkpoint, AFailedProcessTellsItsError) {
  const Peer peer("failed-worker");
  EXPECT_EQ(answerOf(peer), unsigned{CUDA_ERROR_LAUNCH_FAILED});
  EXPECT_EQ(stateOf(peer.process()), kRunning);
  EXPECT_EQ(lock(peer.process()), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(checkpoint(peer.process()), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(stateOf(peer.process()), kRunning);
}

TEST_F(Checkpoint, AProcessMayEndWhileItIsLocked) {
  Peer peer = ready("worker");
  ASSERT_OK(lock(peer.process()));
  peer.join();  // in an orderly way
}

TEST_F(Checkpoint, ProcessesOfOtherUsersAreRefused) {
  if (geteuid()) GTEST_SKIP() << "only root can become another user";
  const Peer peer = ready("worker");
  const Peer stranger = ready("foreign-locker");
  stranger.link().send(peer.process());
  EXPECT_EQ(answerOf(stranger), unsigned{CUDA_ERROR_OPERATING_SYSTEM});  // not asked of the vendor's
  EXPECT_EQ(stateOf(peer.process()), kRunning);
}

TEST_F(Checkpoint, TheThreadThatAnswersIsOneOfTheProcess) {
  const Peer peer = ready("counter");
  int thread = 0;
  ASSERT_OK(cuCheckpointProcessGetRestoreThreadId(peer.process(), &thread));
  EXPECT_NE(thread, peer.process());
  std::ifstream file("/proc/" + std::to_string(peer.process()) + "/task/" + std::to_string(thread) + "/comm");
  std::string name;
  EXPECT_TRUE(std::getline(file, name));
  EXPECT_EQ(name, "vg-checkpoint");
  EXPECT_EQ(stateOf(thread), kRunning);  // its number stands for the process
}

TEST_F(Checkpoint, ManyMayAskAtOnce) {
  const Peer peer = ready("worker");
  std::atomic<int> locks{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        const CUresult result = lock(peer.process());
        EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_ILLEGAL_STATE);
        if (result) continue;
        EXPECT_EQ(locks.fetch_add(1), 0);
        EXPECT_EQ(stateOf(peer.process()), kLocked);
        locks.fetch_sub(1);
        EXPECT_OK(unlock(peer.process()));
      }
    });
  for (std::thread& thread : threads) thread.join();
  peer.link().go();
  EXPECT_TRUE(peer.link().arrives(kLong));
  EXPECT_EQ(answerOf(peer), kSum);
}

}  // namespace
