// What driver calls mean to profilers beyond that they were made: which make contexts, streams and modules, which wait.
#pragma once

#include <cstdint>

namespace vg::cupti {

enum class Meaning : uint8_t {
  None,
  Initialise,
  ContextCreate,
  ContextDestroy,
  PrimaryRetain,
  PrimaryReset,
  StreamCreate,
  StreamDestroy,
  StreamSynchronize,
  StreamQuery,
  StreamWaitEvent,
  ContextSynchronize,
  EventSynchronize,
  EventQuery,
  EventRecord,
  EventDestroy,
  ModuleLoad,
  ModuleUnload,
  GraphCreate,
  GraphEndCapture,
  GraphClone,
  GraphDestroy,
  GraphInstantiate,
  GraphExecDestroy,
  Launch,
  LaunchWithConfig,
};

// Of an entry point, whatever its version and twin.
Meaning meaningOf(const char* symbol);
// Whether the symbol is one of those that mean the per-thread default stream by the null stream.
bool isPerThread(const char* symbol);

}  // namespace vg::cupti
