// A copy between pageable memory and what a GPU reaches, in pieces through a ring of pinned slots: several threads fill
// or empty slots while a copy engine is at work on others, and nobody waits for more than the slot that it needs.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <vector>

#include "backend/nvidia/channel/channel.h"
#include "backend/nvidia/copies/staging.h"
#include "base/sync/mutex.h"
#include "copy/parallel.h"
#include "copy/shape.h"

namespace vg::backend::nvidia {

class Relay {
 public:
  // The CPU's part of a piece, on any thread.
  using CpuCopy = std::function<CUresult(const copy::Shape&)>;
  // `threads` (may be null) help. The channel is the caller's alone meanwhile.
  Relay(const copy::Shape& shape, Channel& channel, const Staging::Ring& ring, copy::Parallel* threads,
        CpuCopy cpuCopy);

  // From pageable memory; the engine is done when it returns.
  CUresult in() { return run(&Relay::pieceIn); }
  // To pageable memory.
  CUresult out();

 private:
  // A slot's pieces take turns: that of number i has the turn i / kSlots.
  struct Slot {
    std::atomic<size_t> turn{0};
    uint64_t submission = 0;  // the engine's last work on it; the turn's owner's
  };

  CUresult run(CUresult (Relay::*piece)(size_t number));
  void work(CUresult (Relay::*piece)(size_t number));
  CUresult pieceIn(size_t number);
  CUresult pieceOut(size_t number);
  CUresult send(size_t number, const copy::Shape& piece);
  copy::Shape toSlot(size_t number) const;
  copy::Shape fromSlot(size_t number) const;
  Slot& awaitTurn(size_t number);
  void keep(CUresult error);  // the first one

  Channel& channel_;
  const Staging::Ring& ring_;
  copy::Parallel* const threads_;
  const CpuCopy cpuCopy_;
  const bool streamed_;
  std::vector<copy::Shape> pieces_;
  std::atomic<size_t> next_{0};
  std::atomic<CUresult> result_{CUDA_SUCCESS};
  Mutex sending_;  // the channel
  std::array<Slot, Staging::kSlots> slots_;
};

}  // namespace vg::backend::nvidia
