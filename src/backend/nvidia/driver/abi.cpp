#include "backend/nvidia/driver/abi.h"

#include <cstdlib>
#include <iterator>

#include "base/log.h"

namespace vg::backend::nvidia {
namespace {

// A row a branch.
// clang-format off
constexpr Abi kRows[] = {
    {.branch = 535, .buildVersion =  776, .classList = 644, .nameString = 132, .engines = 252, .smOrder = 6168, .fbInfo =  436,
     .scheduleGroup = 2, .copyCaps =  68, .peerCapabilities = 4252, .exportInfo = 76, .exportNote = 10, .dmaBuf = 2600,
     .channel = 360, .channelUserd = 32, .channelRest = 64,
     .mapExternalTail = 1176, .freeLength = 8, .unregisterUuid = 16, .preferredStatus = 32},
    {.branch = 545, .buildVersion =  776, .classList = 644, .nameString = 132, .engines = 256, .smOrder = 6168, .fbInfo =  444,
     .scheduleGroup = 2, .copyCaps = 136, .peerCapabilities = 4252, .exportInfo = 80, .exportNote = 14, .dmaBuf = 2600,
     .channel = 360, .channelUserd = 32, .channelRest = 64,
     .mapExternalTail = 1176, .freeLength = 8, .unregisterUuid = 16, .preferredStatus = 32},
    {.branch = 550, .buildVersion =  776, .classList = 700, .nameString = 132, .engines = 260, .smOrder = 6168, .fbInfo =  444,
     .scheduleGroup = 2, .copyCaps = 136, .peerCapabilities = 8348, .exportInfo = 80, .exportNote = 14, .dmaBuf = 2600,
     .channel = 360, .channelUserd = 32, .channelRest = 64,
     .mapExternalTail = 9240, .freeLength = 8, .unregisterUuid = 16, .preferredStatus = 36},
    {.branch = 555, .buildVersion =  776, .classList = 404, .nameString = 132, .engines = 260, .smOrder = 6168, .fbInfo =  444,
     .scheduleGroup = 2, .copyCaps = 136, .peerCapabilities = 8348, .exportInfo = 80, .exportNote = 14, .dmaBuf = 2600,
     .channel = 360, .channelUserd = 32, .channelRest = 64,
     .mapExternalTail = 9240, .freeLength = 8, .unregisterUuid = 16, .preferredStatus = 36},
    {.branch = 560, .buildVersion = 1032, .classList = 404, .nameString = 132, .engines = 340, .smOrder = 6168, .fbInfo =  460,
     .scheduleGroup = 2, .copyCaps = 136, .peerCapabilities = 8348, .exportInfo = 80, .exportNote = 14, .dmaBuf = 2600,
     .channel = 360, .channelUserd = 32, .channelRest = 64,
     .mapExternalTail = 9240, .freeLength = 8, .unregisterUuid = 16, .preferredStatus = 36},
    {.branch = 565, .buildVersion = 1032, .classList = 404, .nameString = 132, .engines = 340, .smOrder = 6168, .fbInfo =  460,
     .scheduleGroup = 2, .copyCaps = 136, .peerCapabilities = 8348, .exportInfo = 80, .exportNote = 14, .dmaBuf = 2600,
     .channel = 360, .channelUserd = 32, .channelRest = 64,
     .mapExternalTail = 9240, .freeLength = 8, .unregisterUuid = 16, .preferredStatus = 36},
    {.branch = 570, .buildVersion = 1032, .classList = 404, .nameString = 132, .engines = 340, .smOrder = 6168, .fbInfo =  460,
     .scheduleGroup = 2, .copyCaps = 136, .peerCapabilities = 8348, .exportInfo = 80, .exportNote = 14, .dmaBuf = 2608,
     .channel = 368, .channelUserd = 32, .channelRest = 64,
     .mapExternalTail = 9240, .freeLength = 8, .unregisterUuid = 16, .preferredStatus = 36},
    {.branch = 575, .buildVersion = 1032, .classList = 404, .nameString = 132, .engines = 340, .smOrder = 7192, .fbInfo =  460,
     .scheduleGroup = 3, .copyCaps = 136, .peerCapabilities = 8348, .exportInfo = 80, .exportNote = 14, .dmaBuf = 2608,
     .channel = 368, .channelUserd = 32, .channelRest = 64,
     .mapExternalTail = 9240, .freeLength = 8, .unregisterUuid = 16, .preferredStatus = 36},
    {.branch = 580, .buildVersion = 1032, .classList = 804, .nameString = 132, .engines = 340, .smOrder = 9240, .fbInfo = 1028,
     .scheduleGroup = 3, .copyCaps = 136, .peerCapabilities = 8348, .exportInfo = 80, .exportNote = 14, .dmaBuf = 2608,
     .channel = 368, .channelUserd = 32, .channelRest = 64,
     .mapExternalTail = 9240, .freeLength = 8, .unregisterUuid = 16, .preferredStatus = 36},
    {.branch = 590, .buildVersion = 1032, .classList = 804, .nameString = 132, .engines = 340, .smOrder = 9240, .fbInfo = 1028,
     .scheduleGroup = 3, .copyCaps = 136, .peerCapabilities = 8348, .exportInfo = 80, .exportNote = 14, .dmaBuf = 2608,
     .channel = 368, .channelUserd = 32, .channelRest = 64,
     .mapExternalTail = 9240, .freeLength = 0, .unregisterUuid =  0, .preferredStatus = 36},
    {.branch = 595, .buildVersion = 1032, .classList = 804, .nameString =  68, .engines = 340, .smOrder = 9240, .fbInfo = 1028,
     .scheduleGroup = 3, .copyCaps = 136, .peerCapabilities = 8348, .exportInfo = 80, .exportNote = 14, .dmaBuf = 2608,
     .channel = 368, .channelUserd = 32, .channelRest = 64,
     .mapExternalTail = 9240, .freeLength = 0, .unregisterUuid =  0, .preferredStatus = 36},
    {.branch = 610, .buildVersion = 1032, .classList = 804, .nameString =  68, .engines = 340, .smOrder = 9240, .fbInfo = 1028,
     .scheduleGroup = 3, .copyCaps = 136, .peerCapabilities = 8348, .exportInfo = 80, .exportNote = 14, .dmaBuf = 2608,
     .channel = 376, .channelUserd = 36, .channelRest = 72,
     .mapExternalTail = 9240, .freeLength = 0, .unregisterUuid =  0, .preferredStatus = 36},
};
// clang-format on
constexpr int kNewest = 629;  // gVisor, which checks these structures too, has the same ones for 615 and 620

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
