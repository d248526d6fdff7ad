// Devices, entry points, results, green contexts and handles for others.
#include <unistd.h>

#include <cstring>
#include <vector>

#include "families.h"
#include "objects.h"

namespace calls {
namespace {

// Those of the driver whose answers are on record: a seed makes the same calls whatever came later.
constexpr int kNewestEntryPoint = 13000;
constexpr struct {
  const char* name;
  int since;
}
#define CU_LIVE(name, since, needs, twin, params, args) {#name, since},
#define CU_STUB CU_LIVE
kAllEntryPoints[] = {
#include "api/entry/entry_points.inc"
};
#undef CU_STUB
#undef CU_LIVE

CUgreenCtx green;

int anyDevice() { return mostly(94, {0}, {1, -1, 100}); }

// Its name without the version that the list gives it, now and then with another.
std::string anyEntryPoint() {
  static const std::vector<const char*> names = [] {
    std::vector<const char*> known;
    for (const auto& [name, since] : kAllEntryPoints)
      if (since <= kNewestEntryPoint) known.push_back(name);
    return known;
  }();
  std::string name = names[below(names.size())];
  if (const size_t version = name.rfind("_v"); version != std::string::npos && chance(80)) name.resize(version);
  if (chance(20)) name += oneOf({"_v2", "_v3", "_ptsz", "_ptds", "x", "_v4", "_v2_ptsz"});
  if (chance(3)) name.pop_back();
  return name;
}

void findEntry() {
  const std::string name = anyEntryPoint();
  const int version =
      chance(70) ? oneOf({12000, 12010, 12020, 12030, 12040, 12050, 12060, 12080, 12090, 13000, 13010, 13020, 14000})
                 : mostly(90, {2000,  3000,  3020,  4000,  5000,  6000,  6050,  7000,  7050,  8000,  9000, 9020,
                               10000, 10010, 10020, 11000, 11010, 11020, 11030, 11040, 11060, 11070, 11080},
                          {0, -1, 1, 1999, 13099, 999999});
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  describe("name", name);
  RECORD(cuGetProcAddress, name.c_str(), &found, given("version", version), given("flags", below(chance(93) ? 3 : 10)),
         out("status", &status, 10));
  std::string which = found ? "hidden" : "none";
  for (const char* suffix : {"", "_v2", "_v3", "_v4", "_ptsz", "_ptds", "_v2_ptsz", "_v2_ptds", "_v3_ptsz"})
    if (found && findEntryPoint((name + suffix).c_str()) == found) which = name + suffix;
  output("found", which);
  output("status", status);
}

void askAttribute() {
  const int attribute = chance(97) ? 1 + belowInt(150) : oneOf({0, -1, 1000});
  int value = 0;
  RECORD(cuDeviceGetAttribute, &value, givenAs<CUdevice_attribute>("attribute", attribute),
         given("device", anyDevice()));
  for (int ofThisMachine :
       {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
        CU_DEVICE_ATTRIBUTE_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_NUMA_CONFIG,
        CU_DEVICE_ATTRIBUTE_NUMA_ID, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID,
        CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
        CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES})
    if (attribute == ofThisMachine) return;
  output("value", value);
}

void askName() {
  char name[64];
  std::memset(name, 0, sizeof name);
  if (chance(50)) {  // a name of no length ends the vendor's library
    RECORD(cuDeviceGetName, name, given("length", oneOf({1, 5, 12, 13, 64, -1})), given("device", anyDevice()));
    return output("name", name);
  }
  RECORD(cuDeviceGetPCIBusId, name, given("length", oneOf({0, 1, 5, 12, 13, 64, -1})), given("device", anyDevice()));
  output("length", std::strlen(name));
}

void findByBus() {
  CUdevice device = -1;
  const char* const bus = oneOf({"", "garbage", "0000:ff:1f.7", "ff:1f.0", "0", "0000:00:00", ":::"});
  describe("bus", bus);
  RECORD(cuDeviceGetByPCIBusId, &device, bus);
}

void askLinearWidth() {
  size_t width = 0;
  const auto format = givenAs<CUarray_format>("format", anyArrayFormat());
  RECORD(cuDeviceGetTexture1DLinearMaxWidth, &width, format, given("channels", mostly(90, {1u, 2u, 4u}, {0u, 3u, 5u})),
         given("device", anyDevice()));
  output("width", width);
}

void askAffinity() {
  int is = 0;
  RECORD(cuDeviceGetExecAffinitySupport, &is, givenAs<CUexecAffinityType>("type", belowInt(4)),
         given("device", anyDevice()));
  output("is", is);
}

void askPeer() {  // of itself or of none: what others are is the machine's affair
  int value = 0;
  const int device = mostly(94, {0}, {-1, 100}), other = mostly(60, {0}, {100});
  if (chance(50))
    RECORD(cuDeviceGetP2PAttribute, &value,
           givenAs<CUdevice_P2PAttribute>("attribute", mostly(90, {1, 2, 3, 4, 5}, {0, 6})), given("device", device),
           given("other", other));
  else
    RECORD(cuDeviceCanAccessPeer, &value, given("device", device), given("other", other));
  output("value", value);
}

void askHostAtomics() {
  unsigned capabilities[3] = {};
  CUatomicOperation operations[3];
  const auto count = static_cast<unsigned>(below(4));
  std::string drawn;
  for (unsigned i = 0; i < count; ++i) {
    operations[i] = static_cast<CUatomicOperation>(chance(95) ? belowInt(13) : 13);
    drawn += text(operations[i]) + ",";
  }
  describe("operations", drawn);
  RECORD(cuDeviceGetHostAtomicCapabilities, capabilities, operations, count, given("device", anyDevice()));
  output("capabilities", list(capabilities[0], capabilities[1], capabilities[2]));
}

void askResult() {
  const char* said = nullptr;
  const auto code = givenAs<CUresult>("code", chance(80) ? belowInt(1000) : oneOf({-1, 1000, 999}));
  if (chance(50))
    RECORD(cuGetErrorName, code, &said);
  else
    RECORD(cuGetErrorString, code, &said);
  output("said", said ? said : "nothing");
}

// --- green contexts

void makeGreen(CUdevResource* parts, unsigned count) {
  CUdevResourceDesc description = nullptr;
  describe("multiprocessors", text(parts[0].sm.smCount));
  if (RECORD(cuDevResourceGenerateDesc, &description, parts, given("count", count)) || green) return;
  if (RECORD(cuGreenCtxCreate, &green, description, 0, given("flags", mostly(85, {1u}, {0u, 2u})))) green = nullptr;
}

void split() {
  constexpr unsigned kMost = 10;
  CUdevResource whole{}, rest{}, parts[kMost];
  const int type = mostly(90, {1}, {0, 2, 3, 4});
  const CUresult result =
      RECORD(cuDeviceGetDevResource, given("device", anyDevice()), &whole, givenAs<CUdevResourceType>("type", type));
  if (result != CUDA_SUCCESS || type != CU_DEV_RESOURCE_TYPE_SM) return;
  output("multiprocessors", whole.sm.smCount);
  std::memset(parts, 0, sizeof parts);
  unsigned count = chance(93) ? 1 + static_cast<unsigned>(below(kMost)) : 0;
  describe("groups", text(count));
  const bool asking = wrong("no groups", 15);
  if (RECORD(cuDevSmResourceSplitByCount, asking ? nullptr : parts, &count, &whole, out("rest", &rest, 15),
             given("flags", mostly(90, {0u, 1u, 2u, 3u}, {4u})),
             given("least", chance(93) ? static_cast<unsigned>(below(140)) : oneOf({1000u, 132u, 133u}))))
    return;
  output("groups", count);
  output("rest", rest.sm.smCount);
  if (asking || !count) return;
  output("each", parts[0].sm.smCount);
  makeGreen(parts, 1 + static_cast<unsigned>(below(std::min(count, 3u))));
}

void useGreenStream() {
  CUstream stream = nullptr;
  if (RECORD(cuGreenCtxStreamCreate, &stream, green, given("flags", static_cast<unsigned>(below(3))),
             given("priority", oneOf({0, -1, -5, 3}))))
    return;
  CUgreenCtx back = nullptr;
  int priority = 0;
  unsigned flags = 0;
  CALL(cuStreamGetGreenCtx, stream, &back);
  CALL(cuStreamGetPriority, stream, &priority);
  CALL(cuStreamGetFlags, stream, &flags);
  output("same", back == green);
  output("stream", list(priority, flags));
  output("destroyed", CALL(cuStreamDestroy, stream));
}

void askGreenContext() {
  CUcontext context = nullptr;
  if (RECORD(cuCtxFromGreenCtx, &context, green)) return;
  unsigned version = 0;
  CUdevice device = -1;
  CUdevResource part{};
  output("version", CALL(cuCtxGetApiVersion, context, &version));
  output("device", CALL(cuCtxGetDevice_v2, &device, context));
  output("part", CALL(cuCtxGetDevResource, context, &part, CU_DEV_RESOURCE_TYPE_SM));
  output("multiprocessors", part.sm.smCount);
}

void useGreen() {
  if (!green) return;
  const Named<CUevent> event = events.any();
  switch (below(6)) {
    case 0: {
      CUdevResource part{};
      RECORD(cuGreenCtxGetDevResource, green, &part, givenAs<CUdevResourceType>("type", mostly(85, {1}, {0, 2, 3})));
      return output("multiprocessors", part.sm.smCount);
    }
    case 1:
      return askGreenContext();
    case 2:
      return useGreenStream();
    case 3:
      RECORD(cuGreenCtxDestroy, green);
      green = nullptr;
      return;
    case 4:
      if (event) RECORD(cuGreenCtxRecordEvent, green, given("event", event));
      return;
    default:
      if (event) RECORD(cuGreenCtxWaitEvent, green, given("event", event));
  }
}

// --- handles for others

void exportEvent() {
  const Named<CUevent> event = events.any();
  CUipcEventHandle handle;
  if (event) RECORD(cuIpcGetEventHandle, &handle, given("event", event));
}

void importMemory() {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
  description.type = static_cast<CUexternalMemoryHandleType>(belowInt(2));
  description.handle.fd = -1;
  description.size = oneOf({0ull, 4096ull, 65536ull});
  description.flags = static_cast<unsigned>(below(3));
  describe("memory", list(description.type, description.size, description.flags));
  CUexternalMemory memory = nullptr;
  RECORD(cuImportExternalMemory, &memory, &description);
}

void exportRange() {
  const Pointer pointer = anyPointer(5);
  const size_t bytes = mostly<size_t>(60, {4096}, {0, 1, 65536, 2 << 20});
  if (bytes > pointer.room && !pointer.null()) return;  // what lies behind is the library's affair
  int file = -1;
  if (RECORD(cuMemGetHandleForAddressRange, static_cast<void*>(&file), given("pointer", pointer), given("bytes", bytes),
             givenAs<CUmemRangeHandleType>("type", mostly(85, {1}, {0, 2})),
             given("flags", mostly(85, {0ull}, {1ull, 2ull}))) == CUDA_SUCCESS)
    close(file);
}

void flushWrites() {
  RECORD(cuFlushGPUDirectRDMAWrites, givenAs<CUflushGPUDirectRDMAWritesTarget>("target", belowInt(3)),
         givenAs<CUflushGPUDirectRDMAWritesScope>("scope", oneOf({0, 100, 200, 1})));
}

}  // namespace

void callDevices() {
  pickOf({{8, findEntry},
          {3, askAttribute},
          {1, askName},
          {1, findByBus},
          {1, askLinearWidth},
          {1, askAffinity},
          {1, askPeer},
          {1, askHostAtomics},
          {1, askResult},
          {2, split},
          {2, useGreen},
          {1, createEvent},
          {1, exportEvent},
          {1, importMemory},
          {1, exportRange},
          {1, flushWrites}});
}

void releaseDevices() {
  if (green) CALL(cuGreenCtxDestroy, green);
  green = nullptr;
}

}  // namespace calls
