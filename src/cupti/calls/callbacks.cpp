#include "cupti/calls/callbacks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string_view>

namespace vg::cupti {
namespace {

struct Row {
  CUpti_CallbackId id;
  const char* name;
};
#define CUPTI_CALLBACK(number, name) {number, #name},
constexpr Row kDriver[] = {
    {0, "INVALID"},
#include "cupti/calls/driver_callbacks.inc"
};
constexpr Row kRuntime[] = {
    {0, "INVALID"},
#include "cupti/calls/runtime_callbacks.inc"
};
#undef CUPTI_CALLBACK
template <size_t kCount>
const char* nameIn(const Row (&rows)[kCount], CUpti_CallbackId id) {
  for (const Row& row : rows)
    if (row.id == id) return row.name;
  return nullptr;
}

}  // namespace

unsigned callbackCount(CUpti_CallbackDomain domain) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return kDriverCallbacks;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return kRuntimeCallbacks;
    case CUPTI_CB_DOMAIN_RESOURCE:
      return CUPTI_CBID_RESOURCE_SIZE;
    case CUPTI_CB_DOMAIN_SYNCHRONIZE:
      return CUPTI_CBID_SYNCHRONIZE_SIZE;
    case CUPTI_CB_DOMAIN_NVTX:
      return 50;
    case CUPTI_CB_DOMAIN_STATE:
      return 4;
    default:
      return 0;
  }
}

const char* callbackName(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return nameIn(kDriver, id);
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return nameIn(kRuntime, id);
    default:
      return nullptr;  // as NVIDIA's library has it
  }
}

// A table of places in the other by name: a thousand symbols are looked for when a profiler attaches.
CUpti_CallbackId driverCallback(const char* symbol) {
  constexpr size_t kCount = std::size(kDriver);
  static constexpr auto kByName = [] {
    std::array<uint16_t, kCount> places{};
    std::iota(places.begin(), places.end(), uint16_t{0});
    std::sort(places.begin(), places.end(), [](uint16_t a, uint16_t b) {
      return std::string_view(kDriver[a].name) < std::string_view(kDriver[b].name);
    });
    return places;
  }();
  const std::string_view name(symbol);
  const auto place = std::lower_bound(kByName.begin(), kByName.end(), name,
                                      [](uint16_t a, std::string_view n) { return kDriver[a].name < n; });
  return place != kByName.end() && kDriver[*place].name == name ? kDriver[*place].id : 0;
}

}  // namespace vg::cupti
