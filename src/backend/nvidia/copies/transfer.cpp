#include "backend/nvidia/copies/transfer.h"

#include <array>
#include <atomic>

#include "backend/nvidia/channel/copy_methods.h"
#include "backend/nvidia/channel/store_fence.h"
#include "backend/nvidia/copies/box_pieces.h"
#include "backend/nvidia/copies/relay.h"
#include "copy/copy.h"

namespace vg::backend::nvidia {
namespace {

// Up to here a write through BAR1 beats a copy engine, of pageable memory, which an engine wants relayed, as well; and
// a read up to a word or two (docs/kernel-driver.md).
constexpr size_t kCpuWrites = 65536, kCpuWritesPageable = size_t{4} << 20, kCpuReads = 16;
// What an asynchronous call does itself: less than it costs to wake a thread.
constexpr size_t kQuick = 16384;
// Up to here managed memory is copied by the CPU: to move it takes longer than to touch it where it is.
constexpr size_t kCpuMoves = 65536;
constexpr size_t kManagedPiece = size_t{256} << 20;
// From here on a kernel beats a copy engine for a thread that waits; an engine takes as long for a row of a few bytes
// as for one of 256.
constexpr size_t kKernelMoves = size_t{1} << 20, kKernelRows = 4096;

constexpr size_t kMostGpus = 32;
constinit std::array<std::atomic<Transfer*>, kMostGpus> met{};  // from the first on

// Whether so many, so far from each other, can lie in memory at all.
bool isBounded(size_t count, size_t pitch) {
  constexpr uint64_t kMost = uint64_t{1} << 48;
  uint64_t bytes;
  return count && !__builtin_mul_overflow(count, pitch, &bytes) && bytes <= kMost;
}

template <class Box>
bool worthAKernel(const Box& box, size_t bytes, size_t rows) {
  return VideoKernels::can(box) && (bytes >= kKernelMoves || rows >= kKernelRows);
}

Direction directionOf(Place to, Place from) {
  return from == Place::Pinned ? Direction::In : to == Place::Pinned ? Direction::Out : Direction::Inside;
}

// Sends all of it; the number of the last submission.
template <class Pieces>
Result<uint64_t> send(Channel& channel, Pieces pieces) {
  while (!pieces.done()) {
    VG_TRY(Push push, channel.begin());
    pieces.write(push);
    channel.submit(push);
  }
  return channel.submitted();
}

size_t mostByCpu(Place from) {
  if (from == Place::Video) return kCpuReads;
  return from == Place::Unknown ? kCpuWritesPageable : kCpuWrites;
}

copy::Side tight(std::byte* buffer, const copy::Shape& piece) {
  return {buffer, piece.width, piece.width * piece.height};
}

}  // namespace

Place Transfer::placeOf(const copy::Side& side, const copy::Shape& shape) const {
  return known_.placeOf(side.base, extent(side, shape));
}

Place Transfer::placeOf(const copy::Fill& fill) const { return known_.placeOf(fill.base, extent(fill)); }

void Transfer::meetOthers() noexcept {
  for (std::atomic<Transfer*>& place : met) {
    Transfer* nobody = nullptr;
    if (place.compare_exchange_strong(nobody, this, std::memory_order_acq_rel)) return;
  }
}

Transfer* Transfer::readerFor(const copy::Shape& shape) const {
  for (const std::atomic<Transfer*>& place : met) {
    Transfer* const other = place.load(std::memory_order_acquire);
    if (!other) break;
    if (other != this && other->placeOf(shape.source, shape) == Place::Video) return other;
  }
  return nullptr;
}

// Sizes that kernels gave, which may be any.
bool Transfer::reaches(const copy::Shape& shape) const {
  const auto reached = [&](const copy::Side& side) {
    return isBounded(shape.depth, side.slicePitch) && isBounded(shape.height, side.rowPitch) &&
           isBounded(shape.width, 1) && placeOf(side, shape) != Place::Unknown;
  };
  return !shape.tiled() && reached(shape.destination) && reached(shape.source);
}

bool Transfer::reaches(const copy::Fill& fill) const {
  return isBounded(fill.height, fill.pitch) && isBounded(fill.width, 1) && placeOf(fill) != Place::Unknown;
}

Place Transfer::found(Place place, const std::byte* start, size_t bytes) const {
  if (place != Place::Managed) return place;
  return managed_.anyOnHost(start, bytes) ? Place::Managed : Place::Video;
}

CUresult Transfer::copy(const copy::Shape& shape) {
  if (!shape.bytes()) return CUDA_SUCCESS;
  const Place to = placeOf(shape.destination, shape), from = placeOf(shape.source, shape);
  // The CPU writes to memory of a GPU forty times as fast as it reads it: so the GPU whose memory is read works.
  if (from == Place::Unknown && !shape.tiled())
    if (Transfer* const reader = readerFor(shape)) return reader->copy(shape);
  const bool managed = to == Place::Managed || from == Place::Managed;
  return managed ? copyManaged(shape, to, from) : copyBetween(shape, to, from);
}

// The CPU's own stores and loads would bring the pages back, so it keeps away. In pieces, as there may be more of the
// memory than the GPU has.
CUresult Transfer::copyManaged(const copy::Shape& shape, Place to, Place from) {
  const bool little = !shape.tiled() && shape.bytes() <= kCpuMoves;
  // A copy engine takes long over pages that are nowhere yet: what it is to write is fetched in any case.
  const bool byEngine = from == Place::Unknown || from == Place::Pinned;
  const auto bring = [&](Place place, const copy::Side& side, const copy::Shape& piece) {
    if (place != Place::Managed) return place;
    const size_t bytes = extent(side, piece);
    const bool onHost = managed_.anyOnHost(side.base, bytes);
    if (little) return onHost ? Place::Unknown : Place::Video;
    if (onHost || byEngine) managed_.fetch(gpu_, side.base, bytes);
    return Place::Video;
  };
  const auto move = [&](const copy::Shape& piece) {
    const Place into = bring(to, piece.destination, piece), outOf = bring(from, piece.source, piece);
    const bool stayed =
        (to != Place::Managed || into == Place::Unknown) && (from != Place::Managed || outOf == Place::Unknown);
    return stayed ? copyBetween(piece, into, outOf) : copyByGpu(piece, into, outOf);
  };
  if (shape.tiled() || overlap(shape)) return move(shape);
  for (BoxPieces cut(shape, kManagedPiece); !cut.done();) VG_CHECK(move(cut.next()));
  return CUDA_SUCCESS;
}

// Requires: one side is video memory.
CUresult Transfer::copyByGpu(const copy::Shape& shape, Place to, Place from) {
  if (shape.tiled()) return copyTiled(shape, to, from);
  if (from == Place::Unknown) return stageIn(shape);
  if (to == Place::Unknown) return stageOut(shape);
  if (from == Place::Pinned) return copyOnGpu(shape, Direction::In);
  if (to == Place::Pinned) return copyOnGpu(shape, Direction::Out);
  return overlap(shape) ? copyOverlapping(shape) : copyInside(shape);
}

// What cannot be shown for want of mappings must not be touched: behind a page that may not be touched a copy finds
// what the host has there (copy/protected.h), which is nothing.
CUresult Transfer::show(const std::byte* start, size_t bytes) {
  if (!memory_.hidden(start, bytes)) return CUDA_SUCCESS;
  memory_.showToHost(start, bytes);
  if (!memory_.hidden(start, bytes)) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_OUT_OF_MEMORY, "the host cannot be shown %zu bytes at %p", bytes,
              static_cast<const void*>(start));
}

