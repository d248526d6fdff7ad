#include "cupti/calls/subscribers.h"

#include <algorithm>
#include <cstring>

#include "base/sync/mutex.h"
#include "base/undying.h"
#include "cupti/driver.h"

namespace vg::cupti {

bool Subscriber::hearsAny(CUpti_CallbackDomain domain) const {
  const auto& words = enabled[domain];
  return std::any_of(std::begin(words), std::end(words), [](const auto& word) { return word.load() != 0; });
}

void Subscriber::hear(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on) {
  const uint64_t bit = uint64_t{1} << (id % 64);
  if (on)
    enabled[domain][id / 64].fetch_or(bit);
  else
    enabled[domain][id / 64].fetch_and(~bit);
}

void Subscriber::call(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) const {
  const CUpti_CallbackFunc target = function.load(std::memory_order_acquire);
  if (target && living.load(std::memory_order_acquire)) target(user.load(std::memory_order_acquire), domain, id, data);
}

namespace subscribers {

constinit std::atomic<unsigned> taken{0};

namespace {

constinit Mutex changing;
constinit Mutex telling;

// Calls that a program makes while it exits are told, too.
struct All {
  Subscriber places[kMost];
  Collector common;
};
All& all() { return undying<All, struct KeptSubscribers>(); }

// Requires a name of at most kLongestSubscriberName characters, or none.
void giveOldName(const Subscriber& old, const CUpti_SubscriberParams* parameters) {
  if (!parameters || !parameters->oldSubscriberName || !parameters->oldSubscriberSize) return;
  const size_t length = std::min(std::strlen(old.name), parameters->oldSubscriberSize - 1);
  std::memcpy(parameters->oldSubscriberName, old.name, length);
  parameters->oldSubscriberName[length] = 0;
}

// Null where nobody is in the way.
const Subscriber* inTheWay(bool sharing) {
  for (const Subscriber& place : all().places)
    if (place.living.load(std::memory_order_acquire) && !(sharing && place.sharing)) return &place;
  return nullptr;
}

bool isPlace(CUpti_SubscriberHandle handle) {
  return std::any_of(std::begin(all().places), std::end(all().places),
                     [handle](const Subscriber& p) { return &p == handle; });
}

Subscriber* freePlace() {
  for (Subscriber& place : all().places)
    if (!place.living.load(std::memory_order_acquire) && !place.ending) return &place;
  return nullptr;
}

// The place of who ends is free again behind this.
class Ending {
 public:
  explicit Ending(Subscriber& place) : place_(place) {}
  ~Ending() {
    const MutexLock lock(changing);
    place_.ending = false;
  }
  Ending(const Ending&) = delete;

 private:
  Subscriber& place_;
};

void begin(Subscriber& place, CUpti_CallbackFunc function, void* user, const CUpti_SubscriberParams* parameters) {
  for (auto& domain : place.enabled)
    for (auto& word : domain) word.store(0);
  place.user.store(user, std::memory_order_release);
  place.function.store(function, std::memory_order_release);
  place.sharing = parameters && parameters->allowMultipleSubscribers;
  const char* const name = parameters && parameters->subscriberName ? parameters->subscriberName : "";
  const size_t length = std::min(std::strlen(name), kLongestSubscriberName);
  std::memcpy(place.name, name, length);
  place.name[length] = 0;
  place.living.store(true, std::memory_order_release);
  taken.fetch_or(1u << (&place - all().places), std::memory_order_release);
}

bool anyHears(CUpti_CallbackDomain domain) {
  bool any = false;
  each([&](const Subscriber& subscriber, unsigned) { any = any || subscriber.hearsAny(domain); });
  return any;
}

constexpr uint64_t bit(CUpti_ActivityKind kind) { return uint64_t{1} << kind; }
// Kinds whose records are made of calls.
constexpr uint64_t kOfCalls = bit(CUPTI_ACTIVITY_KIND_DRIVER) | bit(CUPTI_ACTIVITY_KIND_RUNTIME) |
                              bit(CUPTI_ACTIVITY_KIND_CONTEXT) | bit(CUPTI_ACTIVITY_KIND_DEVICE) |
                              bit(CUPTI_ACTIVITY_KIND_CUDA_EVENT) | bit(CUPTI_ACTIVITY_KIND_STREAM) |
                              bit(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) | bit(CUPTI_ACTIVITY_KIND_NAME);

void setRuntimeWords(const api::ObserverTable& table) {
  uint32_t* words = nullptr;
  size_t count = 0;
  table.runtimeWords(&words, &count);
  for (CUpti_CallbackId id = 1; id < count && id < kRuntimeCallbacks; ++id) {
    bool wanted = false;
    each([&](const Subscriber& s, unsigned) { wanted = wanted || s.hears(CUPTI_CB_DOMAIN_RUNTIME_API, id); });
    eachCollector([&](const Collector& c) { wanted = wanted || c.wantsCall(CUPTI_ACTIVITY_KIND_RUNTIME, id); });
    __atomic_store_n(&words[id], wanted, __ATOMIC_RELAXED);
  }
}

}  // namespace

Subscriber& at(unsigned number) { return all().places[number]; }

Subscriber* find(CUpti_SubscriberHandle handle) {
  for (Subscriber& place : all().places)
    if (&place == handle && place.living.load(std::memory_order_acquire)) return &place;
  return nullptr;
}

CUptiResult add(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc function, void* user,
                const CUpti_SubscriberParams* parameters) {
  if (!handle) return CUPTI_ERROR_INVALID_PARAMETER;
  if (parameters && parameters->structSize < sizeof(CUpti_SubscriberParams)) return CUPTI_ERROR_INVALID_PARAMETER;
  const MutexLock lock(changing);
  if (const Subscriber* const other = inTheWay(parameters && parameters->allowMultipleSubscribers)) {
    giveOldName(*other, parameters);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  Subscriber* const place = freePlace();
  if (!place) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  begin(*place, function, user, parameters);
  *handle = place;
  return CUPTI_SUCCESS;
}

CUptiResult remove(CUpti_SubscriberHandle handle) {
  if (!isPlace(handle)) return CUPTI_ERROR_INVALID_PARAMETER;
  {
    const MutexLock lock(changing);
    if (!find(handle)) return CUPTI_SUCCESS;  // it has ended; NVIDIA's library says so too
    handle->ending = true;
    handle->living.store(false, std::memory_order_release);
  }
  const Ending ending(*handle);
  handle->collector.reset();
  tellDriver();
  return CUPTI_SUCCESS;
}

void removeAll() {
  for (Subscriber& place : all().places) (void)remove(&place);
}

Collector& commonCollector() { return all().common; }

void tellDriver() {
  const api::ObserverTable* const table = driver();
  if (!table) return;
  const MutexLock lock(telling);
  uint64_t kinds = 0;
  eachCollector([&](const Collector& collector) { kinds |= collector.kindsOrParts(); });
  bool calls = kinds & kOfCalls;
  for (const CUpti_CallbackDomain domain :
       {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_SYNCHRONIZE})
    calls = calls || anyHears(domain);
  setRuntimeWords(*table);
  table->want((calls ? api::WantDriverCalls : 0u) | (kinds ? api::WantRecords : 0u));
}

}  // namespace subscribers
}  // namespace vg::cupti
