// Processes that stop each other: cuCheckpointProcess and its kin.
//
// A process is Running; who locks it waits until its work has ended, and from then on its calls wait; a checkpoint lets
// go of what ties it to the system, so that it may be frozen and written down from outside; restoring and unlocking go
// the same way back. What devices hold stays where it is: emulated ones live in the process's own memory.
//
// From cuInit on one thread of each process listens for that (ipc/process_channel.h), and does for others what they
// ask; nothing else changes the state. A process may ask itself. The rules are recorded from the vendor's driver.
#pragma once

#include <cuda.h>

#include "base/result.h"

namespace vg::core::checkpoint {

// For cuInit: begins to listen. Without a socket or a thread, which is said in the log, others cannot ask this process.
void serve();
// For the child of a fork, which must not keep the socket open.
void leaveInChild();

// All these: CUDA_ERROR_OPERATING_SYSTEM when there is no such process, CUDA_ERROR_NOT_INITIALIZED when it, or the
// caller, has not called cuInit, CUDA_ERROR_ILLEGAL_STATE when its state is not the one that the step begins in.
Result<CUprocessState> stateOf(int pid);
Result<int> threadOf(int pid);  // which one listens
// CUDA_ERROR_NOT_READY when its work has not ended after so many milliseconds (0: waits on), and the error of a process
// that has failed; it goes on then.
CUresult lock(int pid, unsigned milliseconds);
// CUDA_ERROR_NOT_SUPPORTED when it uses a device that cannot; it stays locked.
CUresult checkpoint(int pid);
// `pairs`: devices that take the place of others. Each must be the same one: memory does not move to another.
CUresult restore(int pid, const CUcheckpointGpuPair* pairs, unsigned count);
CUresult unlock(int pid);

}  // namespace vg::core::checkpoint
