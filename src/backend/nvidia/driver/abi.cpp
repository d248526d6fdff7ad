#include "backend/nvidia/driver/abi.h"

#include <cstdlib>
#include <iterator>

#include "base/log.h"

namespace vg::backend::nvidia {
namespace {

constexpr Abi kRows[] = {
    // branch, build version, class list, name, engines, SM order, FB info, schedule, copy caps, peers, map tail, free,
    // uuid, preferred status
    {535, 776, 644, 132, 252, 6168, 436, 2, 68, 4252, 1176, 8, 16, 32},
    {550, 776, 700, 132, 260, 6168, 444, 2, 136, 8348, 9240, 8, 16, 36},
    {570, 1032, 404, 132, 340, 6168, 460, 2, 136, 8348, 9240, 8, 16, 36},
    {580, 1032, 804, 132, 340, 9240, 1028, 3, 136, 8348, 9240, 8, 16, 36},
    {590, 1032, 804, 132, 340, 9240, 1028, 3, 136, 8348, 9240, 0, 0, 36},
    {595, 1032, 804, 68, 340, 9240, 1028, 3, 136, 8348, 9240, 0, 0, 36},
};
constexpr int kNewest = 599;  // 610 moved fields of the channel's parameters

}  // namespace

Result<const Abi*> abiFor(const std::string& version) {
  const int branch = std::atoi(version.c_str());
  const Abi* row = nullptr;
  for (const Abi& candidate : kRows)
    if (candidate.branch <= branch) row = &candidate;
  if (!row || branch > kNewest) {
    return fail(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
                "the kernel driver's version \"%s\" is unknown: this library knows the branches %d to %d",
                version.c_str(), kRows[0].branch, std::end(kRows)[-1].branch);
  }
  if (row->branch != branch)
    VG_LOG(Warn, "the kernel driver's branch %d has no table of its own; that of %d is used", branch, row->branch);
  return row;
}

}  // namespace vg::backend::nvidia
