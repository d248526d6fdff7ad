// The GPU's clock as the host tells it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

#include "backend/nvidia/gpu_clock.h"
#include "base/sync/spin.h"

namespace vg::testing {
namespace {

using backend::nvidia::GpuClock;

constexpr uint64_t kAhead = uint64_t{3} << 40;  // ns
constexpr uint64_t kNear = 500'000;

uint64_t there() { return monotonicNanoseconds() + kAhead; }

TEST(GpuClock, IsReadFromTheRegisterWhereThatAgreesWithTheDriver) {
  std::atomic<int> calls{0}, reads{0};
  GpuClock clock({[&]() -> Result<uint64_t> { return ++calls, there(); },
                  [&] { return ++reads, static_cast<uint32_t>(there()); }});
  uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    const uint64_t before = there(), now = clock.now();
    EXPECT_GE(now + kNear, before);
    EXPECT_LE(now, there() + kNear);
    EXPECT_GE(now, last);
    last = now;
    usleep(1000);
  }
  EXPECT_LE(calls, 3);
  EXPECT_GT(reads, 5);
}

TEST(GpuClock, AsksTheDriverWhereTheRegisterShowsSomethingElse) {
  std::atomic<int> calls{0};
  GpuClock clock({[&]() -> Result<uint64_t> { return ++calls, there(); }, [] { return 0xbadf5040u; }});
  for (int i = 0; i < 10; ++i) {
    const uint64_t before = there(), now = clock.now();
    EXPECT_GE(now + kNear, before);
    EXPECT_LE(now, there() + kNear);
    usleep(1000);
  }
  EXPECT_GT(calls, 3);
}

TEST(GpuClock, IsTheHostsWhereNobodyAnswers) {
  GpuClock clock({[]() -> Result<uint64_t> { return CUDA_ERROR_UNKNOWN; }, [] { return 0u; }});
  const uint64_t before = monotonicNanoseconds(), now = clock.now();
  EXPECT_GE(now + kNear, before);
  EXPECT_LE(now, monotonicNanoseconds() + kNear);
}

// As when the clocks are compared anew.
TEST(GpuClock, NeverGoesBack) {
  std::atomic<uint64_t> error{1'000'000};
  GpuClock clock({[&]() -> Result<uint64_t> { return there() + error; }, [] { return 0u; }});
  const uint64_t first = clock.now();
  error = 0;
  usleep(3000);
  EXPECT_GE(clock.now(), first);
}

}  // namespace
}  // namespace vg::testing
