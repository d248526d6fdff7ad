// How one process asks another, of which it knows the number, to stop, to let go of the system and to go on.
//
// Who may be asked listens at a socket of the abstract name space that is named by its pid name space and its number
// there, so processes of several name spaces that share a network do not take each other for themselves. The asking
// side makes sure that the process with that number listens, the other one that it is asked by its own user or by root.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "base/result.h"

namespace vg::ipc {

struct ProcessQuestion {
  enum class Verb : uint32_t { State, Lock, Checkpoint, Restore, Unlock };
  struct Pair {
    CUuuid from, to;
  };
  static constexpr uint32_t kMostPairs = 64, kVersion = 1;

  uint32_t version = kVersion;
  Verb verb{};
  uint32_t milliseconds = 0;  // that locking may take; 0: as long as it likes
  uint32_t pairCount = 0;     // of a restoration: devices that take the place of others
  Pair pairs[kMostPairs] = {};
};

struct ProcessAnswer {
  CUresult result = CUDA_SUCCESS;
  CUprocessState state = CU_PROCESS_STATE_RUNNING;
  int thread = 0;  // the one that answers
};

// A socket that this process listens at; -1 with errno.
int listenAsProcess();

// Waits for the answer, and no longer than the process lives. The number of any of its threads will do.
// CUDA_ERROR_OPERATING_SYSTEM when there is no such process or it ended, CUDA_ERROR_NOT_INITIALIZED when nobody
// listens.
Result<ProcessAnswer> ask(int pid, const ProcessQuestion& question);

// False when the other end is gone. Does not block.
bool tell(int client, const ProcessAnswer& answer);
// What a client has asked; false for what is no question.
bool hear(int client, ProcessQuestion& question);

}  // namespace vg::ipc
