#include "copy/copy.h"

#include <algorithm>
#include <atomic>

#include "base/log.h"
#include "base/system/os.h"
#include "copy/engines.h"
#include "copy/guard.h"
#include "copy/protected.h"
#include "copy/revealer.h"
#include "copy/string_moves.h"
#include "copy/tiled_copy.h"
#include "copy/watch.h"

namespace vg::copy {
namespace {

// Sizes at which another way of copying is faster; from the processor, once.
struct Limits {
  size_t repMove;     // from here `rep movsb` keeps up with the best loop or beats it; SIZE_MAX: never
  size_t streamCopy;  // from here both sides of a copy no longer fit the last cache: leave it to the source
  size_t keepSource;  // up to here it keeps the source
  size_t repFill;     // from here up to `streamFill` `rep stosq` beats the best loop; SIZE_MAX: never
  size_t streamFill;  // from here too little of a fill stays in the last cache to be worth it
};

// A large last cache belongs to many cores, and a virtual machine is told of all of it: no core has more than this.
constexpr size_t kCacheOfCore = size_t{16} << 20;

Limits measureLimits() {
  const size_t all = os::lastCacheBytes(), cache = std::min(all, os::usableCores() * kCacheOfCore);
  return {string_moves::movesFast() ? size_t{2} << 10 : SIZE_MAX, cache * 3 / 8, all,
          string_moves::fillsFast() ? size_t{32} << 20 : SIZE_MAX, cache * 3};
}

const Limits& limits() {
  static const Limits measured = measureLimits();
  return measured;
}

bool overlap(const std::byte* a, const std::byte* b, size_t bytes) {
  return static_cast<size_t>(a - b) < bytes || static_cast<size_t>(b - a) < bytes;
}

// Everything a row needs to know, decided once for the whole shape.
struct RowCopier {
  const Engines& engine;
  void (*stream)(std::byte* destination, const std::byte* source, size_t bytes);  // null: through the caches

  RowCopier(size_t bytes, bool mayStream, bool streamed)
      : engine(engines()),
        stream(!mayStream ? nullptr
               : streamed ? engine.stream
                          : streamOf(bytes)) {}

  void operator()(std::byte* destination, const std::byte* source, size_t bytes) const {
    if (stream) return stream(destination, source, bytes);
    if (bytes >= limits().repMove && !overlap(destination, source, bytes)) return repMove(destination, source, bytes);
    engine.move(destination, source, bytes);
  }

  decltype(stream) streamOf(size_t bytes) const {
    if (bytes < limits().streamCopy) return nullptr;
    return bytes <= limits().keepSource ? engine.streamKeptSource : engine.stream;
  }

