#include "cupti/records/work.h"

#include <map>
#include <vector>

#include "base/undying.h"
#include "cupti/calls/subscribers.h"
#include "cupti/clock.h"
#include "cupti/number.h"
#include "cupti/process_number.h"
#include "cupti/records/names.h"
#include "cupti/records/records.h"

namespace vg::cupti {

size_t recordSize(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy7);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset5);
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel13);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return sizeof(CUpti_ActivityDevice6);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return sizeof(CUpti_ActivityContext4);
    case CUPTI_ACTIVITY_KIND_NAME:
      return sizeof(CUpti_ActivityName);
    case CUPTI_ACTIVITY_KIND_MARKER:
      return sizeof(CUpti_ActivityMarker2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return sizeof(CUpti_ActivityCudaEvent3);
    case CUPTI_ACTIVITY_KIND_STREAM:
      return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return sizeof(CUpti_ActivityGraphTrace2);
    default:
      return 0;
  }
}

namespace work {
namespace {

using activity::Place;

uint32_t correlationOf(const activity::Origin& origin) {
  return number(origin.outer ? origin.outer : origin.correlation);
}

// What records of work have in common.
template <class Record>
Record begun(const activity::Work& work, CUpti_ActivityKind kind) {
  Record record{};
  record.kind = kind;
  const clock::Span span = clock::at(work.begin, work.end);
  record.start = span.begin;
  record.end = span.end;
  record.deviceId = work.origin.device;
  record.contextId = number(work.origin.context);
  record.streamId = number(work.origin.stream);
  record.correlationId = correlationOf(work.origin);
  record.graphId = work.origin.graph;
  return record;
}

CUpti_ActivityMemoryKind kindOf(Place place) {
  switch (place) {
    case Place::Pageable:
      return CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    case Place::Pinned:
      return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    case Place::Device:
      return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    case Place::Array:
      return CUPTI_ACTIVITY_MEMORY_KIND_ARRAY;
    case Place::Managed:
      return CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
    default:
      return CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN;
  }
}

CUpti_ActivityMemcpyKind kindOf(const activity::Work& work) {
  const bool to = work.to == Place::Array, from = work.from == Place::Array;
  switch (work.copy) {
    case activity::CopyKind::HostToDevice:
      return to ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOA : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
    case activity::CopyKind::DeviceToHost:
      return from ? CUPTI_ACTIVITY_MEMCPY_KIND_ATOH : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
    case activity::CopyKind::DeviceToDevice:
      if (to) return from ? CUPTI_ACTIVITY_MEMCPY_KIND_ATOA : CUPTI_ACTIVITY_MEMCPY_KIND_DTOA;
      return from ? CUPTI_ACTIVITY_MEMCPY_KIND_ATOD : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
    case activity::CopyKind::HostToHost:
      return CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
    case activity::CopyKind::PeerToPeer:
      return CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    default:
      return CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN;
  }
}

// Gives the record that `make(kind)` makes to whoever wants it.
template <class Make>
void give(CUpti_ActivityKind kind, uint64_t context, Make make) {
  subscribers::eachCollector([&](Collector& collector) {
    if (collector.usable() && collector.wants(kind, context)) collector.add(make(kind));
  });
}

// Whoever wants graphs as a whole gets nothing of what is in them.
template <class Make>
void giveWork(CUpti_ActivityKind kind, const activity::Work& work, Make make) {
  subscribers::eachCollector([&](Collector& collector) {
    if (work.origin.graph && collector.wants(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, work.origin.context)) return;
    if (collector.usable() && collector.wants(kind, work.origin.context)) collector.add(make(kind));
  });
}

constexpr uint32_t kNoPartitionedCache = 1;

CUpti_ActivityKernel13 kernel(const activity::Work& work, CUpti_ActivityKind kind) {
  const activity::KernelFacts& facts = *work.kernel;
  auto record = begun<CUpti_ActivityKernel13>(work, kind);
  record.registersPerThread = static_cast<uint16_t>(facts.registers);
  record.completed = kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? record.end : 0;
  record.partitionedGlobalCacheRequested = record.partitionedGlobalCacheExecuted = kNoPartitionedCache;
  record.gridX = static_cast<int32_t>(work.grid[0]);
  record.gridY = static_cast<int32_t>(work.grid[1]);
  record.gridZ = static_cast<int32_t>(work.grid[2]);
  record.blockX = static_cast<int32_t>(work.block[0]);
  record.blockY = static_cast<int32_t>(work.block[1]);
  record.blockZ = static_cast<int32_t>(work.block[2]);
  record.staticSharedMemory = static_cast<int32_t>(facts.staticShared);
  record.dynamicSharedMemory = static_cast<int32_t>(work.dynamicShared);
  record.sharedMemoryExecuted = facts.staticShared + work.dynamicShared;
  record.localMemoryPerThread = facts.local;
  record.gridId = static_cast<int64_t>(work.id);
  record.name = facts.name.data();  // of a std::string that lives as long as the process
  record.launchType =
      work.cooperative ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE : CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
  record.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  record.clusterX = work.cluster[0];
  record.clusterY = work.cluster[1];
  record.clusterZ = work.cluster[2];
  record.priority = work.origin.priority;
  record.executionModel = CUPTI_FUNC_EXECUTION_MODEL_SIMT;
  return record;
}

template <class Record>
Record copyOf(const activity::Work& work, CUpti_ActivityKind kind) {
  auto record = begun<Record>(work, kind);
  record.copyKind = kindOf(work);
  record.srcKind = static_cast<uint8_t>(kindOf(work.from));
  record.dstKind = static_cast<uint8_t>(kindOf(work.to));
  record.flags = work.origin.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
  record.bytes = work.bytes;
  record.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
  return record;
}

CUpti_ActivityMemcpy7 copy(const activity::Work& work, CUpti_ActivityKind kind) {
  auto record = copyOf<CUpti_ActivityMemcpy7>(work, kind);
  record.copyCount = 1;
  return record;
}

CUpti_ActivityMemcpyPtoP4 peerCopy(const activity::Work& work, CUpti_ActivityKind kind) {
  auto record = copyOf<CUpti_ActivityMemcpyPtoP4>(work, kind);
  record.dstDeviceId = work.peers[0];
  record.srcDeviceId = work.peers[1];
  record.dstContextId = record.srcContextId = record.contextId;
  return record;
}

CUpti_ActivityMemset5 fill(const activity::Work& work, CUpti_ActivityKind kind) {
  auto record = begun<CUpti_ActivityMemset5>(work, kind);
  record.value = work.value;
  record.bytes = work.bytes;
  record.memoryKind = static_cast<uint16_t>(kindOf(work.to));
  record.flags = work.origin.async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
  record.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
  return record;
}

CUpti_ActivityGraphTrace2 graph(const activity::Work& work, CUpti_ActivityKind kind) {
  auto record = begun<CUpti_ActivityGraphTrace2>(work, kind);
  record.endDeviceId = record.deviceId;
  record.endContextId = record.contextId;
  return record;
}

void takeWork(const activity::Work& work) {
  switch (work.kind) {
    case activity::WorkKind::Kernel:
      if (!work.kernel) break;
      for (const auto kind : {CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL})
        giveWork(kind, work, [&](CUpti_ActivityKind as) { return kernel(work, as); });
      break;
    case activity::WorkKind::Copy:
      if (work.copy == activity::CopyKind::PeerToPeer)
        return giveWork(CUPTI_ACTIVITY_KIND_MEMCPY2, work, [&](CUpti_ActivityKind as) { return peerCopy(work, as); });
      giveWork(CUPTI_ACTIVITY_KIND_MEMCPY, work, [&](CUpti_ActivityKind as) { return copy(work, as); });
      break;
    case activity::WorkKind::Fill:
      giveWork(CUPTI_ACTIVITY_KIND_MEMSET, work, [&](CUpti_ActivityKind as) { return fill(work, as); });
      break;
    case activity::WorkKind::Graph:
      give(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, work.origin.context,
           [&](CUpti_ActivityKind as) { return graph(work, as); });
      break;
    case activity::WorkKind::HostFunction:
      break;  // no kind of record
  }
}

CUpti_ActivityMemoryKind kindOf(activity::MemoryKind kind) {
  switch (kind) {
    case activity::MemoryKind::Array:
      return CUPTI_ACTIVITY_MEMORY_KIND_ARRAY;
    case activity::MemoryKind::Managed:
      return CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
    case activity::MemoryKind::Pinned:
    case activity::MemoryKind::Registered:
      return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    case activity::MemoryKind::Module:
      return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC;
    default:
      return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  }
}

// Physical memory is no memory yet: what is mapped of it has a record of its own.
bool isRecorded(activity::MemoryKind kind) { return kind != activity::MemoryKind::Physical; }

constexpr uint32_t kNoStream = UINT32_MAX;

CUpti_ActivityMemory4 memory(const activity::Memory& memory, CUpti_ActivityKind kind) {
  CUpti_ActivityMemory4 record{};
  record.kind = kind;
  record.memoryOperationType =
      memory.freed ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  record.memoryKind = kindOf(memory.kind);
  record.correlationId = number(memory.outer ? memory.outer : memory.correlation);
  record.address = memory.address;
  record.bytes = memory.bytes;
  record.timestamp = clock::at(memory.time);
  record.processId = processNumber();
  record.deviceId = memory.device;
  record.contextId = number(memory.context);
  record.streamId = kNoStream;  // where there is one, nobody tells of it here
  record.isAsync = memory.kind == activity::MemoryKind::Pool;
  if (!record.isAsync) return record;
  record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  record.memoryPoolConfig.utilizedSize = memory.inUse;
  return record;
}

CUpti_ActivityName name(const activity::Name& named, CUpti_ActivityKind kind) {
  CUpti_ActivityName record{};
  record.kind = kind;
  record.name = kept(named.name.view());
  switch (named.what) {
    case activity::Named::Device:
      record.objectKind = CUPTI_ACTIVITY_OBJECT_DEVICE;
      record.objectId.dcs = {named.device, 0, 0};
      break;
    case activity::Named::Stream:
      record.objectKind = CUPTI_ACTIVITY_OBJECT_STREAM;
      record.objectId.dcs = {named.device, 0, number(named.number)};
      break;
    case activity::Named::Thread:
      record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
      record.objectId.pt = {processNumber(), number(named.number)};
      break;
  }
  return record;
}

constexpr uint32_t kOfStart = 1u << 31;  // apart from numbers of marks and pushed ranges

uint32_t flagsOf(activity::NoteKind kind) {
  if (kind == activity::NoteKind::Mark) return CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS;
  const bool starts = kind == activity::NoteKind::Push || kind == activity::NoteKind::Start;
  return starts ? CUPTI_ACTIVITY_FLAG_MARKER_START : CUPTI_ACTIVITY_FLAG_MARKER_END;
}

// The end of a range that was pushed has the number of its beginning. Records come on one thread at a time.
uint32_t markerNumber(const activity::Note& note) {
  auto& pushed = undying<std::map<uint32_t, std::vector<uint32_t>>, struct PushedRanges>();  // by thread
  static uint32_t last = 0;
  if (note.kind == activity::NoteKind::Start || note.kind == activity::NoteKind::End) return number(note.id) | kOfStart;
  if (note.kind == activity::NoteKind::Mark) return ++last;
  std::vector<uint32_t>& open = pushed[note.thread];
  if (note.kind == activity::NoteKind::Push) return open.emplace_back(++last);
  if (open.empty()) return 0;
  const uint32_t begun = open.back();
  open.pop_back();
  return begun;
}

CUpti_ActivityMarker2 marker(const activity::Note& note, uint32_t id, CUpti_ActivityKind kind) {
  CUpti_ActivityMarker2 record{};
  record.kind = kind;
  record.flags = flagsOf(note.kind);
  record.timestamp = clock::at(note.time);
  record.id = id;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt = {processNumber(), note.thread};
  record.name = note.name.size ? kept(note.name.view()) : nullptr;
  record.domain = note.domain.size ? kept(note.domain.view()) : nullptr;
  return record;
}

}  // namespace

void take(const activity::Record& record) {
  switch (record.kind) {
    case activity::RecordKind::Work:
      return takeWork(record.work);
    case activity::RecordKind::Memory:
      if (!isRecorded(record.memory.kind)) return;
      return give(CUPTI_ACTIVITY_KIND_MEMORY2, record.memory.context,
                  [&](CUpti_ActivityKind as) { return memory(record.memory, as); });
    case activity::RecordKind::Name:
      return give(CUPTI_ACTIVITY_KIND_NAME, 0, [&](CUpti_ActivityKind as) { return name(record.name, as); });
    case activity::RecordKind::Note: {
      const uint32_t id = markerNumber(record.note);
      return give(CUPTI_ACTIVITY_KIND_MARKER, 0, [&](CUpti_ActivityKind as) { return marker(record.note, id, as); });
    }
    case activity::RecordKind::Call:
      return;  // the companion is told of calls itself
  }
}

void lost(uint64_t records) {
  subscribers::eachCollector([records](Collector& collector) {
    if (collector.kindsOrParts()) collector.countDropped(records);
  });
}

}  // namespace work
}  // namespace vg::cupti
