#include <gtest/gtest.h>
#include <sys/mman.h>

#include <csetjmp>
#include <csignal>
#include <thread>

#include "backend/cpu/faults/faults.h"
#include "unit/backend_cpu/native_kernel.h"

namespace vg::backend::cpu {
namespace {

using namespace testing;
using ptx::BlockState;

struct Target {
  volatile int* address;
};

__attribute__((no_sanitize("undefined"), no_sanitize("thread"))) void writeTo(BlockState* block, uint32_t, uint32_t) {
  *parametersOf<Target>(block).address = 1;
}

volatile int* unmapped() {
  static void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return static_cast<volatile int*>(page);
}

void nothing(BlockState*, uint32_t, uint32_t) {}

TEST(Faults, AWildAccessIsAnIllegalAddressAndTheProcessGoesOn) {
  NativeKernel kernel(writeTo);
  NativeKernel harmless(nothing);
  for (volatile int* address : {unmapped(), static_cast<volatile int*>(nullptr),
                                reinterpret_cast<volatile int*>(uint64_t{0x8000'0000'0000'0000})}) {
    Target target{address};
    for (uint32_t blocks : {1u, 100u}) {
      const Launched launched = launch(kernel, blocks, 64, &target);
      EXPECT_EQ(launched.result, CUDA_ERROR_ILLEGAL_ADDRESS);
      EXPECT_NE(launched.reason.find("block ["), std::string::npos) << launched.reason;
    }
    EXPECT_EQ(launch(harmless, 10, 64).result, CUDA_SUCCESS);
  }
}

TEST(Faults, TheReasonNamesTheAddressAndTheWarp) {
  NativeKernel kernel(
      [](BlockState* block, uint32_t warp, uint32_t) {
        callsOf(block).barrier(block, warp, 0, 0, ~0u);
        if (warp == 2) *parametersOf<Target>(block).address = 1;
        callsOf(block).barrier(block, warp, 0, 0, ~0u);
      },
      waiting());
  Target target{unmapped() + 3};
  const Launched launched = launch(kernel, 1, 128, &target);
  EXPECT_EQ(launched.result, CUDA_ERROR_ILLEGAL_ADDRESS);
  char address[32];
  std::snprintf(address, sizeof address, "%p", static_cast<const void*>(const_cast<int*>(unmapped() + 3)));
  EXPECT_NE(launched.reason.find(address), std::string::npos) << launched.reason;
  EXPECT_NE(launched.reason.find("warp 2"), std::string::npos) << launched.reason;
}

TEST(Faults, SharedMemoryEndsAtAGap) {
  ptx::KernelTraits traits;
  traits.staticShared = 4096;
  static uint64_t offset;
  NativeKernel kernel([](BlockState* block, uint32_t, uint32_t) { block->shared[offset] = std::byte{1}; }, traits);
  offset = 4095;
  EXPECT_EQ(launch(kernel, 1, 32).result, CUDA_SUCCESS);
  // Beyond the end, far beyond it, and a negative 32-bit offset.
  for (uint64_t outside : {uint64_t{4096}, uint64_t{100'000}, uint64_t{0xFFFFFFFC}, uint64_t{0x80000000}}) {
    offset = outside;
    EXPECT_EQ(launch(kernel, 1, 32).result, CUDA_ERROR_ILLEGAL_ADDRESS) << outside;
  }
}

int recurse(volatile int* depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(*depth);
  *depth = *depth + 1;
  return *depth < 1 << 30 ? recurse(depth) + frame[0] : 0;
}

TEST(Faults, AStackOverflowIsALaunchFailureThatNamesTheLimit) {
  NativeKernel kernel([](BlockState*, uint32_t, uint32_t) {
    volatile int depth = 0;
    recurse(&depth);
  });
  const Launched launched = launch(kernel, 1, 32);
  EXPECT_EQ(launched.result, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(launched.reason.find("CU_LIMIT_STACK_SIZE"), std::string::npos) << launched.reason;
}

TEST(Faults, TrapsBecomeTheirErrors) {
  static ptx::TrapReason reason;
  NativeKernel kernel(
      [](BlockState* block, uint32_t warp, uint32_t) { callsOf(block).trap(block, warp, 1, reason, 77); });
  const std::pair<ptx::TrapReason, CUresult> cases[] = {
      {ptx::TrapReason::Trap, CUDA_ERROR_LAUNCH_FAILED},
      {ptx::TrapReason::IllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {ptx::TrapReason::MisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS},
      {ptx::TrapReason::SharedOutOfRange, CUDA_ERROR_ILLEGAL_ADDRESS},
      {ptx::TrapReason::StackOverflow, CUDA_ERROR_LAUNCH_FAILED}};
  for (const auto& [which, error] : cases) {
    reason = which;
    const Launched launched = launch(kernel, 3, 96);
    EXPECT_EQ(launched.result, error);
    EXPECT_NE(launched.reason.find("line 77"), std::string::npos) << launched.reason;
  }
}

TEST(Faults, UndefinedInstructionsAreIllegalOnes) {
#if defined(__x86_64__)
#define VG_UNDEFINED "ud2"
#else
#define VG_UNDEFINED "udf #0"
#endif
  NativeKernel kernel([](BlockState*, uint32_t, uint32_t) { asm volatile(VG_UNDEFINED); });
  EXPECT_EQ(launch(kernel, 1, 32).result, CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

TEST(Faults, AFaultStopsBlocksThatPoll) {
  NativeKernel kernel(
      [](BlockState* block, uint32_t warp, uint32_t) {
        if (block->blockNumber == 3) *parametersOf<Target>(block).address = 1;
        for (;;) callsOf(block).yield(block, warp);
      },
      polling());
  Target target{unmapped()};
  EXPECT_EQ(launch(kernel, 8, 64, &target).result, CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(Faults, ManyThreadsFaultApart) {
  NativeKernel kernel(writeTo);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      Target target{unmapped()};
      for (int round = 0; round < 50; ++round)
        EXPECT_EQ(launch(kernel, 4, 32, &target).result, CUDA_ERROR_ILLEGAL_ADDRESS);
    });
  for (std::thread& thread : threads) thread.join();
}

// The application's own handlers: set before us, set after us, and set after us in the usual way that calls us.
sigjmp_buf back;
struct sigaction chained;

void jumpBack(int, siginfo_t*, void*) { siglongjmp(back, 1); }
void callChained(int signal, siginfo_t* info, void* context) { chained.sa_sigaction(signal, info, context); }

void setHandler(void (*handler)(int, siginfo_t*, void*), struct sigaction* old) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ASSERT_EQ(sigaction(SIGSEGV, &action, old), 0);
}

void expectOwnFaultIsHandled() {
  for (int round = 0; round < 3; ++round) {
    volatile bool handled = true;
    if (!sigsetjmp(back, 1)) {
      *unmapped() = 1;
      handled = false;
    }
    EXPECT_TRUE(handled);
  }
}

TEST(FaultsDeathTest, FaultsOfTheApplicationReachItsHandlers) {
  NativeKernel kernel(writeTo);
  Target target{unmapped()};
  struct sigaction before {};
  // Before us.
  setHandler(jumpBack, &before);
  EXPECT_EQ(launch(kernel, 1, 32, &target).result, CUDA_ERROR_ILLEGAL_ADDRESS);
  expectOwnFaultIsHandled();
  EXPECT_EQ(launch(kernel, 1, 32, &target).result, CUDA_ERROR_ILLEGAL_ADDRESS);
  // After us, not calling us: we come back at the next launch.
  setHandler(jumpBack, nullptr);
  EXPECT_EQ(launch(kernel, 1, 32, &target).result, CUDA_ERROR_ILLEGAL_ADDRESS);
  expectOwnFaultIsHandled();
  // After us, calling us: no circle, and the fault ends where it always did.
  setHandler(callChained, &chained);
  EXPECT_EQ(launch(kernel, 1, 32, &target).result, CUDA_ERROR_ILLEGAL_ADDRESS);
  expectOwnFaultIsHandled();
  sigaction(SIGSEGV, &before, nullptr);
}

TEST(FaultsDeathTest, AFaultOfTheApplicationStillEndsTheProcess) {
  EXPECT_DEATH(
      {
        NativeKernel kernel(nothing);
        launch(kernel, 1, 32);
        *unmapped() = 1;
      },
      "");
}

}  // namespace
}  // namespace vg::backend::cpu
