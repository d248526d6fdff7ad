#include "check/calls.h"

#include <cstring>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include "base/sync/mutex.h"
#include "base/text/log_history.h"
#include "base/undying.h"
#include "check/memory/allocations.h"
#include "check/reports/caller.h"
#include "check/reports/report.h"
#include "check/tools.h"

namespace vg::check::calls {
namespace {

enum class Thing : uint8_t {
  DeviceMemory,
  StreamMemory,
  ManagedMemory,
  HostMemory,
  Registration,
  Physical,
  Array,
  Mipmap,
  Texture,
  Surface,
  Pool,
  Stream,
  Event,
  Graph,
  GraphExec,
  Module,
  Context,
  ExternalMemory,
  ExternalSemaphore,
  Count
};
constexpr const char* kNames[] = {"device memory",
                                  "stream-ordered memory",
                                  "managed memory",
                                  "page-locked host memory",
                                  "registered host memory",
                                  "physical memory",
                                  "array",
                                  "mipmapped array",
                                  "texture object",
                                  "surface object",
                                  "memory pool",
                                  "stream",
                                  "event",
                                  "graph",
                                  "executable graph",
                                  "module",
                                  "context",
                                  "external memory",
                                  "external semaphore"};
static_assert(std::size(kNames) == static_cast<size_t>(Thing::Count));

// What a call makes or ends: the handle, or the place that it is written to, is argument number `argument`.
struct Row {
  const char* call;
  bool makes;
  Thing thing;
  uint8_t argument = 0;
  int8_t bytes = -1;  // the argument that is a size
};
constexpr Row kRows[] = {
    {"cuMemAlloc_v2", true, Thing::DeviceMemory, 0, 1},
    {"cuMemAllocPitch_v2", true, Thing::DeviceMemory},
    {"cuMemAllocManaged", true, Thing::ManagedMemory, 0, 1},
    {"cuMemAllocAsync", true, Thing::StreamMemory, 0, 1},
    {"cuMemAllocFromPoolAsync", true, Thing::StreamMemory, 0, 1},
    {"cuMemFree_v2", false, Thing::DeviceMemory},
    {"cuMemFreeAsync", false, Thing::StreamMemory},
    {"cuMemAllocHost_v2", true, Thing::HostMemory, 0, 1},
    {"cuMemHostAlloc", true, Thing::HostMemory, 0, 1},
    {"cuMemFreeHost", false, Thing::HostMemory},
    {"cuMemHostRegister_v2", true, Thing::Registration, 0, 1},
    {"cuMemHostUnregister", false, Thing::Registration},
    {"cuMemCreate", true, Thing::Physical, 0, 1},
    {"cuMemRelease", false, Thing::Physical},
    {"cuArrayCreate_v2", true, Thing::Array},
    {"cuArray3DCreate_v2", true, Thing::Array},
    {"cuArrayDestroy", false, Thing::Array},
    {"cuMipmappedArrayCreate", true, Thing::Mipmap},
    {"cuMipmappedArrayDestroy", false, Thing::Mipmap},
    {"cuTexObjectCreate", true, Thing::Texture},
    {"cuTexObjectDestroy", false, Thing::Texture},
    {"cuSurfObjectCreate", true, Thing::Surface},
    {"cuSurfObjectDestroy", false, Thing::Surface},
    {"cuMemPoolCreate", true, Thing::Pool},
    {"cuMemPoolDestroy", false, Thing::Pool},
    {"cuStreamCreate", true, Thing::Stream},
    {"cuStreamCreateWithPriority", true, Thing::Stream},
    {"cuGreenCtxStreamCreate", true, Thing::Stream},
    {"cuStreamDestroy_v2", false, Thing::Stream},
    {"cuEventCreate", true, Thing::Event},
    {"cuEventDestroy_v2", false, Thing::Event},
    {"cuGraphCreate", true, Thing::Graph},
    {"cuGraphClone", true, Thing::Graph},
    {"cuStreamEndCapture", true, Thing::Graph, 1},
    {"cuGraphDestroy", false, Thing::Graph},
    {"cuGraphInstantiateWithFlags", true, Thing::GraphExec},
    {"cuGraphInstantiateWithParams", true, Thing::GraphExec},
    {"cuGraphInstantiate_v2", true, Thing::GraphExec},
    {"cuGraphExecDestroy", false, Thing::GraphExec},
    {"cuModuleLoad", true, Thing::Module},
    {"cuModuleLoadData", true, Thing::Module},
    {"cuModuleLoadDataEx", true, Thing::Module},
    {"cuModuleLoadFatBinary", true, Thing::Module},
    {"cuModuleUnload", false, Thing::Module},
    {"cuCtxCreate_v2", true, Thing::Context},
    {"cuCtxCreate_v3", true, Thing::Context},
    {"cuCtxCreate_v4", true, Thing::Context},
    {"cuCtxDestroy_v2", false, Thing::Context},
    {"cuImportExternalMemory", true, Thing::ExternalMemory},
    {"cuDestroyExternalMemory", false, Thing::ExternalMemory},
    {"cuImportExternalSemaphore", true, Thing::ExternalSemaphore},
    {"cuDestroyExternalSemaphore", false, Thing::ExternalSemaphore},
};

// Memory of these kinds is ended by each other's calls.
bool isMemory(Thing thing) { return thing <= Thing::ManagedMemory; }
bool outlivesContexts(Thing thing) {
  return thing == Thing::Context || thing == Thing::Graph || thing == Thing::GraphExec || thing == Thing::Physical;
}

struct Made {
  Thing thing;
  const char* call;
  uint64_t bytes;
  CUcontext context;
  Caller maker;
};
struct Living {
  Mutex mutex;
  std::map<std::pair<bool, uint64_t>, Made> things VG_GUARDED_BY(mutex);  // memory or not, handle
};
Living& living() { return undying<Living, Living>(); }

std::string_view plain(std::string_view symbol) {
  for (const std::string_view twin : {"_ptsz", "_ptds"})
    if (symbol.ends_with(twin)) symbol.remove_suffix(twin.size());
  return symbol;
}

const Row* rowOf(const char* symbol) {
  const std::string_view name = plain(symbol);
  for (const Row& row : kRows)
    if (name == row.call) return &row;
  return nullptr;
}

uint64_t wordAt(const void* place) {
  uint64_t word = 0;
  if (place) std::memcpy(&word, place, sizeof word);
  return word;
}

// The context's end is that of all that it holds.
void endAllOf(CUcontext context) {
  const MutexLock lock(living().mutex);
  std::erase_if(living().things, [&](const auto& thing) {
    return thing.second.context == context && !outlivesContexts(thing.second.thing);
  });
}

void note(const char* symbol, const void* const* values, CUcontext context) {
  if (plain(symbol).starts_with("cuDevicePrimaryCtxReset")) return endAllOf(context);
  const Row* const row = rowOf(symbol);
  if (!row) return;
  const uint64_t word = wordAt(values[row->argument]);
  const bool pointsToHandle = row->makes && row->thing != Thing::Registration;
  const uint64_t handle = pointsToHandle ? wordAt(reinterpret_cast<const void*>(word)) : word;
  if (!handle) return;
  if (row->thing == Thing::Context && !row->makes) endAllOf(reinterpret_cast<CUcontext>(handle));
  const std::pair<bool, uint64_t> key{isMemory(row->thing), handle};
  Made made{row->thing, row->call, row->bytes < 0 ? 0 : wordAt(values[row->bytes]), context, {}};
  if (row->makes) made.maker = Caller::here();
  const MutexLock lock(living().mutex);
  if (row->makes)
    living().things.emplace(key, made);
  else
    living().things.erase(key);
}

// Calls that ask, and are told no.
bool isAnswer(std::string_view symbol, CUresult result) {
  switch (result) {
    case CUDA_ERROR_NOT_READY:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED:
    case CUDA_ERROR_PEER_ACCESS_NOT_ENABLED:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_NO_DEVICE:
      return true;
    default:
      break;
  }
  for (const std::string_view asking : {"cuGetProcAddress",
                                        "cuGetExportTable",
                                        "cuGetError",
                                        "cuPointerGetAttribute",
                                        "cuMemRangeGetAttribute",
                                        "cuDeviceGet",
                                        "cuDeviceCanAccessPeer",
                                        "cuCtxGet",
                                        "cuStreamQuery",
                                        "cuEventQuery",
                                        "cuStreamIsCapturing",
                                        "cuStreamGetCaptureInfo",
                                        "cuFuncGet",
                                        "cuKernelGet",
                                        "cuLibraryGet",
                                        "cuModuleGet",
                                        "cuOccupancy",
                                        "cuMemGetAddressRange",
                                        "cuMemHostGetFlags",
                                        "cuMemGetAllocation",
                                        "cuMemRetainAllocationHandle"})
    if (symbol.starts_with(asking)) return true;
  return false;
}

// Errors that stay with the context: the kernel is to blame, and every later call says so.
bool isSticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
      return true;
    default:
      return false;
  }
}

