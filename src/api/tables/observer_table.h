// What the library of profilers beside this one (src/cupti) is told of a program and may ask: an export table of our
// own, fetched through cuGetExportTable. Works before cuInit. The members only grow: look at `size` before using a
// later one.
//
// Nothing is told before want() asks for it, and then calls cost what the observer makes of them. All functions may be
// called from any thread. In a child of fork() nothing is told any more.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "activity/record.h"

namespace vg::api {

inline constexpr CUuuid kObserverTableId = {
    {'v', 'e', 'r', 'd', 'i', 'g', 'r', 'i', 's', '-', 'o', 'b', 's', 'e', 'r', '1'}};

// A call of the driver API, while it lasts.
struct ObservedCall {
  unsigned entry;         // number of the entry point, as entryPoints() has them
  const char* symbol;     // lives as long as the process
  const void* arguments;  // a structure of the arguments in order, as a C compiler would lay it out
  CUresult result;        // once it has ended
  uint64_t correlation;   // of the outermost call
  CUcontext context;      // current
  static constexpr unsigned kMostWords = 8;
  uint64_t words[kMostWords];  // the observer's own: zero at the beginning, and kept to the end
};

// A call of the runtime API, as a runtime describes it. Told twice, with `site` 0 before and 1 behind.
struct RuntimeCall {
  uint64_t size;
  uint64_t contextId;
  uint64_t streamId;  // where the function has a stream that is not the default one
  uint64_t unknown;
  uint64_t* word;  // the tool's own: zero at the beginning, and kept to the end
  int* result;
  const char* name;  // lives as long as the library that holds the runtime
  const void* arguments;
  CUcontext context;
  CUstream stream;    // of such a function
  uint32_t callback;  // the number of the function in the profiling interface
  uint32_t site;
  const char* symbol;  // of a launch: the kernel's name
};

// Constant and alive as long as the process.
struct Observer {
  void (*began)(ObservedCall& call);
  void (*ended)(ObservedCall& call);
  void (*runtimeCall)(uint32_t callback, RuntimeCall& call);
  // Of the recorder; on one thread at a time. Texts in it are gone afterwards.
  void (*take)(const activity::Record& record);
  // Nothing is left to be taken for now.
  void (*taken)();
  void (*lost)(uint64_t records);
};

enum Wanted : unsigned { WantDriverCalls = 1, WantRecords = 2 };

struct ObserverTable {
  size_t size;  // of the table in bytes

  // Once in a process; false for the second observer, and where there is no memory.
  bool (*attach)(const Observer* observer);
  void (*want)(unsigned what);  // Wanted
  // Records of what has happened are taken before this returns. Not to be called by take() and what it calls.
  void (*passOn)();
  // Calls `visit` for every entry point and its twin.
  void (*entryPoints)(void (*visit)(void* state, unsigned number, const char* symbol), void* state);

  // The words that a runtime looks at before it tells of a call, by the number of the function.
  void (*runtimeWords)(uint32_t** words, size_t* count);
  // Between these, driver calls and work of the thread are those of a runtime call, whose number is the result.
  // `before`: of the runtime call around it, for the end.
  uint64_t (*beginRuntimeCall)(uint64_t* before);
  void (*endRuntimeCall)(uint64_t before);

  // Numbers and devices of contexts, null being the current one. CUDA_ERROR_INVALID_CONTEXT where it is none.
  CUresult (*contextId)(CUcontext context, uint64_t* id, int* device);
  // The streams of a context are those of its default streams and those that were created in it.
  CUresult (*streamId)(CUcontext context, CUstream stream, bool perThread, uint64_t* id);
  // The primary context of a device; null: nobody retains it, or there is no such device.
  CUcontext (*primaryContext)(int device);
  // Nanoseconds of the clock that records have.
  uint64_t (*now)();
};

}  // namespace vg::api
