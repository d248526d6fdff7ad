#include "core/contexts/context.h"

#include <algorithm>

#include "backend/device_use.h"
#include "base/log.h"
#include "base/memory/shortage.h"
#include "base/memory/slab.h"
#include "base/sync/spin.h"
#include "base/system/process_board.h"
#include "core/contexts/context_roles.h"
#include "core/process/device.h"
#include "core/process/inside_host_function.h"

namespace vg::core {
namespace {

constinit Slab<Context, 1 << 16> contexts;
constinit std::atomic<uint64_t> lastId{0};

// Contexts that have ended wait here, so that a handle which is still about is told apart from a new context for as
// long as possible.
constexpr unsigned kResting = 32;
constinit Mutex lifeMutex;  // guards what follows, and Context::attached_
constinit Context* oldestDead VG_GUARDED_BY(lifeMutex) = nullptr;
constinit Context* newestDead VG_GUARDED_BY(lifeMutex) = nullptr;
constinit unsigned deadCount VG_GUARDED_BY(lifeMutex) = 0;
constinit unsigned madeCount VG_GUARDED_BY(lifeMutex) = 0;

constinit std::atomic<int> processFault{CUDA_SUCCESS};  // the first

constexpr unsigned kDumpFlags = CU_CTX_COREDUMP_ENABLE | CU_CTX_USER_COREDUMP_ENABLE;
// The others are a context's from its beginning to its end.
constexpr unsigned kChangeableFlags = CU_CTX_SCHED_MASK | CU_CTX_LMEM_RESIZE_TO_MAX | CU_CTX_SYNC_MEMOPS;

// Who asks for dumps on request gets those of faults too, and is told of the latter.
unsigned flagsToReport(unsigned flags) {
  return flags & kDumpFlags ? (flags & ~kDumpFlags) | CU_CTX_COREDUMP_ENABLE : flags;
}

}  // namespace

uint64_t nextContextId() { return lastId.fetch_add(1, std::memory_order_relaxed) + 1; }

// The acts of a context's life that change what only this file may change.
struct ContextLife {
  static Context& make(Device& device, bool primary) {
    const MutexLock lock(lifeMutex);
    Context* context = nullptr;
    if (!primary && deadCount > kResting) {
      context = oldestDead;
      oldestDead = context->nextDead_;
      if (!oldestDead) newestDead = nullptr;
      --deadCount;
    } else {
      context = contexts.create(madeCount, primary);
      ++madeCount;
    }
    context->device_.store(&device, std::memory_order_relaxed);
    context->nextDead_ = nullptr;
    context->attached_ = 1;
    context->generation_.store(nextContextId(), std::memory_order_relaxed);
    return *context;
  }

