#include "api/tables/observer.h"

#include <pthread.h>

#include <memory>
#include <new>

#include "activity/consumer.h"
#include "activity/recorder.h"
#include "api/entry/call.h"
#include "api/entry/entry_points.h"
#include "api/watch/observed_call.h"
#include "api/watch/trace.h"
#include "core/contexts/current_context.h"
#include "core/contexts/green_context.h"
#include "core/contexts/primary_context.h"
#include "core/memory/memory_activity.h"
#include "core/process/device.h"

namespace vg::api {

namespace {

class Taker final : public activity::Consumer {
 public:
  explicit Taker(const Observer& observer) : observer_(observer) {}
  void take(const activity::Record& record) override { observer_.take(record); }
  void lost(uint64_t records) override { observer_.lost(records); }
  void flush() override { observer_.taken(); }

 private:
  const Observer& observer_;
};

void stopLooking() { activity::callsObserved.fetch_and(~static_cast<unsigned>(activity::ByProfiler)); }

// What it holds may be half done, and its locks held by threads that are not there.
void leaveInChild() {
  stopLooking();
  callObserver.store(nullptr);
  attached.store(nullptr);
}

bool attach(const Observer* observer) try {
  const Observer* nobody = nullptr;
  if (!observer || !attached.compare_exchange_strong(nobody, observer)) return false;
  if (activity::add(std::make_unique<Taker>(*observer))) {
    pthread_atfork(nullptr, nullptr, leaveInChild);
    return true;
  }
  attached.store(nullptr);
  return false;
} catch (const std::bad_alloc&) {
  attached.store(nullptr);
  return false;
}

void want(unsigned what) {
  const Observer* const observer = attached.load(std::memory_order_acquire);
  if (!observer) return;
  callObserver.store(what & WantDriverCalls ? observer : nullptr, std::memory_order_release);
  // Otherwise cuInit does.
  if (what & WantRecords && core::gate.load(std::memory_order_acquire) == core::Gate::Open)
    core::memory_activity::start();
  activity::want(what & WantRecords);
  if (what)
    activity::callsObserved.fetch_or(activity::ByProfiler);
  else
    stopLooking();
}

void visitEntryPoints(void (*visit)(void*, unsigned, const char*), void* state) {
  for (unsigned i = 0; i < kEntryNameCount; ++i)
    if (const char* const name = entryName(i)) visit(state, i, name);
}

void giveRuntimeWords(uint32_t** words, size_t* count) {
  *words = runtimeWords;
  *count = kRuntimeWords;
}

uint64_t beginRuntimeCall(uint64_t* before) {
  *before = activity::threadPart.outer;
  return activity::threadPart.outer = activity::nextNumber();
}
void endRuntimeCall(uint64_t before) { activity::threadPart.outer = before; }

Result<core::Context&> named(CUcontext handle) {
  if (core::gate.load(std::memory_order_acquire) != core::Gate::Open) return CUDA_ERROR_NOT_INITIALIZED;
  if (handle) return core::findContextOrPrimary(handle);
  if (core::Context* const current = core::threadState.current) return *current;
  return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult contextId(CUcontext context, uint64_t* id, int* device) {
  VG_TRY(core::Context & found, named(context));
  *id = found.id();
  *device = found.device().ordinal();
  return CUDA_SUCCESS;
}

CUresult streamId(CUcontext context, CUstream stream, bool perThread, uint64_t* id) try {
  if (!stream) stream = perThread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  core::StreamSet* streams = nullptr;
  if (stream == CU_STREAM_PER_THREAD || stream == CU_STREAM_LEGACY) {
    VG_TRY(core::Context & found, named(context));
    if (!found.alive()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    streams = &found.streams();
  }
  VG_TRY(core::Stream & found, core::resolveStream(stream, streams));
  *id = found.id();
  return CUDA_SUCCESS;
} catch (const std::bad_alloc&) {
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUcontext primaryContext(int device) {
  if (core::gate.load(std::memory_order_acquire) != core::Gate::Open) return nullptr;
  if (device < 0 || device >= core::deviceCount()) return nullptr;
  core::Context& primary = core::primaryOf(core::deviceAt(device)).context();
  return primary.alive() ? primary.handle() : nullptr;
}

constexpr ObserverTable kTable = {
    sizeof(ObserverTable), attach,         want,      activity::passOn, visitEntryPoints, giveRuntimeWords,
    beginRuntimeCall,      endRuntimeCall, contextId, streamId,         primaryContext,   traceClock};

}  // namespace

const ObserverTable& observerTable() { return kTable; }

}  // namespace vg::api
