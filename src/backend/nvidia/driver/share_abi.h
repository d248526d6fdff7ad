// What the resource manager and UVM are told to share memory: with other processes by a descriptor of /dev/nvidiactl,
// with other drivers by a dma-buf, with other GPUs. As rm_abi.h; layouts of driver 580.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace vg::backend::nvidia {

namespace rm {

inline constexpr uint32_t kGetPeerCapabilities = 0x12b;  // all on the client
inline constexpr uint32_t kGetExportInfo = 0x3d08, kExportObjects = 0x3d0b, kImportObject = 0x3d06;

// Bytes that travel with a descriptor, which its maker chooses.
inline constexpr size_t kExportNoteBytes = 64;

// The first call for a descriptor says how many objects it may ever hold, and its note.
struct ExportObjects {
  int32_t descriptor;
  uint32_t device;
  uint16_t mostObjects;
  uint8_t note[kExportNoteBytes], pad[2];
  uint32_t objects[512];
  uint16_t count, first;
};
static_assert(sizeof(ExportObjects) == 2128 && offsetof(ExportObjects, objects) == 76);

struct ImportObject {  // the first object of a descriptor
  int32_t descriptor;
  uint32_t type, device, parent, object;  // object: the wanted handle
};
static_assert(sizeof(ImportObject) == 20);
inline constexpr uint32_t kObjectOfManager = 1;  // type

struct ExportInfo {
  int32_t descriptor;
  uint32_t deviceInstance, gpuInstance;  // no gpuInstance in driver 535: the note is earlier (abi.h)
  uint16_t mostObjects;
  uint8_t note[kExportNoteBytes], pad[2];
};
static_assert(sizeof(ExportInfo) == 80 && offsetof(ExportInfo, note) == 14);

struct PeerCapabilities {  // shorter before driver 550, by the last array (abi.h)
  uint32_t gpuIds[32], count, capabilities, readEngines, writeEngines;
  uint8_t statuses[9], pad[3];
  uint32_t busPeers[32 * 32], busEgmPeers[32 * 32];
};
static_assert(sizeof(PeerCapabilities) == 8348);
inline constexpr uint32_t kPeersRead = 1, kPeersWrite = 2, kPeersNvlink = 8;  // capabilities

// NV_ESC_EXPORT_TO_DMABUF_FD, on the GPU's file.
struct DmaBufCall {
  static constexpr uint32_t kMost = 128;
  int32_t descriptor;  // -1: a new one
  uint32_t client, totalObjects, count, first, pad0;
  uint64_t totalBytes;
  uint8_t mappingType, allowMmap, pad1[2];
  uint32_t objects[kMost], pad2;
  uint64_t offsets[kMost], bytes[kMost];
  uint32_t status, pad3;
};
static_assert(sizeof(DmaBufCall) == 2608 && offsetof(DmaBufCall, offsets) == 552);

}  // namespace rm

namespace uvm {

inline constexpr unsigned long kEnablePeers = 29;

struct Peers {
  CUuuid one, other;
  uint32_t status;
};
static_assert(sizeof(Peers) == 36);

}  // namespace uvm
}  // namespace vg::backend::nvidia
