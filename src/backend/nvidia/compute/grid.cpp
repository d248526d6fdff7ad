#include "backend/nvidia/compute/grid.h"

#include <algorithm>
#include <cstring>

#include "base/round.h"

namespace vg::backend::nvidia {
namespace {

constexpr uint32_t kReservedShared = 0x400;
constexpr uint32_t kMostPrefetched = 63;  // of bank 0, 256 bytes each
constexpr uint32_t kSharedUnit = 128;

uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }
uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }

uint32_t encoded(uint32_t sharedBytes) { return sharedBytes / 4096 + 1; }

// A float whose product with a block's index is exact enough to be cut to the cluster's index.
uint32_t reciprocal(uint32_t value) {
  const float f = 1.0f / static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof bits);
  return bits;
}

class Words {
 public:
  explicit Words(std::byte* bank) : bank_(bank) {}
  void put(size_t at, uint32_t value) { std::memcpy(bank_ + at, &value, sizeof value); }
  void put64(size_t at, uint64_t value) { std::memcpy(bank_ + at, &value, sizeof value); }
  void put3(size_t at, const uint32_t (&values)[3]) { std::memcpy(bank_ + at, values, sizeof values); }

 private:
  std::byte* const bank_;
};

void setBank(Qmd& descriptor, unsigned bank, uint64_t address, uint32_t bytes, bool invalidates) {
  descriptor.set(qmd::bankValid(bank), 1);
  descriptor.set(qmd::bankInvalidate(bank), invalidates);
  descriptor.set(qmd::bankAddressLow(bank), static_cast<uint32_t>(address >> 6));
  descriptor.set(qmd::bankAddressHigh(bank), static_cast<uint32_t>(address >> 38));
  descriptor.set(qmd::bankSize(bank), (bytes + 15) / 16);
}

void setShared(Qmd& descriptor, const Generation& generation, const KernelCode& code, const Grid& grid) {
  const uint32_t bytes = roundUp(code.sharedBytes + grid.dynamicShared, kSharedUnit);
  const uint32_t most = generation.sharedSplitsKiB.back() * 1024;
  descriptor.set(qmd::kSharedMemorySize, bytes);
  descriptor.set(qmd::kMinSharedConfig, encoded(sharedConfigFor(generation, bytes)));
  descriptor.set(qmd::kMaxSharedConfig, encoded(most));
  descriptor.set(qmd::kTargetSharedConfig,
                 encoded(sharedConfigFor(generation, std::clamp(grid.sharedPreferred, bytes, most))));
}

// All that the caches may hold may have changed; code has not, but after a load (ComputeChannel).
void setInvalidations(Qmd& descriptor, bool ofConstants) {
  for (const Qmd::Field field : {qmd::kInvalidateTextureHeader, qmd::kInvalidateTextureSampler,
                                 qmd::kInvalidateTextureData, qmd::kInvalidateShaderData})
    descriptor.set(field, 1);
  descriptor.set(qmd::kInvalidateShaderConstant, ofConstants);
}

// Without a barrier of its own: kMembarType has made all that the grid wrote visible by then.
void setRelease(Qmd& descriptor, unsigned index, uint64_t address, uint64_t payload, bool timestamp) {
  descriptor.set(qmd::releaseEnable(index), 1);
  descriptor.set(qmd::releaseStructure(index), timestamp ? 0 : 2);
  descriptor.set(qmd::releasePayload64(index), 1);
  descriptor.set(qmd::releaseAddressLow(index), low(address));
  descriptor.set(qmd::releaseAddressHigh(index), high(address));
  descriptor.set(qmd::releasePayloadLow(index), low(payload));
  descriptor.set(qmd::releasePayloadHigh(index), high(payload));
}

void setCounting(Qmd& descriptor, unsigned index, uint64_t address) {
  setRelease(descriptor, index, address, 1, false);
  descriptor.set(qmd::releaseStructure(index), 1);
  descriptor.set(qmd::releasePayload64(index), 0);
  descriptor.set(qmd::releaseReduces(index), 1);
}

