// A context: what an application's work on a device belongs to. Holds the streams, limits, per-library storage and the
// sticky error; the memory and modules of a context are found by the tables that own them. Its number, id(), is a new
// one when a primary context begins again after a reset.
//
// Handles are slots of a slab. A context object is never destroyed: when its context ends it is taken apart and kept
// for a later one, so a thread that still holds a pointer reads valid memory and is told
// CUDA_ERROR_CONTEXT_IS_DESTROYED. All functions are thread-safe unless said otherwise.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "backend/command.h"
#include "backend/device.h"
#include "base/result.h"
#include "base/sync/mutex.h"
#include "core/contexts/context_storage.h"
#include "core/contexts/host_blocks.h"
#include "core/dumps/core_dump_attributes.h"
#include "core/process/thread_state.h"
#include "core/streams/stream.h"

namespace vg::core {

class Device;

class Context final : public StreamOwner {
 public:
  Context(unsigned index, bool primary) : index_(index), primary_(primary), streams_(*this, *this) {}
  Context(const Context&) = delete;

  CUcontext handle() { return reinterpret_cast<CUcontext>(this); }
  bool primary() const { return primary_; }
  // A small number that no other living context has.
  unsigned index() const { return index_; }
  unsigned flags() const { return flags_.load(std::memory_order_relaxed); }
  unsigned apiVersion() const { return apiVersion_.load(std::memory_order_relaxed); }

  // One load and compare: alive, the one that was meant, and without a sticky error.
  bool usable(uint64_t generation) const { return word_.load(std::memory_order_relaxed) == generation; }
  // Which one this is, for ContextReference: constant for a primary context.
  uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  bool alive() const { return (word_.load(std::memory_order_acquire) & ~kFaulted) != 0; }

  void report(CUresult error, const char* reason) noexcept override;
  void witness(const backend::FaultScene& scene) noexcept override;

  StreamSet& streams() { return streams_; }  // those of its green contexts are linked to it
  Stream& legacyStream() { return streams::legacy(streams_); }
  LocalStorage& localStorage() { return localStorage_; }
  HostBlocks& hostBlocks() { return hostBlocks_; }
  DumpAttributes& dumpAttributes() { return dumpAttributes_; }
  const DumpAttributes& dumpAttributes() const { return dumpAttributes_; }
  // Waits for all work of the context; then its sticky error, if any.
  CUresult synchronize() { return streams::synchronizeAll(*this); }

  // CU_LIMIT_*. CUDA_ERROR_UNSUPPORTED_LIMIT where the device has no such limit, CUDA_ERROR_INVALID_VALUE for no limit.
  Result<size_t> limit(CUlimit which) const;
  CUresult setLimit(CUlimit which, size_t value);
  // Those that kernels obey, for backend::ImageSource.
  const backend::KernelLimits& kernelLimits() const { return kernelLimits_; }
  CUresult setFlags(unsigned flags);
  CUfunc_cache cacheConfig() const { return static_cast<CUfunc_cache>(cacheConfig_.load(std::memory_order_relaxed)); }
  void setCacheConfig(CUfunc_cache config) { cacheConfig_.store(config, std::memory_order_relaxed); }

  // Peer access from this context to memory of another one's device. Its end waits for the context's work.
  CUresult enablePeer(Context& peer);
  CUresult disablePeer(Context& peer);

 private:
  friend struct ContextLife;
  static constexpr uint64_t kFaulted = uint64_t{1} << 63;

  std::atomic<uint64_t> word_{0};  // 0: not alive; the generation; with kFaulted after a sticky error
  std::atomic<uint64_t> generation_{0};
  const unsigned index_;
  const bool primary_;
  std::atomic<unsigned> flags_{0};
  std::atomic<unsigned> apiVersion_{0};
  unsigned attached_ = 0;  // cuCtxAttach, guarded by the life mutex
  Context* nextDead_ = nullptr;

  StreamSet streams_;
  LocalStorage localStorage_;
  HostBlocks hostBlocks_;
  DumpAttributes dumpAttributes_{DumpAttributes::Of::Context};
  backend::KernelLimits kernelLimits_;
  std::atomic<int> cacheConfig_{0};
  // A context whose device's memory this one may reach.
  struct Peer {
    uint64_t id;
    Device* device;
  };
  static constexpr size_t kMostPeers = 16;
  std::vector<Peer>::iterator findPeer(const Context& peer) VG_REQUIRES(peersMutex_);
  void leavePeers();

  Mutex peersMutex_;
  std::vector<Peer> peers_ VG_GUARDED_BY(peersMutex_);
};

// The context with this handle, alive or not; null when it is none.
Context* asContext(const void* handle);
// As a thread would remember it now.
ContextReference referenceTo(Context& context);

// A kernel's fault ends the process's use of all devices: every context has failed then, no other can be made, a reset
// heals nothing, as with the vendor's driver. CUDA_SUCCESS or the first fault.
CUresult checkNoFault();

// A number that no context, green or not, has had.
uint64_t nextContextId();

// A living one that is `wanted`, or null.
Context* findLiving(bool (*wanted)(Context& context));

// The ends of all work that is queued in any context now.
std::vector<Point> pendingEverywhere();
// The same of one device's.
std::vector<Point> pendingOn(const Device& device);

// cuCtxCreate and cuCtxDestroy. Destroying waits for the context's work, ends its streams, modules, allocations and
// stored values, and takes it off the calling thread's stack. A primary context cannot be destroyed so.
Result<Context&> createContext(Device& device, unsigned flags, unsigned apiVersion);
CUresult destroyContext(Context& context);

// The bits of cuCtxCreate's and cuDevicePrimaryCtxSetFlags's flags that are legal together.
CUresult checkContextFlags(unsigned flags);

// cuCtxAttach and cuCtxDetach: a count that starts at one; the context ends when it reaches zero.
CUresult attachContext(Context& context);
CUresult detachContext(Context& context);

// For PrimaryContext only: one in its three acts, never two at once.
Context& reservePrimary(Device& device);
void activatePrimary(Context& context, unsigned flags);
void deactivatePrimary(Context& context);

}  // namespace vg::core
