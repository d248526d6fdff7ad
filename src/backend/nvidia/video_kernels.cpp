#include "backend/nvidia/video_kernels.h"

#include <cstring>

#include "backend/nvidia/compute/native_code.h"

namespace vg::backend::nvidia {
namespace {

#include "backend/nvidia/compute/transfer_kernels.inc"

constexpr size_t kUnit = 16;
constexpr size_t kWorthIt = size_t{1} << 20;  // bytes from which a kernel beats a copy engine
constexpr uint32_t kThreads = 256, kUnitsOfThread = 4;

bool aligned(const std::byte* address) { return reinterpret_cast<uintptr_t>(address) % kUnit == 0; }
size_t wholeUnits(size_t bytes) { return bytes < kWorthIt ? 0 : bytes / kUnit * kUnit; }

}  // namespace

size_t VideoKernels::partOf(const copy::Shape& s) {
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

uint32_t wordOf(const copy::Fill& fill) {
  if (fill.elementSize == 1) return (fill.pattern & 0xff) * 0x01010101u;
  return fill.elementSize == 2 ? (fill.pattern & 0xffff) * 0x00010001u : fill.pattern;
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

template <class Parameters>
CUresult VideoKernels::run(KernelCode VideoKernels::*code, const Parameters& parameters, uint32_t bytes, size_t units) {
  VG_TRY(ComputeEngine & engine, ready());
  Grid grid;
  constexpr size_t kUnitsOfBlock = size_t{kThreads} * kUnitsOfThread;
  grid.threads[0] = kThreads;
  grid.blocks[0] = static_cast<uint32_t>((units + kUnitsOfBlock - 1) / kUnitsOfBlock);
  VG_TRY(const ComputeEngine::Sent sent,
         engine.launchAside(this->*code, grid, reinterpret_cast<const std::byte*>(&parameters), bytes));
  return sent.wait();
}

CUresult VideoKernels::copy(std::byte* to, const std::byte* from, size_t bytes) {
  const struct {
    std::byte* to;
    const std::byte* from;
    uint64_t units;
  } parameters{to, from, bytes / kUnit};
  return run(&VideoKernels::copy_, parameters, sizeof parameters, bytes / kUnit);
}

CUresult VideoKernels::fill(std::byte* to, size_t bytes, uint32_t word) {
  const struct {
    std::byte* to;
    uint64_t units;
    uint32_t word;
  } parameters{to, bytes / kUnit, word};
  return run(&VideoKernels::fill_, parameters, kFill.parameterBytes, bytes / kUnit);
}

}  // namespace vg::backend::nvidia
