#include "core/process/checkpoint.h"

#include <algorithm>

#include "core/process/gate.h"
#include "core/process/inside_host_function.h"
#include "ipc/process_channel.h"

namespace vg::core::checkpoint {
namespace {

using Verb = ipc::ProcessQuestion::Verb;

Result<ipc::ProcessAnswer> askProcess(int pid, const ipc::ProcessQuestion& question) {
  const Gate now = gate.load();
  if (now == Gate::Closed || now == Gate::Exiting) return refusal();
  if (insideHostFunction) return fail(CUDA_ERROR_NOT_PERMITTED, "host functions must not call the API");
  VG_TRY(const ipc::ProcessAnswer answer, ipc::ask(pid, question));
  if (answer.result)
    return fail(answer.result, "process %d is in state %d and refused; its log says why", pid,
                static_cast<int>(answer.state));
  return answer;
}

CUresult step(int pid, Verb verb) { return askProcess(pid, {.verb = verb}).error(); }

}  // namespace

Result<CUprocessState> stateOf(int pid) {
  VG_TRY(const ipc::ProcessAnswer answer, askProcess(pid, {.verb = Verb::State}));
  return answer.state;
}

Result<int> threadOf(int pid) {
  VG_TRY(const ipc::ProcessAnswer answer, askProcess(pid, {.verb = Verb::State}));
  return answer.thread;
}

CUresult lock(int pid, unsigned milliseconds) {
  return askProcess(pid, {.verb = Verb::Lock, .milliseconds = milliseconds}).error();
}

CUresult checkpoint(int pid) { return step(pid, Verb::Checkpoint); }

CUresult restore(int pid, const CUcheckpointGpuPair* pairs, unsigned count) {
  ipc::ProcessQuestion question{.verb = Verb::Restore, .pairCount = count};
  if (count > question.kMostPairs)
    return fail(CUDA_ERROR_INVALID_VALUE, "%u pairs of devices: at most %u", count, question.kMostPairs);
  std::transform(pairs, pairs + count, question.pairs, [](const CUcheckpointGpuPair& pair) {
    return ipc::ProcessQuestion::Pair{pair.oldUuid, pair.newUuid};
  });
  return askProcess(pid, question).error();
}

CUresult unlock(int pid) { return step(pid, Verb::Unlock); }

}  // namespace vg::core::checkpoint
