// Versions, texts and the numbers of things.
#include <cstring>
#include <utility>

#include "cupti/driver.h"
#include "cupti/exports/exports.h"
#include "cupti/records/objects.h"

using namespace vg::cupti;

namespace vg::cupti {
CUptiResult& lastError() {
  thread_local CUptiResult last = CUPTI_SUCCESS;
  return last;
}
}  // namespace vg::cupti

namespace {

struct Row {
  CUptiResult value;
  const char *name, *text;
};
#define CUPTI_RESULT(name, value, text) {name, #name, text},
constexpr Row kResults[] = {
#include "cupti/results.inc"
};
#undef CUPTI_RESULT

CUptiResult textOf(CUptiResult result, const char* Row::*which, const char** text) {
  if (!text) return CUPTI_ERROR_INVALID_PARAMETER;
  for (const Row& row : kResults) {
    if (row.value != result) continue;
    *text = row.*which;
    return CUPTI_SUCCESS;
  }
  return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult streamId(CUcontext context, CUstream stream, bool perThread, uint32_t* id) {
  if (!id) return CUPTI_ERROR_INVALID_PARAMETER;
  const uint32_t found = objects::streamNumber(context, stream, perThread);
  if (!found) return CUPTI_ERROR_INVALID_STREAM;
  *id = found;
  return CUPTI_SUCCESS;
}

// A number that the driver has for an object.
template <class Number, class Handle>
CUptiResult numberOf(const char* symbol, Handle handle, Number* number) {
  if (!number) return CUPTI_ERROR_INVALID_PARAMETER;
  unsigned found = 0;
  if (DriverFunction<CUresult(Handle, unsigned*)>(symbol)(handle, &found) != CUDA_SUCCESS)
    return CUPTI_ERROR_INVALID_PARAMETER;
  *number = found;
  return CUPTI_SUCCESS;
}

CUptiResult setFlag(int* support, bool value) {
  if (!support) return CUPTI_ERROR_INVALID_PARAMETER;
  *support = value;
  return CUPTI_SUCCESS;
}

int attributeOf(CUdevice device, CUdevice_attribute which) {
  int value = -1;
  return VG_CALL_DRIVER(cuDeviceGetAttribute, &value, which, device) == CUDA_SUCCESS ? value : -1;
}

struct Chip {
  int capability;
  const char* name;
};
constexpr Chip kChips[] = {{70, "GV100"}, {75, "TU102"}, {80, "GA100"},  {86, "GA102"},
                           {89, "AD102"}, {90, "GH100"}, {100, "GB100"}, {120, "GB202"}};

CUptiResult chipName(CUpti_Device_GetChipName_Params* parameters) {
  if (!parameters || parameters->structSize < sizeof *parameters) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto device = static_cast<CUdevice>(parameters->deviceIndex);
  const int capability = attributeOf(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                         attributeOf(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  if (capability < 0) return CUPTI_ERROR_INVALID_DEVICE;
  for (const Chip& chip : kChips) {
    if (chip.capability != capability) continue;
    parameters->pChipName = chip.name;
    return CUPTI_SUCCESS;
  }
  return CUPTI_ERROR_NOT_SUPPORTED;
}

uint32_t threadIdType = CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;

}  // namespace

CUPTI_EXPORT CUptiResult cuptiGetVersion(uint32_t* version) {
  return guarded([&]() -> CUptiResult {
    if (!version) return CUPTI_ERROR_INVALID_PARAMETER;
    *version = kApiVersion;
    return CUPTI_SUCCESS;
  });
}
CUPTI_EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char** str) {
  return guarded([&] { return textOf(result, &Row::name, str); });
}
CUPTI_EXPORT CUptiResult cuptiGetErrorMessage(CUptiResult result, const char** str) {
  return guarded([&] { return textOf(result, &Row::text, str); });
}
CUPTI_EXPORT CUptiResult cuptiGetLastError() { return std::exchange(lastError(), CUPTI_SUCCESS); }

CUPTI_EXPORT CUptiResult cuptiGetContextId(CUcontext context, uint32_t* contextId) {
  return attached([&]() -> CUptiResult {
    if (!contextId) return CUPTI_ERROR_INVALID_PARAMETER;
    const uint32_t found = objects::contextNumber(context);
    if (!found) return CUPTI_ERROR_INVALID_CONTEXT;
    *contextId = found;
    return CUPTI_SUCCESS;
  });
}
CUPTI_EXPORT CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* deviceId) {
  return attached([&]() -> CUptiResult {
    if (!deviceId) return CUPTI_ERROR_INVALID_PARAMETER;
    const int found = objects::deviceOf(context);
    if (found < 0) return CUPTI_ERROR_INVALID_CONTEXT;
    *deviceId = static_cast<uint32_t>(found);
    return CUPTI_SUCCESS;
  });
}
CUPTI_EXPORT CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* id) {
  return attached([&] { return streamId(context, stream, false, id); });
}
CUPTI_EXPORT CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThread, uint32_t* id) {
  return attached([&] { return streamId(context, stream, perThread, id); });
}
CUPTI_EXPORT CUptiResult cuptiGetCudaEventId(CUevent event, uint32_t* id) {
  return attached([&]() -> CUptiResult {
    if (!event || !id) return CUPTI_ERROR_INVALID_PARAMETER;
    *id = objects::eventNumber(event);
    return CUPTI_SUCCESS;
  });
}
CUPTI_EXPORT CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t* id) {
  return attached([&] { return numberOf("cuGraphGetId", graph, id); });
}
CUPTI_EXPORT CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t* id) {
  return attached([&] { return numberOf("cuGraphExecGetId", exec, id); });
}
CUPTI_EXPORT CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  return attached([&] { return numberOf("cuGraphNodeGetLocalId", node, id); });
}

