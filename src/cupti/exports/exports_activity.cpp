// The activity interface. What is said of no subscriber concerns the collector of programs that have none.
#include <cstddef>
#include <cstring>

#include "base/sync/mutex.h"
#include "cupti/clock.h"
#include "cupti/exports/exports.h"
#include "cupti/records/external.h"
#include "cupti/records/objects.h"
#include "cupti/records/records.h"

using namespace vg::cupti;

namespace {

// Kinds of hardware's counters and of samples of code.
bool isLegacy(uint32_t kind) {
  for (const uint32_t legacy : {6, 7, 14, 15, 16, 21, 23, 24, 29, 30, 31, 32, 41, 42, 43, 44})
    if (kind == legacy) return true;
  return false;
}

// Answers as NVIDIA's library has them. What was done before has records by what was enabled then. Kernels may be
// recorded one by one or as they run beside each other, not both.
CUptiResult enable(Collector& collector, CUpti_ActivityKind kind, bool on) {
  if (!on && (kind >= CUPTI_ACTIVITY_KIND_COUNT || !recordSize(kind))) return CUPTI_SUCCESS;
  if (isLegacy(kind)) return CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED;
  if (kind >= CUPTI_ACTIVITY_KIND_COUNT || !recordSize(kind)) return CUPTI_ERROR_NOT_COMPATIBLE;
  if (on && kind == CUPTI_ACTIVITY_KIND_KERNEL && collector.wants(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
    return CUPTI_ERROR_NOT_COMPATIBLE;
  if (on && kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && collector.wants(CUPTI_ACTIVITY_KIND_KERNEL))
    return CUPTI_ERROR_NOT_COMPATIBLE;
  observe::catchUp();
  collector.enable(kind, on);
  subscribers::tellDriver();
  return CUPTI_SUCCESS;
}

// What is there already, for kinds of things.
void tellThings(Collector& collector, CUpti_ActivityKind kind) {
  if (!collector.usable()) return;
  if (kind == CUPTI_ACTIVITY_KIND_DEVICE) objects::tellDevices(collector);
  if (kind == CUPTI_ACTIVITY_KIND_CONTEXT) objects::tellContexts(collector);
}

CUptiResult enableAndTell(Collector& collector, CUpti_ActivityKind kind) {
  const CUptiResult result = enable(collector, kind, true);
  if (result == CUPTI_SUCCESS) tellThings(collector, kind);
  return result;
}

// Calls `body` with the collector of a subscriber.
template <class Body>
CUptiResult ofSubscriber(CUpti_SubscriberHandle subscriber, Body body) noexcept {
  return attached([&]() -> CUptiResult {
    Subscriber* const found = subscribers::find(subscriber);
    return found ? body(found->collector) : CUPTI_ERROR_INVALID_PARAMETER;
  });
}
template <class Body>
CUptiResult ofAll(Body body) noexcept {
  return attached([&]() -> CUptiResult { return body(subscribers::commonCollector()); });
}

// Records of a selection of fields are not made.
bool selectsFields(const CUpti_ActivityConfig* config) {
  return config && config->structSize >= offsetof(CUpti_ActivityConfig, pKindOptions) &&
         config->fieldSelection.numFields;
}

CUptiResult enableInContext(CUcontext context, CUpti_ActivityKind kind, bool on) {
  if (!kind || kind >= CUPTI_ACTIVITY_KIND_COUNT) return CUPTI_ERROR_INVALID_KIND;
  if (!recordSize(kind)) return CUPTI_ERROR_NOT_COMPATIBLE;
  const uint32_t number = context ? objects::contextNumber(context) : 0;
  if (!number) return CUPTI_ERROR_INVALID_CONTEXT;
  observe::catchUp();
  subscribers::commonCollector().enable(kind, number, on);
  subscribers::tellDriver();
  return CUPTI_SUCCESS;
}

CUptiResult enableCall(Collector& collector, CUpti_ActivityKind kind, CUpti_CallbackId id, bool on) {
  const auto domain = kind == CUPTI_ACTIVITY_KIND_DRIVER ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
  if (!id || id >= callbackCount(domain)) return CUPTI_ERROR_INVALID_PARAMETER;
  collector.enableCall(kind, id, on);
  subscribers::tellDriver();
  return CUPTI_SUCCESS;
}

// ---- attributes: numbers that are kept for who asks for them; there are no buffers on devices ----

struct Attribute {
  size_t size;
  uint64_t value;
};
vg::Mutex attributesMutex;
Attribute attributes[CUPTI_ACTIVITY_ATTR_COUNT] VG_GUARDED_BY(attributesMutex) = {
    {8, 3200000}, {8, 8388608}, {8, 250}, {}, {}, {1, 0}, {8, 3}, {}, {1, 0}, {1, 1}, {8, 16777216}, {1, 0}, {1, 0},
};

CUptiResult getAttribute(CUpti_ActivityAttribute which, size_t* size, void* value) {
  if (!size || !value || which >= CUPTI_ACTIVITY_ATTR_COUNT) return CUPTI_ERROR_INVALID_PARAMETER;
  const vg::MutexLock lock(attributesMutex);
  const Attribute& attribute = attributes[which];
  if (!attribute.size) return CUPTI_ERROR_NOT_SUPPORTED;
  if (*size < attribute.size) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  std::memcpy(value, &attribute.value, attribute.size);
  *size = attribute.size;
  return CUPTI_SUCCESS;
}

CUptiResult setAttribute(CUpti_ActivityAttribute which, const size_t* size, const void* value) {
  if (!size || !value || which >= CUPTI_ACTIVITY_ATTR_COUNT) return CUPTI_ERROR_INVALID_PARAMETER;
  const vg::MutexLock lock(attributesMutex);
  Attribute& attribute = attributes[which];
  if (!attribute.size) return CUPTI_ERROR_NOT_SUPPORTED;
  if (*size < attribute.size) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  attribute.value = 0;
  std::memcpy(&attribute.value, value, attribute.size);
  return CUPTI_SUCCESS;
}

CUptiResult takeDropped(Collector& collector, size_t* dropped) {
  if (!dropped) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = collector.takeDropped();
  return CUPTI_SUCCESS;
}

CUptiResult flushAll() {
  observe::catchUp();
  observe::flush();
  return CUPTI_SUCCESS;
}

}  // namespace

CUPTI_EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  return ofAll([&](Collector& collector) { return enableAndTell(collector, kind); });
}
CUPTI_EXPORT CUptiResult cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
                                                CUpti_ActivityConfig* config) {
  return ofSubscriber(subscriber, [&](Collector& collector) -> CUptiResult {
    if (selectsFields(config)) return CUPTI_ERROR_NOT_SUPPORTED;
    return enableAndTell(collector, kind);
  });
}
CUPTI_EXPORT CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) { return cuptiActivityEnable(kind); }
CUPTI_EXPORT CUptiResult cuptiActivityEnableAndDump_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
                                                       CUpti_ActivityConfig* config) {
  return cuptiActivityEnable_v2(subscriber, kind, config);
}
CUPTI_EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  return ofAll([&](Collector& collector) { return enable(collector, kind, false); });
}
CUPTI_EXPORT CUptiResult cuptiActivityDisable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
                                                 CUpti_ActivityConfig*) {
  return ofSubscriber(subscriber, [&](Collector& collector) { return enable(collector, kind, false); });
}
CUPTI_EXPORT CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind) {
  return attached([&] { return enableInContext(context, kind, true); });
}
CUPTI_EXPORT CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind) {
  return attached([&] { return enableInContext(context, kind, false); });
}
CUPTI_EXPORT CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t on) {
  return ofAll([&](Collector& collector) { return enableCall(collector, CUPTI_ACTIVITY_KIND_DRIVER, cbid, on); });
}
CUPTI_EXPORT CUptiResult cuptiActivityEnableDriverApi_v2(CUpti_SubscriberHandle subscriber, CUpti_CallbackId cbid,
                                                         uint8_t on) {
  return ofSubscriber(
      subscriber, [&](Collector& collector) { return enableCall(collector, CUPTI_ACTIVITY_KIND_DRIVER, cbid, on); });
}
CUPTI_EXPORT CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t on) {
  return ofAll([&](Collector& collector) { return enableCall(collector, CUPTI_ACTIVITY_KIND_RUNTIME, cbid, on); });
}
CUPTI_EXPORT CUptiResult cuptiActivityEnableRuntimeApi_v2(CUpti_SubscriberHandle subscriber, CUpti_CallbackId cbid,
                                                          uint8_t on) {
  return ofSubscriber(
      subscriber, [&](Collector& collector) { return enableCall(collector, CUPTI_ACTIVITY_KIND_RUNTIME, cbid, on); });
}

