// Where reserved addresses of virtual memory management lie.
#include <cstdint>

#include "gpu_api/fake_devices.h"

namespace vg::testing {
namespace {

using Reservations = ApiTest;

// Mapping and unmapping there is quick only beside a mapping that stays: one of each GPU.
TEST_F(Reservations, BeginBesideTheMappingsThatStay) {
  constexpr size_t kGranule = size_t{2} << 20, kNeighbourhood = size_t{512} << 20, kGpus = 2;
  CUdeviceptr start = 0;
  OK(cuMemAddressReserve(&start, kGranule, 0, 0, 0));
  EXPECT_GE(start % kNeighbourhood, kGpus * kGranule);  // other tests may have reserved some
  OK(cuMemAddressFree(start, kGranule));
}

}  // namespace
}  // namespace vg::testing
