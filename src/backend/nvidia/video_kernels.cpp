#include "backend/nvidia/video_kernels.h"

#include <cstring>

#include "backend/nvidia/compute/native_code.h"

namespace vg::backend::nvidia {
namespace {

#include "backend/nvidia/compute/transfer_kernels.inc"

constexpr size_t kUnit = 16;
constexpr uint32_t kThreads = 256, kUnitsOfThread = 4;

bool aligned(const std::byte* address) { return reinterpret_cast<uintptr_t>(address) % kUnit == 0; }
size_t wholeUnits(size_t bytes) { return bytes / kUnit * kUnit; }

// The pattern of a fill, repeated to four bytes.
uint32_t wordOf(const copy::Fill& fill) {
  if (fill.elementSize == 1) return (fill.pattern & 0xff) * 0x01010101u;
  return fill.elementSize == 2 ? (fill.pattern & 0xffff) * 0x00010001u : fill.pattern;
}

template <class Parameters>
VideoKernels::Work workOf(const KernelCode& code, const Parameters& parameters, uint32_t bytes, size_t units) {
  VideoKernels::Work work;
  work.code = code;
  constexpr size_t kUnitsOfBlock = size_t{kThreads} * kUnitsOfThread;
  work.grid.threads[0] = kThreads;
  work.grid.blocks[0] = static_cast<uint32_t>((units + kUnitsOfBlock - 1) / kUnitsOfBlock);
  static_assert(sizeof parameters <= sizeof work.parameters);
  std::memcpy(work.parameters.data(), &parameters, sizeof parameters);
  work.bytes = bytes;
  return work;
}

}  // namespace

size_t VideoKernels::partOf(const copy::Shape& s) {
  if (s.tiled()) return 0;
  const size_t slice = s.width * s.height;
  const auto gapless = [&](const copy::Side& side) {
    return (s.height == 1 || side.rowPitch == s.width) && (s.depth == 1 || side.slicePitch == slice);
  };
  if (!gapless(s.source) || !gapless(s.destination)) return 0;
  return aligned(s.source.base) && aligned(s.destination.base) ? wholeUnits(s.bytes()) : 0;
}

size_t VideoKernels::partOf(const copy::Fill& f) {
  if ((f.height > 1 && f.pitch != f.width) || !aligned(f.base)) return 0;
  return wholeUnits(f.width * f.height);
}

Result<ComputeEngine&> VideoKernels::ready() {
  VG_TRY(ComputeEngine & engine, engine_());
  const std::lock_guard guard(making_);
  if (block_) return engine;
  VG_TRY(std::unique_ptr<Block> block,
         Block::create(gpu_, addresses_, {Where::Video, kHugePage, kHugePage}, SeenBy::GpuAndCpu));
  constexpr size_t kFillAt = (sizeof kCopyWords + 127) / 128 * 128;
  std::memcpy(block->start(), kCopyWords, sizeof kCopyWords);
  std::memcpy(block->start() + kFillAt, kFillWords, sizeof kFillWords);
  copy_ = kCopy.at(block->address());
  fill_ = kFill.at(block->address(kFillAt));
  engine.forgetCode();
  block_ = std::move(block);
  return engine;
}

Result<VideoKernels::Work> VideoKernels::work(const copy::Shape& shape, size_t bytes) {
  VG_CHECK(ready());
  const struct {
    std::byte *to, *from;
    uint64_t units;
  } parameters{shape.destination.base, shape.source.base, bytes / kUnit};
  return workOf(copy_, parameters, kCopy.parameterBytes, bytes / kUnit);
}

Result<VideoKernels::Work> VideoKernels::work(const copy::Fill& fill, size_t bytes) {
  VG_CHECK(ready());
  const struct {
    std::byte* to;
    uint64_t units;
    uint32_t word;
  } parameters{fill.base, bytes / kUnit, wordOf(fill)};
  return workOf(fill_, parameters, kFill.parameterBytes, bytes / kUnit);
}

CUresult VideoKernels::run(const Work& work) {
  VG_TRY(ComputeEngine & engine, ready());
  VG_TRY(const ComputeEngine::Sent sent, engine.launchAside(work.code, work.grid, work.parameters.data(), work.bytes));
  return sent.wait();
}

}  // namespace vg::backend::nvidia
