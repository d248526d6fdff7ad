// The resource manager's interface: requests on /dev/nvidiactl and /dev/nvidiaN, classes of objects, controls, and the
// structures they carry. Written from the public headers of the open kernel modules; names are theirs where a reader
// would look them up.
//
// Layouts are those of driver 580. What other versions do differently is in abi.h. Every structure is passed in a
// zeroed buffer; a field that is not named here is one that we leave zero.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::backend::nvidia::rm {

using Handle = uint32_t;

// ---- requests ------------------------------------------------------------------------------------------------------

enum class Escape : uint32_t {
  AllocMemory = 0x27,
  Free = 0x29,
  Control = 0x2a,
  Alloc = 0x2b,
  MapMemory = 0x4e,
  UnmapMemory = 0x4f,
  CardInfo = 0xc8,
  RegisterFd = 0xc9,
  ExportDmaBuf = 0xd9,
};

// The kernel looks at the number and the size only.
constexpr unsigned long request(Escape escape, size_t bytes) {
  return 3ul << 30 | static_cast<unsigned long>(bytes) << 16 | static_cast<unsigned long>('F') << 8 |
         static_cast<unsigned long>(escape);
}

struct AllocMemoryCall {  // NVOS02 and a descriptor; on the GPU's own file
  Handle client, parent, object;
  uint32_t objectClass, flags;
  uint32_t pad0;
  uint64_t memory, limit;  // limit: bytes - 1
  uint32_t status, pad1;
  int32_t descriptor;
  uint32_t pad2;
};
static_assert(sizeof(AllocMemoryCall) == 56 && offsetof(AllocMemoryCall, memory) == 24);

struct FreeCall {  // NVOS00
  Handle client, parent, object;
  uint32_t status;
};
static_assert(sizeof(FreeCall) == 16);

struct ControlCall {  // NVOS54
  Handle client, object;
  uint32_t command, flags;
  uint64_t parameters;
  uint32_t parameterBytes, status;
};
static_assert(sizeof(ControlCall) == 32);

struct AllocCall {  // NVOS64
  Handle client, parent, object;
  uint32_t objectClass;
  uint64_t parameters, rights;
  uint32_t parameterBytes, flags, status, pad;
};
static_assert(sizeof(AllocCall) == 48);

struct MapMemoryCall {  // NVOS33 and a descriptor
  Handle client, device, memory;
  uint32_t pad0;
  uint64_t offset, length, linearAddress;
  uint32_t status, flags;
  int32_t descriptor;
  uint32_t pad1;
};
static_assert(sizeof(MapMemoryCall) == 56 && offsetof(MapMemoryCall, descriptor) == 48);

struct UnmapMemoryCall {  // NVOS34
  Handle client, device, memory;
  uint32_t pad;
  uint64_t linearAddress;
  uint32_t status, flags;
};
static_assert(sizeof(UnmapMemoryCall) == 32);

struct CardInfo {  // one entry of the array that CardInfo fills
  uint8_t valid, pad0[3];
  uint32_t domain;
  uint8_t bus, slot, function, pad1;
  uint16_t vendor, device;
  uint32_t gpuId;
  uint16_t interruptLine, pad2;
  uint64_t registerAddress, registerBytes, barAddress, barBytes;
  uint32_t minor;
  uint8_t deviceName[10], pad3[2];
};
static_assert(sizeof(CardInfo) == 72 && offsetof(CardInfo, minor) == 56);

// ---- classes -------------------------------------------------------------------------------------------------------

inline constexpr uint32_t kRootClient = 0x41;
inline constexpr uint32_t kDevice = 0x80;
inline constexpr uint32_t kSubdevice = 0x2080;
inline constexpr uint32_t kMemorySystem = 0x3e;
inline constexpr uint32_t kMemoryLocalUser = 0x40;
inline constexpr uint32_t kMemoryOsDescriptor = 0x71;
inline constexpr uint32_t kAddressSpace = 0x90f1;
inline constexpr uint32_t kChannelGroup = 0xa06c;
inline constexpr uint32_t kContextShare = 0x9067;
inline constexpr uint32_t kConfidentialCompute = 0xcb33;
inline constexpr uint32_t kDebugger = 0x83de;

struct DeviceParameters {
  uint32_t deviceId;
  Handle clientShare, targetClient, targetDevice;
  uint32_t flags, pad;
  uint64_t addressSpaceBytes, startInternal, limitInternal;
  uint32_t addressSpaceMode, pad1;
};
static_assert(sizeof(DeviceParameters) == 56);

struct SubdeviceParameters {
  uint32_t subdeviceId;
};

