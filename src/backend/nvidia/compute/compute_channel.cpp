#include "backend/nvidia/compute/compute_channel.h"

#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace vg::backend::nvidia {
namespace {

// A slot: descriptor, workspace of a cooperative grid, bank 0.
constexpr size_t kWorkspaceAt = 448, kBankAt = 512, kLine = 64;
constexpr size_t kSlotBytes = (kBankAt + kDriverWords + ComputeChannel::kMostParameters + 511) / 512 * 512;
static_assert(Qmd::kBytes <= kWorkspaceAt && kSlotBytes % Qmd::kAlignment == 0 && Qmd::kBytes % kLine == 0);

uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }
uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }

// Memory of the device that the CPU writes in lines: whole ones, one behind the other, each leave it at once.
void writeLines(std::byte* to, const std::byte* from, size_t bytes) {
#if defined(__x86_64__)
  auto* const words = reinterpret_cast<__m128i*>(to);
  for (size_t i = 0; i < bytes / sizeof(__m128i); ++i)
    _mm_stream_si128(words + i, _mm_load_si128(reinterpret_cast<const __m128i*>(from) + i));
#else
  std::memcpy(to, from, bytes);
#endif
}

// The descriptor, and bank 0 with the parameters behind the driver's words.
void writeSlot(std::byte* slot, uint64_t address, const KernelCode& code, const Grid& grid, const ComputeFacts& facts,
               const GridEnd& end, const std::byte* parameters, size_t bytes) {
  alignas(kLine) std::byte bank[kDriverWords + ComputeChannel::kMostParameters + kLine];
  writeDriverWords(bank, address + kBankAt, code, grid, facts);
  if (bytes) std::memcpy(bank + kDriverWords, parameters, bytes);
  const size_t used = kDriverWords + bytes, whole = (used + kLine - 1) / kLine * kLine;
  std::memset(bank + used, 0, whole - used);
  alignas(kLine) const Qmd descriptor = describe(code, grid, address + kBankAt, end);
  writeLines(slot, reinterpret_cast<const std::byte*>(descriptor.words().data()), Qmd::kBytes);
  writeLines(slot + kBankAt, bank, whole);
}

}  // namespace

Result<std::unique_ptr<ComputeChannel>> ComputeChannel::create(Gpu& gpu, Addresses& addresses, Channel& channel,
                                                               const ComputeFacts& facts) {
  std::unique_ptr<ComputeChannel> made(new ComputeChannel(channel, facts));
  const MemoryRequest request{Where::Video, Channel::kInFlight * kSlotBytes, kHugePage};
  VG_TRY(made->slots_, Block::create(gpu, addresses, request, SeenBy::GpuAndCpu));
  channel.setPatience(UINT64_MAX);
  channel.setMeanwhile(host::Meanwhile::Stay);  // all channels that run grids are of one group
  VG_CHECK(made->bind(gpu.facts().classes.compute));
  return made;
}

CUresult ComputeChannel::bind(uint32_t computeClass) {
  VG_TRY(Push push, channel_.begin());
  push.write(kComputeSubchannel, host::kSetObject, {computeClass});
  push.writeAddress(kComputeSubchannel, compute::kSharedWindowHigh, facts_.sharedWindow);
  push.writeAddress(kComputeSubchannel, compute::kLocalWindowHigh, facts_.localWindow);
  channel_.submit(push);
  return CUDA_SUCCESS;
}

CUresult ComputeChannel::setLocalPool(const LocalPool& pool) {
  VG_TRY(Push push, channel_.begin());
  push.writeAddress(kComputeSubchannel, compute::kLocalMemoryHigh, pool.address);
  push.write(kComputeSubchannel, compute::kLocalBytesHigh,
             {high(pool.bytesPerTpc), low(pool.bytesPerTpc), compute::kAllMultiprocessors});
  channel_.submit(push);
  return CUDA_SUCCESS;
}

CUresult ComputeChannel::setTexturePools(const TexturePools& pools) {
  constexpr uint32_t kVersion = 2 - 1;  // of headers, counted from 0
  facts_.descriptions = pools.descriptions;
  VG_TRY(Push push, channel_.begin());
  push.write(kComputeSubchannel, compute::kTextureHeaderVersion, {kVersion});
  push.write(kComputeSubchannel, compute::kSamplerPoolHigh,
             {high(pools.samplers), low(pools.samplers), pools.samplerCount - 1});
  push.write(kComputeSubchannel, compute::kTexturePoolHigh,
             {high(pools.headers), low(pools.headers), pools.headerCount - 1});
  channel_.submit(push);
  return CUDA_SUCCESS;
}

Result<Submission> ComputeChannel::launch(const Launch& launch) {
  const KernelCode& code = launch.code;
  if (launch.bytes > kMostParameters || code.parameterBase != kDriverWords)
    return fail(CUDA_ERROR_NOT_SUPPORTED, "%u bytes of parameters at %#x of bank 0", launch.bytes, code.parameterBase);
  if (launch.room == Room::Now && !channel_.hasRoom()) return CUDA_ERROR_NOT_READY;
  VG_TRY(Push push, channel_.begin());
  Grid grid = launch.grid;
  const uint64_t number = channel_.submitted() + 1;
  const size_t at = channel_.submitted() % Channel::kInFlight * kSlotBytes;
  std::byte* const slot = slots_->start() + at;
  if (!grid.number) grid.number = number;
  if (launch.cooperative) {
    constexpr uint32_t kFreshWorkspace[4] = {};
    std::memcpy(slot + kWorkspaceAt, kFreshWorkspace, sizeof kFreshWorkspace);
    grid.workspace = slots_->address(at + kWorkspaceAt);
  }
  writeSlot(slot, slots_->address(at), code, grid, facts_,
            {number, channel_.progressAddress(number), channel_.end(number).address}, launch.parameters, launch.bytes);
  channel_.follow(push, launch.after);
  channel_.follow(push, {&channel_, lastGrid_});
  schedule(push, slots_->address(at));
  lastGrid_ = number;
  return Submission{&channel_, channel_.submitReleasing(push)};
}

void ComputeChannel::schedule(Push& push, uint64_t descriptor) {
  if (codeIsNew_)
    push.write(kComputeSubchannel, compute::kInvalidateShaderCaches,
               {compute::kInstructions | compute::kData | compute::kConstants});
  codeIsNew_ = false;
  push.write(kComputeSubchannel, compute::kSendPcasA, {static_cast<uint32_t>(descriptor >> 8)});
  push.write(kComputeSubchannel, compute::kSendSignalingPcas2B, {compute::kInvalidatePrefetchCopySchedule});
}

}  // namespace vg::backend::nvidia
