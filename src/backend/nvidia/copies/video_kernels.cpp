#include "backend/nvidia/copies/video_kernels.h"

#include <algorithm>
#include <cstring>

#include "backend/nvidia/compute/native_code.h"

namespace vg::backend::nvidia {
namespace {

#include "backend/nvidia/compute/transfer_kernels.inc"

constexpr size_t kUnit = 16;
constexpr uint32_t kThreads = 256, kMostBlocks = 65535;  // in y and z
constexpr uint32_t kUnitsOfFill = 4;                     // a thread's, below each other or, in one row, side by side

// The pattern of a fill, repeated to four bytes.
uint32_t wordOf(const copy::Fill& fill) {
  if (fill.elementSize == 1) return (fill.pattern & 0xff) * 0x01010101u;
  return fill.elementSize == 2 ? (fill.pattern & 0xffff) * 0x00010001u : fill.pattern;
}

// Rows that follow each other without gaps are one.
copy::Shape joined(copy::Shape s) {
  const auto follow = [&](size_t copy::Side::*pitch, size_t bytes) {
    return s.source.*pitch == bytes && s.destination.*pitch == bytes;
  };
  if (s.height == 1 || follow(&copy::Side::rowPitch, s.width)) {
    s.width *= s.height;
    s.height = 1;
    if (s.depth == 1 || follow(&copy::Side::slicePitch, s.width)) {
      s.width *= s.depth;
      s.depth = 1;
    }
  }
  return s;
}

copy::Fill joined(copy::Fill f) {
  if (f.height == 1 || f.pitch == f.width) {
    f.width *= f.height;
    f.height = 1;
  }
  return f;
}

bool isAtUnit(const std::byte* address) { return reinterpret_cast<uintptr_t>(address) % kUnit == 0; }

// The most units that one of the rows lies in.
size_t unitsOf(const std::byte* base, size_t width, bool alike) {
  const size_t head = alike ? reinterpret_cast<uintptr_t>(base) % kUnit : kUnit - 1;
  return (head + width + kUnit - 1) / kUnit;
}

// The widest blocks that leave few threads without a unit: what a warp touches in one row is in fewer lines.
uint32_t widthOf(size_t units) {
  constexpr size_t kFew = 8;  // one in so many
  uint32_t width = kThreads;
  const auto idle = [&] { return (units + width - 1) / width * width - units; };
  while (idle() * kFew > units) width /= 2;
  return width;
}

// A thread has a unit of so many rows.
Grid gridOf(size_t units, size_t rows, size_t slices, uint32_t rowsOfThread) {
  Grid grid;
  grid.threads[0] = rows == 1 ? kThreads : widthOf(units);
  grid.threads[1] = kThreads / grid.threads[0];
  grid.blocks[0] = static_cast<uint32_t>((units + grid.threads[0] - 1) / grid.threads[0]);
  const size_t rowsOfBlock = size_t{grid.threads[1]} * rowsOfThread;
  const size_t inY = (rows + rowsOfBlock - 1) / rowsOfBlock;
  grid.blocks[1] = static_cast<uint32_t>(std::min<size_t>(inY, kMostBlocks));
  grid.blocks[2] = static_cast<uint32_t>(std::min<size_t>(slices, kMostBlocks));
  return grid;
}

template <class Parameters>
VideoKernels::Work workOf(const KernelCode& code, const Grid& grid, const Parameters& parameters, uint32_t bytes) {
  VideoKernels::Work work{code, grid, {}, bytes};
  static_assert(sizeof parameters <= sizeof work.parameters);
  std::memcpy(work.parameters.data(), &parameters, sizeof parameters);
  return work;
}

}  // namespace

// A kernel counts rows and slices, and the rows it leaps over, in 32 bits.
bool VideoKernels::can(const copy::Shape& shape) {
  constexpr size_t kMost = size_t{1} << 30;
  return !shape.tiled() && shape.height <= kMost && shape.depth <= kMost;
}

bool VideoKernels::can(const copy::Fill& fill) {
  constexpr size_t kMost = size_t{1} << 30;
  const bool aligned = reinterpret_cast<uintptr_t>(fill.base) % fill.elementSize == 0;
  return aligned && (fill.height == 1 || fill.pitch % fill.elementSize == 0) && fill.height <= kMost;
}

Result<ComputeEngine&> VideoKernels::ready() {
  VG_TRY(ComputeEngine & engine, engine_());
  const MutexLock guard(making_);
  if (block_) return engine;
  VG_TRY(std::unique_ptr<Block> block,
         Block::create(gpu_, addresses_, {Where::Video, kHugePage, kHugePage}, SeenBy::GpuAndCpu));
  size_t end = 0;
  const auto place = [&](const NativeCode& code) {
    const size_t at = (end + 127) / 128 * 128;
    std::memcpy(block->start() + at, code.words, code.bytes);
    end = at + code.bytes;
    return code.at(block->address(at));
  };
  copy_ = place(kCopyBox);
  copyRow_ = place(kCopyRow);
  fillBox_ = place(kFillBox);
  fillRow_ = place(kFillRow);
  engine.forgetCode();
  block_ = std::move(block);
  return engine;
}

Result<VideoKernels::Work> VideoKernels::work(const copy::Shape& shape) {
  VG_CHECK(ready());
  const copy::Shape s = joined(shape);
  const copy::Side &to = s.destination, &from = s.source;
  if (s.height == 1 && s.depth == 1 && isAtUnit(to.base) && isAtUnit(from.base)) return rowWork(s);
  const struct {
    std::byte *to, *from;
    uint64_t toPitch, fromPitch, toSlice, fromSlice, width;
    uint32_t height, depth;
  } parameters{to.base,         from.base, to.rowPitch,        from.rowPitch,    to.slicePitch,
               from.slicePitch, s.width,   uint32_t(s.height), uint32_t(s.depth)};
  const bool alike = (s.height == 1 || to.rowPitch % kUnit == 0) && (s.depth == 1 || to.slicePitch % kUnit == 0);
  return workOf(copy_, gridOf(unitsOf(to.base, s.width, alike), s.height, s.depth, 1), parameters,
                kCopyBox.parameterBytes);
}

// Requires: ready() succeeded.
VideoKernels::Work VideoKernels::rowWork(const copy::Shape& row) const {
  const struct {
    std::byte *to, *from;
    uint64_t units;
    uint32_t rest;
  } parameters{row.destination.base, row.source.base, row.width / kUnit, uint32_t(row.width % kUnit)};
  Grid grid;
  grid.threads[0] = kThreads;
  grid.blocks[0] = static_cast<uint32_t>(parameters.units / kThreads + 1);  // one thread has the rest
  return workOf(copyRow_, grid, parameters, kCopyRow.parameterBytes);
}

Result<VideoKernels::Work> VideoKernels::work(const copy::Fill& fill) {
  VG_CHECK(ready());
  const copy::Fill f = joined(fill);
  if (f.height == 1) {
    const struct {
      std::byte* to;
      uint64_t width;
      uint32_t word;
    } parameters{f.base, f.width, wordOf(f)};
    Grid grid;
    grid.threads[0] = kThreads;
    constexpr size_t kUnitsOfBlock = size_t{kThreads} * kUnitsOfFill;
    grid.blocks[0] = static_cast<uint32_t>((unitsOf(f.base, f.width, true) + kUnitsOfBlock - 1) / kUnitsOfBlock);
    return workOf(fillRow_, grid, parameters, kFillRow.parameterBytes);
  }
  const struct {
    std::byte* to;
    uint64_t pitch, width;
    uint32_t height, word, rowsOfThread;
  } parameters{f.base, f.pitch, f.width, uint32_t(f.height), wordOf(f), kUnitsOfFill};
  const Grid grid = gridOf(unitsOf(f.base, f.width, f.pitch % kUnit == 0), f.height, 1, kUnitsOfFill);
  return workOf(fillBox_, grid, parameters, kFillBox.parameterBytes);
}

CUresult VideoKernels::run(const Work& work) {
  VG_TRY(ComputeEngine & engine, ready());
  VG_TRY(const Submission sent, engine.launchAside({work.code, work.grid, work.parameters.data(), work.bytes}));
  return sent.wait();
}

}  // namespace vg::backend::nvidia