struct AddressSpaceParameters {
  uint32_t index, flags;
  uint64_t bytes, startInternal, limitInternal;
  uint32_t bigPageBytes, pad;
  uint64_t base;
  uint32_t pasid, pad1;
};
static_assert(sizeof(AddressSpaceParameters) == 56 && offsetof(AddressSpaceParameters, base) == 40);
inline constexpr uint32_t kExternallyOwned = 0x8, kPageFaulting = 0x40;  // AddressSpaceParameters::flags

struct MemoryParameters {
  uint32_t owner, type, flags, width, height;
  int32_t pitch;
  uint32_t attributes, attributes2, format, comprCoverage, zcullCoverage, pad;
  uint64_t rangeLow, rangeHigh, bytes, alignment, offset, limit, address;
  uint32_t ctagOffset;
  Handle addressSpace;
  uint32_t internalFlags, tag;
  int32_t numaNode;
  uint32_t pad1;
};
static_assert(sizeof(MemoryParameters) == 128 && offsetof(MemoryParameters, bytes) == 64);

inline constexpr uint32_t kTypeImage = 0, kTypeNotifier = 13;                 // type
inline constexpr uint32_t kFormat = 6;                                        // format: any
inline constexpr uint32_t kIgnoreBankPlacement = 1, kAlignmentForce = 0x100;  // flags
inline constexpr uint32_t kHandleProvided = 0x4000, kMapNotRequired = 0x8000, kPersistentVideo = 0x10000;
inline constexpr uint32_t kPageSize4K = 1u << 23, kPageSizeBig = 2u << 23, kPageSizeHuge = 3u << 23;  // attributes
inline constexpr uint32_t kLocationSystem = 1u << 25;
inline constexpr uint32_t kContiguous = 2u << 27, kAllowScattered = 3u << 27;
inline constexpr uint32_t kCoherencyCached = 1u << 29, kCoherencyWriteCombined = 2u << 29,
                          kCoherencyWriteBack = 5u << 29;
inline constexpr uint32_t kNoZbc = 1, kGpuCacheable = 1u << 2, kGpuUncacheable = 2u << 2;  // attributes2
inline constexpr uint32_t kHuge2M = 1u << 20, kHuge512M = 2u << 20;

// AllocMemoryCall::flags for kMemoryOsDescriptor
inline constexpr uint32_t kScattered = 1u << 4, kCached = 1u << 12, kNoKernelMap = 1u << 30;
inline constexpr uint32_t kUserReadOnly = 1u << 21;

// MapMemoryCall::flags
inline constexpr uint32_t kMapWriteOnly = 2;
inline constexpr uint32_t kMapReflected = 2u << 15, kMapWriteCombined = 2u << 23;

struct ChannelGroupParameters {
  Handle errorNotifier, eccNotifier, addressSpace;
  uint32_t engineType, flag;
};
static_assert(sizeof(ChannelGroupParameters) == 20);

struct ContextShareParameters {
  Handle addressSpace;
  uint32_t flags, subcontext;
};
inline constexpr uint32_t kAsyncSubcontext = 1;

struct ChannelParameters {
  Handle errorNotifier, buffer;
  uint64_t ringAddress;
  uint32_t ringEntries, flags;
  Handle contextShare, addressSpace;
  Handle userdMemory[8];
  uint64_t userdOffset[8];
  uint32_t engineType;
  uint32_t internal[59];
};
static_assert(sizeof(ChannelParameters) == 368 && offsetof(ChannelParameters, userdOffset) == 64 &&
              offsetof(ChannelParameters, engineType) == 128);

struct CopyObjectParameters {
  uint32_t version, engineType;  // version 1: engineType as in the list of engines
};

struct DebuggerParameters {
  Handle obsolete, client, computeObject;
};

// What the kernel writes when a channel dies; three of them at the start of the notifier's memory.
struct Notification {
  uint64_t nanoseconds;
  uint32_t info32;  // an Xid code
  uint16_t info16, status;
};
static_assert(sizeof(Notification) == 16);
inline constexpr uint32_t kContextSwitchTimeout = 109;  // Xid

// ---- controls ------------------------------------------------------------------------------------------------------

inline constexpr uint32_t kGetBuildVersion = 0x13e;  // on the client
inline constexpr uint32_t kGetIdInfo = 0x205;        // on the client
inline constexpr uint32_t kGetClassList = 0x800292;  // on the device; the rest on the subdevice
inline constexpr uint32_t kGetNameString = 0x20800110;
inline constexpr uint32_t kGetGidInfo = 0x2080014a;
inline constexpr uint32_t kGetEngines = 0x20800170;
inline constexpr uint32_t kGetTime = 0x20800403;
inline constexpr uint32_t kGrGetInfo = 0x20801201;
inline constexpr uint32_t kSetPreemption = 0x20801210;
inline constexpr uint32_t kGetSmOrder = 0x2080121b;
inline constexpr uint32_t kFbGetInfo = 0x20801303;
inline constexpr uint32_t kGetArchitecture = 0x20801701;
inline constexpr uint32_t kGetPciInfo = 0x20801801;
inline constexpr uint32_t kPerfBoost = 0x2080200a;
inline constexpr uint32_t kGetPceMask = 0x20802a02;
inline constexpr uint32_t kGetAllCopyCaps = 0x20802a0a;
inline constexpr uint32_t kScheduleGroup = 0xa06c0101;  // on a channel group
inline constexpr uint32_t kSetTimeslice = 0xa06c0103;
inline constexpr uint32_t kGetSubmitToken = 0xc36f0108;  // on a channel
inline constexpr uint32_t kConfidentialCapabilities = 0xcb330101;
inline constexpr uint32_t kReadSmErrorStates = 0x83de030c;  // on a debugger
inline constexpr uint32_t kReadMmuFaults = 0x83de0328;      // on a debugger