CUPTI_EXPORT CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  return guarded([&]() -> CUptiResult {
    if (type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE) return CUPTI_ERROR_NOT_SUPPORTED;
    threadIdType = type;
    return CUPTI_SUCCESS;
  });
}
CUPTI_EXPORT CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
  return guarded([&]() -> CUptiResult {
    if (!type) return CUPTI_ERROR_INVALID_PARAMETER;
    *type = static_cast<CUpti_ActivityThreadIdType>(threadIdType);
    return CUPTI_SUCCESS;
  });
}

CUPTI_EXPORT CUptiResult cuptiComputeCapabilitySupported(int major, int minor, int* support) {
  return guarded([&] { return setFlag(support, major >= 7 && minor >= 0); });
}
CUPTI_EXPORT CUptiResult cuptiDeviceSupported(CUdevice device, int* support) {
  return attached([&]() -> CUptiResult {
    const int major = attributeOf(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    if (major < 0) return CUPTI_ERROR_INVALID_DEVICE;
    return setFlag(support, major >= 7);
  });
}
CUPTI_EXPORT CUptiResult cuptiDeviceVirtualizationMode(CUdevice device, uint32_t* mode) {
  return attached([&]() -> CUptiResult {
    if (!mode) return CUPTI_ERROR_INVALID_PARAMETER;
    if (attributeOf(device, CU_DEVICE_ATTRIBUTE_WARP_SIZE) < 0) return CUPTI_ERROR_INVALID_DEVICE;
    *mode = 0;
    return CUPTI_SUCCESS;
  });
}
CUPTI_EXPORT CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* parameters) {
  return attached([&] { return chipName(parameters); });
}

// Switches of what this library does anyway or never.
CUPTI_EXPORT CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t) { return CUPTI_SUCCESS; }
CUPTI_EXPORT CUptiResult cuptiActivityEnableLaunchAttributes(uint8_t) { return CUPTI_SUCCESS; }
CUPTI_EXPORT CUptiResult cuptiActivityEnableDeviceGraph(uint8_t) { return CUPTI_SUCCESS; }
CUPTI_EXPORT CUptiResult cuptiActivityEnableAllocationSource(uint8_t) { return CUPTI_SUCCESS; }
CUPTI_EXPORT CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t) { return CUPTI_SUCCESS; }
CUPTI_EXPORT CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t) { return CUPTI_SUCCESS; }
CUPTI_EXPORT CUptiResult cuptiActivityEnableHWTrace(uint8_t on) {
  return on ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}
