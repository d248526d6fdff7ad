// Stopping processes and letting them go on.
#include "core/process/checkpoint.h"

#include <algorithm>
#include <iterator>

#include "api/entry/call.h"

namespace vg::handlers {
namespace {

template <class Field>
CUresult checkReserved(const Field& reserved) {
  if (std::all_of(std::begin(reserved), std::end(reserved), [](auto part) { return part == 0; })) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "reserved fields must be zero");
}

// Checkpoints whose memory the caller takes away itself.
CUresult ownStorage() { return unsupported("checkpoints into storage of the caller's"); }

}  // namespace

// No call has made an operation that could be completed.
CUresult cuCheckpointOperationComplete(const Call&, CUcheckpointOperationHandle handle) {
  return fail(CUDA_ERROR_INVALID_VALUE, "%p is no operation", static_cast<void*>(handle));
}

CUresult cuCheckpointProcessGetState(const Call&, int pid, CUprocessState* state) {
  if (!state) return missing("state");
  VG_TRY(*state, core::checkpoint::stateOf(pid));
  return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessGetRestoreThreadId(const Call&, int pid, int* tid) {
  if (!tid) return missing("tid");
  VG_TRY(*tid, core::checkpoint::threadOf(pid));
  return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessLock(const Call&, int pid, CUcheckpointLockArgs* args) {
  if (!args) return core::checkpoint::lock(pid, 0);
  VG_CHECK(checkReserved(args->reserved1));
  if (args->reserved0) return fail(CUDA_ERROR_INVALID_VALUE, "reserved fields must be zero");
  return core::checkpoint::lock(pid, args->timeoutMs);
}

CUresult cuCheckpointProcessCheckpoint(const Call&, int pid, CUcheckpointCheckpointArgs* args) {
  if (args) VG_CHECK(checkReserved(args->reserved));
  if (args && args->customStorageInfo_out) return ownStorage();
  return core::checkpoint::checkpoint(pid);
}

CUresult cuCheckpointProcessRestore(const Call&, int pid, CUcheckpointRestoreArgs* args) {
  if (!args) return core::checkpoint::restore(pid, nullptr, 0);
  VG_CHECK(checkReserved(args->reserved));
  if (args->padding0) return fail(CUDA_ERROR_INVALID_VALUE, "reserved fields must be zero");
  if (args->customStorageInfo_out) return ownStorage();
  if (args->gpuPairsCount && !args->gpuPairs) return missing("gpuPairs");
  return core::checkpoint::restore(pid, args->gpuPairs, args->gpuPairsCount);
}

CUresult cuCheckpointProcessUnlock(const Call&, int pid, CUcheckpointUnlockArgs* args) {
  if (args) VG_CHECK(checkReserved(args->reserved));
  return core::checkpoint::unlock(pid);
}

}  // namespace vg::handlers
