// NVTX loads a profiler as its tool by these names. The driver library is the tool, and tells of marks and ranges; here
// they become records. 0 leaves the program's NVTX without a tool.
#include "cupti/driver.h"
#include "cupti/exports/exports.h"

using namespace vg::cupti;

namespace {

int initialise(void* getExportTable) {
  if (!observe::start()) return 0;
  const auto start = reinterpret_cast<int (*)(void*)>(driverFunction("InitializeInjectionNvtx2"));
  return start ? start(getExportTable) : 0;
}

}  // namespace

CUPTI_EXPORT int InitializeInjectionNvtx(void*) { return 0; }
CUPTI_EXPORT int InitializeInjectionNvtx2(void* getExportTable) { return initialise(getExportTable); }
CUPTI_EXPORT int InitializeInjectionNvtxExtension(void*) { return 0; }
CUPTI_EXPORT int cuptiNvtxInitialize(void*) { return 0; }
CUPTI_EXPORT int cuptiNvtxInitialize2(void* getExportTable) { return initialise(getExportTable); }
