#include "api/watch/observed_call.h"

#include <cstring>

#include "activity/recorder.h"
#include "core/contexts/current_context.h"
#include "core/process/thread_state.h"

namespace vg::api {

constinit std::atomic<const Observer*> attached{nullptr};
constinit std::atomic<const Observer*> callObserver{nullptr};
constinit uint32_t runtimeWords[kRuntimeWords];

TellCall::TellCall(unsigned entry, const char* symbol, uint64_t correlation, const ArgumentLayout* layouts,
                   const void* const* values)
    : observer_(callObserver.load(std::memory_order_acquire)) {
  if (!observer_) return;
  pack(layouts, values);
  call_ = {};
  call_.entry = entry;
  call_.symbol = symbol;
  call_.arguments = arguments_;
  call_.correlation = activity::threadPart.outer ? activity::threadPart.outer : correlation;
  call_.context = core::handleOf(core::currentReference());
  observer_->began(call_);
}

void TellCall::ended(CUresult result) {
  if (!observer_) return;
  call_.result = result;
  call_.context = core::handleOf(core::currentReference());
  observer_->ended(call_);
}

void TellCall::pack(const ArgumentLayout* layouts, const void* const* values) {
  size_t end = 0;
  for (; layouts->size; ++layouts, ++values) {
    const size_t at = (end + layouts->alignment - 1) & ~size_t{layouts->alignment - 1u};
    if (at + layouts->size > kMostBytes) return;
    if (layouts->size == sizeof(uint64_t))  // nearly all
      std::memcpy(arguments_ + at, *values, sizeof(uint64_t));
    else if (layouts->size == sizeof(uint32_t))
      std::memcpy(arguments_ + at, *values, sizeof(uint32_t));
    else
      std::memcpy(arguments_ + at, *values, layouts->size);
    end = at + layouts->size;
  }
}

void tellRuntimeCall(uint32_t callback, void* call) {
  const Observer* const observer = attached.load(std::memory_order_acquire);
  if (observer && call) observer->runtimeCall(callback, *static_cast<RuntimeCall*>(call));
}

}  // namespace vg::api