CUPTI_EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                        CUpti_BuffersCallbackCompleteFunc complete) {
  return ofAll([&](Collector& collector) { return collector.use(request, complete); });
}
CUPTI_EXPORT CUptiResult cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle subscriber,
                                                           CUpti_BuffersCallbackRequestFunc_v2 request,
                                                           CUpti_BuffersCallbackCompleteFunc_v2 complete) {
  return ofSubscriber(subscriber, [&](Collector& collector) { return collector.use(request, complete); });
}
CUPTI_EXPORT CUptiResult cuptiActivityFlushAll(uint32_t) {
  return attached([] { return flushAll(); });
}
CUPTI_EXPORT CUptiResult cuptiActivityFlush(CUcontext, uint32_t, uint32_t) {
  return attached([] { return flushAll(); });
}
CUPTI_EXPORT CUptiResult cuptiActivityFlushPeriod(uint32_t milliseconds) {
  return attached([&]() -> CUptiResult {
    observe::flushEvery(milliseconds);
    return CUPTI_SUCCESS;
  });
}
CUPTI_EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t validBytes, CUpti_Activity** record) {
  return guarded([&] { return nextRecord(buffer, validBytes, reinterpret_cast<void**>(record)); });
}
CUPTI_EXPORT CUptiResult cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle subscriber, uint8_t* buffer,
                                                       size_t validBytes, CUpti_Activity** record) {
  return guarded([&]() -> CUptiResult {
    if (!subscribers::find(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
    return nextRecord(buffer, validBytes, reinterpret_cast<void**>(record));
  });
}
CUPTI_EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  return ofAll([&](Collector& collector) { return takeDropped(collector, dropped); });
}
CUPTI_EXPORT CUptiResult cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle subscriber, CUcontext, uint32_t,
                                                              size_t* dropped) {
  return ofSubscriber(subscriber, [&](Collector& collector) { return takeDropped(collector, dropped); });
}

