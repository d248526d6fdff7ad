#include "gpu/fake_compute.h"

#include <cstring>
#include <ctime>

#include "backend/nvidia/channel/methods.h"

namespace vg::testing {

using namespace backend::nvidia;

namespace {

constexpr uint32_t kException = 13, kMmuFault = 31, kClassError = 69;  // Xid codes

uint64_t join(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }

bool known(uint32_t address) {
  constexpr uint32_t kSingle[] = {compute::kWaitForIdle,         compute::kSendPcasA,
                                  compute::kSendSignalingPcas2B, compute::kInvalidateShaderCaches,
                                  compute::kLocalBytesHigh + 8,  compute::kTextureHeaderVersion,
                                  compute::kSamplerPoolHigh + 8, compute::kTexturePoolHigh + 8};
  constexpr uint32_t kPairs[] = {compute::kSharedWindowHigh, compute::kLocalBytesHigh,  compute::kLocalMemoryHigh,
                                 compute::kLocalWindowHigh,  compute::kSamplerPoolHigh, compute::kTexturePoolHigh};
  if (address >= compute::kReportPayloadLow && address <= compute::kReportExecute) return true;
  for (const uint32_t one : kSingle)
    if (address == one) return true;
  for (const uint32_t pair : kPairs)
    if (address == pair || address == pair + 4) return true;
  return false;
}

}  // namespace

uint64_t fakeTime() {
  constexpr uint64_t kAhead = uint64_t{3} << 40;  // of the host's clock, so that who takes one for the other is seen
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return kAhead + static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

uint32_t FakeCompute::method(uint32_t address, uint32_t value) {
  if (!known(address)) return kClassError;
  methods_[address] = value;
  if (address == compute::kWaitForIdle) return idle() ? 0 : kRunsOn;
  if (address == compute::kReportExecute) return report(value);
  if (address != compute::kSendSignalingPcas2B) return 0;
  const uint64_t descriptor = uint64_t{methods_[compute::kSendPcasA]} << 8;
  if (value == compute::kPrefetch) return translate_(descriptor, Qmd::kBytes, false) ? 0 : kMmuFault;
  if (value != compute::kSchedule) return kClassError;
  running_.push_back(descriptor);
  return 0;
}

// A payload of 64 bits, and the time behind it.
uint32_t FakeCompute::report(uint32_t execute) {
  if (execute != (compute::kRelease | compute::kKeepCaches | compute::kPayload64)) return kClassError;
  const auto word = [&](uint32_t index) { return methods_[compute::kReportPayloadLow + 4 * index]; };
  std::byte* const to = translate_(join(word(3), word(2)), 16, true);
  if (!to) return kMmuFault;
  const uint64_t payload = join(word(1), word(0)), now = fakeTime();
  std::memcpy(to + 8, &now, sizeof now);
  __atomic_store_n(reinterpret_cast<uint64_t*>(to), payload, __ATOMIC_RELEASE);
  return 0;
}

uint32_t FakeCompute::goOn() {
  for (uint64_t& grid : running_)
    if (const uint32_t code = launchAll(grid); code && code != kRunsOn) return code;
  std::erase(running_, 0);
  return 0;
}

// A grid, and those that it and its followers schedule when they are done, up to one that is not over.
uint32_t FakeCompute::launchAll(uint64_t& next) {
  while (next) {
    uint64_t following = 0;
    if (const uint32_t code = launch(next, following)) return code;
    next = following;
  }
  return 0;
}

uint32_t FakeCompute::launch(uint64_t address, uint64_t& following) {
  FakeGrid grid;
  const std::byte* const memory = translate_(address, Qmd::kBytes, false);
  if (!memory) return kMmuFault;
  std::memcpy(grid.descriptor.words().data(), memory, Qmd::kBytes);
  const Qmd& d = grid.descriptor;
  constexpr uint32_t kNothing = 1;
  if (d.get(qmd::kMajorVersion) == 4 && d.get(qmd::kType) == kNothing) {
    const uint32_t code = release(d, 0);
    return code ? code : scheduled(d, following);
  }
  if (const uint32_t code = check(d)) return code;
  const uint64_t bank = join(d.get(qmd::bankAddressHigh(0)), d.get(qmd::bankAddressLow(0))) << 6;
  grid.bank0 = translate_(bank, d.get(qmd::bankSize(0)) * size_t{16}, false);
  grid.program = join(d.get(qmd::kProgramHigh), d.get(qmd::kProgramLow));
  if (!grid.bank0 || !translate_(grid.program, 16, false)) return kMmuFault;
  const uint64_t ahead = join(d.get(qmd::kPrefetchedProgramHigh), d.get(qmd::kPrefetchedProgramLow)) << 8;
  if (const uint32_t size = d.get(qmd::kPrefetchedProgramSize); size && !translate_(ahead, size * size_t{256}, false))
    return kMmuFault;
  if (const uint32_t code = program_ ? program_(grid, translate_) : 0) return code;
  for (unsigned i = 0; i < 2; ++i)
    if (const uint32_t code = release(d, i)) return code;
  return scheduled(d, following);
}

// What a grid that is done schedules.
uint32_t FakeCompute::scheduled(const Qmd& d, uint64_t& following) {
  constexpr uint32_t kScheduleNext = 1;
  if (!d.get(qmd::kNextEnable)) return 0;
  if (d.get(qmd::kNextAction) != kScheduleNext || !d.get(qmd::kNextPointer)) return kException;
  following = uint64_t{d.get(qmd::kNextPointer)} * Qmd::kAlignment;
  return 0;
}

// What the hardware needs of every grid.
uint32_t FakeCompute::check(const Qmd& d) {
  const uint32_t type = d.get(qmd::kType);
  if (d.get(qmd::kMajorVersion) != 4 || (type != 2 && type != 3)) return kException;
  if (!d.get(qmd::kGridWidth) || !d.get(qmd::kGridHeight) || !d.get(qmd::kGridDepth)) return kException;
  const uint64_t threads = uint64_t{d.get(qmd::kBlockWidth)} * d.get(qmd::kBlockHeight) * d.get(qmd::kBlockDepth);
  if (!threads || threads > 1024) return kException;
  if (type == 3 && !(d.get(qmd::kClusterWidth) && d.get(qmd::kClusterHeight) && d.get(qmd::kClusterDepth)))
    return kException;
  if (!d.get(qmd::bankValid(0)) || d.get(qmd::kRegisterCount) > 255) return kException;
  const uint32_t shared = d.get(qmd::kSharedMemorySize), most = (d.get(qmd::kMinSharedConfig) - 1) * 4096;
  if (shared % 128 || !d.get(qmd::kMinSharedConfig) || shared > most) return kException;
  if (!(methods_[compute::kSharedWindowHigh] | methods_[compute::kSharedWindowHigh + 4])) return kException;
  // Local memory of a warp, times the warps of a TPC, must be in the pool.
  const uint64_t local = uint64_t{d.get(qmd::kLocalHighSize)} * 32 * 64 * 2;
  const uint64_t pool = join(methods_[compute::kLocalBytesHigh], methods_[compute::kLocalBytesHigh + 4]);
  return local > pool ? kException : 0;
}

uint32_t FakeCompute::release(const Qmd& d, unsigned index) {
  if (!d.get(qmd::releaseEnable(index))) return 0;
  const uint64_t to = join(d.get(qmd::releaseAddressHigh(index)), d.get(qmd::releaseAddressLow(index)));
  if (d.get(qmd::releaseReduces(index))) return reduce(d, index, to);
  const bool stamped = d.get(qmd::releaseStructure(index)) == 0;
  std::byte* const memory = translate_(to, stamped ? 16 : 8, true);
  if (!memory) return kMmuFault;
  const uint64_t now = fakeTime();
  if (stamped) std::memcpy(memory + 8, &now, sizeof now);
  __atomic_store_n(reinterpret_cast<uint64_t*>(memory),
                   join(d.get(qmd::releasePayloadHigh(index)), d.get(qmd::releasePayloadLow(index))), __ATOMIC_RELEASE);
  return 0;
}

// The one way that the backend knows.
uint32_t FakeCompute::reduce(const Qmd& d, unsigned index, uint64_t to) {
  constexpr uint32_t kAddition = 0, kOneWord = 1;
  if (d.get(qmd::releaseReduction(index)) != kAddition || d.get(qmd::releaseStructure(index)) != kOneWord ||
      d.get(qmd::releasePayload64(index)) || to % 4)
    return kException;
  std::byte* const memory = translate_(to, 4, true);
  if (!memory) return kMmuFault;
  __atomic_fetch_add(reinterpret_cast<uint32_t*>(memory), d.get(qmd::releasePayloadLow(index)), __ATOMIC_RELEASE);
  return 0;
}

}  // namespace vg::testing
