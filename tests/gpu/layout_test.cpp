// What is written down of the kernel driver's interface against a table that comes from the public headers of each
// branch (driver_layouts.tsv), and not from what is tested: the fake kernel driver believes whatever the library does.
#include <climits>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "backend/nvidia/driver/abi.h"
#include "backend/nvidia/driver/generation.h"
#include "backend/nvidia/driver/rm_abi.h"
#include "backend/nvidia/driver/share_abi.h"
#include "backend/nvidia/driver/uvm_abi.h"
#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;

// One row of the table, of one structure's field or one number, for some branches.
struct Layout {
  std::string structure, field;  // "" for the whole structure, and for numbers
  int first, last;               // branches
  unsigned long at;              // offset, or the number
  unsigned long bytes;
};

std::vector<Layout> readTable() {
  std::vector<Layout> table;
  std::ifstream file(TEST_FOLDER "/driver_layouts.tsv");
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') continue;
    std::istringstream cells(line);
    Layout row;
    std::string at, bytes;
    cells >> row.structure >> row.field >> row.first >> row.last >> at >> bytes;
    if (row.structure == "-") row.structure.clear();
    if (row.field == "-") row.field.clear();
    row.at = std::stoul(at, nullptr, 0);
    row.bytes = bytes == "-" ? 0 : std::stoul(bytes);
    table.push_back(row);
  }
  return table;
}

const std::vector<Layout>& table() {
  static const std::vector<Layout> rows = readTable();
  return rows;
}

// Null where the branch has no such field.
const Layout* layoutOf(const std::string& structure, const std::string& field, int branch) {
  for (const Layout& row : table())
    if (row.structure == structure && row.field == field && row.first <= branch && branch <= row.last) return &row;
  return nullptr;
}

std::set<int> branches() {
  std::set<int> all;
  for (const Layout& row : table()) all.insert({row.first, row.last});
  return all;
}

unsigned long sizeOf(const std::string& structure, int branch) { return layoutOf(structure, "", branch)->bytes; }

// 0 where the branch has no such field.
unsigned long offsetOf(const std::string& structure, const std::string& field, int branch) {
  const Layout* const row = layoutOf(structure, field, branch);
  return row ? row->at : 0;
}

TEST(Layouts, TheTableIsRead) {
  EXPECT_GT(table().size(), 500u);
  EXPECT_GE(branches().size(), 11u);
  EXPECT_EQ(layoutOf("NVOS54_PARAMETERS", "params", 580)->at, 16u);
}

TEST(Layouts, EveryBranchWithPublicHeadersHasARow) {
  for (const int branch : branches()) EXPECT_EQ(must(abiFor(std::to_string(branch) + ".10"))->branch, branch);
}

// A control that is given other than the kernel's own size is refused, by that driver alone.
TEST(Layouts, RowsHaveTheKernelsSizesAndOffsets) {
  for (const int branch : branches()) {
    SCOPED_TRACE(branch);
    const Abi& row = *must(abiFor(std::to_string(branch) + ".10"));
    EXPECT_EQ(row.buildVersion, sizeOf("NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_V2_PARAMS", branch));
    EXPECT_EQ(row.classList, sizeOf("NV0080_CTRL_GPU_GET_CLASSLIST_V2_PARAMS", branch));
    EXPECT_EQ(row.nameString, sizeOf("NV2080_CTRL_GPU_GET_NAME_STRING_PARAMS", branch));
    EXPECT_EQ(row.engines, sizeOf("NV2080_CTRL_GPU_GET_ENGINES_V2_PARAMS", branch));
    EXPECT_EQ(row.smOrder, sizeOf("NV2080_CTRL_GR_GET_GLOBAL_SM_ORDER_PARAMS", branch));
    EXPECT_EQ(row.fbInfo, sizeOf("NV2080_CTRL_FB_GET_INFO_V2_PARAMS", branch));
    EXPECT_EQ(row.scheduleGroup, sizeOf("NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS", branch));
    EXPECT_EQ(row.copyCaps, sizeOf("NV2080_CTRL_CE_GET_ALL_CAPS_PARAMS", branch));
    EXPECT_EQ(row.peerCapabilities, sizeOf("NV0000_CTRL_SYSTEM_GET_P2P_CAPS_V2_PARAMS", branch));
    EXPECT_EQ(row.exportInfo, sizeOf("NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS", branch));
    EXPECT_EQ(row.exportNote, offsetOf("NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS", "metadata", branch));
    EXPECT_EQ(row.dmaBuf, sizeOf("nv_ioctl_export_to_dma_buf_fd_t", branch));
    const char* const channel = "NV_CHANNEL_ALLOC_PARAMS";
    EXPECT_EQ(row.channel, sizeOf(channel, branch));
    EXPECT_EQ(row.channelUserd, offsetOf(channel, "hUserdMemory", branch));
    EXPECT_EQ(row.channelRest, offsetOf(channel, "userdOffset", branch));
    EXPECT_EQ(offsetOf(channel, "engineType", branch) - row.channelRest,
              offsetof(rm::ChannelParameters, engineType) - offsetof(rm::ChannelParameters, userdOffset));
    EXPECT_EQ(row.mapExternalTail, offsetOf("UVM_MAP_EXTERNAL_ALLOCATION_PARAMS", "gpuAttributesCount", branch));
    EXPECT_EQ(row.freeLength, offsetOf("UVM_FREE_PARAMS", "length", branch));
    EXPECT_EQ(row.unregisterUuid, offsetOf("UVM_UNREGISTER_CHANNEL_PARAMS", "hClient", branch));
    EXPECT_EQ(row.preferredStatus, offsetOf("UVM_SET_PREFERRED_LOCATION_PARAMS", "rmStatus", branch));
    for (const uint32_t bytes : {row.buildVersion, row.classList, row.smOrder, row.fbInfo, row.peerCapabilities})
      EXPECT_LE(bytes, kLargestParameters);
  }
}