  static void begin(Context& context, unsigned flags, unsigned apiVersion) {
    const Device& device = context.device();
    const auto processors = static_cast<size_t>(device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
    context.flags_.store(flagsToReport(flags), std::memory_order_relaxed);
    context.dumpAttributes_.copyFrom(processDumpAttributes(), (flags & kDumpFlags) != 0);
    contextRoles->begins((flags & CU_CTX_USER_COREDUMP_ENABLE) != 0);
    context.apiVersion_.store(apiVersion, std::memory_order_relaxed);
    context.fault_.store(CUDA_SUCCESS, std::memory_order_relaxed);
    context.cacheConfig_.store(CU_FUNC_CACHE_PREFER_NONE, std::memory_order_relaxed);
    context.kernelLimits_.stackBytes.store(1024, std::memory_order_relaxed);
    context.kernelLimits_.printfBytes.store(std::max(processors << 16, size_t{1} << 20), std::memory_order_relaxed);
    context.kernelLimits_.heapBytes.store(8 << 20, std::memory_order_relaxed);
    context.kernelLimits_.pendingLaunches.store(2048, std::memory_order_relaxed);
    context.kernelLimits_.fetchGranularity.store(64, std::memory_order_relaxed);
    context.kernelLimits_.persistingCacheBytes.store(persistingCacheOf(device) / 10 * 3, std::memory_order_relaxed);
    context.kernelLimits_.deviceNumber = device.ordinal();
    context.kernelLimits_.deviceCount = deviceCount();
    context.id_.store(context.primary_ ? nextContextId() : context.generation(), std::memory_order_relaxed);
    context.word_.store(context.generation(), std::memory_order_seq_cst);
    if (const int fault = processFault.load(std::memory_order_seq_cst)) failWith(context, fault);
    context.device().backend().contextBegins();
    backend::useOf(context.device().backend()).contexts.fetch_add(1, std::memory_order_relaxed);
    board::join();
  }

  // False for one that has failed before.
  static bool failWith(Context& context, int error) {
    int none = CUDA_SUCCESS;
    if (!context.fault_.compare_exchange_strong(none, error, std::memory_order_acq_rel)) return false;
    uint64_t word = context.word_.load(std::memory_order_relaxed);
    while (word && !context.word_.compare_exchange_weak(word, word | Context::kFaulted, std::memory_order_release)) {
    }
    return true;
  }

  // Nothing may keep a context from ending: where there is no memory for a step, it is tried again for a moment, and
  // then what is left of it is lost.
  template <class Step>
  static void finish(Step step) noexcept {
    for (int tries = 20; tries; --tries) try {
        return step();
      } catch (const std::bad_alloc&) {
        nap();
      }
    shortage::tell(Shortage::HostMemory, "what a context had is not all given back");
  }

  // The application's destructors run first, while the context may still be used.
  static void end(Context& context) noexcept {
    finish([&] { context.localStorage_.clear(context.handle()); });
    context.word_.store(0, std::memory_order_release);
    backend::useOf(context.device().backend()).contexts.fetch_sub(1, std::memory_order_relaxed);
    (void)context.synchronize();
    context.device().backend().flushOutput();
    finish([&] { context.localStorage_.clear(context.handle()); });
    for (const ContextEnd release : contextRoles->ends) finish([&] { release(context); });
    finish([&] { context.leavePeers(); });
    context.id_.store(0, std::memory_order_release);
  }

  static void rest(Context& context) {
    const MutexLock lock(lifeMutex);
    (newestDead ? newestDead->nextDead_ : oldestDead) = &context;
    newestDead = &context;
    ++deadCount;
  }

  // True for the one caller who may end the context.
  static bool claimEnd(Context& context) {
    const MutexLock lock(lifeMutex);
    return context.alive() && std::exchange(context.attached_, 0) > 0;
  }
  static bool attach(Context& context) {
    const MutexLock lock(lifeMutex);
    return context.attached_ && ++context.attached_;
  }
  // True when the context is still attached elsewhere.
  static bool detach(Context& context) {
    const MutexLock lock(lifeMutex);
    if (context.attached_ < 2) return false;
    --context.attached_;
    return true;
  }

  static size_t persistingCacheOf(const Device& device) {
    return static_cast<size_t>(device.attribute(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE));
  }
};

namespace {

// `device` null: of any.
std::vector<Point> pendingIn(const Device* device) {
  std::vector<Point> points;
  contexts.forEach([&](Context& context) {
    if (!context.alive() || (device && &context.device() != device) || streams::idle(context)) return;
    const std::vector<Point> here = streams::pending(context);
    points.insert(points.end(), here.begin(), here.end());
  });
  return points;
}

}  // namespace

Context* findLiving(bool (*wanted)(Context& context)) {
  Context* found = nullptr;
  contexts.forEach([&](Context& context) {
    if (!found && context.alive() && wanted(context)) found = &context;
  });
  return found;
}

std::vector<Point> pendingEverywhere() { return pendingIn(nullptr); }
std::vector<Point> pendingOn(const Device& device) { return pendingIn(&device); }

void Context::report(CUresult error, const char* reason) noexcept {
  if (!ContextLife::failWith(*this, error)) return;
  VG_LOG(Error, "error %d in context %llu of device %d, which all contexts of this process return from now on: %s",
         static_cast<int>(error), static_cast<unsigned long long>(id()), device().ordinal(), reason);
  int none = CUDA_SUCCESS;
  processFault.compare_exchange_strong(none, error, std::memory_order_seq_cst);
  contexts.forEach([&](Context& context) {
    if (context.word_.load(std::memory_order_seq_cst)) ContextLife::failWith(context, error);
  });
  contextRoles->failed(*this);
}

void Context::witness(const backend::FaultScene& scene) noexcept {
  if (!state()) contextRoles->faulted(*this, scene);
}

CUresult checkNoFault() {
  const auto fault = static_cast<CUresult>(processFault.load(std::memory_order_acquire));
  return fault ? fail(fault, "an earlier fault (error %d) makes all devices of this process unusable",
                      static_cast<int>(fault))
               : fault;
}

CUresult Context::setFlags(unsigned flags) {
  VG_CHECK(checkContextFlags(flags));
  const unsigned kept = flags_.load(std::memory_order_relaxed) & ~kChangeableFlags;
  flags_.store(kept | (flags & kChangeableFlags), std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

CUresult Context::enablePeer(Context& peer) {
  if (&peer.device() == &device())
    return fail(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "both contexts are on device %d", device().ordinal());
  if (!device().reaches(peer.device()))
    return fail(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "kernels of device %d do not reach the memory of device %d",
                device().ordinal(), peer.device().ordinal());
  const MutexLock guard(peersMutex_);
  if (findPeer(peer) != peers_.end())
    return fail(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is enabled already");
  if (peers_.size() == kMostPeers)
    return fail(CUDA_ERROR_TOO_MANY_PEERS, "the context has %zu peers already", kMostPeers);
  VG_CHECK(device().backend().reach(peer.device().backend()));
  peers_.push_back({peer.id(), &peer.device()});
  return CUDA_SUCCESS;
}

CUresult Context::disablePeer(Context& peer) {
  const MutexLock guard(peersMutex_);
  const auto known = findPeer(peer);
  if (known == peers_.end()) return fail(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled");
  for (const Point& point : streams::pending(*this)) point.wait();
  device().backend().leave(known->device->backend());
  peers_.erase(known);
  return CUDA_SUCCESS;
}

std::vector<Context::Peer>::iterator Context::findPeer(const Context& peer) {
  return std::find_if(peers_.begin(), peers_.end(), [&](const Peer& other) { return other.id == peer.id(); });
}

// Requires: its work is done.
void Context::leavePeers() {
  const MutexLock guard(peersMutex_);
  for (const Peer& peer : peers_) device().backend().leave(peer.device->backend());
  peers_.clear();
}

Context* asContext(const void* handle) { return contexts.find(handle); }

ContextReference referenceTo(Context& context) { return {&context, context.generation(), nullptr}; }

CUresult checkContextFlags(unsigned flags) {
  const unsigned schedule = flags & CU_CTX_SCHED_MASK;
  if (flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK))
    return fail(CUDA_ERROR_INVALID_VALUE, "unknown context flags %#x", flags);
  if (schedule & (schedule - 1)) return fail(CUDA_ERROR_INVALID_VALUE, "context flags %#x name two schedules", flags);
  return CUDA_SUCCESS;
}

Result<Context&> createContext(Device& device, unsigned flags, unsigned apiVersion) {
  VG_CHECK(checkContextFlags(flags));
  VG_CHECK(checkNoFault());
  Context& context = ContextLife::make(device, false);
  ContextLife::begin(context, flags, apiVersion);
  pushCurrent(referenceTo(context));
  return context;
}

CUresult destroyContext(Context& context) {
  if (insideHostFunction) return fail(CUDA_ERROR_NOT_PERMITTED, "host functions may not destroy contexts");
  if (context.primary()) return fail(CUDA_ERROR_INVALID_CONTEXT, "primary contexts are released, not destroyed");
  if (!ContextLife::claimEnd(context)) return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED, "another thread destroys it");
  const bool isCurrent = threadState.current == &context && threadState.generation == context.generation();
  ContextLife::end(context);
  if (isCurrent) (void)takeCurrent();
  ContextLife::rest(context);
  return CUDA_SUCCESS;
}

CUresult attachContext(Context& context) {
  if (context.primary()) return fail(CUDA_ERROR_INVALID_CONTEXT, "primary contexts are retained, not attached");
  return ContextLife::attach(context) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult detachContext(Context& context) {
  if (context.primary()) return fail(CUDA_ERROR_INVALID_CONTEXT, "primary contexts are released, not detached");
  return ContextLife::detach(context) ? CUDA_SUCCESS : destroyContext(context);
}

Context& reservePrimary(Device& device) { return ContextLife::make(device, true); }

void activatePrimary(Context& context, unsigned flags) { ContextLife::begin(context, flags, 3020); }

void deactivatePrimary(Context& context) { ContextLife::end(context); }

}  // namespace vg::core
