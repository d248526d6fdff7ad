// Tells a profiler of a call of the driver API (api/tables/observer.h), on the thread that makes it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "api/tables/observer_table.h"

namespace vg::api {

// Who has attached; null: nobody.
extern constinit std::atomic<const Observer*> attached;
// Null while nobody wants to know of calls.
extern constinit std::atomic<const Observer*> callObserver;

// How the arguments of an entry point lie in memory.
struct ArgumentLayout {
  uint8_t size, alignment;
};
template <class... Args>
inline constexpr ArgumentLayout kArgumentLayouts[sizeof...(Args) + 1] = {
    {static_cast<uint8_t>(sizeof(Args)), static_cast<uint8_t>(alignof(Args))}..., {0, 1}};

class TellCall {
 public:
  // `values`: the addresses of the arguments, as many as there are layouts before the one of no size.
  TellCall(unsigned entry, const char* symbol, uint64_t correlation, const ArgumentLayout* layouts,
           const void* const* values);
  // The call has ended, if it was told of.
  void ended(CUresult result);

 private:
  static constexpr size_t kMostBytes = 256;
  void pack(const ArgumentLayout* layouts, const void* const* values);

  const Observer* const observer_;
  ObservedCall call_;
  alignas(16) std::byte arguments_[kMostBytes];
};

// A runtime tells of a call of its own.
void tellRuntimeCall(uint32_t callback, void* call);
// The words that runtimes look at.
inline constexpr size_t kRuntimeWords = 4096;  // far more than any runtime has functions
extern constinit uint32_t runtimeWords[kRuntimeWords];

}  // namespace vg::api
