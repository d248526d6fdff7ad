// Any copy or fill, on the calling thread until it is done; or how to send it. Done are they
// - by a copy engine where it reaches both sides, by a kernel where both are video memory and there is much to do;
// - between video memory and pageable memory through a ring of pinned slots (Relay);
// - by the CPU through BAR1 where little goes into video memory that the host sees already: 64 KiB of what is pinned,
//   4 MiB of what is pageable; a read of a word or two.
// Managed memory is video memory while the host has none of it; of what the host has, the CPU copies little and the GPU
// takes much. Thread-safe.
#pragma once

#include "backend/nvidia/copies/engines.h"
#include "backend/nvidia/copies/staging.h"
#include "backend/nvidia/copies/video_kernels.h"
#include "backend/nvidia/memory/gpu_memory.h"
#include "backend/nvidia/memory/known_ranges.h"
#include "backend/nvidia/memory/managed_memory.h"
#include "copy/parallel.h"
#include "copy/shape.h"

namespace vg::backend::nvidia {

class Transfer {
 public:
  // `threads` (may be null) help where the CPU copies much; `compute` runs kernels (empty: nothing does).
  Transfer(Gpu& gpu, Addresses& addresses, const KnownRanges& known, GpuMemory& memory, ManagedMemory& managed,
           copy::Parallel* threads, VideoKernels::Engine compute)
      : gpu_(gpu),
        known_(known),
        memory_(memory),
        managed_(managed),
        threads_(threads),
        engines_(gpu, addresses),
        staging_(gpu, addresses),
        kernels_(gpu, addresses, std::move(compute)) {}

  // Others of the process may give copies from this GPU's memory to it from now on. Requires: this is never destroyed.
  void meetOthers() noexcept;
  // CUDA_ERROR_ILLEGAL_ADDRESS when memory was not there; what arrived is unknown then.
  CUresult copy(const copy::Shape& shape);
  CUresult fill(const copy::Fill& fill);
  // A copy of bytes of ours to memory of the device, and a fill of it with zeroes.
  CUresult write(CUdeviceptr to, const void* from, size_t bytes);
  CUresult zero(CUdeviceptr start, size_t bytes);
  // Whether the CPU does it in a few microseconds, so that it need not be queued.
  bool isQuick(const copy::Shape& shape) const;
  bool isQuick(const copy::Fill& fill) const;
  // Whether the GPU knows all of the memory, whatever the sizes are.
  bool reaches(const copy::Shape& shape) const;
  bool reaches(const copy::Fill& fill) const;
  // Who does it when it need not be waited for: nobody, as it is empty; a kernel, or a copy engine, to which it can be
  // sent; or a thread that calls copy() or fill().
  enum class Way { None, Kernel, Engine, Thread };
  struct Route {
    Way way = Way::Thread;
    Direction direction = Direction::Inside;  // of an engine
  };
  Route route(const copy::Shape& shape) const;
  Route route(const copy::Fill& fill) const;
  Engines& engines() { return engines_; }
  // What to send. Requires: Way::Kernel.
  template <class Box>
  Result<VideoKernels::Work> kernelFor(const Box& box) {
    return kernels_.work(box);
  }

 private:
  CUresult copyOnGpu(const copy::Shape& shape, Direction direction);
  CUresult copyInside(const copy::Shape& shape);
  CUresult copyTiled(const copy::Shape& shape, Place to, Place from);
  CUresult stageIn(const copy::Shape& shape);
  CUresult fillOnEngine(const copy::Fill& fill);
  CUresult copyOverlapping(const copy::Shape& shape);
  CUresult stageOut(const copy::Shape& shape);
  Place placeOf(const copy::Side& side, const copy::Shape& shape) const;
  Place placeOf(const copy::Fill& fill) const;
  // Of another GPU, whose memory a copy reads and which this one does not know; null: nobody's.
  Transfer* readerFor(const copy::Shape& shape) const;
  // Where managed memory is, if that is known without a fault: Video or, of the host, Managed.
  Place found(Place place, const std::byte* start, size_t bytes) const;
  CUresult show(const std::byte* start, size_t bytes);
  CUresult copyOnCpu(const copy::Shape& shape, copy::Parallel* threads);
  CUresult fillOnCpu(const copy::Fill& fill);
  CUresult copyBetween(const copy::Shape& shape, Place to, Place from);
  CUresult copyByGpu(const copy::Shape& shape, Place to, Place from);
  CUresult copyManaged(const copy::Shape& shape, Place to, Place from);

  Gpu& gpu_;
  const KnownRanges& known_;
  GpuMemory& memory_;
  ManagedMemory& managed_;
  copy::Parallel* const threads_;
  Engines engines_;
  Staging staging_;
  VideoKernels kernels_;
};

}  // namespace vg::backend::nvidia
