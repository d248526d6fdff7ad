#include "backend/nvidia/copies/relay.h"

#include <algorithm>

#include "backend/nvidia/channel/copy_methods.h"
#include "backend/nvidia/copies/box_pieces.h"
#include "base/sync/mutex.h"
#include "base/sync/spin.h"

namespace vg::backend::nvidia {
namespace {

// A thread is worth waking for so many bytes; more threads than these are in each other's way (docs/gpu-speed.md).
constexpr size_t kBytesOfThread = size_t{1} << 20, kMostThreads = 8;
// From here on what arrives goes past the caches. What leaves is better in them, where the engine finds it.
constexpr size_t kStreamed = size_t{32} << 20;
// Pieces of little are smaller, so that the engine begins soon.
constexpr size_t kLittle = size_t{8} << 20, kSmallPiece = size_t{256} << 10;
constexpr uint64_t kSpin = 1'000'000;  // ns

}  // namespace

Relay::Relay(const copy::Shape& shape, Channel& channel, const Staging::Ring& ring, copy::Parallel* threads,
             CpuCopy cpuCopy)
    : channel_(channel),
      ring_(ring),
      threads_(threads),
      cpuCopy_(std::move(cpuCopy)),
      streamed_(shape.bytes() >= kStreamed) {
  const size_t most = shape.bytes() < kLittle ? kSmallPiece : Staging::kSlotBytes;
  for (BoxPieces cut(shape, most); !cut.done();) pieces_.push_back(cut.next());
}

copy::Shape Relay::toSlot(size_t number) const {
  copy::Shape piece = pieces_[number];
  piece.destination = {ring_.slot(number), piece.width, piece.width * piece.height};
  return piece;
}

copy::Shape Relay::fromSlot(size_t number) const {
  copy::Shape piece = pieces_[number];
  piece.streamed = streamed_;
  piece.source = {ring_.slot(number), piece.width, piece.width * piece.height};
  return piece;
}

void Relay::keep(CUresult error) {
  CUresult none = CUDA_SUCCESS;
  result_.compare_exchange_strong(none, error, std::memory_order_relaxed);
}

Relay::Slot& Relay::awaitTurn(size_t number) {
  Slot& slot = slots_[number % Staging::kSlots];
  const auto ours = [&] { return slot.turn.load(std::memory_order_acquire) == number / Staging::kSlots; };
  while (!spinUntil(ours, kSpin)) nap();
  return slot;
}

// Requires: the slot's turn is the caller's.
CUresult Relay::send(size_t number, const copy::Shape& piece) {
  const MutexLock guard(sending_);
  for (CopyPieces cut(piece); !cut.done();) {
    VG_TRY(Push push, channel_.begin());
    cut.write(push);
    slots_[number % Staging::kSlots].submission = channel_.submit(push);
  }
  return CUDA_SUCCESS;
}

CUresult Relay::pieceIn(size_t number) {
  Slot& slot = awaitTurn(number);
  const auto relay = [&]() -> CUresult {
    if (number >= Staging::kSlots) VG_CHECK(channel_.wait(slot.submission));
    VG_CHECK(cpuCopy_(toSlot(number)));
    return send(number, fromSlot(number));
  };
  const CUresult result = result_.load(std::memory_order_relaxed) == CUDA_SUCCESS ? relay() : CUDA_SUCCESS;
  slot.turn.fetch_add(1, std::memory_order_release);
  return result;
}

CUresult Relay::pieceOut(size_t number) {
  Slot& slot = awaitTurn(number);
  const size_t next = number + Staging::kSlots;
  const auto relay = [&]() -> CUresult {
    VG_CHECK(channel_.wait(slot.submission));
    VG_CHECK(cpuCopy_(fromSlot(number)));
    return next < pieces_.size() ? send(next, toSlot(next)) : CUDA_SUCCESS;
  };
  const CUresult result = result_.load(std::memory_order_relaxed) == CUDA_SUCCESS ? relay() : CUDA_SUCCESS;
  slot.turn.fetch_add(1, std::memory_order_release);
  return result;
}

CUresult Relay::out() {
  for (size_t i = 0; i < std::min(Staging::kSlots, pieces_.size()); ++i)
    if (const CUresult result = send(i, toSlot(i)); result != CUDA_SUCCESS) keep(result);
  return run(&Relay::pieceOut);
}

// Pieces are taken in order, so whoever holds a slot's turn waits for no later piece.
void Relay::work(CUresult (Relay::*piece)(size_t number)) {
  for (size_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < pieces_.size();)
    if (const CUresult result = (this->*piece)(i); result != CUDA_SUCCESS) keep(result);
}

CUresult Relay::run(CUresult (Relay::*piece)(size_t number)) {
  struct State {
    Relay& relay;
    CUresult (Relay::*piece)(size_t number);
  } state{*this, piece};
  const auto share = [](void* at, size_t) { static_cast<State*>(at)->relay.work(static_cast<State*>(at)->piece); };
  const size_t bytes = pieces_.empty() ? 0 : pieces_.size() * pieces_.front().bytes();
  const size_t useful = std::min({kMostThreads, bytes / kBytesOfThread, pieces_.size()});
  const size_t threads = threads_ ? std::min<size_t>(threads_->width(), useful) : 1;
  if (threads > 1)
    threads_->run(threads, share, &state);
  else
    work(piece);
  const CUresult ended = channel_.wait(channel_.submitted());
  const CUresult result = result_.load(std::memory_order_relaxed);
  return result == CUDA_SUCCESS ? ended : result;
}

}  // namespace vg::backend::nvidia