// What the library reads of structures that it has no type for.
TEST(Layouts, FieldsReadByOffsetAreThere) {
  const char* const order = "NV2080_CTRL_GR_GET_GLOBAL_SM_ORDER_PARAMS";
  for (const int branch : branches()) {
    SCOPED_TRACE(branch);
    const unsigned long bytes = sizeOf(order, branch), stride = offsetOf(order, "globalSmId[1]", branch);
    EXPECT_EQ(stride, (bytes - 24) / 512);
    EXPECT_EQ(offsetOf(order, "globalSmId[0].virtualGpcId", branch), 8u);
    EXPECT_EQ(offsetOf(order, "globalSmId[0].migratableTpcId", branch), 10u);
    EXPECT_EQ(offsetOf(order, "numSm", branch), bytes - 24);
    EXPECT_EQ(offsetOf("NV0080_CTRL_GPU_GET_CLASSLIST_V2_PARAMS", "classList", branch), 4u);
    EXPECT_EQ(offsetOf("NV2080_CTRL_GPU_GET_NAME_STRING_PARAMS", "gpuNameString", branch), 4u);
    EXPECT_EQ(offsetOf("NV2080_CTRL_GPU_GET_ENGINES_V2_PARAMS", "engineList", branch), 4u);
    EXPECT_EQ(offsetOf("NV2080_CTRL_FB_GET_INFO_V2_PARAMS", "fbInfoList", branch), 4u);
    EXPECT_EQ(offsetOf("NV2080_CTRL_CE_GET_ALL_CAPS_PARAMS", "capsTbl", branch), 0u);
  }
}

// A field of ours and the header's name for it.
struct Field {
  const char* name;
  size_t offset, bytes;
};
struct Structure {
  const char *ours, *header;
  size_t bytes;
  std::vector<Field> fields;
};

#define FIELD(member, name) \
  { name, offsetof(T, member), sizeof(T::member) }
