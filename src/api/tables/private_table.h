// What the `verdigris` command asks the library: an export table of our own, fetched through cuGetExportTable like the
// vendor's, so that no symbol but cu* need be exported. Works before cuInit, except where said. The members only grow:
// look at `size` before using a later one.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "api/tables/device_report.h"

namespace vg::api {

inline constexpr CUuuid kPrivateTableId = {
    {'v', 'e', 'r', 'd', 'i', 'g', 'r', 'i', 's', '-', 't', 'a', 'b', 'l', 'e', '1'}};

struct PrivateTable {
  size_t size;  // of the table in bytes
  const char* version;

  // How many entry points have a handler and how many answer CUDA_ERROR_NOT_SUPPORTED.
  void (*coverage)(unsigned* live, unsigned* stubs);
  // Calls `visit` for every entry point, in name order.
  void (*entryPoints)(void (*visit)(void* state, const char* symbol, bool live), void* state);
  // Calls `visit` for every environment setting. Reads the environment of the process, once.
  void (*settings)(void (*visit)(void* state, const char* variable, const char* fallback, const char* meaning,
                                 const char* value),
                   void* state);
  // How page-locked host memory is kept in memory, in words. Writes at most `size` bytes, a zero among them.
  void (*hostLocking)(char* text, size_t size);
  // A device by its number in VERDIGRIS_DEVICES, visible or not; false beyond the last. `size` of the caller's report:
  // no more than that is written.
  bool (*device)(unsigned number, DeviceReport* report, size_t size);
  // Of checked mode: every distinct fault that was met since the last call (check/reports/report.h).
  void (*takeNewFaults)(void (*visit)(void* state, const char* tool, const char* text, uint64_t times), void* state);
  // Calls `visit` for every other process of this user that has used the device, by its number as above.
  void (*otherProcesses)(unsigned number, void (*visit)(void* state, const OtherProcess& process), void* state);
};

const PrivateTable& privateTable();

}  // namespace vg::api
