// Runs launches: what the device's queues call for a LaunchCommand.
#pragma once

#include "backend/command.h"
#include "backend/cpu/run/launch_place.h"
#include "backend/device.h"
#include "base/sync/timeline.h"

namespace vg::backend::cpu {

// Runs a launch to its end on the device's workers, the calling thread included. Faults of the kernel go to `faults`
// and are the result too; the process goes on. Grids that it launched are over, with all that they launched, when
// `descendants` is reached; null: they are waited for. Requires: the record's kernel accepted prepare(shape), or, of a
// launch from a kernel, permits(shape).
CUresult runLaunch(const Device& device, const LaunchRecord& record, FaultSink& faults, const LaunchPlace& place,
                   Point* descendants = nullptr);

}  // namespace vg::backend::cpu
