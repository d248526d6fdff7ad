#include "backend/nvidia/channel/copy_methods.h"

#include <algorithm>

namespace vg::backend::nvidia {
namespace {

constexpr size_t kLaunchWords = 40;              // the most that one launch takes
constexpr size_t kFillWords = 4;                 // the constant and its form
constexpr size_t kMostInLine = size_t{1} << 30;  // bytes; the field has 32 bits
constexpr size_t kMostRows = size_t{1} << 24;
constexpr size_t kMostPitch = (size_t{1} << 31) - 1;
constexpr uint32_t kPitchBoth = ce::kSourcePitch | ce::kDestinationPitch;

uint64_t addressOf(const std::byte* pointer) { return reinterpret_cast<uint64_t>(pointer); }
uint32_t low(size_t value) { return static_cast<uint32_t>(value); }

// Which box of block-linear memory a side is.
struct TiledMethods {
  uint32_t block, origin;
};
constexpr TiledMethods kTiledSource{ce::kSourceBlock, ce::kSourceOrigin};
constexpr TiledMethods kTiledDestination{ce::kDestinationBlock, ce::kDestinationOrigin};

// The address of a side, after its tiling where it has one.
uint64_t place(Push& push, const copy::Side& side, const TiledMethods& methods) {
  if (!side.tiling) return addressOf(side.base);
  const copy::Tiling& t = *side.tiling;
  const bool box = !t.layerPitch;
  push.write(
      kCopySubchannel, methods.block,
      {ce::blockOf(t.blockRows, t.blockSlices), t.rowBytes, t.rows, box ? t.slices : 1, box ? low(side.slice()) : 0});
  push.write(kCopySubchannel, methods.origin, {low(side.x()), low(side.row())});
  return addressOf(side.base) + (box ? 0 : side.slice() * t.layerPitch);
}

uint32_t pitchOf(const copy::Side& side) { return side.tiling ? 0 : low(side.rowPitch); }

void writeSemaphore(Push& push, const host::Semaphore& semaphore) {
  push.writeAddress(kCopySubchannel, ce::kSemaphoreHigh, semaphore.address);
  push.write(kCopySubchannel, ce::kPayloadLow, {low(semaphore.payload), low(semaphore.payload >> 32)});
}

// What a launch does besides: all that it wrote is visible when the semaphore is released. `end` may be null.
uint32_t ending(Push& push, const CopyEnd* end) {
  if (!end) return ce::kFlush;
  writeSemaphore(push, end->semaphore);
  return ce::kFlush | ce::kSemaphore64 | (end->timestamp ? ce::kReleaseTimestamp : ce::kReleaseOneWord);
}

void release(Push& push, const CopyEnd& end) {
  const uint32_t how = ending(push, &end);
  push.write(kCopySubchannel, ce::kLaunch, {ce::kNoTransfer | how});
}

// A box without gaps is one long row.
void straighten(copy::Shape& s) {
  if (s.tiled()) return;
  if (s.height > 1 && (s.source.rowPitch != s.width || s.destination.rowPitch != s.width)) return;
  const size_t slice = s.width * s.height;
  if (s.depth > 1 && (s.source.slicePitch != slice || s.destination.slicePitch != slice)) return;
  s.width = slice * s.depth;
  s.height = s.depth = 1;
}

size_t rowsAtOnce(size_t width, size_t pitch) { return width > kMostInLine || pitch > kMostPitch ? 1 : kMostRows; }

}  // namespace

CopyPieces::CopyPieces(const copy::Shape& shape) : shape_(shape) {
  straighten(shape_);
  if (!shape_.bytes()) shape_.depth = 0;
  const auto pitch = [](const copy::Side& side) { return side.tiling ? 0 : side.rowPitch; };
  rowsAtOnce_ = rowsAtOnce(shape_.width, std::max(pitch(shape_.source), pitch(shape_.destination)));
}

void CopyPieces::write(Push& push, const CopyEnd* atEnd) {
  while (!done() && push.left() >= kLaunchWords) {
    const size_t rows = column_ ? 1 : std::min(rowsAtOnce_, shape_.height - row_);
    const size_t bytes = std::min(shape_.width - column_, kMostInLine);
    const bool last = column_ + bytes == shape_.width && row_ + rows == shape_.height && slice_ + 1 == shape_.depth;
    launch(push, bytes, rows, last ? atEnd : nullptr);
    advance(bytes, rows);
  }
}

void CopyPieces::launch(Push& push, size_t bytes, size_t rows, const CopyEnd* atEnd) {
  const copy::Side source = shape_.source.moved(column_, row_, slice_);
  const copy::Side destination = shape_.destination.moved(column_, row_, slice_);
  push.writeAddress(kCopySubchannel, ce::kInHigh, place(push, source, kTiledSource));
  push.writeAddress(kCopySubchannel, ce::kOutHigh, place(push, destination, kTiledDestination));
  push.write(kCopySubchannel, ce::kPitchIn, {pitchOf(source), pitchOf(destination), low(bytes), low(rows)});
  const uint32_t end = ending(push, atEnd);
  push.write(kCopySubchannel, ce::kLaunch,
             {ce::kNonPipelined | end | (source.tiling ? 0 : ce::kSourcePitch) |
              (destination.tiling ? 0 : ce::kDestinationPitch) | (rows > 1 ? ce::kMultiLine : 0)});
}

void CopyPieces::advance(size_t bytes, size_t rows) {
  column_ += bytes;
  if (column_ < shape_.width) return;
  column_ = 0;
  row_ += rows;
  if (row_ < shape_.height) return;
  row_ = 0;
  ++slice_;
}

FillPieces::FillPieces(const copy::Fill& fill) : fill_(fill) {
  if (!fill_.width) fill_.height = 0;
  if (fill_.height > 1 && fill_.pitch == fill_.width) {
    fill_.width *= fill_.height;
    fill_.height = 1;
  }
  rowsAtOnce_ = rowsAtOnce(fill_.width, fill_.pitch);
}

void FillPieces::write(Push& push, const CopyEnd* atEnd) {
  if (done() || push.left() < kFillWords + kLaunchWords) return;
  push.write(kCopySubchannel, ce::kRemapConstA, {fill_.pattern});
  push.write(kCopySubchannel, ce::kRemapComponents, {ce::constantOf(fill_.elementSize)});
  while (!done() && push.left() >= kLaunchWords) {
    const size_t rows = column_ ? 1 : std::min(rowsAtOnce_, fill_.height - row_);
    const size_t bytes = std::min(fill_.width - column_, kMostInLine);
    const bool last = column_ + bytes == fill_.width && row_ + rows == fill_.height;
    launch(push, bytes, rows, last ? atEnd : nullptr);
    column_ += bytes;
    if (column_ < fill_.width) continue;
    column_ = 0;
    row_ += rows;
  }
}

// With the remap on, a line is counted in elements. A pitch of the source must fit several lines even though nothing is
// read: the engine calls it an error otherwise.
void FillPieces::launch(Push& push, size_t bytes, size_t rows, const CopyEnd* atEnd) {
  push.writeAddress(kCopySubchannel, ce::kOutHigh, addressOf(fill_.base) + row_ * fill_.pitch + column_);
  push.write(kCopySubchannel, ce::kPitchIn,
             {low(fill_.pitch), low(fill_.pitch), low(bytes / fill_.elementSize), low(rows)});
  const uint32_t end = ending(push, atEnd);
  push.write(kCopySubchannel, ce::kLaunch,
             {ce::kNonPipelined | end | kPitchBoth | ce::kRemap | (rows > 1 ? ce::kMultiLine : 0)});
}

void ce::release(Push& push, const host::Semaphore& semaphore) { nvidia::release(push, {semaphore, true}); }
void ce::releaseWord(Push& push, const host::Semaphore& semaphore) { nvidia::release(push, {semaphore, false}); }

}  // namespace vg::backend::nvidia
