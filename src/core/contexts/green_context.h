// A green context: a part of a device's multiprocessors with streams of its own. In all else it is the primary context
// of the device, which it retains: memory, modules, events and faults are that one's.
//
// Its handle is a CUgreenCtx and a CUcontext at once. A thread whose current context is green has the primary one as
// `threadState.current` and the green one beside it (thread_state.h), so that only what asks for streams, for the share
// of the device or for the handle needs to know. Objects are never destroyed but kept for a later green context of the
// same device, for the same reason as Context. All functions are thread-safe.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "base/result.h"
#include "core/contexts/context.h"
#include "core/streams/stream.h"

namespace vg::core {

class Device;

class GreenContext : public StreamPart {
 public:
  explicit GreenContext(Context& primary) : primary_(primary), streams_(primary, primary, this, this) {}
  GreenContext(const GreenContext&) = delete;

  CUgreenCtx handle() { return reinterpret_cast<CUgreenCtx>(this); }
  CUcontext contextHandle() { return reinterpret_cast<CUcontext>(this); }
  // The context that it is a part of.
  Context& primary() const { return primary_; }
  StreamSet& streams() { return streams_; }

  // Alive, the one that was meant, and without a sticky error.
  bool usable(uint64_t id) const { return alive() && this->id() == id && primary_.state() == CUDA_SUCCESS; }

 private:
  friend struct GreenLife;
  Context& primary_;
  StreamSet streams_;
  GreenContext* nextDead_ = nullptr;
};

// cuGreenCtxCreate: retains the primary context of the device. `multiprocessors` lives for ever.
Result<GreenContext&> createGreenContext(Device& device, const backend::MultiprocessorSet& multiprocessors);
// cuGreenCtxDestroy: waits for its work and releases the primary context. It stays current where it is, as one that has
// ended; streams that the application made there answer CUDA_ERROR_CONTEXT_IS_DESTROYED and can be destroyed.
CUresult destroyGreenContext(GreenContext& green);

// The green context with this handle, alive or not; null when it is none.
GreenContext* asGreenContext(const void* handle);
// CUDA_ERROR_INVALID_CONTEXT for null and foreign handles, CUDA_ERROR_CONTEXT_IS_DESTROYED for one that has ended.
Result<GreenContext&> findGreenContext(CUgreenCtx handle);

// As a thread would remember it now.
ContextReference referenceTo(GreenContext& green);

// The multiprocessors of the calling thread's current context, or of the device when that has another context.
uint32_t currentMultiprocessors(const Device& device);

}  // namespace vg::core