// Records of all versions that this library may be asked for begin alike, but their sizes are those of 13.5.
CUPTI_EXPORT CUptiResult cuptiActivityGetStructSize(CUpti_ActivityKind kind, uint32_t version, size_t* size) {
  return guarded([&]() -> CUptiResult {
    if (!size) return CUPTI_ERROR_INVALID_PARAMETER;
    if (!kind || kind >= CUPTI_ACTIVITY_KIND_COUNT) return CUPTI_ERROR_INVALID_KIND;
    if (version && version != kApiVersion) return CUPTI_ERROR_NOT_SUPPORTED;
    if (!recordSize(kind)) return CUPTI_ERROR_NOT_SUPPORTED;
    *size = recordSize(kind);
    return CUPTI_SUCCESS;
  });
}

CUPTI_EXPORT CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t* valueSize, void* value) {
  return guarded([&] { return getAttribute(attr, valueSize, value); });
}
CUPTI_EXPORT CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t* valueSize, void* value) {
  return guarded([&] { return setAttribute(attr, valueSize, value); });
}
CUPTI_EXPORT CUptiResult cuptiActivityGetAttribute_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityAttribute attr,
                                                      size_t* valueSize, void* value) {
  return ofSubscriber(subscriber, [&](Collector&) { return getAttribute(attr, valueSize, value); });
}
CUPTI_EXPORT CUptiResult cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityAttribute attr,
                                                      size_t* valueSize, void* value) {
  return ofSubscriber(subscriber, [&](Collector&) { return setAttribute(attr, valueSize, value); });
}

CUPTI_EXPORT CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  return guarded([&] { return external::push(subscribers::commonCollector(), kind, id); });
}
CUPTI_EXPORT CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* lastId) {
  return guarded([&] { return external::pop(subscribers::commonCollector(), kind, lastId); });
}
CUPTI_EXPORT CUptiResult cuptiActivityPushExternalCorrelationId_v2(CUpti_SubscriberHandle subscriber,
                                                                   CUpti_ExternalCorrelationKind kind, uint64_t id) {
  return ofSubscriber(subscriber, [&](Collector& collector) { return external::push(collector, kind, id); });
}
CUPTI_EXPORT CUptiResult cuptiActivityPopExternalCorrelationId_v2(CUpti_SubscriberHandle subscriber,
                                                                  CUpti_ExternalCorrelationKind kind,
                                                                  uint64_t* lastId) {
  return ofSubscriber(subscriber, [&](Collector& collector) { return external::pop(collector, kind, lastId); });
}

CUPTI_EXPORT CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  return guarded([&]() -> CUptiResult {
    if (!timestamp) return CUPTI_ERROR_INVALID_PARAMETER;
    *timestamp = vg::cupti::clock::now();
    return CUPTI_SUCCESS;
  });
}
CUPTI_EXPORT CUptiResult cuptiGetTimestamp_v2(CUpti_SubscriberHandle subscriber, uint64_t* timestamp) {
  if (subscriber && !subscribers::find(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  return cuptiGetTimestamp(timestamp);
}
CUPTI_EXPORT CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function) {
  return guarded([&]() -> CUptiResult {
    if (!function) return CUPTI_ERROR_INVALID_PARAMETER;
    vg::cupti::clock::use(function);
    return CUPTI_SUCCESS;
  });
}
CUPTI_EXPORT CUptiResult cuptiIsTracingSessionRunning(uint8_t* isRunning) {
  return guarded([&]() -> CUptiResult {
    if (!isRunning) return CUPTI_ERROR_INVALID_PARAMETER;
    *isRunning = observe::started();
    return CUPTI_SUCCESS;
  });
}
