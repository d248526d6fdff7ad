// What a GPU says of itself: plain data, asked once.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backend/nvidia/driver/client.h"

namespace vg::backend::nvidia {

struct CopyEngine {
  uint32_t type;  // as in the list of engines
  uint8_t caps[2];
  uint32_t physical;  // engines that work behind this one: how fast it is inside video memory. 0: unknown
  bool sharesGraphics() const { return caps[0] & rm::kCopyGraphics; }
};

// The newest class that the GPU has of each kind; 0: none that we know.
struct GpuClasses {
  uint32_t usermode = 0, channel = 0, compute = 0, copy = 0;
};

struct GpuFacts {
  std::string name;
  CUuuid uuid{};
  int computeCapability = 0;  // 10 * major + minor
  uint32_t multiprocessors = 0, warpsPerMultiprocessor = 0;
  uint32_t gpcs = 0, tpcsPerGpc = 0, multiprocessorsPerTpc = 0;  // most that this kind of chip can have
  // The pairs of multiprocessors in the order in which the GPU is divided, each by its bit in a grid's mask; empty
  // where that is not known. And how many multiprocessors lie together, GPC by GPC.
  std::vector<uint16_t> tpcs;
  std::vector<uint32_t> together;
  uint64_t totalMemory = 0;  // bytes
  uint64_t heapMemory = 0;   // of them, what the driver hands out
  uint64_t barBytes = 0;
  uint32_t busWidth = 0, l2Bytes = 0;
  uint32_t architecture = 0;
  uint32_t pciDevice = 0, pciSubsystem = 0;  // number << 16 | vendor
  GpuClasses classes;
  std::vector<uint32_t> allClasses, allEngines;  // as the driver lists them
  std::vector<CopyEngine> copyEngines;
};

Result<CUuuid> askUuid(Client& client, rm::Handle subdevice);
// All else; `uuid` is the answer of askUuid().
Result<GpuFacts> askFacts(Client& client, rm::Handle device, rm::Handle subdevice, const CUuuid& uuid);
// Bytes; changes with every allocation of anybody.
Result<uint64_t> askFreeMemory(Client& client, rm::Handle subdevice);
// Nanoseconds of the clock that timestamps of semaphores come from.
Result<uint64_t> askTime(Client& client, rm::Handle subdevice);

}  // namespace vg::backend::nvidia
