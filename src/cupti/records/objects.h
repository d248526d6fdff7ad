// Contexts, streams, events and devices as records and callbacks of their own. Called on the program's threads.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cupti/records/collector.h"

namespace vg::cupti::objects {

uint32_t contextNumber(CUcontext context);  // 0: it is none; null: the current one
int deviceOf(CUcontext context);            // -1
uint32_t streamNumber(CUcontext context, CUstream stream, bool perThread);

// Events have small numbers, given when they are first met, and each record of one has a number of its own.
uint32_t eventNumber(CUevent event);
uint64_t beginEventRecord(CUevent event);
uint64_t lastEventRecord(CUevent event);
void eventEnds(CUevent event);  // its handle may be another's from now on

// A context or stream is there, or is about to end: tells subscribers and collectors.
void contextBegan(CUcontext context);
void contextEnds(CUcontext context);
void streamBegan(CUcontext context, CUstream stream, uint32_t correlation);
void streamEnds(CUcontext context, CUstream stream);

// To a collector that has just enabled the kind: what is there already.
void tellDevices(Collector& collector);
void tellContexts(Collector& collector);
// The driver has been initialised.
void devicesBegan();

}  // namespace vg::cupti::objects
