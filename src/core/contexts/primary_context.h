// The primary context of a device: counted by those who retain it, made usable by the first and taken apart by the
// last. Made by cuInit and never destroyed; its handle exists before anybody retains it. All functions are thread-safe.
#pragma once

#include <cuda.h>

#include <condition_variable>
#include <thread>

#include "base/result.h"
#include "base/sync/mutex.h"
#include "core/contexts/context.h"
#include "core/process/device.h"

namespace vg::core {

class PrimaryContext {
 public:
  explicit PrimaryContext(Device& device) : context_(reservePrimary(device)) {}
  PrimaryContext(const PrimaryContext&) = delete;

  Context& context() const { return context_; }
  Result<Context&> retain();
  CUresult release();
  // Takes the context apart whoever retains it; the next retain makes it usable again. The count goes on.
  // CUDA_ERROR_NOT_PERMITTED while a green context holds it.
  CUresult reset();
  CUresult setFlags(unsigned flags);
  void state(unsigned* flags, bool* active) const;

  // The same as retain and release, for a green context, which holds it meanwhile.
  Result<Context&> retainForGreen();
  CUresult releaseFromGreen();

 private:
  CUresult retainLocked(ReleasableLock& lock) VG_REQUIRES(mutex_) VG_UNCHECKED_LOCKS;   // `lock` is of mutex_
  CUresult releaseLocked(ReleasableLock& lock) VG_REQUIRES(mutex_) VG_UNCHECKED_LOCKS;  // `lock` is of mutex_
  CUresult end(ReleasableLock& lock) VG_REQUIRES(mutex_) VG_UNCHECKED_LOCKS;            // `lock` is of mutex_
  CUresult awaitTeardown(ReleasableLock& lock) VG_REQUIRES(mutex_) VG_UNCHECKED_LOCKS;  // `lock` is of mutex_
  int ordinal() const { return context_.device().ordinal(); }

  Context& context_;
  mutable Mutex mutex_;  // guards what follows; not held while the context is taken apart
  std::condition_variable teardownDone_;
  std::thread::id teardownBy_ VG_GUARDED_BY(mutex_);  // the thread that takes the context apart
  unsigned retained_ VG_GUARDED_BY(mutex_) = 0;
  unsigned greens_ VG_GUARDED_BY(mutex_) = 0;  // of those who retain it
  unsigned flags_ VG_GUARDED_BY(mutex_) = 0;
  bool active_ VG_GUARDED_BY(mutex_) = false;
};

// For cuInit: one for each device, once.
void makePrimaryContexts();
PrimaryContext& primaryOf(const Device& device);

}  // namespace vg::core