// The first of the next descriptors is scheduled when the grid is done, or its blocks allow it.
void setLatches(Qmd& descriptor, const GridEnd& end) {
  if (end.latch) {
    descriptor.set(qmd::kBlocksAllowNext, 1);
    descriptor.set(qmd::kArrivesAtLatch, 1);
    descriptor.set(qmd::kLatchOfArrival, end.latch);
  }
  if (!end.waitsFor) return;
  descriptor.set(qmd::kWaitsForLatch, 1);
  descriptor.set(qmd::kLatchInvalidatesData, 1);
  descriptor.set(qmd::kLatchInvalidatesTextures, 1);
  descriptor.set(qmd::kLatchOfWait, end.waitsFor);
}

void setNext(Qmd& descriptor, uint64_t next) {
  constexpr uint32_t kSchedule = 1;
  descriptor.set(qmd::kNextEnable, 1);
  descriptor.set(qmd::kNextAction, kSchedule);
  descriptor.set(qmd::kNextPrefetch, 1);
  descriptor.set(qmd::kNextPointer, static_cast<uint32_t>(next / Qmd::kAlignment));
}

// A grid of clusters is counted in clusters.
void setGrid(Qmd& descriptor, const Grid& grid) {
  constexpr uint32_t kBlocks = 2, kClusters = 3;
  const auto size = [&](int axis) { return grid.blocks[axis] / (grid.clusters ? grid.cluster[axis] : 1); };
  descriptor.set(qmd::kType, grid.clusters ? kClusters : kBlocks);
  descriptor.set(qmd::kGridWidth, size(0));
  descriptor.set(qmd::kGridHeight, size(1));
  descriptor.set(qmd::kGridDepth, size(2));
  if (!grid.clusters) return;
  descriptor.set(qmd::kClusterWidth, grid.cluster[0]);
  descriptor.set(qmd::kClusterHeight, grid.cluster[1]);
  descriptor.set(qmd::kClusterDepth, grid.cluster[2]);
}

// What a kernel of many instructions loses otherwise: each multiprocessor fetches them one line after the other when
// others have run since.
void setProgram(Qmd& descriptor, const KernelCode& code) {
  constexpr uint64_t kUnit = 256, kMost = 511;
  descriptor.set(qmd::kProgramLow, low(code.program));
  descriptor.set(qmd::kProgramHigh, high(code.program));
  if (!code.programBytes) return;
  const uint64_t first = code.program / kUnit, last = (code.program + code.programBytes - 1) / kUnit;
  descriptor.set(qmd::kPrefetchedProgramLow, low(first));
  descriptor.set(qmd::kPrefetchedProgramHigh, high(first));
  descriptor.set(qmd::kPrefetchedProgramSize, static_cast<uint32_t>(std::min(last - first + 1, kMost)));
}

void setPlaces(Qmd& descriptor, const Grid& grid) {
  if (grid.disabledTpcs == std::array<uint32_t, 4>{}) return;
  descriptor.set(qmd::kTpcMaskValid, 1);
  for (unsigned word = 0; word < grid.disabledTpcs.size(); ++word)
    descriptor.set(qmd::tpcDisabled(word), grid.disabledTpcs[word]);
}

}  // namespace

uint32_t sharedConfigFor(const Generation& generation, uint32_t bytes) {
  for (const uint32_t split : generation.sharedSplitsKiB)
    if (bytes <= split * 1024) return split * 1024;
  return 0;
}

// Offsets as ptxas compiles special registers for sm_90, and as a kernel finds them in front of its parameters under
// the vendor's driver: hand-written kernels of its libraries read some that no compiler uses.
void writeDriverWords(std::byte* bank, uint64_t bank0, const KernelCode& code, const Grid& grid,
                      const ComputeFacts& facts) {
  std::memset(bank, 0, kDriverWords);
  Words words(bank);
  words.put3(0x00, grid.threads);
  words.put3(0x0c, grid.blocks);
  words.put64(0x18, facts.sharedWindow);
  words.put64(0x20, facts.localWindow);
  words.put(0x28, static_cast<uint32_t>(kLocalWindowBytes) - kLocalReserve);  // the stack pointer
  words.put(0x2c, grid.dynamicShared);
  words.put64(0x30, grid.number);
  words.put(0x44, static_cast<uint32_t>(grid.workspace >> 32));  // envreg1
  words.put(0x48, static_cast<uint32_t>(grid.workspace));        // envreg2
  words.put(0x68, kReservedShared);
  words.put64(0xf0, facts.descriptions);     // of textures
  words.put64(0x100, facts.descriptions);    // of surfaces
  words.put64(0xd0, code.banks[3].address);  // where generic addresses of __constant__ variables begin
  words.put64(0xc0, bank0);                  // where those kernels look for their tensor maps
  words.put(0x10c, facts.multiprocessors);
  words.put(0x110, grid.workspace != 0);
  words.put(0x114, std::min(kReservedShared, code.sharedBytes));
  words.put(0x13c, code.sharedBytes + grid.dynamicShared);
  words.put(0x140, grid.clusters);  // %is_explicit_cluster: without it, barriers of a cluster wait for nobody
  words.put3(0x144, grid.cluster);
  for (size_t i = 0; i < 3; ++i) {
    words.put(0x150 + 4 * i, reciprocal(grid.cluster[i]));
    words.put(0x15c + 4 * i, grid.blocks[i] / grid.cluster[i]);
  }
  words.put(0x16c, static_cast<uint32_t>(kLocalWindowBytes));
  words.put64(0x170, facts.sharedWindow);
  words.put(0x188, grid.cluster[0] * grid.cluster[1] * grid.cluster[2]);
  words.put64(0x190, grid.graph);
  words.put64(0x198, bank0 + code.parameterBase);  // for kernels that take a parameter's address
  words.put64(0x1a0, bank0 + code.bank0Bytes);
}