#define STRUCTURE(room, type, header, ...)                                \
  [] {                                                                    \
    using T = room::type;                                                 \
    return Structure{#room "::" #type, header, sizeof(T), {__VA_ARGS__}}; \
  }()

std::vector<Structure> structures() {
  return {
      STRUCTURE(rm, AllocMemoryCall, "nv_ioctl_nvos02_parameters_with_fd", FIELD(client, "params.hRoot"),
                FIELD(parent, "params.hObjectParent"), FIELD(object, "params.hObjectNew"),
                FIELD(objectClass, "params.hClass"), FIELD(flags, "params.flags"), FIELD(memory, "params.pMemory"),
                FIELD(limit, "params.limit"), FIELD(status, "params.status"), FIELD(descriptor, "fd")),
      STRUCTURE(rm, FreeCall, "NVOS00_PARAMETERS", FIELD(client, "hRoot"), FIELD(parent, "hObjectParent"),
                FIELD(object, "hObjectOld"), FIELD(status, "status")),
      STRUCTURE(rm, ControlCall, "NVOS54_PARAMETERS", FIELD(client, "hClient"), FIELD(object, "hObject"),
                FIELD(command, "cmd"), FIELD(flags, "flags"), FIELD(parameters, "params"),
                FIELD(parameterBytes, "paramsSize"), FIELD(status, "status")),
      STRUCTURE(rm, AllocCall, "NVOS64_PARAMETERS", FIELD(client, "hRoot"), FIELD(parent, "hObjectParent"),
                FIELD(object, "hObjectNew"), FIELD(objectClass, "hClass"), FIELD(parameters, "pAllocParms"),
                FIELD(rights, "pRightsRequested"), FIELD(parameterBytes, "paramsSize"), FIELD(flags, "flags"),
                FIELD(status, "status")),
      STRUCTURE(rm, MapMemoryCall, "nv_ioctl_nvos33_parameters_with_fd", FIELD(client, "params.hClient"),
                FIELD(device, "params.hDevice"), FIELD(memory, "params.hMemory"), FIELD(offset, "params.offset"),
                FIELD(length, "params.length"), FIELD(linearAddress, "params.pLinearAddress"),
                FIELD(status, "params.status"), FIELD(flags, "params.flags"), FIELD(descriptor, "fd")),
      STRUCTURE(rm, UnmapMemoryCall, "NVOS34_PARAMETERS", FIELD(client, "hClient"), FIELD(device, "hDevice"),
                FIELD(memory, "hMemory"), FIELD(linearAddress, "pLinearAddress"), FIELD(status, "status"),
                FIELD(flags, "flags")),
      STRUCTURE(rm, CardInfo, "nv_ioctl_card_info_t", FIELD(valid, "valid"), FIELD(domain, "pci_info.domain"),
                FIELD(bus, "pci_info.bus"), FIELD(slot, "pci_info.slot"), FIELD(function, "pci_info.function"),
                FIELD(vendor, "pci_info.vendor_id"), FIELD(device, "pci_info.device_id"), FIELD(gpuId, "gpu_id"),
                FIELD(interruptLine, "interrupt_line"), FIELD(registerAddress, "reg_address"),
                FIELD(registerBytes, "reg_size"), FIELD(barAddress, "fb_address"), FIELD(barBytes, "fb_size"),
                FIELD(minor, "minor_number"), FIELD(deviceName, "dev_name")),
      STRUCTURE(rm, DeviceParameters, "NV0080_ALLOC_PARAMETERS", FIELD(deviceId, "deviceId"),
                FIELD(clientShare, "hClientShare"), FIELD(targetClient, "hTargetClient"),
                FIELD(targetDevice, "hTargetDevice"), FIELD(flags, "flags"), FIELD(addressSpaceBytes, "vaSpaceSize"),
                FIELD(startInternal, "vaStartInternal"), FIELD(limitInternal, "vaLimitInternal"),
                FIELD(addressSpaceMode, "vaMode")),
      STRUCTURE(rm, SubdeviceParameters, "NV2080_ALLOC_PARAMETERS", FIELD(subdeviceId, "subDeviceId")),
      STRUCTURE(rm, AddressSpaceParameters, "NV_VASPACE_ALLOCATION_PARAMETERS", FIELD(index, "index"),
                FIELD(flags, "flags"), FIELD(bytes, "vaSize"), FIELD(startInternal, "vaStartInternal"),
                FIELD(limitInternal, "vaLimitInternal"), FIELD(bigPageBytes, "bigPageSize"), FIELD(base, "vaBase"),
                FIELD(pasid, "pasid")),
      STRUCTURE(rm, MemoryParameters, "NV_MEMORY_ALLOCATION_PARAMS", FIELD(owner, "owner"), FIELD(type, "type"),
                FIELD(flags, "flags"), FIELD(width, "width"), FIELD(height, "height"), FIELD(pitch, "pitch"),
                FIELD(attributes, "attr"), FIELD(attributes2, "attr2"), FIELD(format, "format"),
                FIELD(comprCoverage, "comprCovg"), FIELD(zcullCoverage, "zcullCovg"), FIELD(rangeLow, "rangeLo"),
                FIELD(rangeHigh, "rangeHi"), FIELD(bytes, "size"), FIELD(alignment, "alignment"),
                FIELD(offset, "offset"), FIELD(limit, "limit"), FIELD(address, "address"),
                FIELD(ctagOffset, "ctagOffset"), FIELD(addressSpace, "hVASpace"), FIELD(internalFlags, "internalflags"),
                FIELD(tag, "tag"), FIELD(numaNode, "numaNode")),
      STRUCTURE(rm, ChannelGroupParameters, "NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS",
                FIELD(errorNotifier, "hObjectError"), FIELD(eccNotifier, "hObjectEccError"),
                FIELD(addressSpace, "hVASpace"), FIELD(engineType, "engineType")),
      STRUCTURE(rm, ContextShareParameters, "NV_CTXSHARE_ALLOCATION_PARAMETERS", FIELD(addressSpace, "hVASpace"),
                FIELD(flags, "flags"), FIELD(subcontext, "subctxId")),
      STRUCTURE(rm, ChannelParameters, "NV_CHANNEL_ALLOC_PARAMS", FIELD(errorNotifier, "hObjectError"),
                FIELD(buffer, "hObjectBuffer"), FIELD(ringAddress, "gpFifoOffset"), FIELD(ringEntries, "gpFifoEntries"),
                FIELD(flags, "flags"), FIELD(contextShare, "hContextShare"), FIELD(addressSpace, "hVASpace"),
                FIELD(userdMemory, "hUserdMemory"), FIELD(userdOffset, "userdOffset"), FIELD(engineType, "engineType")),
      STRUCTURE(rm, CopyObjectParameters, "NVB0B5_ALLOCATION_PARAMETERS", FIELD(version, "version"),
                FIELD(engineType, "engineType")),
      STRUCTURE(rm, DebuggerParameters, "NV83DE_ALLOC_PARAMETERS", FIELD(obsolete, "hDebuggerClient_Obsolete"),
                FIELD(client, "hAppClient"), FIELD(computeObject, "hClass3dObject")),
      STRUCTURE(rm, Notification, "NvNotification", FIELD(nanoseconds, "timeStamp"), FIELD(info32, "info32"),
                FIELD(info16, "info16"), FIELD(status, "status")),
      STRUCTURE(rm, PciInfo, "NV2080_CTRL_BUS_GET_PCI_INFO_PARAMS", FIELD(device, "pciDeviceId"),
                FIELD(subsystem, "pciSubSystemId"), FIELD(revision, "pciRevisionId"),
                FIELD(extendedDevice, "pciExtDeviceId")),
      STRUCTURE(rm, IdInfo, "NV0000_CTRL_GPU_GET_ID_INFO_V2_PARAMS", FIELD(gpuId, "gpuId"), FIELD(flags, "gpuFlags"),
                FIELD(deviceInstance, "deviceInstance"), FIELD(subdeviceInstance, "subDeviceInstance"),
                FIELD(sliStatus, "sliStatus"), FIELD(boardId, "boardId"), FIELD(gpuInstance, "gpuInstance"),
                FIELD(numaNode, "numaId")),
      STRUCTURE(rm, GidInfo, "NV2080_CTRL_GPU_GET_GID_INFO_PARAMS", FIELD(index, "index"), FIELD(flags, "flags"),
                FIELD(length, "length"), FIELD(data, "data")),
      STRUCTURE(rm, GrInfo, "NV2080_CTRL_GR_GET_INFO_PARAMS", FIELD(count, "grInfoListSize"), FIELD(list, "grInfoList"),
                FIELD(routeFlags, "grRouteInfo.flags"), FIELD(route, "grRouteInfo.route")),
      STRUCTURE(rm, Architecture, "NV2080_CTRL_MC_GET_ARCH_INFO_PARAMS", FIELD(architecture, "architecture"),
                FIELD(implementation, "implementation"), FIELD(revision, "revision")),
      STRUCTURE(rm, PerfBoost, "NV2080_CTRL_PERF_BOOST_PARAMS", FIELD(flags, "flags"), FIELD(seconds, "duration")),
      STRUCTURE(rm, Time, "NV2080_CTRL_TIMER_GET_TIME_PARAMS", FIELD(nanoseconds, "time_nsec")),
      STRUCTURE(rm, SubmitToken, "NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS",
                FIELD(token, "workSubmitToken")),
      STRUCTURE(rm, ScheduleGroup, "NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS", FIELD(enable, "bEnable"),
                FIELD(skipSubmit, "bSkipSubmit"), FIELD(skipEnable, "bSkipEnable")),
      STRUCTURE(rm, Preemption, "NV2080_CTRL_GR_SET_CTXSW_PREEMPTION_MODE_PARAMS", FIELD(flags, "flags"),
                FIELD(channel, "hChannel"), FIELD(graphics, "gfxpPreemptMode"), FIELD(compute, "cilpPreemptMode"),
                FIELD(routeFlags, "grRouteInfo.flags"), FIELD(route, "grRouteInfo.route")),
      STRUCTURE(rm, Timeslice, "NVA06C_CTRL_TIMESLICE_PARAMS", FIELD(microseconds, "timesliceUs")),
      STRUCTURE(rm, PceMask, "NV2080_CTRL_CE_GET_CE_PCE_MASK_PARAMS", FIELD(engineType, "ceEngineType"),
                FIELD(mask, "pceMask")),
      STRUCTURE(rm, MmuFaults, "NV83DE_CTRL_DEBUG_READ_MMU_FAULT_INFO_PARAMS", FIELD(entries, "mmuFaultInfoList"),
                FIELD(entries[1], "mmuFaultInfoList[1]"), FIELD(entries[0].address, "mmuFaultInfoList[0].faultAddress"),
                FIELD(entries[0].type, "mmuFaultInfoList[0].faultType"),
                FIELD(entries[0].access, "mmuFaultInfoList[0].accessType"), FIELD(count, "count")),
      STRUCTURE(rm, SmErrorStates, "NV83DE_CTRL_DEBUG_READ_ALL_SM_ERROR_STATES_PARAMS",
                FIELD(channel, "hTargetChannel"), FIELD(count, "numSMsToRead"), FIELD(states, "smErrorStateArray"),
                FIELD(mmuFault, "mmuFaultInfo"), FIELD(mmuValid, "mmuFault.valid"),
                FIELD(mmuInfo, "mmuFault.faultInfo"), FIELD(first, "startingSM")),
      STRUCTURE(rm, SmErrorStates::State, "NV83DE_SM_ERROR_STATE_REGISTERS", FIELD(global, "hwwGlobalEsr"),
                FIELD(warp, "hwwWarpEsr"), FIELD(globalMask, "hwwGlobalEsrReportMask"),
                FIELD(warpMask, "hwwWarpEsrReportMask"), FIELD(address, "hwwEsrAddr"), FIELD(counter, "hwwWarpEsrPc64"),
                FIELD(cluster, "hwwCgaEsr"), FIELD(clusterMask, "hwwCgaEsrReportMask"),
                FIELD(counterLow, "hwwWarpEsrPc")),
      STRUCTURE(rm, ExportObjects, "NV0000_CTRL_OS_UNIX_EXPORT_OBJECTS_TO_FD_PARAMS", FIELD(descriptor, "fd"),
                FIELD(device, "hDevice"), FIELD(mostObjects, "maxObjects"), FIELD(note, "metadata"),
                FIELD(objects, "objects"), FIELD(count, "numObjects"), FIELD(first, "index")),
      STRUCTURE(rm, ImportObject, "NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD_PARAMS", FIELD(descriptor, "fd"),
                FIELD(type, "object.type"), FIELD(device, "object.data.rmObject.hDevice"),
                FIELD(parent, "object.data.rmObject.hParent"), FIELD(object, "object.data.rmObject.hObject")),
      STRUCTURE(rm, ExportInfo, "NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS", FIELD(descriptor, "fd"),
                FIELD(deviceInstance, "deviceInstance"), FIELD(gpuInstance, "gpuInstanceId"),
                FIELD(mostObjects, "maxObjects"), FIELD(note, "metadata")),
      STRUCTURE(rm, PeerCapabilities, "NV0000_CTRL_SYSTEM_GET_P2P_CAPS_V2_PARAMS", FIELD(gpuIds, "gpuIds"),
                FIELD(count, "gpuCount"), FIELD(capabilities, "p2pCaps"), FIELD(readEngines, "p2pOptimalReadCEs"),
                FIELD(writeEngines, "p2pOptimalWriteCEs"), FIELD(statuses, "p2pCapsStatus"),
                FIELD(busPeers, "busPeerIds"), FIELD(busEgmPeers, "busEgmPeerIds")),
      STRUCTURE(rm, DmaBufCall, "nv_ioctl_export_to_dma_buf_fd_t", FIELD(descriptor, "fd"), FIELD(client, "hClient"),
                FIELD(totalObjects, "totalObjects"), FIELD(count, "numObjects"), FIELD(first, "index"),
                FIELD(totalBytes, "totalSize"), FIELD(mappingType, "mappingType"), FIELD(allowMmap, "bAllowMmap"),
                FIELD(objects, "handles"), FIELD(offsets, "offsets"), FIELD(bytes, "sizes"), FIELD(status, "status")),
      STRUCTURE(uvm, Initialize, "UVM_INITIALIZE_PARAMS", FIELD(flags, "flags"), FIELD(status, "rmStatus")),
      STRUCTURE(uvm, MmInitialize, "UVM_MM_INITIALIZE_PARAMS", FIELD(descriptor, "uvmFd"), FIELD(status, "rmStatus")),
      STRUCTURE(uvm, RegisterGpu, "UVM_REGISTER_GPU_PARAMS", FIELD(uuid, "gpu_uuid"), FIELD(numaEnabled, "numaEnabled"),
                FIELD(numaNode, "numaNodeId"), FIELD(controlDescriptor, "rmCtrlFd"), FIELD(client, "hClient"),
                FIELD(partition, "hSmcPartRef"), FIELD(status, "rmStatus")),
      STRUCTURE(uvm, RegisterSpace, "UVM_REGISTER_GPU_VASPACE_PARAMS", FIELD(uuid, "gpuUuid"),
                FIELD(controlDescriptor, "rmCtrlFd"), FIELD(client, "hClient"), FIELD(addressSpace, "hVaSpace"),
                FIELD(status, "rmStatus")),
      STRUCTURE(uvm, Unregister, "UVM_UNREGISTER_GPU_PARAMS", FIELD(uuid, "gpu_uuid"), FIELD(status, "rmStatus")),
      STRUCTURE(uvm, Unregister, "UVM_UNREGISTER_GPU_VASPACE_PARAMS", FIELD(uuid, "gpuUuid"),
                FIELD(status, "rmStatus")),
      STRUCTURE(uvm, RegisterChannel, "UVM_REGISTER_CHANNEL_PARAMS", FIELD(uuid, "gpuUuid"),
                FIELD(controlDescriptor, "rmCtrlFd"), FIELD(client, "hClient"), FIELD(channel, "hChannel"),
                FIELD(base, "base"), FIELD(length, "length"), FIELD(status, "rmStatus")),
      STRUCTURE(uvm, Range, "UVM_CREATE_EXTERNAL_RANGE_PARAMS", FIELD(base, "base"), FIELD(length, "length"),
                FIELD(status, "rmStatus")),
      STRUCTURE(uvm, Range, "UVM_UNSET_PREFERRED_LOCATION_PARAMS", FIELD(base, "requestedBase"),
                FIELD(length, "length"), FIELD(status, "rmStatus")),
      STRUCTURE(uvm, Range, "UVM_ENABLE_READ_DUPLICATION_PARAMS", FIELD(base, "requestedBase"), FIELD(length, "length"),
                FIELD(status, "rmStatus")),
      STRUCTURE(uvm, Range, "UVM_DISABLE_READ_DUPLICATION_PARAMS", FIELD(base, "requestedBase"),
                FIELD(length, "length"), FIELD(status, "rmStatus")),
      STRUCTURE(uvm, RangeOf, "UVM_UNMAP_EXTERNAL_PARAMS", FIELD(base, "base"), FIELD(length, "length"),
                FIELD(uuid, "gpuUuid"), FIELD(status, "rmStatus")),
      STRUCTURE(uvm, RangeOf, "UVM_MAP_EXTERNAL_SPARSE_PARAMS", FIELD(base, "base"), FIELD(length, "length"),
                FIELD(uuid, "gpuUuid"), FIELD(status, "rmStatus")),
      STRUCTURE(uvm, RangeOf, "UVM_SET_ACCESSED_BY_PARAMS", FIELD(base, "requestedBase"), FIELD(length, "length"),
                FIELD(uuid, "accessedByUuid"), FIELD(status, "rmStatus")),
      STRUCTURE(uvm, RangeOf, "UVM_UNSET_ACCESSED_BY_PARAMS", FIELD(base, "requestedBase"), FIELD(length, "length"),
                FIELD(uuid, "accessedByUuid"), FIELD(status, "rmStatus")),
      STRUCTURE(uvm, SetPreferred, "UVM_SET_PREFERRED_LOCATION_PARAMS", FIELD(base, "requestedBase"),
                FIELD(length, "length"), FIELD(place, "preferredLocation"), FIELD(hostNode, "preferredCpuNumaNode"),
                FIELD(status, "rmStatus")),
      STRUCTURE(uvm, Migrate, "UVM_MIGRATE_PARAMS", FIELD(base, "base"), FIELD(length, "length"),
                FIELD(place, "destinationUuid"), FIELD(flags, "flags"), FIELD(semaphore, "semaphoreAddress"),
                FIELD(payload, "semaphorePayload"), FIELD(hostNode, "cpuNumaNode"), FIELD(leftStart, "userSpaceStart"),
                FIELD(leftLength, "userSpaceLength"), FIELD(status, "rmStatus")),
      STRUCTURE(uvm, MappingAttributes, "UvmGpuMappingAttributes", FIELD(uuid, "gpuUuid"),
                FIELD(mappingType, "gpuMappingType"), FIELD(cachingType, "gpuCachingType"),
                FIELD(formatType, "gpuFormatType"), FIELD(elementBits, "gpuElementBits"),
                FIELD(compressionType, "gpuCompressionType")),
      STRUCTURE(uvm, Peers, "UVM_ENABLE_PEER_ACCESS_PARAMS", FIELD(one, "gpuUuidA"), FIELD(other, "gpuUuidB"),
                FIELD(status, "rmStatus")),
  };
}

constexpr int kWrittenFor = 580;  // the branch whose layouts rm_abi.h, uvm_abi.h and share_abi.h have

TEST(Layouts, StructuresAreThoseOfTheBranchTheyAreWrittenFor) {
  for (const Structure& structure : structures()) {
    SCOPED_TRACE(structure.ours);
    EXPECT_EQ(structure.bytes, sizeOf(structure.header, kWrittenFor));
    for (const Field& field : structure.fields) {
      const Layout* const row = layoutOf(structure.header, field.name, kWrittenFor);
      ASSERT_TRUE(row) << field.name;
      EXPECT_EQ(field.offset, row->at) << field.name;
      EXPECT_EQ(field.bytes, row->bytes) << field.name;
    }
  }
}

// Fields that move have a member of Abi, which the rows' test looks at; others stay where they are in all branches.
TEST(Layouts, FieldsThatNoRowHasStayInTheirPlaces) {
  const std::set<std::string> byRow = {"nv_ioctl_export_to_dma_buf_fd_t",
                                       "NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS"};
  const std::set<std::pair<std::string, std::string>> fieldsByRow = {{"UVM_SET_PREFERRED_LOCATION_PARAMS", "rmStatus"},
                                                                     {"NV_CHANNEL_ALLOC_PARAMS", "hUserdMemory"},
                                                                     {"NV_CHANNEL_ALLOC_PARAMS", "userdOffset"},
                                                                     {"NV_CHANNEL_ALLOC_PARAMS", "engineType"}};
  for (const Structure& structure : structures()) {
    if (byRow.count(structure.header)) continue;
    for (const Field& field : structure.fields)
      for (const int branch : branches()) {
        const Layout* const row = layoutOf(structure.header, field.name, branch);
        if (!row || fieldsByRow.count({structure.header, field.name})) continue;
        EXPECT_EQ(field.offset, row->at) << structure.ours << " " << field.name << " " << branch;
      }
  }
}

// Of a control without a member in Abi the size is the same in all branches.
TEST(Layouts, SizesOfControlsThatNoRowHasStayTheSame) {
  const std::set<std::string> byRow = {"NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS",
                                       "NV0000_CTRL_SYSTEM_GET_P2P_CAPS_V2_PARAMS",
                                       "NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS"};
  for (const Structure& structure : structures()) {
    const std::string header = structure.header;
    if (header.find("_CTRL_") == header.npos || byRow.count(header)) continue;
    for (const int branch : branches()) EXPECT_EQ(structure.bytes, sizeOf(header, branch)) << header << " " << branch;
  }
}

TEST(Layouts, HeadAndTailOfAMappingAreWhereTheRowSays) {
  const char* const mapping = "UVM_MAP_EXTERNAL_ALLOCATION_PARAMS";
  for (const int branch : branches()) {
    SCOPED_TRACE(branch);
    const unsigned long tail = must(abiFor(std::to_string(branch) + ".10"))->mapExternalTail;
    EXPECT_EQ(offsetOf(mapping, "length", branch), offsetof(uvm::MapExternalHead, length));
    EXPECT_EQ(offsetOf(mapping, "offset", branch), offsetof(uvm::MapExternalHead, offset));
    EXPECT_EQ(offsetOf(mapping, "perGpuAttributes", branch), offsetof(uvm::MapExternalHead, first));
    EXPECT_EQ(offsetOf(mapping, "rmCtrlFd", branch), tail + offsetof(uvm::MapExternalTail, controlDescriptor));
    EXPECT_EQ(offsetOf(mapping, "hClient", branch), tail + offsetof(uvm::MapExternalTail, client));
    EXPECT_EQ(offsetOf(mapping, "hMemory", branch), tail + offsetof(uvm::MapExternalTail, memory));
    EXPECT_EQ(offsetOf(mapping, "rmStatus", branch), tail + offsetof(uvm::MapExternalTail, status));
  }
}

std::string textOf(const std::string& header) {
  std::ifstream file(SOURCE_FOLDER "/src/backend/nvidia/driver/" + header);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A structure that is added later without a line above would go unchecked.
TEST(Layouts, NoStructureIsLeftOut) {
  std::set<std::string> known = {"InfoEntry", "MapExternalHead", "MapExternalTail", "State"};
  for (const Structure& structure : structures())
    known.insert(structure.ours + std::string(structure.ours).rfind(':') + 1);
  const std::regex declared(R"((?:^|\n)\s*struct (\w+) \{)");
  size_t found = 0;
  for (const char* header : {"rm_abi.h", "uvm_abi.h", "share_abi.h"}) {
    const std::string text = textOf(header);
    for (std::sregex_iterator it(text.begin(), text.end(), declared), end; it != end; ++it, ++found)
      EXPECT_TRUE(known.count((*it)[1])) << header << ": " << (*it)[1];
  }
  EXPECT_GT(found, 40u);
}

struct Number {
  const char* header;
  unsigned long ours;
};

// Numbers of requests, classes, controls and what they are asked for.
TEST(Layouts, NumbersAreTheHeaders) {
  const auto escape = [](rm::Escape number) { return static_cast<unsigned long>(number); };
  const auto row = [](int capability) { return *generationOf(capability); };
  const Number numbers[] = {
      {"VOLTA_USERMODE_A", row(70).usermode},
      {"TURING_USERMODE_A", row(75).usermode},
      {"AMPERE_USERMODE_A", row(80).usermode},
      {"HOPPER_USERMODE_A", row(90).usermode},
      {"BLACKWELL_USERMODE_A", row(120).usermode},
      {"VOLTA_CHANNEL_GPFIFO_A", row(70).channel},
      {"TURING_CHANNEL_GPFIFO_A", row(75).channel},
      {"AMPERE_CHANNEL_GPFIFO_A", row(80).channel},
      {"HOPPER_CHANNEL_GPFIFO_A", row(90).channel},
      {"BLACKWELL_CHANNEL_GPFIFO_A", row(100).channel},
      {"BLACKWELL_CHANNEL_GPFIFO_B", row(120).channel},
      {"VOLTA_COMPUTE_A", row(70).compute},
      {"TURING_COMPUTE_A", row(75).compute},
      {"AMPERE_COMPUTE_A", row(80).compute},
      {"AMPERE_COMPUTE_B", row(86).compute},
      {"ADA_COMPUTE_A", row(89).compute},
      {"HOPPER_COMPUTE_A", row(90).compute},
      {"BLACKWELL_COMPUTE_A", row(100).compute},
      {"BLACKWELL_COMPUTE_B", row(120).compute},
      {"VOLTA_DMA_COPY_A", row(70).copy},
      {"TURING_DMA_COPY_A", row(75).copy},
      {"AMPERE_DMA_COPY_A", row(80).copy},
      {"AMPERE_DMA_COPY_B", row(86).copy},
      {"HOPPER_DMA_COPY_A", row(90).copy},
      {"BLACKWELL_DMA_COPY_A", row(100).copy},
      {"BLACKWELL_DMA_COPY_B", row(120).copy},
      {"NV_ESC_RM_ALLOC_MEMORY", escape(rm::Escape::AllocMemory)},
      {"NV_ESC_RM_FREE", escape(rm::Escape::Free)},
      {"NV_ESC_RM_CONTROL", escape(rm::Escape::Control)},
      {"NV_ESC_RM_ALLOC", escape(rm::Escape::Alloc)},
      {"NV_ESC_RM_MAP_MEMORY", escape(rm::Escape::MapMemory)},
      {"NV_ESC_RM_UNMAP_MEMORY", escape(rm::Escape::UnmapMemory)},
      {"NV_ESC_CARD_INFO", escape(rm::Escape::CardInfo)},
      {"NV_ESC_REGISTER_FD", escape(rm::Escape::RegisterFd)},
      {"NV_ESC_EXPORT_TO_DMABUF_FD", escape(rm::Escape::ExportDmaBuf)},
      {"NV_IOCTL_MAGIC", rm::request(rm::Escape::Alloc, 0) >> 8 & 0xff},
      {"NV01_ROOT_CLIENT", rm::kRootClient},
      {"NV01_DEVICE_0", rm::kDevice},
      {"NV20_SUBDEVICE_0", rm::kSubdevice},
      {"NV01_MEMORY_SYSTEM", rm::kMemorySystem},
      {"NV01_MEMORY_LOCAL_USER", rm::kMemoryLocalUser},
      {"NV01_MEMORY_SYSTEM_OS_DESCRIPTOR", rm::kMemoryOsDescriptor},
      {"FERMI_VASPACE_A", rm::kAddressSpace},
      {"KEPLER_CHANNEL_GROUP_A", rm::kChannelGroup},
      {"FERMI_CONTEXT_SHARE_A", rm::kContextShare},
      {"NV_CONFIDENTIAL_COMPUTE", rm::kConfidentialCompute},
      {"GT200_DEBUGGER", rm::kDebugger},
      {"NV0000_CTRL_CMD_SYSTEM_GET_BUILD_VERSION_V2", rm::kGetBuildVersion},
      {"NV0000_CTRL_CMD_GPU_GET_ID_INFO_V2", rm::kGetIdInfo},
      {"NV0080_CTRL_CMD_GPU_GET_CLASSLIST_V2", rm::kGetClassList},
      {"NV2080_CTRL_CMD_GPU_GET_NAME_STRING", rm::kGetNameString},
      {"NV2080_CTRL_CMD_GPU_GET_GID_INFO", rm::kGetGidInfo},
      {"NV2080_CTRL_CMD_GPU_GET_ENGINES_V2", rm::kGetEngines},
      {"NV2080_CTRL_CMD_TIMER_GET_TIME", rm::kGetTime},
      {"NV2080_CTRL_CMD_GR_GET_INFO", rm::kGrGetInfo},
      {"NV2080_CTRL_CMD_GR_GET_GLOBAL_SM_ORDER", rm::kGetSmOrder},
      {"NV2080_CTRL_CMD_FB_GET_INFO_V2", rm::kFbGetInfo},
      {"NV2080_CTRL_CMD_MC_GET_ARCH_INFO", rm::kGetArchitecture},
      {"NV2080_CTRL_CMD_BUS_GET_PCI_INFO", rm::kGetPciInfo},
      {"NV2080_CTRL_CMD_PERF_BOOST", rm::kPerfBoost},
      {"NV2080_CTRL_CMD_CE_GET_CE_PCE_MASK", rm::kGetPceMask},
      {"NV2080_CTRL_CMD_CE_GET_ALL_CAPS", rm::kGetAllCopyCaps},
      {"NVA06C_CTRL_CMD_GPFIFO_SCHEDULE", rm::kScheduleGroup},
      {"NVA06C_CTRL_CMD_SET_TIMESLICE", rm::kSetTimeslice},
      {"NV2080_CTRL_CMD_GR_SET_CTXSW_PREEMPTION_MODE", rm::kSetPreemption},
      {"NV2080_CTRL_SET_CTXSW_PREEMPTION_MODE_COMPUTE_CTA", rm::kBetweenBlocks},
      {"NV2080_CTRL_GR_SET_CTXSW_PREEMPTION_MODE_FLAGS_CILP_SET", rm::kSetCompute},
      {"NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN", rm::kGetSubmitToken},
      {"NV_CONF_COMPUTE_CTRL_CMD_SYSTEM_GET_CAPABILITIES", rm::kConfidentialCapabilities},
      {"NV83DE_CTRL_CMD_DEBUG_READ_ALL_SM_ERROR_STATES", rm::kReadSmErrorStates},
      {"NV83DE_CTRL_CMD_DEBUG_READ_MMU_FAULT_INFO", rm::kReadMmuFaults},
      {"NV0000_CTRL_CMD_SYSTEM_GET_P2P_CAPS_V2", rm::kGetPeerCapabilities},
      {"NV0000_CTRL_CMD_OS_UNIX_GET_EXPORT_OBJECT_INFO", rm::kGetExportInfo},
      {"NV0000_CTRL_CMD_OS_UNIX_EXPORT_OBJECTS_TO_FD", rm::kExportObjects},
      {"NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECT_FROM_FD", rm::kImportObject},
      {"NV2080_CTRL_GR_INFO_INDEX_SM_VERSION", rm::kGrSmVersion},
      {"NV2080_CTRL_GR_INFO_INDEX_MAX_WARPS_PER_SM", rm::kGrWarpsPerSm},
      {"NV2080_CTRL_GR_INFO_INDEX_LITTER_NUM_GPCS", rm::kGrGpcs},
      {"NV2080_CTRL_GR_INFO_INDEX_LITTER_NUM_TPC_PER_GPC", rm::kGrTpcsPerGpc},
      {"NV2080_CTRL_GR_INFO_INDEX_LITTER_NUM_SM_PER_TPC", rm::kGrSmsPerTpc},
      {"NV2080_CTRL_FB_INFO_INDEX_BAR1_SIZE", rm::kFbBar1Size},
      {"NV2080_CTRL_FB_INFO_INDEX_RAM_SIZE", rm::kFbRamSize},
      {"NV2080_CTRL_FB_INFO_INDEX_TOTAL_RAM_SIZE", rm::kFbTotalRam},
      {"NV2080_CTRL_FB_INFO_INDEX_HEAP_SIZE", rm::kFbHeapSize},
      {"NV2080_CTRL_FB_INFO_INDEX_BUS_WIDTH", rm::kFbBusWidth},
      {"NV2080_CTRL_FB_INFO_INDEX_HEAP_FREE", rm::kFbHeapFree},
      {"NV2080_CTRL_FB_INFO_INDEX_L2CACHE_SIZE", rm::kFbL2Size},
      {"NV2080_CTRL_FB_INFO_INDEX_BAR1_AVAIL_SIZE", rm::kFbBar1Free},
      {"NV2080_CTRL_FB_INFO_INDEX_USABLE_RAM_SIZE", rm::kFbUsableRam},
      {"NV2080_ENGINE_TYPE_GRAPHICS", rm::kEngineGraphics},
      {"NV2080_ENGINE_TYPE_COPY0", rm::kEngineCopy0},
      {"NV2080_ENGINE_TYPE_COPY9", rm::kEngineCopy9},
      {"NV2080_ENGINE_TYPE_COPY10", rm::kEngineCopy10},
      {"NV2080_ENGINE_TYPE_COPY19", rm::kEngineCopy19},
      {"UVM_INITIALIZE", uvm::kInitialize},
      {"UVM_REGISTER_GPU_VASPACE", uvm::kRegisterSpace},
      {"UVM_UNREGISTER_GPU_VASPACE", uvm::kUnregisterSpace},
      {"UVM_REGISTER_CHANNEL", uvm::kRegisterChannel},
      {"UVM_UNREGISTER_CHANNEL", uvm::kUnregisterChannel},
      {"UVM_MAP_EXTERNAL_ALLOCATION", uvm::kMapExternal},
      {"UVM_FREE", uvm::kFree},
      {"UVM_REGISTER_GPU", uvm::kRegisterGpu},
      {"UVM_UNREGISTER_GPU", uvm::kUnregisterGpu},
      {"UVM_SET_PREFERRED_LOCATION", uvm::kSetPreferred},
      {"UVM_UNSET_PREFERRED_LOCATION", uvm::kUnsetPreferred},
      {"UVM_ENABLE_READ_DUPLICATION", uvm::kEnableReadDuplication},
      {"UVM_DISABLE_READ_DUPLICATION", uvm::kDisableReadDuplication},
      {"UVM_SET_ACCESSED_BY", uvm::kSetAccessedBy},
      {"UVM_UNSET_ACCESSED_BY", uvm::kUnsetAccessedBy},
      {"UVM_MIGRATE", uvm::kMigrate},
      {"UVM_UNMAP_EXTERNAL", uvm::kUnmapExternal},
      {"UVM_CREATE_EXTERNAL_RANGE", uvm::kCreateRange},
      {"UVM_MAP_EXTERNAL_SPARSE", uvm::kMapSparse},
      {"UVM_MM_INITIALIZE", uvm::kMmInitialize},
      {"UVM_ENABLE_PEER_ACCESS", uvm::kEnablePeers},
  };
  std::map<std::string, unsigned long> ours;
  for (const Number& number : numbers) ours[number.header] = number.ours;
  for (const Layout& row : table()) {
    if (!row.structure.empty()) continue;
    ASSERT_TRUE(ours.count(row.field)) << row.field;
    EXPECT_EQ(ours[row.field], row.at) << row.field << " since " << row.first;
  }
}

// The first row with a class of the GPU's list counts, so that newer ones have to come first.
bool isClassNumber(const Layout& row) {
  const std::regex names(".*_(USERMODE|CHANNEL_GPFIFO|COMPUTE|DMA_COPY)_[A-Z]");
  return row.structure.empty() && std::regex_match(row.field, names);
}

TEST(Generations, ClassesAreAmongTheHeaders) {
  std::set<unsigned long> known;
  for (const Layout& row : table())
    if (isClassNumber(row)) known.insert(row.at);
  for (const Generation& row : kGenerations)
    for (const uint32_t one : {row.usermode, row.channel, row.compute, row.copy})
      EXPECT_TRUE(known.count(one)) << row.name << " has class " << std::hex << one
                                    << ", which driver_layouts.tsv lacks";
}

struct Chip {
  unsigned long usermode = 0, channel = 0, compute = 0, copy = 0;
};
std::map<std::string, Chip> chips() {
  std::map<std::string, Chip> found;
  std::ifstream file(TEST_FOLDER "/chip_classes.tsv");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name;
    Chip chip;
    words >> name >> std::hex >> chip.usermode >> chip.channel >> chip.compute >> chip.copy;
    found[name] = chip;
  }
  return found;
}

// One chip of each generation; the public sources have none of Volta.
TEST(Generations, HaveTheNewestClassesOfTheirChips) {
  const std::map<int, std::string> named = {{75, "TU102"}, {80, "GA100"},  {86, "GA102"},  {89, "AD102"},
                                            {90, "GH100"}, {100, "GB100"}, {103, "GB110"}, {120, "GB202"}};
  const std::map<std::string, Chip> known = chips();
  for (const Generation& row : kGenerations) {
    if (row.computeCapability == 70) continue;
    ASSERT_TRUE(named.count(row.computeCapability)) << row.name << " has no chip here";
    const Chip& chip = known.at(named.at(row.computeCapability));
    EXPECT_EQ(row.usermode, chip.usermode) << row.name;
    EXPECT_EQ(row.channel, chip.channel) << row.name;
    EXPECT_EQ(row.compute, chip.compute) << row.name;
    EXPECT_EQ(row.copy, chip.copy) << row.name;
  }
}

TEST(Generations, RowsAreNewestFirstAndDriveHopperAlone) {
  int last = INT_MAX;
  for (const Generation& row : kGenerations) {
    SCOPED_TRACE(row.name);
    EXPECT_LT(row.computeCapability, last);
    last = row.computeCapability;
    EXPECT_EQ(generationOf(row.computeCapability), &row);
    EXPECT_EQ(row.driven, row.computeCapability == 90);
    EXPECT_TRUE(!row.driven || (row.descriptorVersion && row.driverWords && row.sharedSplitsKiB.back()));
  }
  EXPECT_FALSE(generationOf(35));
  EXPECT_FALSE(isDriven(35));
}

}  // namespace
}  // namespace vg::testing
