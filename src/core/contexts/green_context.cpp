#include "core/contexts/green_context.h"

#include <utility>

#include "base/memory/slab.h"
#include "base/sync/mutex.h"
#include "core/contexts/primary_context.h"
#include "core/process/device.h"
#include "core/process/inside_host_function.h"

namespace vg::core {
namespace {

constinit Slab<GreenContext, 1 << 16> greens;

// Those that have ended rest here, so that a handle which is still about is told apart from a new green context for as
// long as possible.
constexpr unsigned kResting = 32;
constinit Mutex lifeMutex;
constinit GreenContext* oldestDead VG_GUARDED_BY(lifeMutex) = nullptr;
constinit GreenContext* newestDead VG_GUARDED_BY(lifeMutex) = nullptr;
constinit unsigned deadCount VG_GUARDED_BY(lifeMutex) = 0;

}  // namespace

// The acts of a green context's life.
struct GreenLife {
  // One that has rested, of the same primary context and without streams that the application still has.
  static GreenContext* takeRested(Context& primary) {
    const MutexLock lock(lifeMutex);
    if (deadCount <= kResting) return nullptr;
    GreenContext* before = nullptr;
    for (GreenContext* green = oldestDead; green; before = std::exchange(green, green->nextDead_)) {
      if (&green->primary() != &primary || !streams::empty(green->streams())) continue;
      (before ? before->nextDead_ : oldestDead) = green->nextDead_;
      if (green == newestDead) newestDead = before;
      --deadCount;
      return green;
    }
    return nullptr;
  }

  // A new object, whose streams belong to those of the primary context from now on.
  static GreenContext* make(Context& primary) {
    GreenContext* const green = greens.create(primary);
    std::atomic<StreamSet*>& first = primary.streams().next;
    StreamSet* next = first.load(std::memory_order_acquire);
    do green->streams().next.store(next, std::memory_order_relaxed);
    while (!first.compare_exchange_weak(next, &green->streams(), std::memory_order_acq_rel));
    return green;
  }

  static void begin(GreenContext& green, const backend::MultiprocessorSet& multiprocessors) {
    green.multiprocessors_.store(&multiprocessors, std::memory_order_relaxed);
    green.id_.store(nextContextId(), std::memory_order_release);
    green.held_.store(true, std::memory_order_release);
  }

  // True for the one caller who ends it.
  static bool end(GreenContext& green) { return green.held_.exchange(false, std::memory_order_acq_rel); }

  static void rest(GreenContext& green) {
    const MutexLock lock(lifeMutex);
    green.nextDead_ = nullptr;
    (newestDead ? newestDead->nextDead_ : oldestDead) = &green;
    newestDead = &green;
    ++deadCount;
  }
};

Result<GreenContext&> createGreenContext(Device& device, const backend::MultiprocessorSet& multiprocessors) {
  VG_TRY(Context & primary, primaryOf(device).retainForGreen());
  GreenContext* green = GreenLife::takeRested(primary);
  try {
    if (!green) green = GreenLife::make(primary);
  } catch (const std::bad_alloc&) {
    (void)primaryOf(device).releaseFromGreen();
    throw;
  }
  GreenLife::begin(*green, multiprocessors);
  return *green;
}

CUresult destroyGreenContext(GreenContext& green) {
  if (insideHostFunction) return fail(CUDA_ERROR_NOT_PERMITTED, "host functions may not destroy contexts");
  if (!GreenLife::end(green)) return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the green context has ended before");
  streams::destroyDefaults(green.streams());
  Device& device = green.primary().device();
  GreenLife::rest(green);
  return primaryOf(device).releaseFromGreen();
}

GreenContext* asGreenContext(const void* handle) { return greens.find(handle); }

Result<GreenContext&> findGreenContext(CUgreenCtx handle) {
  GreenContext* const green = greens.find(handle);
  if (!green) return fail(CUDA_ERROR_INVALID_CONTEXT, "%p is no green context", static_cast<void*>(handle));
  if (!green->alive())
    return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED, "green context %p has ended", static_cast<void*>(handle));
  return *green;
}

ContextReference referenceTo(GreenContext& green) { return {&green.primary(), green.id(), &green}; }

uint32_t currentMultiprocessors(const Device& device) {
  if (const GreenContext* green = threadState.green; green && &green->primary().device() == &device)
    return static_cast<uint32_t>(green->multiprocessors().count());
  return static_cast<uint32_t>(device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
}

}  // namespace vg::core
