// Records of activities: the structures that programs find in their buffers, those of version 13.5. They begin as those
// of all versions since 13.0 do, and each is a multiple of 8 bytes.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cupti/cupti.h"

#define CUPTI_RECORD __attribute__((packed, aligned(8)))

namespace vg::cupti {

struct CUPTI_RECORD CUpti_Activity {
  CUpti_ActivityKind kind;
};

enum CUpti_ActivityMemcpyKind : uint8_t {
  CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN = 0,
  CUPTI_ACTIVITY_MEMCPY_KIND_HTOD = 1,
  CUPTI_ACTIVITY_MEMCPY_KIND_DTOH = 2,
  CUPTI_ACTIVITY_MEMCPY_KIND_HTOA = 3,
  CUPTI_ACTIVITY_MEMCPY_KIND_ATOH = 4,
  CUPTI_ACTIVITY_MEMCPY_KIND_ATOA = 5,
  CUPTI_ACTIVITY_MEMCPY_KIND_ATOD = 6,
  CUPTI_ACTIVITY_MEMCPY_KIND_DTOA = 7,
  CUPTI_ACTIVITY_MEMCPY_KIND_DTOD = 8,
  CUPTI_ACTIVITY_MEMCPY_KIND_HTOH = 9,
  CUPTI_ACTIVITY_MEMCPY_KIND_PTOP = 10,
};

enum CUpti_ActivityMemoryKind : uint32_t {
  CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN = 0,
  CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE = 1,
  CUPTI_ACTIVITY_MEMORY_KIND_PINNED = 2,
  CUPTI_ACTIVITY_MEMORY_KIND_DEVICE = 3,
  CUPTI_ACTIVITY_MEMORY_KIND_ARRAY = 4,
  CUPTI_ACTIVITY_MEMORY_KIND_MANAGED = 5,
  CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC = 6,
};

enum CUpti_ChannelType : uint32_t {
  CUPTI_CHANNEL_TYPE_INVALID = 0,
  CUPTI_CHANNEL_TYPE_COMPUTE = 1,
  CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY = 2,
};
inline constexpr uint32_t CUPTI_INVALID_CHANNEL_ID = 0xffffffff;

inline constexpr uint8_t CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC = 1, CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC = 1;
inline constexpr uint32_t CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS = 1;

struct CUPTI_RECORD CUpti_ActivityMemcpy7 {
  CUpti_ActivityKind kind;
  uint8_t copyKind;
  uint8_t srcKind;
  uint8_t dstKind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t deviceId;
  uint32_t contextId;
  uint32_t streamId;
  uint32_t correlationId;
  uint32_t runtimeCorrelationId;
  uint32_t pad;
  void* reserved0;
  uint64_t graphNodeId;
  uint32_t graphId;
  uint32_t channelID;
  CUpti_ChannelType channelType;
  uint8_t isDeviceLaunched;
  uint8_t pad2[3];
  uint64_t copyCount;
  uint32_t sourceGraphId;
  uint32_t pad3;
  uint64_t sourceGraphNodeId;
};

// Between two devices.
struct CUPTI_RECORD CUpti_ActivityMemcpyPtoP4 {
  CUpti_ActivityKind kind;
  uint8_t copyKind;
  uint8_t srcKind;
  uint8_t dstKind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t deviceId;
  uint32_t contextId;
  uint32_t streamId;
  uint32_t srcDeviceId;
  uint32_t srcContextId;
  uint32_t dstDeviceId;
  uint32_t dstContextId;
  uint32_t correlationId;
  void* reserved0;
  uint64_t graphNodeId;
  uint32_t graphId;
  uint32_t channelID;
  CUpti_ChannelType channelType;
};

struct CUPTI_RECORD CUpti_ActivityMemset5 {
  CUpti_ActivityKind kind;
  uint32_t value;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t deviceId;
  uint32_t contextId;
  uint32_t streamId;
  uint32_t correlationId;
  uint16_t flags;
  uint16_t memoryKind;
  uint32_t pad;
  void* reserved0;
  uint64_t graphNodeId;
  uint32_t graphId;
  uint32_t channelID;
  CUpti_ChannelType channelType;
  uint8_t isDeviceLaunched;
  uint8_t pad2[3];
  uint32_t sourceGraphId;
  uint32_t pad3;
  uint64_t sourceGraphNodeId;
};

struct CUPTI_RECORD CUpti_ActivityKernel13 {
  CUpti_ActivityKind kind;
  uint8_t cacheConfig;
  uint8_t sharedMemoryConfig;
  uint16_t registersPerThread;
  uint32_t partitionedGlobalCacheRequested;
  uint32_t partitionedGlobalCacheExecuted;
  uint64_t start;
  uint64_t end;
  uint64_t completed;
  uint32_t deviceId;
  uint32_t contextId;
  uint32_t streamId;
  int32_t gridX;
  int32_t gridY;
  int32_t gridZ;
  int32_t blockX;
  int32_t blockY;
  int32_t blockZ;
  int32_t staticSharedMemory;
  int32_t dynamicSharedMemory;
  uint32_t localMemoryPerThread;
  uint32_t localMemoryTotal;
  uint32_t correlationId;
  int64_t gridId;
  const char* name;
  void* reserved0;
  uint64_t queued;
  uint64_t submitted;
  uint8_t launchType;
  uint8_t isSharedMemoryCarveoutRequested;
  uint8_t sharedMemoryCarveoutRequested;
  uint8_t padding;
  uint32_t sharedMemoryExecuted;
  uint64_t graphNodeId;
  uint32_t shmemLimitConfig;
  uint32_t graphId;
  void* pAccessPolicyWindow;
  uint32_t channelID;
  CUpti_ChannelType channelType;
  uint32_t clusterX;
  uint32_t clusterY;
  uint32_t clusterZ;
  uint32_t clusterSchedulingPolicy;
  uint64_t localMemoryTotal_v2;
  uint32_t maxPotentialClusterSize;
  uint32_t maxActiveClusters;
  uint8_t isDeviceLaunched;
  uint8_t padding3[7];
  int32_t priority;
  uint32_t padding4;
  uint32_t executionModel;
  uint32_t padding5;
  uint32_t sourceGraphId;
  uint32_t padding6;
  uint64_t sourceGraphNodeId;
};
inline constexpr uint8_t CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR = 0,
                         CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE = 1;
inline constexpr uint32_t CUPTI_FUNC_EXECUTION_MODEL_SIMT = 1;

// A call of the driver or runtime API.
struct CUPTI_RECORD CUpti_ActivityAPI {
  CUpti_ActivityKind kind;
  CUpti_CallbackId cbid;
  uint64_t start;
  uint64_t end;
  uint32_t processId;
  uint32_t threadId;
  uint32_t correlationId;
  uint32_t returnValue;
};

struct CUPTI_RECORD CUpti_ActivityDevice6 {
  CUpti_ActivityKind kind;
  uint32_t flags;
  uint64_t globalMemoryBandwidth;  // kilobytes a second
  uint64_t globalMemorySize;
  uint32_t constantMemorySize;
  uint32_t l2CacheSize;
  uint32_t numThreadsPerWarp;
  uint32_t coreClockRate;
  uint32_t numMemcpyEngines;
  uint32_t numMultiprocessors;
  uint32_t maxIPC;
  uint32_t maxWarpsPerMultiprocessor;
  uint32_t maxBlocksPerMultiprocessor;
  uint32_t maxSharedMemoryPerMultiprocessor;
  uint32_t maxRegistersPerMultiprocessor;
  uint32_t maxRegistersPerBlock;
  uint32_t maxSharedMemoryPerBlock;
  uint32_t maxThreadsPerBlock;
  uint32_t maxBlockDimX;
  uint32_t maxBlockDimY;
  uint32_t maxBlockDimZ;
  uint32_t maxGridDimX;
  uint32_t maxGridDimY;
  uint32_t maxGridDimZ;
  uint32_t computeCapabilityMajor;
  uint32_t computeCapabilityMinor;
  uint32_t id;
  uint32_t eccEnabled;
  CUuuid uuid;
  const char* name;
  uint8_t isCudaVisible;
  uint8_t isMigEnabled;
  uint8_t reserved[6];
  uint32_t gpuInstanceId;
  uint32_t computeInstanceId;
  CUuuid migUuid;
  uint32_t isNumaNode;
  uint32_t numaId;
  uint32_t numTpcs;
  uint32_t reserved0;
};

struct CUPTI_RECORD CUpti_ActivityContext4 {
  CUpti_ActivityKind kind;
  uint32_t contextId;
  uint32_t deviceId;
  uint16_t computeApiKind;
  uint16_t nullStreamId;
  uint32_t parentContextId;
  uint8_t isGreenContext;
  uint8_t padding;
  uint16_t numMultiprocessors;
  uint32_t cigMode;
  uint32_t padding2;
  uint64_t processId;
};
inline constexpr uint16_t CUPTI_ACTIVITY_COMPUTE_API_CUDA = 1;

enum CUpti_ActivityObjectKind : uint32_t {
  CUPTI_ACTIVITY_OBJECT_UNKNOWN = 0,
  CUPTI_ACTIVITY_OBJECT_PROCESS = 1,
  CUPTI_ACTIVITY_OBJECT_THREAD = 2,
  CUPTI_ACTIVITY_OBJECT_DEVICE = 3,
  CUPTI_ACTIVITY_OBJECT_CONTEXT = 4,
  CUPTI_ACTIVITY_OBJECT_STREAM = 5,
};

union CUpti_ActivityObjectKindId {
  struct {
    uint32_t processId;
    uint32_t threadId;
  } pt;
  struct {
    uint32_t deviceId;
    uint32_t contextId;
    uint32_t streamId;
  } dcs;
};

struct CUPTI_RECORD CUpti_ActivityName {
  CUpti_ActivityKind kind;
  CUpti_ActivityObjectKind objectKind;
  CUpti_ActivityObjectKindId objectId;
  uint32_t pad;
  const char* name;
};

// A point in a program: a mark of NVTX, or the beginning or end of a range.
struct CUPTI_RECORD CUpti_ActivityMarker2 {
  CUpti_ActivityKind kind;
  uint32_t flags;
  uint64_t timestamp;
  uint32_t id;
  CUpti_ActivityObjectKind objectKind;
  CUpti_ActivityObjectKindId objectId;
  uint32_t pad;
  const char* name;
  const char* domain;
};
inline constexpr uint32_t CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS = 1, CUPTI_ACTIVITY_FLAG_MARKER_START = 2,
                          CUPTI_ACTIVITY_FLAG_MARKER_END = 4;

enum CUpti_ActivityOverheadKind : uint32_t {
  CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH = 1 << 16,
  CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST = 7 << 16,
};
struct CUPTI_RECORD CUpti_ActivityOverhead3 {
  CUpti_ActivityKind kind;
  CUpti_ActivityOverheadKind overheadKind;
  CUpti_ActivityObjectKind objectKind;
  CUpti_ActivityObjectKindId objectId;
  uint64_t start;
  uint64_t end;
  uint32_t correlationId;
  uint32_t reserved0;
  void* overheadData;
};

struct CUPTI_RECORD CUpti_ActivityCudaEvent3 {
  CUpti_ActivityKind kind;
  uint32_t correlationId;
  uint32_t contextId;
  uint32_t streamId;
  uint32_t eventId;
  uint32_t pad;
  uint32_t deviceId;
  uint32_t pad2;
  void* reserved0;
  uint64_t deviceTimestamp;
  uint64_t cudaEventSyncId;
  uint64_t graphNodeId;
  uint32_t graphId;
  uint32_t sourceGraphId;
  uint64_t sourceGraphNodeId;
};

enum CUpti_ActivityStreamFlag : uint32_t {
  CUPTI_ACTIVITY_STREAM_CREATE_FLAG_UNKNOWN = 0,
  CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT = 1,
  CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING = 2,
  CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL = 3,
};
struct CUPTI_RECORD CUpti_ActivityStream {
  CUpti_ActivityKind kind;
  uint32_t contextId;
  uint32_t streamId;
  uint32_t priority;
  CUpti_ActivityStreamFlag flag;
  uint32_t correlationId;
};

enum CUpti_ActivitySynchronizationType : uint32_t {
  CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN = 0,
  CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE = 1,
  CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT = 2,
  CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE = 3,
  CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE = 4,
};
inline constexpr uint32_t CUPTI_SYNCHRONIZATION_INVALID_VALUE = 0xffffffff;
struct CUPTI_RECORD CUpti_ActivitySynchronization2 {
  CUpti_ActivityKind kind;
  CUpti_ActivitySynchronizationType type;
  uint64_t start;
  uint64_t end;
  uint32_t correlationId;
  uint32_t contextId;
  uint32_t streamId;
  uint32_t cudaEventId;
  uint64_t cudaEventSyncId;
  uint32_t returnValue;
  uint32_t pad;
};

// Stands before the record of the call that it is of.
struct CUPTI_RECORD CUpti_ActivityExternalCorrelation {
  CUpti_ActivityKind kind;
  CUpti_ExternalCorrelationKind externalKind;
  uint64_t externalId;
  uint32_t correlationId;
  uint32_t reserved;
};

enum CUpti_ActivityMemoryOperationType : uint32_t {
  CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION = 1,
  CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE = 2,
};
enum CUpti_ActivityMemoryPoolType : uint32_t {
  CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID = 0,
  CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL = 1,
};
struct CUPTI_RECORD CUpti_ActivityMemory4 {
  CUpti_ActivityKind kind;
  CUpti_ActivityMemoryOperationType memoryOperationType;
  CUpti_ActivityMemoryKind memoryKind;
  uint32_t correlationId;
  uint64_t address;
  uint64_t bytes;
  uint64_t timestamp;
  uint64_t PC;
  uint32_t processId;
  uint32_t deviceId;
  uint32_t contextId;
  uint32_t streamId;
  const char* name;
  uint32_t isAsync;
  uint32_t pad1;
  struct CUPTI_RECORD {
    CUpti_ActivityMemoryPoolType memoryPoolType;
    uint32_t pad2;
    uint64_t address;
    uint64_t releaseThreshold;
    uint64_t size;
    uint64_t utilizedSize;
  } memoryPoolConfig;
  const char* source;
};

struct CUPTI_RECORD CUpti_ActivityGraphTrace2 {
  CUpti_ActivityKind kind;
  uint32_t correlationId;
  uint64_t start;
  uint64_t end;
  uint32_t deviceId;
  uint32_t graphId;
  uint32_t contextId;
  uint32_t streamId;
  void* reserved;
  uint32_t endDeviceId;
  uint32_t endContextId;
};

// The size of the record of a kind; 0: this library has no record of it.
size_t recordSize(CUpti_ActivityKind kind);

}  // namespace vg::cupti