// What is known of memory that cannot be freed.
void tellMemory(std::string_view symbol, const void* const* values, std::vector<std::string>& details) {
  if (!symbol.starts_with("cuMemFree")) return;
  const uint64_t address = wordAt(values[0]);
  for (std::string& line : allocations::whereabouts(address, 1)) details.push_back(std::move(line));
}

void failed(const char* symbol, CUresult result, const char* resultName, const void* const* values) {
  if (log::expectsFailures || isAnswer(symbol, result)) return;
  if (isSticky(result) && distinctFaults()) return;
  const Caller caller = Caller::here();
  const FaultKey key{Tool::Api,    static_cast<unsigned>(result), isSticky(result) ? nullptr : symbol, 0, 0,
                     caller.hash()};
  if (!isNew(key)) return;
  std::vector<std::string> details;
  if (const std::string reason = log::lastReason(); !reason.empty() && !reason.starts_with("Returning"))
    details.push_back(reason);
  tellMemory(symbol, values, details);
  if (const std::string from = caller.text(); !from.empty()) details.push_back("called from " + from);
  describe(key,
           std::string(symbol) + " failed with " + (resultName ? resultName : "an error") + " (" +
               std::to_string(static_cast<int>(result)) + ")",
           details);
}

}  // namespace

bool wanted() { return wants(Tool::Api) || wants(Tool::Leaks); }

