// The symbols a CUDA debugger looks for in the driver: words it pokes and functions it puts breakpoints on. Device
// debugging is not supported: the words stay zero unless a debugger writes them, nothing reads them, and the functions
// refuse. They exist so that a debugger finds a library of the expected shape and says that it cannot attach.
#include <cstdint>

namespace {
constexpr int kIncompatibleApi = 0x13;  // CUDBG_ERROR_INCOMPATIBLE_API
}

#define VG_DEBUGGER __attribute__((visibility("default"), used))

extern "C" {

VG_DEBUGGER constinit uint32_t cudbgApiClientPid = 0;
VG_DEBUGGER constinit uint32_t cudbgApiClientRevision = 0;
VG_DEBUGGER constinit uint32_t cudbgAttachHandlerAvailable = 0;
VG_DEBUGGER constinit uint32_t cudbgDebuggerCapabilities = 0;
VG_DEBUGGER constinit uint32_t cudbgDebuggerInitialized = 0;
VG_DEBUGGER constinit uint32_t cudbgDetachSuspendedDevicesMask = 0;
VG_DEBUGGER constinit uint32_t cudbgEnableIntegratedMemcheck = 0;
VG_DEBUGGER constinit uint32_t cudbgEnableLaunchBlocking = 0;
VG_DEBUGGER constinit uint32_t cudbgEnablePreemptionDebugging = 0;
VG_DEBUGGER constinit char cudbgInjectionPath[4096] = {};
VG_DEBUGGER constinit uint32_t cudbgIpcFlag = 0;
VG_DEBUGGER constinit uint32_t cudbgReportDriverApiErrorFlags = 0;
VG_DEBUGGER constinit uint64_t cudbgReportedDriverApiErrorCode = 0;
VG_DEBUGGER constinit uint64_t cudbgReportedDriverApiErrorFuncNameAddr = 0;
VG_DEBUGGER constinit uint64_t cudbgReportedDriverApiErrorFuncNameSize = 0;
VG_DEBUGGER constinit uint64_t cudbgReportedDriverApiErrorNameAddr = 0;
VG_DEBUGGER constinit uint64_t cudbgReportedDriverApiErrorNameSize = 0;
VG_DEBUGGER constinit uint64_t cudbgReportedDriverApiErrorSource = 0;
VG_DEBUGGER constinit uint64_t cudbgReportedDriverApiErrorStringAddr = 0;
VG_DEBUGGER constinit uint64_t cudbgReportedDriverApiErrorStringSize = 0;
VG_DEBUGGER constinit uint64_t cudbgReportedDriverInternalErrorCode = 0;
VG_DEBUGGER constinit uint32_t cudbgResumeForAttachDetach = 0;
VG_DEBUGGER constinit uint32_t cudbgRpcEnabled = 0;
VG_DEBUGGER constinit uint32_t cudbgSessionId = 0;
VG_DEBUGGER constinit uint32_t cudbgUseExternalDebugger = 0;

VG_DEBUGGER int cudbgGetAPI(uint32_t, uint32_t, uint32_t, void** api) {
  if (api) *api = nullptr;
  return kIncompatibleApi;
}
VG_DEBUGGER int cudbgGetAPIVersion(uint32_t* major, uint32_t* minor, uint32_t* revision) {
  if (major) *major = 0;
  if (minor) *minor = 0;
  if (revision) *revision = 0;
  return kIncompatibleApi;
}
VG_DEBUGGER void cudbgApiAttach() {}
VG_DEBUGGER void cudbgApiDetach() {}
VG_DEBUGGER void cudbgApiInit(uint32_t) {}
VG_DEBUGGER void cudbgMain() {}
VG_DEBUGGER void cudbgReportDriverApiError() {}
VG_DEBUGGER void cudbgReportDriverInternalError() {}

}  // extern "C"
