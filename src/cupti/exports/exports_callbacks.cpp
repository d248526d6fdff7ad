// The callback interface.
#include "cupti/calls/callbacks.h"
#include "cupti/driver.h"
#include "cupti/exports/exports.h"

using namespace vg::cupti;

namespace {

bool isDomain(CUpti_CallbackDomain domain) { return callbackCount(domain) != 0; }

// A list of those from `begin` to `end` that `is` says yes to.
template <class T, class Is>
CUptiResult list(T* buffer, uint32_t* bufferSize, uint32_t* found, uint32_t begin, uint32_t end, Is is) {
  if (!found || (buffer && !bufferSize)) return CUPTI_ERROR_INVALID_PARAMETER;
  const uint32_t room = buffer ? *bufferSize : 0;
  *found = 0;
  for (uint32_t i = begin; i < end; ++i) {
    if (!is(i)) continue;
    if (*found < room) buffer[*found] = static_cast<T>(i);
    ++*found;
  }
  return CUPTI_SUCCESS;
}

void hearAll(Subscriber& subscriber, CUpti_CallbackDomain domain, bool on) {
  for (CUpti_CallbackId id = 1; id < callbackCount(domain); ++id) subscriber.hear(domain, id, on);
}

}  // namespace

CUPTI_EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                        void* userdata) {
  return attached([&] { return subscribers::add(subscriber, callback, userdata, nullptr); });
}

CUPTI_EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                           void* userdata, CUpti_SubscriberParams* pParams) {
  return attached([&] { return subscribers::add(subscriber, callback, userdata, pParams); });
}

CUPTI_EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  return guarded([&] {
    const CUptiResult result = subscribers::remove(subscriber);
    observe::catchUp();  // the recorder's thread is in no function of the program any more
    return result;
  });
}

CUPTI_EXPORT CUptiResult cuptiSupportedDomains(size_t* domainCount, CUpti_CallbackDomain** domainTable) {
  return guarded([&]() -> CUptiResult {
    static CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
                                             CUPTI_CB_DOMAIN_RESOURCE,   CUPTI_CB_DOMAIN_SYNCHRONIZE,
                                             CUPTI_CB_DOMAIN_NVTX,       CUPTI_CB_DOMAIN_STATE};
    if (!domainCount || !domainTable) return CUPTI_ERROR_INVALID_PARAMETER;
    *domainCount = std::size(domains);
    *domainTable = domains;
    return CUPTI_SUCCESS;
  });
}

CUPTI_EXPORT CUptiResult cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                               CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  return guarded([&]() -> CUptiResult {
    const Subscriber* const found = subscribers::find(subscriber);
    if (!enable || !found || cbid >= callbackCount(domain)) return CUPTI_ERROR_INVALID_PARAMETER;
    *enable = found->hears(domain, cbid);
    return CUPTI_SUCCESS;
  });
}

CUPTI_EXPORT CUptiResult cuptiGetGlobalCallbackState(uint32_t* enable, CUpti_CallbackDomain domain,
                                                     CUpti_CallbackId cbid) {
  return guarded([&]() -> CUptiResult {
    if (!enable || cbid >= callbackCount(domain)) return CUPTI_ERROR_INVALID_PARAMETER;
    *enable = 0;
    subscribers::each([&](const Subscriber& s, unsigned) { *enable = *enable || s.hears(domain, cbid); });
    return CUPTI_SUCCESS;
  });
}

CUPTI_EXPORT CUptiResult cuptiGetEnabledCallbacks(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                                  CUpti_CallbackId* buffer, uint32_t* bufferSize,
                                                  uint32_t* enabledCallbacksCount) {
  return guarded([&]() -> CUptiResult {
    if (!isDomain(domain) || (subscriber && !subscribers::find(subscriber))) return CUPTI_ERROR_INVALID_PARAMETER;
    return list(buffer, bufferSize, enabledCallbacksCount, 1, callbackCount(domain), [&](CUpti_CallbackId id) {
      bool on = false;
      subscribers::each([&](const Subscriber& s, unsigned) {
        on = on || ((!subscriber || &s == subscriber) && s.hears(domain, id));
      });
      return on;
    });
  });
}

CUPTI_EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                             CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  return guarded([&]() -> CUptiResult {
    Subscriber* const found = subscribers::find(subscriber);
    if (!found || cbid >= callbackCount(domain)) return CUPTI_ERROR_INVALID_PARAMETER;
    found->hear(domain, cbid, enable);
    subscribers::tellDriver();
    return CUPTI_SUCCESS;
  });
}

CUPTI_EXPORT CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                           CUpti_CallbackDomain domain) {
  return guarded([&]() -> CUptiResult {
    Subscriber* const found = subscribers::find(subscriber);
    if (!found || !isDomain(domain)) return CUPTI_ERROR_INVALID_PARAMETER;
    hearAll(*found, domain, enable);
    subscribers::tellDriver();
    return CUPTI_SUCCESS;
  });
}

CUPTI_EXPORT CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  return guarded([&]() -> CUptiResult {
    Subscriber* const found = subscribers::find(subscriber);
    if (!found) return CUPTI_ERROR_INVALID_PARAMETER;
    for (uint32_t domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; ++domain)
      hearAll(*found, static_cast<CUpti_CallbackDomain>(domain), enable);
    subscribers::tellDriver();
    return CUPTI_SUCCESS;
  });
}

CUPTI_EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char** name) {
  return guarded([&]() -> CUptiResult {
    const char* const found = name ? callbackName(domain, cbid) : nullptr;
    if (!found) return CUPTI_ERROR_INVALID_PARAMETER;
    *name = found;
    return CUPTI_SUCCESS;
  });
}

CUPTI_EXPORT CUptiResult cuptiActivityGetEnabledKinds(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind* buffer,
                                                      uint32_t* bufferSize, uint32_t* enabledKindsCount) {
  return guarded([&]() -> CUptiResult {
    if (subscriber && !subscribers::find(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
    uint64_t kinds = subscriber ? subscriber->collector.kinds() : 0;
    if (!subscriber) subscribers::eachCollector([&](const Collector& c) { kinds |= c.kinds(); });
    return list(buffer, bufferSize, enabledKindsCount, 1, CUPTI_ACTIVITY_KIND_COUNT,
                [kinds](uint32_t kind) { return kinds >> kind & 1; });
  });
}

CUPTI_EXPORT CUptiResult cuptiFinalize() {
  return guarded([&]() -> CUptiResult {
    subscribers::commonCollector().reset();
    subscribers::removeAll();
    subscribers::tellDriver();
    observe::catchUp();
    return CUPTI_SUCCESS;
  });
}