void ended(const char* symbol, CUresult result, const char* resultName, const void* const* values, CUcontext context) {
  if (result == CUDA_SUCCESS && wants(Tool::Leaks)) note(symbol, values, context);
  if (result != CUDA_SUCCESS && wants(Tool::Api)) failed(symbol, result, resultName, values);
}

void reportLeaks() {
  const MutexLock lock(living().mutex);
  struct Leak {
    const Made* first;
    uint64_t times = 0, bytes = 0;
  };
  std::map<std::pair<Thing, uint64_t>, Leak> leaks;  // by who made them
  for (const auto& [key, made] : living().things) {
    Leak& leak = leaks.try_emplace({made.thing, made.maker.hash()}, Leak{&made}).first->second;
    ++leak.times;
    leak.bytes += made.bytes;
  }
  for (const auto& [what, leak] : leaks) {
    const FaultKey key{Tool::Leaks, static_cast<unsigned>(what.first), leak.first->call, 0, 0, what.second};
    for (uint64_t k = 1; k < leak.times; ++k) isNew(key);
    isNew(key);
    std::vector<std::string> details{std::string("made by ") + leak.first->call};
    if (leak.times > 1) details[0] += ", " + std::to_string(leak.times) + " times";
    if (const std::string from = leak.first->maker.text(); !from.empty()) details.push_back("called from " + from);
    std::string headline = std::string(kNames[static_cast<size_t>(what.first)]) + " was never ";
    headline += isMemory(what.first) || what.first == Thing::HostMemory ? "freed" : "ended";
    if (leak.bytes) headline += ": " + std::to_string(leak.bytes) + " bytes";
    describe(key, headline, details);
  }
}

}  // namespace vg::check::calls