  void repMove(std::byte* destination, const std::byte* source, size_t bytes) const {
    const size_t before = -reinterpret_cast<uintptr_t>(destination) & 63;  // wants an aligned destination
    engine.move(destination, source, before);
    destination += before;
    source += before;
    bytes -= before;
    string_moves::move(destination, source, bytes);
  }
};

// Bytes a thread takes at once: several pieces a thread, so that one that comes late holds nobody up, of at most a MiB
// and large enough to hide the hand-over.
size_t pieceBytes(size_t bytes, const Parallel& parallel) {
  constexpr size_t kPiecesOfThread = 32, kLeast = size_t{64} << 10, kMost = size_t{1} << 20;
  const size_t even = bytes / (parallel.width() * kPiecesOfThread);
  return std::clamp(even, kLeast, kMost) & ~size_t{4095};
}

// Whether all pieces of work arrived.
class Outcome {
 public:
  void add(bool arrived) {
    if (!arrived) arrived_.store(false, std::memory_order_relaxed);
  }
  bool arrived() const { return arrived_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> arrived_{true};
};

struct RowPieces {
  const Shape& shape;
  const RowCopier& copier;
  size_t rowsOfPiece;
  Outcome outcome{};
};

std::byte* rowOf(const Side& side, size_t slice, size_t y) {
  return side.base + slice * side.slicePitch + y * side.rowPitch;
}

void copyRow(const Shape& shape, const RowCopier& copier, size_t row) {
  const size_t slice = row / shape.height, y = row % shape.height;
  copier(rowOf(shape.destination, slice, y), rowOf(shape.source, slice, y), shape.width);
}

// Rows of one slice.
void copySliceRows(const Shape& shape, const RowCopier& copier, size_t slice, size_t first, size_t end) {
  std::byte* to = rowOf(shape.destination, slice, first);
  const std::byte* from = rowOf(shape.source, slice, first);
  for (size_t y = first; y < end; ++y, to += shape.destination.rowPitch, from += shape.source.rowPitch)
    copier(to, from, shape.width);
}

// Requires: no overlap, or an order of rows upwards that is right.
void copyRows(const Shape& shape, const RowCopier& copier, size_t first, size_t end, bool apart) {
  while (first < end) {
    const size_t slice = first / shape.height, y = first % shape.height;
    const size_t rows = std::min(shape.height - y, end - first);
    if (apart && shape.width <= kShortRow)
      copier.engine.moveShortRows(rowOf(shape.destination, slice, y), shape.destination.rowPitch,
                                  rowOf(shape.source, slice, y), shape.source.rowPitch, shape.width, rows);
    else
      copySliceRows(shape, copier, slice, y, y + rows);
    first += rows;
  }
}

constexpr size_t kLineCost = 64;
constexpr size_t kStreamedRow = 1024;  // shorter rows have too many partial lines for streaming stores

// Equal pitches: a row is overwritten only by rows on the far side of it.
void copyOverlapping(const Shape& shape, const RowCopier& copier) {
  const size_t rows = shape.height * shape.depth;
  if (shape.destination.base <= shape.source.base) return copyRows(shape, copier, 0, rows, false);
  for (size_t row = rows; row-- > 0;) copyRow(shape, copier, row);
}

void copyApart(const Shape& shape, const RowCopier& copier, size_t first, size_t end) {
  copyRows(shape, copier, first, end, true);
  if (copier.stream) streamFence();
}

bool copyPitched(const Shape& shape, Parallel* parallel) {
  const size_t rows = shape.height * shape.depth;
  const bool overlapping = overlap(shape);
  const RowCopier copier(shape.bytes(), !overlapping && shape.width >= kStreamedRow, shape.streamed);
  if (overlapping) return guarded([&] { copyOverlapping(shape, copier); });
  // A short row costs as much as the lines it lies in.
  const size_t cost = std::max(shape.width, kLineCost);
  if (!parallel || rows < 2 || cost * rows < kParallelBytes) return guarded([&] { copyApart(shape, copier, 0, rows); });
  RowPieces pieces{shape, copier, std::max<size_t>(1, pieceBytes(cost * rows, *parallel) / cost)};
  parallel->run((rows + pieces.rowsOfPiece - 1) / pieces.rowsOfPiece,
                [](void* state, size_t chunk) {
                  auto& p = *static_cast<RowPieces*>(state);
                  const size_t first = chunk * p.rowsOfPiece, rows = p.shape.height * p.shape.depth;
                  const size_t end = std::min(first + p.rowsOfPiece, rows);
                  p.outcome.add(guarded([&] { copyApart(p.shape, p.copier, first, end); }));
                },
                &pieces);
  return pieces.outcome.arrived();
}

constexpr size_t kSmall = 2048;  // where nothing but a plain move comes into question

struct LinearPieces {
  std::byte* destination;
  const std::byte* source;
  size_t bytes, pieceBytes;
  const RowCopier& copier;
  Outcome outcome{};
};

void copyStretch(const RowCopier& copier, std::byte* destination, const std::byte* source, size_t bytes) {
  copier(destination, source, bytes);
  if (copier.stream) streamFence();
}

bool copyLinear(std::byte* destination, const std::byte* source, size_t bytes, Parallel* parallel,
                bool streamed = false) {
  if (bytes < kSmall) [[likely]]
    return guarded(engines().move, destination, source, bytes);
  if (destination == source) return true;
  const bool overlapping = overlap(destination, source, bytes);
  const RowCopier copier(bytes, !overlapping, streamed);
  if (!parallel || overlapping || bytes < kParallelBytes)
    return guarded([&] { copyStretch(copier, destination, source, bytes); });
  const size_t piece = pieceBytes(bytes, *parallel);
  LinearPieces pieces{destination, source, bytes, piece, copier};
  parallel->run((bytes + piece - 1) / piece,
                [](void* state, size_t chunk) {
                  auto& p = *static_cast<LinearPieces*>(state);
                  const size_t at = chunk * p.pieceBytes, part = std::min(p.pieceBytes, p.bytes - at);
                  p.outcome.add(guarded([&] { copyStretch(p.copier, p.destination + at, p.source + at, part); }));
                },
                &pieces);
  return pieces.outcome.arrived();
}

uint32_t repeated(const Fill& fill) {
  switch (fill.elementSize) {
    case 1:
      return (fill.pattern & 0xFF) * 0x01010101u;
    case 2:
      return (fill.pattern & 0xFFFF) * 0x00010001u;
    default:
      return fill.pattern;
  }
}

// Whole lines without reading them first: of 64 MiB on two cores of a Xeon, 55 GB/s where vectors make 50.
void repFill(std::byte* destination, size_t bytes, uint32_t pattern) {
  const size_t before = -reinterpret_cast<uintptr_t>(destination) & 60;  // whole patterns
  if (bytes < before + kSmall) return engines().fill(destination, bytes, pattern);
  engines().fill(destination, before, pattern);
  destination += before;
  bytes -= before;
  const uint64_t both = uint64_t{pattern} << 32 | pattern;
  destination = string_moves::fill(destination, both, bytes / sizeof both);
  engines().fill(destination, bytes % sizeof(uint64_t), pattern);
}

struct FillPieces {
  const Fill& fill;
  uint32_t pattern;
  void (*row)(std::byte*, size_t, uint32_t);
  bool streaming;
  size_t bytesOfPiece = 0, rowsOfPiece = 0;
  Outcome outcome{};