Qmd describeGoAhead(const Generation& generation, uint64_t address, uint64_t number) {
  constexpr uint32_t kNothing = 1, kFewRegisters = 16;
  Qmd d;
  d.set(qmd::kMajorVersion, generation.descriptorVersion);
  d.set(qmd::kApiVisibleCallLimit, 1);
  d.set(qmd::kSamplerIndex, 1);
  d.set(qmd::kType, kNothing);
  for (const Qmd::Field size : {qmd::kBlockWidth, qmd::kBlockHeight, qmd::kBlockDepth}) d.set(size, 1);
  d.set(qmd::kRegisterCount, kFewRegisters);
  KernelCode code;
  code.sharedBytes = kReservedShared;
  setShared(d, generation, code, {});
  setRelease(d, 0, address, number, false);
  return d;
}

Qmd describeStamp(const Generation& generation, uint64_t address, uint64_t number, uint64_t next) {
  Qmd d = describeGoAhead(generation, address, number);
  setRelease(d, 0, address, number, true);
  setNext(d, next);
  return d;
}

Qmd describe(const Generation& generation, const KernelCode& code, const Grid& grid, uint64_t bank0,
             const GridEnd& end) {
  Qmd d;
  d.set(qmd::kMajorVersion, generation.descriptorVersion);
  d.set(qmd::kApiVisibleCallLimit, 1);  // no check
  d.set(qmd::kSamplerIndex, !grid.samplersApart);
  d.set(qmd::kGroup, Grid::kUrgencies - 1 - std::min(grid.urgency, Grid::kUrgencies - 1));
  setGrid(d, grid);
  setPlaces(d, grid);
  setInvalidations(d, !end.keepsConstants);
  setShared(d, generation, code, grid);
  d.set(qmd::kLocalHighSize, code.localBytes ? roundUp(code.localBytes + kLocalReserve, 16) : 0);
  d.set(qmd::kBlockWidth, grid.threads[0]);
  d.set(qmd::kBlockHeight, grid.threads[1]);
  d.set(qmd::kBlockDepth, grid.threads[2]);
  d.set(qmd::kMembarType, 1);  // results are visible to the CPU when the grid is done
  d.set(qmd::kRegisterCount, code.registers);
  d.set(qmd::kBarrierCount, code.barriers);
  setProgram(d, code);
  if (end.device) setRelease(d, 0, end.device, end.number, false);  // first, because the next grid waits for it
  if (end.count) setCounting(d, 0, end.count);
  if (end.host) setRelease(d, 1, end.host, end.number, true);
  if (end.next) setNext(d, end.next);
  setLatches(d, end);
  setBank(d, 0, bank0, code.bank0Bytes, !end.keepsConstants);
  d.set(qmd::bankPrefetch(0), 1);
  d.set(qmd::kPrefetchedBytes, std::min((code.bank0Bytes + 255) / 256, kMostPrefetched));
  for (unsigned bank = 1; bank < Qmd::kBanks; ++bank)
    if (code.banks[bank].bytes) setBank(d, bank, code.banks[bank].address, code.banks[bank].bytes, !end.keepsConstants);
  return d;
}

}  // namespace vg::backend::nvidia
