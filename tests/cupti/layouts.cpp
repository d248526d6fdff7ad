// The structures of src/cupti are those of the vendor's headers: sizes, and where members lie. Compiling is the test.
#include <cuda.h>
//
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include <cstddef>

// Macros there, constants here.
#undef CUPTI_INVALID_CHANNEL_ID
#undef CUPTI_SYNCHRONIZATION_INVALID_VALUE

#include "cupti/calls/callbacks.h"
#include "cupti/cupti.h"
#include "cupti/records/records.h"

#if CUPTI_API_VERSION >= 130500
#define SAME_SIZE(type) static_assert(sizeof(vg::cupti::type) == sizeof(::type), #type)
#define SAME(type, member) \
  static_assert(offsetof(vg::cupti::type, member) == offsetof(::type, member), #type "." #member)
#define SAME_VALUE(name) static_assert(static_cast<long>(vg::cupti::name) == static_cast<long>(::name), #name)

SAME_SIZE(CUpti_CallbackData);
SAME(CUpti_CallbackData, correlationId);
SAME_SIZE(CUpti_ResourceData);
SAME_SIZE(CUpti_ModuleResourceData);
SAME_SIZE(CUpti_GraphData);
SAME_SIZE(CUpti_SynchronizeData);
SAME_SIZE(CUpti_SubscriberParams);
SAME_SIZE(CUpti_ActivityConfig);
SAME_SIZE(CUpti_BufferCallbackCompleteInfo);
SAME_SIZE(CUpti_Device_GetChipName_Params);

SAME_SIZE(CUpti_ActivityMemcpy7);
SAME(CUpti_ActivityMemcpy7, copyCount);
SAME(CUpti_ActivityMemcpy7, sourceGraphNodeId);
SAME_SIZE(CUpti_ActivityMemcpyPtoP4);
SAME(CUpti_ActivityMemcpyPtoP4, channelType);
SAME_SIZE(CUpti_ActivityMemset5);
SAME(CUpti_ActivityMemset5, sourceGraphNodeId);
SAME_SIZE(CUpti_ActivityKernel13);
SAME(CUpti_ActivityKernel13, start);
SAME(CUpti_ActivityKernel13, correlationId);
SAME(CUpti_ActivityKernel13, name);
SAME(CUpti_ActivityKernel13, graphNodeId);
SAME(CUpti_ActivityKernel13, clusterX);
SAME(CUpti_ActivityKernel13, priority);
SAME(CUpti_ActivityKernel13, sourceGraphNodeId);
SAME_SIZE(CUpti_ActivityAPI);
SAME(CUpti_ActivityAPI, returnValue);
SAME_SIZE(CUpti_ActivityDevice6);
SAME(CUpti_ActivityDevice6, uuid);
SAME(CUpti_ActivityDevice6, numTpcs);
SAME_SIZE(CUpti_ActivityContext4);
SAME(CUpti_ActivityContext4, processId);
SAME_SIZE(CUpti_ActivityName);
SAME(CUpti_ActivityName, name);
SAME_SIZE(CUpti_ActivityMarker2);
SAME(CUpti_ActivityMarker2, domain);
SAME_SIZE(CUpti_ActivityOverhead3);
SAME(CUpti_ActivityOverhead3, overheadData);
SAME_SIZE(CUpti_ActivityCudaEvent3);
SAME(CUpti_ActivityCudaEvent3, sourceGraphNodeId);
SAME_SIZE(CUpti_ActivityStream);
SAME_SIZE(CUpti_ActivitySynchronization2);
SAME(CUpti_ActivitySynchronization2, returnValue);
SAME_SIZE(CUpti_ActivityExternalCorrelation);
SAME(CUpti_ActivityExternalCorrelation, correlationId);
SAME_SIZE(CUpti_ActivityMemory4);
SAME(CUpti_ActivityMemory4, memoryPoolConfig);
SAME(CUpti_ActivityMemory4, source);
SAME_SIZE(CUpti_ActivityGraphTrace2);
SAME(CUpti_ActivityGraphTrace2, endContextId);

SAME_VALUE(CUPTI_ACTIVITY_KIND_COUNT);
SAME_VALUE(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
SAME_VALUE(CUPTI_ACTIVITY_KIND_MEMORY2);
SAME_VALUE(CUPTI_ACTIVITY_ATTR_COUNT);
SAME_VALUE(CUPTI_CBID_RESOURCE_SIZE);
SAME_VALUE(CUPTI_CB_DOMAIN_SIZE);
SAME_VALUE(CUPTI_EXTERNAL_CORRELATION_KIND_SIZE);
SAME_VALUE(CUPTI_ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS);
static_assert(vg::cupti::kDriverCallbacks == CUPTI_DRIVER_TRACE_CBID_SIZE);
static_assert(vg::cupti::kRuntimeCallbacks == CUPTI_RUNTIME_TRACE_CBID_SIZE);
static_assert(vg::cupti::kApiVersion == CUPTI_API_VERSION);
#define CUPTI_CALLBACK(number, name) static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (number));
#include "cupti/calls/driver_callbacks.inc"
#undef CUPTI_CALLBACK
#define CUPTI_CALLBACK(number, name) static_assert(CUPTI_RUNTIME_TRACE_CBID_##name == (number));
#include "cupti/calls/runtime_callbacks.inc"
#undef CUPTI_CALLBACK
#endif
