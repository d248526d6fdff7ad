// Initialisation, versions and the names of results.
#include "activity/recorder.h"
#include "api/entry/call.h"
#include "api/entry/enum_names.h"
#include "api/watch/trace.h"
#include "backend/queues/interleaving.h"
#include "check/calls.h"
#include "check/memory/host_pages.h"
#include "core/process/driver_version.h"

namespace vg::handlers {

CUresult cuInit(const Call&, unsigned int Flags) {
  api::startTrace();
  activity::start();
  const CUresult result = core::initialise(Flags);
  // The work of devices runs between calls.
  if (backend::interleaving::on()) activity::callsObserved.fetch_or(activity::ByInterleaving);
  // Whoever follows the host's accesses has to know who is inside a call.
  if (check::calls::wanted() || check::host_pages::wanted()) activity::callsObserved.fetch_or(activity::ByChecker);
  return result;
}

CUresult cuDriverGetVersion(const Call&, int* driverVersion) {
  if (!driverVersion) return missing("driverVersion");
  *driverVersion = core::driverVersion();
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(const Call&, CUresult error, const char** pStr) {
  if (!pStr) return missing("pStr");
  *pStr = api::enumName(error);
  return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(const Call&, CUresult error, const char** pStr) {
  if (!pStr) return missing("pStr");
  *pStr = api::resultText(error);
  return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Programs mark what a profiler should look at. None can attach to this library, so there is nothing to start or stop.
// The vendor's driver answers so whatever the arguments.
CUresult cuProfilerInitialize(const Call&, const char*, const char*, CUoutput_mode) {
  return unsupported("cuProfilerInitialize");
}

CUresult cuProfilerStart(const Call&) { return CUDA_SUCCESS; }

CUresult cuProfilerStop(const Call&) { return CUDA_SUCCESS; }

}  // namespace vg::handlers
