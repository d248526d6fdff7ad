// Types and values of the profiling interface, as far as this library uses them: layouts and numbers are facts of its
// ABI. Records of activities are in cupti/records/records.h. Enumerations are 32 bits.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace vg::cupti {

enum CUptiResult : uint32_t {
#define CUPTI_RESULT(name, value, text) name = value,
#include "cupti/results.inc"
#undef CUPTI_RESULT
};

inline constexpr uint32_t kApiVersion = 130500;

enum CUpti_ApiCallbackSite : uint32_t { CUPTI_API_ENTER = 0, CUPTI_API_EXIT = 1 };

enum CUpti_CallbackDomain : uint32_t {
  CUPTI_CB_DOMAIN_INVALID = 0,
  CUPTI_CB_DOMAIN_DRIVER_API = 1,
  CUPTI_CB_DOMAIN_RUNTIME_API = 2,
  CUPTI_CB_DOMAIN_RESOURCE = 3,
  CUPTI_CB_DOMAIN_SYNCHRONIZE = 4,
  CUPTI_CB_DOMAIN_NVTX = 5,
  CUPTI_CB_DOMAIN_STATE = 6,
  CUPTI_CB_DOMAIN_SIZE = 7,
};

using CUpti_CallbackId = uint32_t;

enum CUpti_CallbackIdResource : uint32_t {
  CUPTI_CBID_RESOURCE_CONTEXT_CREATED = 1,
  CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING = 2,
  CUPTI_CBID_RESOURCE_STREAM_CREATED = 3,
  CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING = 4,
  CUPTI_CBID_RESOURCE_CU_INIT_FINISHED = 5,
  CUPTI_CBID_RESOURCE_MODULE_LOADED = 6,
  CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING = 7,
  CUPTI_CBID_RESOURCE_GRAPH_CREATED = 9,
  CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING = 10,
  CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED = 18,
  CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING = 19,
  CUPTI_CBID_RESOURCE_SIZE = 26,
};

enum CUpti_CallbackIdSync : uint32_t {
  CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED = 1,
  CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED = 2,
  CUPTI_CBID_SYNCHRONIZE_SIZE = 3,
};

// Of calls of the driver and runtime APIs.
struct CUpti_CallbackData {
  CUpti_ApiCallbackSite callbackSite;
  const char* functionName;
  const void* functionParams;
  void* functionReturnValue;
  const char* symbolName;
  CUcontext context;
  uint32_t contextUid;
  uint64_t* correlationData;
  uint32_t correlationId;
};

struct CUpti_ResourceData {
  CUcontext context;
  union {
    CUstream stream;
  } resourceHandle;
  void* resourceDescriptor;
};

struct CUpti_ModuleResourceData {
  uint32_t moduleId;
  size_t cubinSize;
  const char* pCubin;
};

struct CUpti_GraphData {
  CUgraph graph;
  CUgraph originalGraph;
  CUgraphNode node;
  CUgraphNode originalNode;
  CUgraphNodeType nodeType;
  CUgraphNode dependency;
  CUgraphExec graphExec;
};

struct CUpti_SynchronizeData {
  CUcontext context;
  CUstream stream;
};

using CUpti_CallbackFunc = void (*)(void* userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                    const void* cbdata);

struct CUpti_SubscriberParams {
  size_t structSize;
  const char* subscriberName;
  char* oldSubscriberName;
  size_t oldSubscriberSize;
  uint8_t allowMultipleSubscribers;
  uint8_t padding[7];
};
inline constexpr size_t kLongestSubscriberName = 53, kShortestRoomForName = 64;

enum CUpti_ActivityKind : uint32_t {
  CUPTI_ACTIVITY_KIND_INVALID = 0,
  CUPTI_ACTIVITY_KIND_MEMCPY = 1,
  CUPTI_ACTIVITY_KIND_MEMSET = 2,
  CUPTI_ACTIVITY_KIND_KERNEL = 3,
  CUPTI_ACTIVITY_KIND_DRIVER = 4,
  CUPTI_ACTIVITY_KIND_RUNTIME = 5,
  CUPTI_ACTIVITY_KIND_DEVICE = 8,
  CUPTI_ACTIVITY_KIND_CONTEXT = 9,
  CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
  CUPTI_ACTIVITY_KIND_NAME = 11,
  CUPTI_ACTIVITY_KIND_MARKER = 12,
  CUPTI_ACTIVITY_KIND_MARKER_DATA = 13,
  CUPTI_ACTIVITY_KIND_OVERHEAD = 17,
  CUPTI_ACTIVITY_KIND_MEMCPY2 = 22,
  CUPTI_ACTIVITY_KIND_CUDA_EVENT = 36,
  CUPTI_ACTIVITY_KIND_STREAM = 37,
  CUPTI_ACTIVITY_KIND_SYNCHRONIZATION = 38,
  CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION = 39,
  CUPTI_ACTIVITY_KIND_MEMORY2 = 49,
  CUPTI_ACTIVITY_KIND_GRAPH_TRACE = 51,
  CUPTI_ACTIVITY_KIND_COUNT = 60,
};

enum CUpti_ActivityAttribute : uint32_t {
  CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE = 0,
  CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP = 1,
  CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT = 2,
  CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE = 3,
  CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT = 4,
  CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER = 5,
  CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE = 6,
  CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE = 7,
  CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED = 8,
  CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER = 9,
  CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS = 10,
  CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS = 11,
  CUPTI_ACTIVITY_ATTR_MULTIPLE_SUBSCRIBER_STATE = 12,
  CUPTI_ACTIVITY_ATTR_COUNT = 25,
};

inline constexpr uint32_t CUPTI_ACTIVITY_FLAG_FLUSH_FORCED = 1;

enum CUpti_ActivityThreadIdType : uint32_t {
  CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT = 0,
  CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM = 1,
  CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE = 2,
};

enum CUpti_ExternalCorrelationKind : uint32_t {
  CUPTI_EXTERNAL_CORRELATION_KIND_INVALID = 0,
  CUPTI_EXTERNAL_CORRELATION_KIND_SIZE = 6,
};

struct CUpti_ActivityFieldSelection {
  size_t structSize;
  size_t numFields;
  int* pFieldIds;
};
struct CUpti_ActivityConfig {
  size_t structSize;
  CUpti_ActivityFieldSelection fieldSelection;
  void* pKindOptions;
};

using CUpti_BuffersCallbackRequestFunc = void (*)(uint8_t** buffer, size_t* size, size_t* maxNumRecords);
using CUpti_BuffersCallbackCompleteFunc = void (*)(CUcontext context, uint32_t streamId, uint8_t* buffer, size_t size,
                                                   size_t validSize);
struct CUpti_BufferCallbackRequestInfo {
  size_t structSize;
};
struct CUpti_BufferCallbackCompleteInfo {
  size_t structSize;
  uint64_t threadId;
  void** ppRecordLayouts;
  size_t numRecordLayouts;
};
using CUpti_BuffersCallbackRequestFunc_v2 = void (*)(uint8_t** buffer, size_t* size, size_t* maxNumRecords,
                                                     CUpti_BufferCallbackRequestInfo* info);
using CUpti_BuffersCallbackCompleteFunc_v2 = void (*)(uint8_t* buffer, size_t size, size_t validSize,
                                                      CUpti_BufferCallbackCompleteInfo* info);
using CUpti_TimestampCallbackFunc = uint64_t (*)();

// Of the chip of a device.
struct CUpti_Device_GetChipName_Params {
  size_t structSize;
  void* pPriv;
  size_t deviceIndex;
  const char* pChipName;
};

}  // namespace vg::cupti
