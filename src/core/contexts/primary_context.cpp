#include "core/contexts/primary_context.h"

#include <vector>

#include "core/process/inside_host_function.h"

namespace vg::core {
namespace {

// By ordinal; set by cuInit before the gate opens, then constant.
constinit std::vector<PrimaryContext*>* made = nullptr;

}  // namespace

void makePrimaryContexts() {
  if (made) return;
  auto* const all = new std::vector<PrimaryContext*>;
  for (int ordinal = 0; ordinal < deviceCount(); ++ordinal) all->push_back(new PrimaryContext(deviceAt(ordinal)));
  made = all;
}

PrimaryContext& primaryOf(const Device& device) { return *(*made)[static_cast<size_t>(device.ordinal())]; }

// Waits until no other thread takes the context apart. A destructor of a stored value that asks for the context which
// is being taken apart under it would wait for itself.
CUresult PrimaryContext::awaitTeardown(ReleasableLock& lock) {
  if (insideHostFunction)
    return fail(CUDA_ERROR_NOT_PERMITTED, "host functions may not retain, release or reset a primary context");
  if (teardownBy_ == std::this_thread::get_id())
    return fail(CUDA_ERROR_NOT_PERMITTED, "the primary context of device %d is being taken apart by this thread",
                ordinal());
  while (teardownBy_ != std::thread::id()) lock.wait(teardownDone_);
  return CUDA_SUCCESS;
}

CUresult PrimaryContext::end(ReleasableLock& lock) {
  active_ = false;
  teardownBy_ = std::this_thread::get_id();
  lock.unlock();
  deactivatePrimary(context_);
  lock.lock();
  flags_ = 0;
  teardownBy_ = std::thread::id();
  teardownDone_.notify_all();
  return CUDA_SUCCESS;
}

CUresult PrimaryContext::retainLocked(ReleasableLock& lock) {
  VG_CHECK(awaitTeardown(lock));
  if (!active_) {
    VG_CHECK(checkNoFault());
    activatePrimary(context_, flags_ | CU_CTX_MAP_HOST);
    active_ = true;
  }
  ++retained_;
  return CUDA_SUCCESS;
}

CUresult PrimaryContext::releaseLocked(ReleasableLock& lock) {
  VG_CHECK(awaitTeardown(lock));
  if (!retained_)
    return fail(CUDA_ERROR_INVALID_CONTEXT, "the primary context of device %d is not retained", ordinal());
  return --retained_ || !active_ ? CUDA_SUCCESS : end(lock);
}

Result<Context&> PrimaryContext::retain() {
  ReleasableLock lock(mutex_);
  VG_CHECK(retainLocked(lock));
  return context_;
}

CUresult PrimaryContext::release() {
  ReleasableLock lock(mutex_);
  return releaseLocked(lock);
}

Result<Context&> PrimaryContext::retainForGreen() {
  ReleasableLock lock(mutex_);
  VG_CHECK(retainLocked(lock));
  ++greens_;
  return context_;
}

CUresult PrimaryContext::releaseFromGreen() {
  ReleasableLock lock(mutex_);
  --greens_;
  return releaseLocked(lock);
}

CUresult PrimaryContext::reset() {
  ReleasableLock lock(mutex_);
  VG_CHECK(awaitTeardown(lock));
  if (greens_) return fail(CUDA_ERROR_NOT_PERMITTED, "green contexts hold the primary context of device %d", ordinal());
  return active_ ? end(lock) : CUDA_SUCCESS;
}

CUresult PrimaryContext::setFlags(unsigned flags) {
  VG_CHECK(checkContextFlags(flags));
  if (flags & CU_CTX_MAP_HOST) return fail(CUDA_ERROR_INVALID_VALUE, "primary contexts map host memory in any case");
  const MutexLock lock(mutex_);
  flags_ = flags;
  return active_ ? context_.setFlags(flags) : CUDA_SUCCESS;
}

void PrimaryContext::state(unsigned* flags, bool* active) const {
  const MutexLock lock(mutex_);
  *flags = flags_;
  *active = active_;
}

}  // namespace vg::core