struct PciInfo {
  uint32_t device, subsystem, revision, extendedDevice;  // the first two: number << 16 | vendor
};
static_assert(sizeof(PciInfo) == 16);

struct IdInfo {
  uint32_t gpuId, flags, deviceInstance, subdeviceInstance, sliStatus, boardId, gpuInstance;
  int32_t numaNode;
};
static_assert(sizeof(IdInfo) == 32);

struct GidInfo {
  uint32_t index, flags, length;
  uint8_t data[256];
};
static_assert(sizeof(GidInfo) == 268);
inline constexpr uint32_t kGidBinary = 2;

struct GrInfo {
  uint32_t count, pad;
  uint64_t list;  // of InfoEntry
  uint32_t routeFlags, pad1;
  uint64_t route;
};
static_assert(sizeof(GrInfo) == 32);
struct InfoEntry {
  uint32_t index, data;
};
// Where the work of a channel may be interrupted for that of others.
struct Preemption {
  uint32_t flags;
  Handle channel;
  uint32_t graphics, compute;
  uint32_t routeFlags, pad;
  uint64_t route;
};
static_assert(sizeof(Preemption) == 32);
inline constexpr uint32_t kSetCompute = 1, kBetweenBlocks = 1;
inline constexpr uint32_t kGrSmVersion = 0xc, kGrWarpsPerSm = 0xd, kGrGpcs = 0x14, kGrTpcsPerGpc = 0x17,
                          kGrSmsPerTpc = 0x20;
inline constexpr uint32_t kFbBar1Size = 0x5, kFbRamSize = 0x7, kFbTotalRam = 0x8, kFbHeapSize = 0x9, kFbBusWidth = 0xb,
                          kFbHeapFree = 0x16, kFbL2Size = 0x1b, kFbBar1Free = 0x1d, kFbUsableRam = 0x20;

struct Architecture {
  uint32_t architecture, implementation, revision, subRevision;
};
struct PerfBoost {
  uint32_t flags, seconds;
};
inline constexpr uint32_t kBoostToMax = 2, kBoostCuda = 1u << 4;
struct Time {
  uint64_t nanoseconds;
};
struct SubmitToken {
  uint32_t token;
};
struct ScheduleGroup {  // 2 bytes before driver 575 (abi.h)
  uint8_t enable, skipSubmit, skipEnable;
};
struct Timeslice {
  uint64_t microseconds;
};
struct PceMask {  // the physical engines behind a copy engine
  uint32_t engineType, mask;
};
struct MmuFaults {
  struct {
    uint64_t address;
    uint32_t type, access;
  } entries[4];
  uint32_t count, pad;
};
static_assert(sizeof(MmuFaults) == 72);
inline constexpr uint32_t kFaultOfWrite = 1;  // access
// The exception registers of multiprocessors.
struct SmErrorStates {
  static constexpr uint32_t kMost = 100;
  struct State {
    uint32_t global, warp, counterLow, globalMask, warpMask, pad;
    uint64_t address, counter;
    uint32_t cluster, clusterMask;
  };
  Handle channel;
  uint32_t count;
  State states[kMost];
  uint32_t mmuFault;
  uint8_t mmuValid, pad[3];
  uint32_t mmuInfo, first;
};
static_assert(sizeof(SmErrorStates) == 4824 && offsetof(SmErrorStates, first) == 4820);
inline constexpr uint8_t kCopyGraphics = 1;  // shares the graphics engine's runlist

inline constexpr uint32_t kEngineGraphics = 1, kEngineCopy0 = 9, kEngineCopy9 = 0x12, kEngineCopy10 = 0x34,
                          kEngineCopy19 = 0x3d;

// The words of a channel that host and GPU share.
inline constexpr size_t kUserdBytes = 512, kUserdGet = 0x88, kUserdPut = 0x8c;
inline constexpr size_t kTimeLow = 0x80, kDoorbell = 0x90, kUsermodeBytes = 0x10000;

}  // namespace vg::backend::nvidia::rm