CUresult Transfer::copyOnCpu(const copy::Shape& shape, copy::Parallel* threads) {
  VG_CHECK(show(shape.destination.base, extent(shape.destination, shape)));
  VG_CHECK(show(shape.source.base, extent(shape.source, shape)));
  const bool there = copy::copy(shape, threads);
  storeFence();  // what was written through BAR1 has left the CPU's buffers before anybody calls the GPU
  return there ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

CUresult Transfer::fillOnCpu(const copy::Fill& fill) {
  VG_CHECK(show(fill.base, extent(fill)));
  const bool there = copy::fill(fill, threads_);
  storeFence();
  return there ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

CUresult Transfer::copyBetween(const copy::Shape& shape, Place to, Place from) {
  if (shape.tiled()) return copyTiled(shape, to, from);
  const bool toVideo = to == Place::Video, fromVideo = from == Place::Video;
  if (!toVideo && !fromVideo) return copyOnCpu(shape, threads_);
  if (toVideo == fromVideo || shape.bytes() > mostByCpu(from)) return copyByGpu(shape, to, from);
  const copy::Side& video = toVideo ? shape.destination : shape.source;
  return memory_.atHand(video.base, extent(video, shape)) ? copyOnCpu(shape, threads_) : copyByGpu(shape, to, from);
}

// An engine knows the tiling. What it cannot reach goes through buffers; what it cannot reach and is tiled is a
// device's of which the CPU knows the memory.
CUresult Transfer::copyTiled(const copy::Shape& shape, Place to, Place from) {
  const bool known[] = {to != Place::Unknown, from != Place::Unknown};
  if (known[0] && known[1]) return copyOnGpu(shape, directionOf(to, from));
  if (known[0] && shape.destination.tiling) return stageIn(shape);
  if (known[1] && shape.source.tiling) return stageOut(shape);
  return copyOnCpu(shape, threads_);
}

CUresult Transfer::copyInside(const copy::Shape& shape) {
  if (!worthAKernel(shape, shape.bytes(), shape.height * shape.depth)) return copyOnGpu(shape, Direction::Inside);
  VG_TRY(const VideoKernels::Work work, kernels_.work(shape));
  return kernels_.run(work);
}

bool Transfer::isQuick(const copy::Shape& shape) const {
  if (shape.tiled() || !shape.bytes() || shape.bytes() > kQuick) return false;
  const Place from = placeOf(shape.source, shape);
  return from != Place::Video && from != Place::Managed && placeOf(shape.destination, shape) == Place::Video &&
         memory_.atHand(shape.destination.base, extent(shape.destination, shape)) &&
         (from == Place::Pinned || !readerFor(shape));
}

bool Transfer::isQuick(const copy::Fill& fill) const {
  const size_t bytes = fill.width * fill.height;
  return bytes && bytes <= kQuick && placeOf(fill) == Place::Video && memory_.atHand(fill.base, extent(fill));
}

// Managed memory that is on the host is a thread's, which moves it, and engines take long over pages that are nowhere.
Transfer::Route Transfer::route(const copy::Shape& shape) const {
  if (!shape.bytes()) return {Way::None};
  const Place to = placeOf(shape.destination, shape), from = placeOf(shape.source, shape);
  const auto inVideo = [&](Place place, const copy::Side& side) {
    return found(place, side.base, extent(side, shape)) == Place::Video;
  };
  const bool overlapping = !shape.tiled() && overlap(shape);
  if (VideoKernels::can(shape) && !overlapping && inVideo(to, shape.destination) && inVideo(from, shape.source))
    return {Way::Kernel};
  const auto plain = [](Place place) { return place == Place::Video || place == Place::Pinned; };
  const bool hosts = to == Place::Pinned && from == Place::Pinned && !shape.tiled();
  if (!plain(to) || !plain(from) || overlapping || hosts) return {};
  return {Way::Engine, directionOf(to, from)};
}

Transfer::Route Transfer::route(const copy::Fill& fill) const {
  if (!fill.width || !fill.height) return {Way::None};
  const Place place = placeOf(fill);
  if (VideoKernels::can(fill) && found(place, fill.base, extent(fill)) == Place::Video) return {Way::Kernel};
  return {place == Place::Video ? Way::Engine : Way::Thread};
}

CUresult Transfer::copyOnGpu(const copy::Shape& shape, Direction direction) {
  VG_TRY(Engines::Lease lease, engines_.take(direction));
  VG_TRY(const uint64_t last, send(*lease.channel, CopyPieces(shape)));
  return lease.channel->wait(last);
}

// Piece by piece through a buffer, from the end that is not written before it is read.
CUresult Transfer::copyOverlapping(const copy::Shape& shape) {
  std::vector<copy::Shape> pieces;
  for (BoxPieces cut(shape, Staging::Ring::kHalfBytes); !cut.done();) pieces.push_back(cut.next());
  const bool backward = shape.destination.base > shape.source.base;
  VG_TRY(Staging::Ring ring, staging_.take());
  VG_TRY(Engines::Lease lease, engines_.take(Direction::Inside));
  Channel& channel = *lease.channel;
  for (size_t i = 0; i < pieces.size(); ++i) {
    copy::Shape in = pieces[backward ? pieces.size() - 1 - i : i], out = in;
    in.destination = out.source = tight(ring.half(0), in);
    VG_CHECK(send(channel, CopyPieces(in)));
    VG_CHECK(send(channel, CopyPieces(out)));
  }
  return channel.wait(channel.submitted());
}

// The threads of a relay share its pieces, so none of a piece's copy is given to others.
CUresult Transfer::stageIn(const copy::Shape& shape) {
  VG_TRY(Staging::Ring ring, staging_.take());
  VG_TRY(Engines::Lease lease, engines_.take(Direction::In));
  const auto copyPiece = [this](const copy::Shape& piece) { return copyOnCpu(piece, nullptr); };
  return Relay(shape, *lease.channel, ring, threads_, copyPiece).in();
}

CUresult Transfer::stageOut(const copy::Shape& shape) {
  VG_TRY(Staging::Ring ring, staging_.take());
  VG_TRY(Engines::Lease lease, engines_.take(Direction::Out));
  const auto copyPiece = [this](const copy::Shape& piece) { return copyOnCpu(piece, nullptr); };
  return Relay(shape, *lease.channel, ring, threads_, copyPiece).out();
}

CUresult Transfer::fill(const copy::Fill& fill) {
  const size_t bytes = fill.width * fill.height;
  if (!bytes) return CUDA_SUCCESS;
  const Place known = placeOf(fill), place = found(known, fill.base, extent(fill));
  const bool little = bytes <= kCpuWrites, fetched = place == Place::Managed && !little;
  if (fetched) managed_.fetch(gpu_, fill.base, extent(fill));
  const bool video = place == Place::Video || fetched;
  if (!video || (little && known == Place::Video && memory_.atHand(fill.base, extent(fill)))) return fillOnCpu(fill);
  if (!worthAKernel(fill, bytes, fill.height)) return fillOnEngine(fill);
  VG_TRY(const VideoKernels::Work work, kernels_.work(fill));
  return kernels_.run(work);
}

CUresult Transfer::write(CUdeviceptr to, const void* from, size_t bytes) {
  copy::Shape shape;
  shape.destination.base = reinterpret_cast<std::byte*>(to);
  shape.source.base = static_cast<std::byte*>(const_cast<void*>(from));
  shape.width = bytes;
  return copy(shape);
}

CUresult Transfer::zero(CUdeviceptr start, size_t bytes) {
  return fill({reinterpret_cast<std::byte*>(start), bytes, bytes});
}

CUresult Transfer::fillOnEngine(const copy::Fill& fill) {
  VG_TRY(Engines::Lease lease, engines_.take(Direction::Inside));
  VG_TRY(const uint64_t last, send(*lease.channel, FillPieces(fill)));
  return lease.channel->wait(last);
}

}  // namespace vg::backend::nvidia
