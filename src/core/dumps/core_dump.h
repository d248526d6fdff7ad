// Core dumps of devices: what a kernel's fault leaves behind for a debugger, in contexts that began with dumps enabled
// (core/dumps/core_dump_attributes.h).
//
// A dump tells of the device, the grid with its parameters, the faulting warp with its threads and exception, warps of
// its block that wait, registers of interpreted kernels, the block's shared memory, and the memory of the device. Other
// blocks and call stacks are not in it, and places in the code are lines of the PTX (core/dumps/dump_image.h).
#pragma once

#include <cuda.h>

#include "backend/launches/fault_scene.h"
#include "base/result.h"

namespace vg::core {

class Context;

namespace dump {

// Functions of the application that are called, in the order of their registration, before a dump is written and when
// it is complete. No lock is held meanwhile; the thread that dumps waits for them.
enum class Moment { Start, Complete };
CUcoredumpCallbackHandle addCallback(Moment moment, CUcoredumpStatusCallback callback, void* data);
// CUDA_ERROR_INVALID_VALUE for what is not registered for that moment.
CUresult removeCallback(Moment moment, CUcoredumpCallbackHandle handle);

// Writes one when the context wants it, the first of the process only, and then ends the process by SIGABRT unless the
// attributes say otherwise; of a kernel that goes on, only when it has ended. On the thread that ran the kernel, before
// anybody learns of the fault.
void writeFor(Context& context, const backend::FaultScene& scene) noexcept;
// A context has failed: ends the process if that is due. Says so when it wants dumps and there is none, because no
// kernel of an emulated device faulted.
void afterFailure(Context& context) noexcept;
// Writes one of a context, as somebody asked for it; ends the process in the same way.
void writeOnRequest(Context& context) noexcept;

}  // namespace dump
}  // namespace vg::core
