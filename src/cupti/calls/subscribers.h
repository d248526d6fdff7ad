// Who has subscribed to callbacks. A subscriber is a place of a fixed table, so that a handle that has ended is known
// as such, and a callback that runs while its subscriber ends meets memory that is there.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "cupti/calls/callbacks.h"
#include "cupti/cupti.h"
#include "cupti/records/collector.h"

namespace vg::cupti {

struct Subscriber {
  static constexpr unsigned kWords = (kDriverCallbacks + 63) / 64;

  std::atomic<bool> living{false};
  bool ending = false;  // it lives no more, but its buffers are still being given back
  std::atomic<CUpti_CallbackFunc> function{nullptr};
  std::atomic<void*> user{nullptr};
  std::atomic<uint64_t> enabled[CUPTI_CB_DOMAIN_SIZE][kWords] = {};
  bool sharing = false;  // it lets others subscribe beside it
  char name[kLongestSubscriberName + 1] = "";
  Collector collector;

  bool hears(CUpti_CallbackDomain domain, CUpti_CallbackId id) const {
    return enabled[domain][id / 64].load(std::memory_order_relaxed) >> (id % 64) & 1;
  }
  bool hearsAny(CUpti_CallbackDomain domain) const;
  void hear(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on);
  void call(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) const;
};
using CUpti_SubscriberHandle = Subscriber*;

namespace subscribers {

inline constexpr unsigned kMost = 6;
Subscriber& at(unsigned number);
// A bit for each place that may live: most have none.
extern constinit std::atomic<unsigned> taken;
// Null for what is no living subscriber.
Subscriber* find(CUpti_SubscriberHandle handle);

CUptiResult add(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc function, void* user,
                const CUpti_SubscriberParams* parameters);
// Gives its buffers back, with no lock held: functions that take them may call anything.
CUptiResult remove(CUpti_SubscriberHandle handle);
void removeAll();

// For programs that have none.
Collector& commonCollector();
template <class Visit>
void each(Visit visit) {
  for (unsigned left = taken.load(std::memory_order_acquire); left; left &= left - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(left));
    if (at(i).living.load(std::memory_order_acquire)) visit(at(i), i);
  }
}
template <class Visit>
void eachCollector(Visit visit) {
  visit(commonCollector());
  each([&visit](Subscriber& subscriber, unsigned) { visit(subscriber.collector); });
}

// Asks the driver for what subscribers and collectors want now. After each change of that.
void tellDriver();

}  // namespace subscribers
}  // namespace vg::cupti
