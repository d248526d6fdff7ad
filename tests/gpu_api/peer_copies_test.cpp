// Copies from one GPU to another that has no access to its memory: the bytes are right, and the host does not read
// memory of a GPU, which takes it forty times as long as to write it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "gpu_api/fake_devices.h"

namespace vg::testing {
namespace {

constexpr size_t kBytes = size_t{12} << 20;

// Whether the host may touch an address.
bool isShown(CUdeviceptr address) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  bool shown = false;
  char line[512], access[8];
  for (unsigned long long from, to; std::fgets(line, sizeof(line), maps);)
    if (std::sscanf(line, "%llx-%llx %7s", &from, &to, access) == 3 && from <= address && address < to)
      shown = access[0] == 'r';
  std::fclose(maps);
  return shown;
}

struct PeerCopies : ApiTest {
  void SetUp() override {
    ApiTest::SetUp();
    for (size_t i = 0; i < kBytes; ++i) pattern[i] = static_cast<uint8_t>(i * 11 + i / 253);
  }
  std::vector<uint8_t> pattern = std::vector<uint8_t>(kBytes);
};

TEST_F(PeerCopies, WithoutAccessAreReadByTheGpuThatHasTheMemory) {
  for (const CUcontext current : {context, otherContext})
    for (const size_t bytes : {size_t{100}, size_t{10'000}, size_t{100'000}, size_t{3} << 20, kBytes})
      for (const bool waits : {true, false}) {
        CUdeviceptr from = 0, to = 0;
        OK(cuCtxSetCurrent(otherContext));
        OK(cuMemAlloc_v2(&to, kBytes));
        OK(cuCtxSetCurrent(context));
        OK(cuMemAlloc_v2(&from, kBytes));
        OK(cuMemcpyHtoD_v2(from, pattern.data(), kBytes));
        ASSERT_FALSE(isShown(from));
        OK(cuCtxSetCurrent(current));
        if (waits)
          OK(cuMemcpyPeer(to, otherContext, from, context, bytes));
        else
          OK(cuMemcpyPeerAsync(to, otherContext, from, context, bytes, nullptr));
        OK(cuCtxSynchronize());
        EXPECT_FALSE(isShown(from)) << bytes << " bytes";
        std::vector<uint8_t> got(bytes);
        OK(cuMemcpyDtoH_v2(got.data(), to, bytes));
        EXPECT_TRUE(std::equal(got.begin(), got.end(), pattern.begin())) << bytes << " bytes";
        OK(cuMemFree_v2(from));
        OK(cuMemFree_v2(to));
      }
}

}  // namespace
}  // namespace vg::testing