  bool rows(size_t first, size_t end) const {
    if (fill.height == 1 && !streaming) return guarded(row, fill.base, fill.width, pattern);
    return guarded([&] {
      for (size_t y = first; y < end; ++y) row(fill.base + y * fill.pitch, fill.width, pattern);
      if (streaming) streamFence();
    });
  }
  bool stretch(size_t at, size_t bytes) const {
    return guarded([&] {
      row(fill.base + at, bytes, pattern);
      if (streaming) streamFence();
    });
  }
};

bool fillInPieces(FillPieces& work, Parallel& parallel) {
  const Fill& fill = work.fill;
  work.bytesOfPiece = pieceBytes(fill.width * fill.height, parallel);
  if (fill.height == 1) {
    parallel.run((fill.width + work.bytesOfPiece - 1) / work.bytesOfPiece,
                 [](void* state, size_t chunk) {
                   auto& w = *static_cast<FillPieces*>(state);
                   const size_t at = chunk * w.bytesOfPiece;
                   w.outcome.add(w.stretch(at, std::min(w.bytesOfPiece, w.fill.width - at)));
                 },
                 &work);
    return work.outcome.arrived();
  }
  work.rowsOfPiece = std::max<size_t>(1, work.bytesOfPiece / fill.width);
  parallel.run((fill.height + work.rowsOfPiece - 1) / work.rowsOfPiece,
               [](void* state, size_t chunk) {
                 auto& w = *static_cast<FillPieces*>(state);
                 const size_t first = chunk * w.rowsOfPiece;
                 w.outcome.add(w.rows(first, std::min(first + w.rowsOfPiece, w.fill.height)));
               },
               &work);
  return work.outcome.arrived();
}

[[gnu::always_inline]] inline bool copyByEngines(const Shape& shape, Parallel* parallel) {
  if (shape.tiled()) [[unlikely]]
    return guarded([&] { copyTiled(shape); });
  const bool oneSlice = shape.depth == 1 || (shape.destination.slicePitch == shape.width * shape.height &&
                                             shape.source.slicePitch == shape.width * shape.height);
  const bool oneRow = (shape.height == 1 && shape.depth == 1) ||
                      (shape.destination.rowPitch == shape.width && shape.source.rowPitch == shape.width);
  if (oneSlice && oneRow)
    return copyLinear(shape.destination.base, shape.source.base, shape.bytes(), parallel, shape.streamed);
  return copyPitched(shape, parallel);
}

bool revealed(const std::byte* start, size_t bytes) {
  const auto reveal = revealer.load(std::memory_order_acquire);
  return reveal && reveal(start, bytes);
}

// Again from the beginning, which overlapping sides may not survive.
bool copyRevealed(const Shape& shape) {
  const bool source = revealed(shape.source.base, extent(shape.source, shape));
  const bool destination = revealed(shape.destination.base, extent(shape.destination, shape));
  return (source || destination) && (shape.tiled() || !overlap(shape)) && copyByEngines(shape, nullptr);
}

[[gnu::cold]] bool copyAfterFault(const Shape& shape) {
  if (copyRevealed(shape)) return true;
  if (shape.locked && copyProtected(shape)) return true;
  VG_LOG(Info, "a copy of %zu bytes from %p to %p touched memory that is not there", shape.bytes(),
         static_cast<const void*>(shape.source.base), static_cast<void*>(shape.destination.base));
  return false;
}

[[gnu::cold]] bool fillAfterFault(const Fill& fill) {
  if (fillProtected(fill, repeated(fill))) return true;
  VG_LOG(Info, "a fill of %zu bytes at %p touched memory that is not there", fill.width * fill.height,
         static_cast<void*>(fill.base));
  return false;
}

}  // namespace

constinit std::atomic<const Watcher*> watcher{nullptr};
constinit std::atomic<bool (*)(const std::byte* start, size_t bytes)> revealer{nullptr};

bool copy(const Shape& shape, Parallel* parallel) {
  if (!shape.width || !shape.height || !shape.depth) return true;
  if (const Watcher* w = watcher.load(std::memory_order_relaxed)) [[unlikely]]
    w->copied(shape);
  if (copyByEngines(shape, parallel)) [[likely]]
    return true;
  return copyAfterFault(shape);
}

bool copyBytes(void* destination, const void* source, size_t bytes) {
  auto* const to = static_cast<std::byte*>(destination);
  const auto* const from = static_cast<const std::byte*>(source);
  if (const Watcher* w = watcher.load(std::memory_order_relaxed)) [[unlikely]]
    w->copied({{to}, {const_cast<std::byte*>(from)}, bytes});
  if (copyLinear(to, from, bytes, nullptr)) [[likely]]
    return true;
  return copyRevealed({{to}, {const_cast<std::byte*>(from)}, bytes});
}

bool fill(const Fill& fill, Parallel* parallel) {
  if (!fill.width || !fill.height) return true;
  if (fill.height > 1 && fill.pitch == fill.width) {  // no gaps: one long row
    Fill row = fill;
    row.width *= row.height;
    row.height = 1;
    return copy::fill(row, parallel);
  }
  if (const Watcher* w = watcher.load(std::memory_order_relaxed)) [[unlikely]]
    w->filled(fill);
  const Engines& engine = engines();
  const size_t bytes = fill.width * fill.height;
  const bool wide = fill.width >= 4096, streaming = wide && bytes >= limits().streamFill;
  const auto row = streaming ? engine.streamFill : wide && bytes >= limits().repFill ? repFill : engine.fill;
  const auto fillAll = [&] {
    FillPieces work{fill, repeated(fill), row, streaming};
    return parallel && bytes >= kParallelBytes ? fillInPieces(work, *parallel) : work.rows(0, fill.height);
  };
  return fillAll() || (revealed(fill.base, extent(fill)) && fillAll()) || fillAfterFault(fill);
}

const char* engineName() { return engines().name; }

}  // namespace vg::copy
