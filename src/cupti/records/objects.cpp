#include "cupti/records/objects.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/sync/mutex.h"
#include "base/undying.h"
#include "cupti/calls/subscribers.h"
#include "cupti/driver.h"
#include "cupti/number.h"
#include "cupti/process_number.h"
#include "cupti/records/names.h"
#include "cupti/records/records.h"

namespace vg::cupti::objects {
namespace {

struct Event {
  uint32_t number = 0;
  uint64_t lastRecord = 0;
};
struct Known {
  Mutex mutex;
  std::vector<CUcontext> contexts VG_GUARDED_BY(mutex);
  std::map<CUevent, Event> events VG_GUARDED_BY(mutex);
  uint32_t eventNumbers VG_GUARDED_BY(mutex) = 0;
  uint64_t eventRecords VG_GUARDED_BY(mutex) = 0;
};
Known& known() { return undying<Known, Known>(); }

Event& eventLocked(Known& all, CUevent event) VG_REQUIRES(all.mutex) {
  Event& found = all.events[event];
  if (!found.number) found.number = ++all.eventNumbers;
  return found;
}

// Whether it was not known before.
bool remember(CUcontext context) {
  Known& all = known();
  const MutexLock lock(all.mutex);
  if (std::find(all.contexts.begin(), all.contexts.end(), context) != all.contexts.end()) return false;
  all.contexts.push_back(context);
  return true;
}
bool forget(CUcontext context) {
  Known& all = known();
  const MutexLock lock(all.mutex);
  const auto found = std::find(all.contexts.begin(), all.contexts.end(), context);
  if (found == all.contexts.end()) return false;
  all.contexts.erase(found);
  return true;
}

uint32_t attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  VG_CALL_DRIVER(cuDeviceGetAttribute, &value, which, device);
  return static_cast<uint32_t>(value);
}

CUpti_ActivityDevice6 deviceRecord(CUdevice device) {
  CUpti_ActivityDevice6 record{};
  const auto ask = [device](CUdevice_attribute which) { return attribute(device, which); };
  record.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  record.id = static_cast<uint32_t>(device);
  record.flags = ask(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS) ? CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS : 0;
  // Two transfers a cycle; kilohertz times bytes.
  record.globalMemoryBandwidth =
      uint64_t{2} * ask(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * ask(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
  size_t bytes = 0;
  VG_CALL_DRIVER(cuDeviceTotalMem, &bytes, device);
  record.globalMemorySize = bytes;
  record.constantMemorySize = ask(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  record.l2CacheSize = ask(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  record.numThreadsPerWarp = ask(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  record.coreClockRate = ask(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  record.numMemcpyEngines = ask(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  record.numMultiprocessors = ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  record.maxWarpsPerMultiprocessor =
      ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / std::max(record.numThreadsPerWarp, 1u);
  record.maxBlocksPerMultiprocessor = ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  record.maxSharedMemoryPerMultiprocessor = ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  record.maxRegistersPerMultiprocessor = ask(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  record.maxRegistersPerBlock = ask(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  record.maxSharedMemoryPerBlock = ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  record.maxThreadsPerBlock = ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  record.maxBlockDimX = ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  record.maxBlockDimY = ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  record.maxBlockDimZ = ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  record.maxGridDimX = ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  record.maxGridDimY = ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  record.maxGridDimZ = ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  record.computeCapabilityMajor = ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  record.computeCapabilityMinor = ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  record.eccEnabled = ask(CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
  VG_CALL_DRIVER(cuDeviceGetUuid, &record.uuid, device);
  char name[256] = "";
  VG_CALL_DRIVER(cuDeviceGetName, name, static_cast<int>(sizeof name), device);
  record.name = kept(name);
  record.isCudaVisible = 1;
  record.gpuInstanceId = record.computeInstanceId = UINT32_MAX;
  record.numaId = UINT32_MAX;
  return record;
}

CUpti_ActivityContext4 contextRecord(CUcontext context) {
  CUpti_ActivityContext4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  record.contextId = contextNumber(context);
  record.deviceId = static_cast<uint32_t>(deviceOf(context));
  record.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  record.nullStreamId = static_cast<uint16_t>(streamNumber(context, nullptr, false));
  record.numMultiprocessors =
      static_cast<uint16_t>(attribute(deviceOf(context), CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  record.processId = processNumber();
  return record;
}

CUpti_ActivityStream streamRecord(CUcontext context, CUstream stream, uint32_t correlation) {
  CUpti_ActivityStream record{};
  record.kind = CUPTI_ACTIVITY_KIND_STREAM;
  record.contextId = contextNumber(context);
  record.streamId = streamNumber(context, stream, false);
  int priority = 0;
  unsigned flags = 0;
  VG_CALL_DRIVER(cuStreamGetPriority, stream, &priority);
  VG_CALL_DRIVER(cuStreamGetFlags, stream, &flags);
  record.priority = static_cast<uint32_t>(priority);
  record.flag = flags & CU_STREAM_NON_BLOCKING ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
                                               : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
  record.correlationId = correlation;
  return record;
}

void tellResource(CUpti_CallbackIdResource id, CUcontext context, CUstream stream) {
  CUpti_ResourceData data{};
  data.context = context;
  data.resourceHandle.stream = stream;
  subscribers::each([&](const Subscriber& subscriber, unsigned) {
    if (subscriber.hears(CUPTI_CB_DOMAIN_RESOURCE, id)) subscriber.call(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
  });
}

template <class Tell>
void toWhoWants(CUpti_ActivityKind kind, Tell tell) {
  subscribers::eachCollector([&](Collector& collector) {
    if (collector.usable() && collector.wants(kind)) tell(collector);
  });
}

}  // namespace

uint32_t contextNumber(CUcontext context) {
  const api::ObserverTable* const table = driver();
  uint64_t id = 0;
  int device = -1;
  return table && table->contextId(context, &id, &device) == CUDA_SUCCESS ? number(id) : 0;
}

int deviceOf(CUcontext context) {
  const api::ObserverTable* const table = driver();
  uint64_t id = 0;
  int device = -1;
  return table && table->contextId(context, &id, &device) == CUDA_SUCCESS ? device : -1;
}

uint32_t streamNumber(CUcontext context, CUstream stream, bool perThread) {
  const api::ObserverTable* const table = driver();
  uint64_t id = 0;
  return table && table->streamId(context, stream, perThread, &id) == CUDA_SUCCESS ? number(id) : 0;
}

uint32_t eventNumber(CUevent event) {
  Known& all = known();
  const MutexLock lock(all.mutex);
  return eventLocked(all, event).number;
}

uint64_t beginEventRecord(CUevent event) {
  Known& all = known();
  const MutexLock lock(all.mutex);
  return eventLocked(all, event).lastRecord = ++all.eventRecords;
}

uint64_t lastEventRecord(CUevent event) {
  Known& all = known();
  const MutexLock lock(all.mutex);
  return eventLocked(all, event).lastRecord;
}

void eventEnds(CUevent event) {
  Known& all = known();
  const MutexLock lock(all.mutex);
  all.events.erase(event);
}

void contextBegan(CUcontext context) {
  if (!remember(context)) return;
  tellResource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, nullptr);
  toWhoWants(CUPTI_ACTIVITY_KIND_CONTEXT, [&](Collector& collector) { collector.add(contextRecord(context)); });
}

void contextEnds(CUcontext context) {
  if (forget(context)) tellResource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context, nullptr);
}

void streamBegan(CUcontext context, CUstream stream, uint32_t correlation) {
  tellResource(CUPTI_CBID_RESOURCE_STREAM_CREATED, context, stream);
  toWhoWants(CUPTI_ACTIVITY_KIND_STREAM,
             [&](Collector& collector) { collector.add(streamRecord(context, stream, correlation)); });
}

void streamEnds(CUcontext context, CUstream stream) {
  tellResource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, context, stream);
}

void tellDevices(Collector& collector) {
  int count = 0;
  if (VG_CALL_DRIVER(cuDeviceGetCount, &count) != CUDA_SUCCESS) return;  // devicesBegan() comes later
  for (CUdevice device = 0; device < count; ++device) collector.add(deviceRecord(device));
}

void tellContexts(Collector& collector) {
  const api::ObserverTable* const table = driver();
  int count = 0;
  if (!table || VG_CALL_DRIVER(cuDeviceGetCount, &count) != CUDA_SUCCESS) return;
  for (int device = 0; device < count; ++device)
    if (const CUcontext primary = table->primaryContext(device)) remember(primary);
  std::vector<CUcontext> contexts;
  {
    Known& all = known();
    const MutexLock lock(all.mutex);
    contexts = all.contexts;
  }
  for (const CUcontext context : contexts) collector.add(contextRecord(context));
}

void devicesBegan() {
  tellResource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, nullptr, nullptr);
  toWhoWants(CUPTI_ACTIVITY_KIND_DEVICE, tellDevices);
}

}  // namespace vg::cupti::objects
