#include "backend/nvidia/traits.h"

#include <algorithm>
#include <iterator>

#include "backend/nvidia/driver/generation.h"

namespace vg::backend::nvidia {
namespace {

void set(Traits& traits, CUdevice_attribute which, uint64_t value) {
  traits.attributes[which] = static_cast<int>(value);
  traits.known[which] = true;
}

// One copy engine counts for each direction that has its own, and one for copies inside the device.
uint64_t asyncEngines(const GpuFacts& facts) {
  const auto own = std::count_if(facts.copyEngines.begin(), facts.copyEngines.end(),
                                 [](const CopyEngine& engine) { return !engine.sharesGraphics(); });
  return static_cast<uint64_t>(std::min<ptrdiff_t>(own, 3));
}

// What applications may have: less than the driver hands out, because channels and their contexts need some.
uint64_t memoryFor(const GpuFacts& facts) {
  constexpr uint64_t kGranule = 2 << 20, kOwn = uint64_t{128} << 20, kDriver = uint64_t{256} << 20;
  uint64_t most = facts.totalMemory - std::min(kDriver, facts.totalMemory / 8);
  if (facts.heapMemory) most = std::min(most, facts.heapMemory);
  return (most - std::min(kOwn, most / 8)) / kGranule * kGranule;
}

// The clock of the memory in kHz, which the kernel driver does not tell, as NVIDIA's driver reported it for each board.
uint64_t memoryClockOf(const GpuFacts& facts) {
  constexpr struct {
    uint16_t device;
    uint32_t clock;
  } kBoards[] = {{0x2330, 2'619'000}, {0x2335, 3'201'000}};  // H100 SXM, H200
  const auto* const board = std::find_if(std::begin(kBoards), std::end(kBoards),
                                         [&](const auto& each) { return each.device == facts.pciDevice >> 16; });
  return board == std::end(kBoards) ? kBoards[0].clock : board->clock;
}

}  // namespace

// The attributes of Hopper are those of an H200, but for what differs from one board to the next.
Result<Traits> traitsOf(const Gpu& gpu) {
  const GpuFacts& facts = gpu.facts();
  const Generation* const generation = generationOf(facts.computeCapability);
  if (!generation || !generation->driven) {
    return fail(
        CUDA_ERROR_NOT_SUPPORTED,
        "%s: devices of compute capability %d.%d (%s) are not known here yet; of real GPUs this library drives %s",
        facts.name.c_str(), facts.computeCapability / 10, facts.computeCapability % 10,
        generation ? generation->name : "a generation without a row", kHopper.name);
  }
  Traits traits;
#define VG_ATTRIBUTE(name, value) set(traits, CU_DEVICE_ATTRIBUTE_##name, value);
#include "backend/attributes_h200.inc"
#undef VG_ATTRIBUTE
  traits.name = facts.name;
  traits.uuid = facts.uuid;
  traits.totalMemory = memoryFor(facts);
  traits.computeCapability = facts.computeCapability;
  traits.nativeCode = true;
  traits.blockLinearArrays = true;
  traits.clusterGroups = facts.together;
  set(traits, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, facts.computeCapability / 10);
  set(traits, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, facts.computeCapability % 10);
  set(traits, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, facts.multiprocessors);
  set(traits, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, facts.l2Bytes);
  set(traits, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, uint64_t{facts.l2Bytes} * 5 / 8);
  set(traits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, facts.busWidth);
  set(traits, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, memoryClockOf(facts));
  set(traits, CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID, facts.pciDevice);
  set(traits, CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID, facts.pciSubsystem);
  set(traits, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, asyncEngines(facts));
  set(traits, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, gpu.card().domain);
  set(traits, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, gpu.card().bus);
  set(traits, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, gpu.card().slot);
  return traits;
}

}  // namespace vg::backend::nvidia
