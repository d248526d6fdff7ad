#include "cupti/calls/calls.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "cupti/calls/call_arguments.h"
#include "cupti/calls/callbacks.h"
#include "cupti/calls/meaning.h"
#include "cupti/calls/subscribers.h"
#include "cupti/clock.h"
#include "cupti/driver.h"
#include "cupti/number.h"
#include "cupti/process_number.h"
#include "cupti/records/external.h"
#include "cupti/records/objects.h"
#include "cupti/records/records.h"

namespace vg::cupti::calls {
namespace {

struct Entry {
  CUpti_CallbackId callback = 0;
  Meaning meaning = Meaning::None;
  bool perThread = false;
};
// Constant once learnt.
constexpr unsigned kMostEntries = 2048;
constinit Entry entries[kMostEntries];

// The words of a driver call: one for each subscriber, then these.
constexpr unsigned kBegin = subscribers::kMost;
constexpr unsigned kEntered = kBegin + 1;  // when subscribers had been told
static_assert(kEntered < api::ObservedCall::kMostWords);

// A call of the runtime API that the thread is in.
struct Frame {
  const api::RuntimeCall* call;  // lies on the thread's stack
  uint32_t correlation;
  uint64_t before;  // for the end
  uint64_t begin;
  uint64_t words[subscribers::kMost];
};
struct Frames {
  static constexpr unsigned kMost = 16;
  Frame all[kMost];
  unsigned count = 0;
};
thread_local Frames frames;

CUpti_ActivityAPI recordOf(CUpti_ActivityKind kind, CUpti_CallbackId id, uint64_t start, uint32_t correlation,
                           uint32_t result) {
  CUpti_ActivityAPI record{};
  record.kind = kind;
  record.cbid = id;
  record.start = start;
  record.end = clock::now();
  record.processId = processNumber();
  record.threadId = threadNumber();
  record.correlationId = correlation;
  record.returnValue = result;
  return record;
}

void tellExternal(CUpti_ActivityKind kind, CUpti_CallbackId id, uint32_t correlation) {
  subscribers::eachCollector([&](Collector& collector) {
    if (collector.usable() && collector.wantsCall(kind, id)) external::tell(collector, correlation);
  });
}

void giveRecord(CUpti_ActivityKind kind, CUpti_CallbackId id, uint64_t start, uint32_t correlation, uint32_t result) {
  subscribers::eachCollector([&](Collector& collector) {
    if (collector.usable() && collector.wantsCall(kind, id))
      collector.add(recordOf(kind, id, start, correlation, result));
  });
}

// ---- callbacks ----

// Of a function or a kernel, which have one kind of handle.
const char* kernelName(CUfunction function) {
  const char* name = nullptr;
  if (!function) return nullptr;
  if (VG_CALL_DRIVER(cuFuncGetName, &name, function) == CUDA_SUCCESS) return name;
  if (VG_CALL_DRIVER(cuKernelGetName, &name, reinterpret_cast<CUkernel>(function)) == CUDA_SUCCESS) return name;
  return nullptr;
}

const char* symbolOf(const api::ObservedCall& call, Meaning meaning) {
  if (meaning == Meaning::Launch) return kernelName(Arguments<CUfunction>(call.arguments).get<0>());
  if (meaning == Meaning::LaunchWithConfig) return kernelName(Arguments<void*, CUfunction>(call.arguments).get<1>());
  return nullptr;
}

void callBack(api::ObservedCall& call, const Entry& entry, CUpti_ApiCallbackSite site) {
  CUpti_CallbackData data{};
  bool made = false;
  CUresult result = call.result;
  subscribers::each([&](const Subscriber& subscriber, unsigned index) {
    if (!subscriber.hears(CUPTI_CB_DOMAIN_DRIVER_API, entry.callback)) return;
    if (!made) {
      data.callbackSite = site;
      data.functionName = call.symbol;
      data.functionParams = call.arguments;
      data.functionReturnValue = site == CUPTI_API_EXIT ? &result : nullptr;
      data.symbolName = symbolOf(call, entry.meaning);
      data.context = call.context;
      data.contextUid = call.context ? objects::contextNumber(call.context) : 0;
      data.correlationId = number(call.correlation);
      made = true;
    }
    data.correlationData = &call.words[index];
    subscriber.call(CUPTI_CB_DOMAIN_DRIVER_API, entry.callback, &data);
  });
}

void callBack(const api::RuntimeCall& call, Frame& frame, CUpti_CallbackId id, CUpti_ApiCallbackSite site) {
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = call.name;
  data.functionParams = call.arguments;
  data.functionReturnValue = site == CUPTI_API_EXIT ? call.result : nullptr;
  data.symbolName = call.symbol;
  data.context = call.context;
  data.contextUid = number(call.contextId);
  data.correlationId = frame.correlation;
  subscribers::each([&](const Subscriber& subscriber, unsigned index) {
    if (!subscriber.hears(CUPTI_CB_DOMAIN_RUNTIME_API, id)) return;
    data.correlationData = &frame.words[index];
    subscriber.call(CUPTI_CB_DOMAIN_RUNTIME_API, id, &data);
  });
}

void tellResource(CUpti_CallbackIdResource id, CUcontext context, void* descriptor) {
  CUpti_ResourceData data{};
  data.context = context;
  data.resourceDescriptor = descriptor;
  subscribers::each([&](const Subscriber& subscriber, unsigned) {
    if (subscriber.hears(CUPTI_CB_DOMAIN_RESOURCE, id)) subscriber.call(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
  });
}

void tellGraph(CUpti_CallbackIdResource id, CUcontext context, CUgraph graph, CUgraph original, CUgraphExec exec) {
  CUpti_GraphData data{};
  data.graph = graph;
  data.originalGraph = original;
  data.graphExec = exec;
  tellResource(id, context, &data);
}

// The native code of a module is nothing that this library hands out.
void tellModule(CUpti_CallbackIdResource id, CUcontext context, const void* handle) {
  CUpti_ModuleResourceData data{};
  data.moduleId = number(reinterpret_cast<uintptr_t>(handle) >> 4);
  tellResource(id, context, &data);
}

void tellSynchronized(CUpti_CallbackIdSync id, CUcontext context, CUstream stream) {
  CUpti_SynchronizeData data{context, stream};
  subscribers::each([&](const Subscriber& subscriber, unsigned) {
    if (subscriber.hears(CUPTI_CB_DOMAIN_SYNCHRONIZE, id)) subscriber.call(CUPTI_CB_DOMAIN_SYNCHRONIZE, id, &data);
  });
}

// ---- waits and events ----

struct Waited {
  CUpti_ActivitySynchronizationType type;
  uint32_t stream = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  uint32_t event = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  uint64_t record = CUPTI_SYNCHRONIZATION_INVALID_VALUE;  // of the event
};

void giveWait(const api::ObservedCall& call, const Waited& waited) {
  subscribers::eachCollector([&](Collector& collector) {
    if (!collector.usable() || !collector.wants(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) return;
    CUpti_ActivitySynchronization2 record{};
    record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    record.type = waited.type;
    record.start = call.words[kEntered];
    record.end = clock::now();
    record.correlationId = number(call.correlation);
    record.contextId = objects::contextNumber(call.context);
    record.streamId = waited.stream;
    record.cudaEventId = waited.event;
    record.cudaEventSyncId = waited.record;
    record.returnValue = call.result;
    collector.add(record);
  });
}

void giveEventRecord(const api::ObservedCall& call, uint32_t stream, CUevent event) {
  const uint64_t sync = objects::beginEventRecord(event);
  subscribers::eachCollector([&](Collector& collector) {
    if (!collector.usable() || !collector.wants(CUPTI_ACTIVITY_KIND_CUDA_EVENT)) return;
    CUpti_ActivityCudaEvent3 record{};
    record.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
    record.correlationId = number(call.correlation);
    record.contextId = objects::contextNumber(call.context);
    record.streamId = stream;
    record.eventId = objects::eventNumber(event);
    record.deviceId = static_cast<uint32_t>(objects::deviceOf(call.context));
    record.cudaEventSyncId = sync;
    collector.add(record);
  });
}

uint32_t streamOf(const api::ObservedCall& call, CUstream stream, const Entry& entry) {
  return objects::streamNumber(call.context, stream, entry.perThread);
}

void meansWait(const api::ObservedCall& call, const Entry& entry) {
  switch (entry.meaning) {
    case Meaning::StreamQuery:
      if (call.result == CUDA_SUCCESS)
        giveWait(call, {CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
                        streamOf(call, Arguments<CUstream>(call.arguments).get<0>(), entry)});
      break;
    case Meaning::StreamSynchronize: {
      const auto stream = Arguments<CUstream>(call.arguments).get<0>();
      giveWait(call, {CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, streamOf(call, stream, entry)});
      if (call.result == CUDA_SUCCESS)
        tellSynchronized(CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, call.context, stream);
      break;
    }
    case Meaning::ContextSynchronize:
      giveWait(call, {CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE});
      if (call.result == CUDA_SUCCESS)
        tellSynchronized(CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, call.context, nullptr);
      break;
    case Meaning::EventQuery:
    case Meaning::EventSynchronize: {
      if (call.result != CUDA_SUCCESS && entry.meaning == Meaning::EventQuery) break;
      const auto event = Arguments<CUevent>(call.arguments).get<0>();
      giveWait(call, {CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, CUPTI_SYNCHRONIZATION_INVALID_VALUE,
                      objects::eventNumber(event), objects::lastEventRecord(event)});
      break;
    }
    case Meaning::StreamWaitEvent: {
      const Arguments<CUstream, CUevent> arguments(call.arguments);
      const CUevent event = arguments.get<1>();
      giveWait(call, {CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, streamOf(call, arguments.get<0>(), entry),
                      objects::eventNumber(event), objects::lastEventRecord(event)});
      break;
    }
    case Meaning::EventRecord: {
      const Arguments<CUevent, CUstream> arguments(call.arguments);
      if (call.result == CUDA_SUCCESS)
        giveEventRecord(call, streamOf(call, arguments.get<1>(), entry), arguments.get<0>());
      break;
    }
    default:
      break;
  }
}

// ---- what calls make and end ----

template <class T>
T made(const api::ObservedCall& call) {
  const auto* const place = Arguments<T*>(call.arguments).template get<0>();
  return place ? *place : T{};
}

// Requires: it has succeeded.
void meansBeginning(const api::ObservedCall& call, const Entry& entry) {
  switch (entry.meaning) {
    case Meaning::Initialise:
      return objects::devicesBegan();
    case Meaning::ContextCreate:
    case Meaning::PrimaryRetain:
      return objects::contextBegan(made<CUcontext>(call));
    case Meaning::StreamCreate:
      return objects::streamBegan(call.context, made<CUstream>(call), number(call.correlation));
    case Meaning::ModuleLoad:
      return tellModule(CUPTI_CBID_RESOURCE_MODULE_LOADED, call.context, made<void*>(call));
    case Meaning::GraphCreate:
      return tellGraph(CUPTI_CBID_RESOURCE_GRAPH_CREATED, call.context, made<CUgraph>(call), nullptr, nullptr);
    case Meaning::GraphEndCapture: {
      const auto* const place = Arguments<CUstream, CUgraph*>(call.arguments).get<1>();
      return tellGraph(CUPTI_CBID_RESOURCE_GRAPH_CREATED, call.context, place ? *place : nullptr, nullptr, nullptr);
    }
    case Meaning::GraphClone:
      return tellGraph(CUPTI_CBID_RESOURCE_GRAPH_CREATED, call.context, made<CUgraph>(call),
                       Arguments<CUgraph*, CUgraph>(call.arguments).get<1>(), nullptr);
    case Meaning::GraphInstantiate:
      return tellGraph(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, call.context,
                       Arguments<CUgraphExec*, CUgraph>(call.arguments).get<1>(), nullptr, made<CUgraphExec>(call));
    default:
      return;
  }
}

// Before the call: it may fail all the same.
void meansEnd(const api::ObservedCall& call, const Entry& entry) {
  const auto handle = [&call] { return Arguments<void*>(call.arguments).get<0>(); };
  switch (entry.meaning) {
    case Meaning::ContextDestroy:
      return objects::contextEnds(static_cast<CUcontext>(handle()));
    case Meaning::PrimaryReset:
      if (const CUcontext primary = driver()->primaryContext(Arguments<CUdevice>(call.arguments).get<0>()))
        objects::contextEnds(primary);
      return;
    case Meaning::StreamDestroy:
      return objects::streamEnds(call.context, static_cast<CUstream>(handle()));
    case Meaning::EventDestroy:
      return objects::eventEnds(static_cast<CUevent>(handle()));
    case Meaning::ModuleUnload:
      return tellModule(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, call.context, handle());
    case Meaning::GraphDestroy:
      return tellGraph(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, call.context, static_cast<CUgraph>(handle()),
                       nullptr, nullptr);
    case Meaning::GraphExecDestroy:
      return tellGraph(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, call.context, nullptr, nullptr,
                       static_cast<CUgraphExec>(handle()));
    default:
      return;
  }
}

void learnOne(void*, unsigned index, const char* symbol) {
  if (index < kMostEntries) entries[index] = {driverCallback(symbol), meaningOf(symbol), isPerThread(symbol)};
}

// Frames of calls whose end was not told: those around a call lie further up the stack.
void dropEnded(Frames& of, const api::RuntimeCall& call) {
  while (of.count && of.all[of.count - 1].call <= &call) {
    --of.count;
    driver()->endRuntimeCall(of.all[of.count].before);
  }
}

void runtimeBegan(CUpti_CallbackId id, api::RuntimeCall& call) {
  dropEnded(frames, call);
  if (frames.count == Frames::kMost) return;
  Frame& frame = frames.all[frames.count++];
  frame = {};
  frame.call = &call;
  frame.correlation = number(driver()->beginRuntimeCall(&frame.before));
  tellExternal(CUPTI_ACTIVITY_KIND_RUNTIME, id, frame.correlation);
  frame.begin = clock::now();
  callBack(call, frame, id, CUPTI_API_ENTER);
}

void runtimeEnded(CUpti_CallbackId id, api::RuntimeCall& call) {
  if (!frames.count || frames.all[frames.count - 1].call != &call) return;  // it was not told of when it began
  Frame& frame = frames.all[frames.count - 1];
  giveRecord(CUPTI_ACTIVITY_KIND_RUNTIME, id, frame.begin, frame.correlation,
             call.result ? static_cast<uint32_t>(*call.result) : 0);
  callBack(call, frame, id, CUPTI_API_EXIT);
  --frames.count;
  driver()->endRuntimeCall(frame.before);
}

}  // namespace

void learn(const api::ObserverTable& table) { table.entryPoints(learnOne, nullptr); }

void began(api::ObservedCall& call) {
  if (OwnCalls::here() || call.entry >= kMostEntries) return;
  const Entry& entry = entries[call.entry];
  if (!frames.count) tellExternal(CUPTI_ACTIVITY_KIND_DRIVER, entry.callback, number(call.correlation));
  call.words[kBegin] = clock::now();
  if (entry.callback) callBack(call, entry, CUPTI_API_ENTER);
  call.words[kEntered] = entry.meaning == Meaning::None ? call.words[kBegin] : clock::now();
  meansEnd(call, entry);
}

void ended(api::ObservedCall& call) {
  if (!call.words[kBegin]) return;
  const Entry& entry = entries[call.entry];
  if (entry.callback && !frames.count)  // what a runtime calls is its own affair, as NVIDIA's library has it
    giveRecord(CUPTI_ACTIVITY_KIND_DRIVER, entry.callback, call.words[kBegin], number(call.correlation), call.result);
  meansWait(call, entry);
  if (call.result == CUDA_SUCCESS) meansBeginning(call, entry);
  if (entry.callback) callBack(call, entry, CUPTI_API_EXIT);
}

void runtimeCall(uint32_t callback, api::RuntimeCall& call) {
  if (OwnCalls::here() || callback >= kRuntimeCallbacks || call.size < sizeof call - sizeof call.symbol) return;
  if (call.site == CUPTI_API_ENTER)
    runtimeBegan(callback, call);
  else
    runtimeEnded(callback, call);
}

uint32_t threadNumber() {
  thread_local uint32_t known = 0;
  if (!known) known = static_cast<uint32_t>(syscall(SYS_gettid));
  return known;
}

}  // namespace vg::cupti::calls
