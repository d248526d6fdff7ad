#include "core/graphs/graph_memory.h"

#include <algorithm>
#include <map>
#include <new>
#include <unordered_map>

#include "base/raw_enum.h"
#include "base/round.h"
#include "base/undying.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/memory/memory_heaps.h"
#include "core/pools/delayed_release.h"
#include "core/process/device.h"

namespace vg::core {
namespace {

constexpr uint64_t kChunk = uint64_t{32} << 20;  // the vendor's driver sets memory aside in such pieces
constexpr int kMaxDevices = 254;

// Guarded by graphs::Lock.
struct Account {
  uint64_t live = 0;                   // bytes
  uint64_t reserved = 0, highest = 0;  // bytes; used and reserved are the same to the vendor's driver
};
constinit Account accounts[kMaxDevices] = {};

using Known = std::map<CUdeviceptr, std::weak_ptr<GraphMemory>>;
Known& known() { return undying<Known, GraphMemory>(); }
// Live memory outlives its graphs.
using Alive = std::map<CUdeviceptr, std::shared_ptr<GraphMemory>>;
Alive& alive() { return undying<Alive, GraphMemory>(); }

Account& accountOf(const Device& device) { return accounts[device.ordinal()]; }

}  // namespace

struct GraphMemoryLife {
  static void set(GraphMemory& memory, bool live, Point inUse = {}) {
    memory.live_ = live;
    memory.inUse_ = inUse;
    auto* const record = const_cast<alloc::Record*>(memory::lookup(memory.address()));
    if (live)
      record->attributes.fetch_and(~memory::kDormant, std::memory_order_relaxed);
    else
      record->attributes.fetch_or(memory::kDormant, std::memory_order_relaxed);
  }
};

GraphMemory::~GraphMemory() {
  known().erase(address_);
  if (Result<alloc::Heap&> heap = memory::deviceHeap(device_)) memory::releaseAt(*heap, address_, id_, inUse_);
}

namespace graphs {
namespace {

CUresult checkProperties(const CUDA_MEM_ALLOC_NODE_PARAMS& params) {
  const CUmemPoolProps& pool = params.poolProps;
  const int type = rawValue(pool.allocType), location = rawValue(pool.location.type);
  // As recorded, what is named managed memory is the device's.
  if (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != CU_MEM_ALLOCATION_TYPE_MANAGED)
    return fail(CUDA_ERROR_INVALID_VALUE, "allocation type %d", type);
  if (location < CU_MEM_LOCATION_TYPE_DEVICE || location > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
    return fail(CUDA_ERROR_INVALID_VALUE, "location type %d", location);
  if (location == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT && type == CU_MEM_ALLOCATION_TYPE_PINNED)
    return fail(CUDA_ERROR_INVALID_VALUE, "page-locked memory of a graph at the current node");
  if (location == CU_MEM_LOCATION_TYPE_DEVICE && !findDevice(pool.location.id))
    return fail(CUDA_ERROR_INVALID_VALUE, "there is no device %d", pool.location.id);
  if (rawValue(pool.handleTypes) != CU_MEM_HANDLE_TYPE_NONE) return unsupported("memory of a graph that is shared");
  if (location != CU_MEM_LOCATION_TYPE_DEVICE) return unsupported("memory of a graph that is not a device's");
  if (params.accessDescCount && !params.accessDescs)
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu access descriptions, and no array of them", params.accessDescCount);
  for (size_t i = 0; i < params.accessDescCount; ++i) {
    const CUmemAccessDesc& access = params.accessDescs[i];
    const bool device = rawValue(access.location.type) == CU_MEM_LOCATION_TYPE_DEVICE;
    if (!device) return fail(CUDA_ERROR_INVALID_VALUE, "access %zu", i);
    VG_CHECK(findDevice(access.location.id));
    if (rawValue(access.flags) != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
      return unsupported("memory of a graph with other access than to read and write it");
  }
  return params.bytesize ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
}

bool frees(const GraphNode& node, CUdeviceptr address) {
  const auto* free = node.as<work::Free>();
  return free && free->address == address;
}

// Allocations and frees of one piece of memory in a graph.
struct Uses {
  int open = 0;         // allocations that no free has ended
  bool before = false;  // the last free comes before the node in question
};

// Memory of this graph that is free again by then and that nobody has taken over: its last free comes before, and its
// frees are as many as its allocations. Whether those come before their frees is the application's to say. The latest
// is the warmest.
std::shared_ptr<GraphMemory> reusable(const Graph& graph, size_t bytes, const std::vector<Dependency>& dependencies) {
  if (dependencies.empty()) return nullptr;
  std::unordered_map<CUdeviceptr, Uses> uses;
  for (const GraphNode* node : graph.nodes()) {
    if (const auto* alloc = node->as<MemAllocNode>(); alloc && alloc->params.bytesize == bytes)
      ++uses[alloc->memory->address()].open;
  }
  if (uses.empty()) return nullptr;
  graph.markBefore(dependencies);
  std::vector<CUdeviceptr> freed;
  for (const GraphNode* node : graph.nodes()) {
    const auto* free = node->as<work::Free>();
    const auto found = free ? uses.find(free->address) : uses.end();
    if (found == uses.end()) continue;
    --found->second.open;
    found->second.before = node->marked();
    freed.push_back(free->address);
  }
  const auto free = [&](CUdeviceptr address) { return !uses[address].open && uses[address].before; };
  const auto latest = std::find_if(freed.rbegin(), freed.rend(), free);
  return latest == freed.rend() ? nullptr : findMemory(*latest);
}

Result<std::shared_ptr<GraphMemory>> allocate(Device& device, size_t bytes) {
  VG_TRY(alloc::Heap & heap, memory::deviceHeap(device));
  VG_TRY(alloc::Record * record, heap.allocate(bytes, {alloc::Kind::Graph, nullptr, 0, 0}));
  const CUdeviceptr address = record->base.load(std::memory_order_relaxed);
  const uint64_t id = record->id.load(std::memory_order_relaxed);
  std::shared_ptr<GraphMemory> memory;
  try {
    memory = std::make_shared<GraphMemory>(device, address, id, bytes);
  } catch (const std::bad_alloc&) {
    heap.release(address, id);
    throw;
  }
  known()[address] = memory;
  GraphMemoryLife::set(*memory, false);
  return memory;
}

}  // namespace

CUresult checkAlloc(const CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  return params ? checkProperties(*params) : fail(CUDA_ERROR_INVALID_VALUE, "nodeParams is null");
}

Result<NodeParams> describeAlloc(Graph& graph, CUDA_MEM_ALLOC_NODE_PARAMS* params,
                                 const std::vector<Dependency>& dependencies) {
  VG_CHECK(checkAlloc(params));
  Result<Device&> device = findDevice(params->poolProps.location.id);
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  MemAllocNode node{*params, {}, reusable(graph, params->bytesize, dependencies)};
  node.access.assign(params->accessDescs, params->accessDescs + params->accessDescCount);
  if (!node.memory) {
    VG_TRY(node.memory, allocate(*device, params->bytesize));
  }
  node.params.dptr = params->dptr = node.memory->address();
  node.params.accessDescs = nullptr;
  return NodeParams(std::move(node));
}

Result<NodeParams> describeFree(Graph& graph, CUdeviceptr address, const std::vector<Dependency>&) {
  const auto memory = findMemory(address);
  if (!memory) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is no memory of a graph", address);
  int open = 0;
  bool ours = false;
  for (const GraphNode* node : graph.nodes()) {
    const auto* alloc = node->as<MemAllocNode>();
    const bool allocates = alloc && alloc->memory == memory, ends = frees(*node, address);
    ours = ours || allocates;
    open += allocates ? 1 : ends ? -1 : 0;
  }
  if (ours ? open <= 0 : open < 0) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is freed already", address);
  return NodeParams(work::Free{address});
}

std::shared_ptr<GraphMemory> findMemory(CUdeviceptr address) {
  const auto found = known().find(address);
  return found == known().end() ? nullptr : found->second.lock();
}

void setLive(const std::shared_ptr<GraphMemory>& memory, bool live, Point inUse) {
  if (memory->live() == live) return;
  // `memory` may be the entry that goes away.
  const std::shared_ptr<GraphMemory> kept = memory;  // NOLINT(performance-unnecessary-copy-initialization)
  if (live) alive()[kept->address()] = kept;
  GraphMemoryLife::set(*kept, live, inUse);
  Account& account = accountOf(kept->device());
  account.live += live ? kept->bytes() : -kept->bytes();
  if (live)
    accountLaunch(kept->device());
  else
    alive().erase(kept->address());
}

void accountLaunch(Device& device) {
  Account& account = accountOf(device);
  account.reserved = std::max(account.reserved, roundUp(account.live, kChunk));
  account.highest = std::max(account.highest, account.reserved);
}

CUresult releaseByUser(CUdeviceptr address, Point inUse) {
  const Lock lock;
  const auto memory = findMemory(address);
  if (!memory || !memory->live()) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx of a graph is not live", address);
  setLive(memory, false, inUse);
  return CUDA_SUCCESS;
}

Result<uint64_t> memoryAttribute(Device& device, CUgraphMem_attribute which) {
  const Account& account = accountOf(device);
  switch (rawValue(which)) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      return account.reserved;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      return account.highest;
  }
  return fail(CUDA_ERROR_INVALID_VALUE, "there is no graph memory attribute %d", rawValue(which));
}

CUresult setMemoryAttribute(Device& device, CUgraphMem_attribute which, uint64_t value) {
  const int attribute = rawValue(which);
  const bool high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
  if (!high || value)
    return fail(CUDA_ERROR_INVALID_VALUE, "graph memory attribute %d cannot be set to %llu", attribute,
                static_cast<unsigned long long>(value));
  Account& account = accountOf(device);
  account.highest = account.reserved;
  return CUDA_SUCCESS;
}

void trimMemory(Device& device) {
  Account& account = accountOf(device);
  account.reserved = roundUp(account.live, kChunk);
}

}  // namespace graphs
}  // namespace vg::core
