#include "cupti/calls/callbacks.h"

#include <array>
#include <cstdint>
#include <iterator>
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

// Rows by a hash of their names, 0 where there is none: a thousand symbols are looked for when a profiler attaches.
constexpr size_t kPlaces = 2048;
constexpr size_t placeOf(std::string_view name) {
  uint32_t hash = 2166136261;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return (hash ^ hash >> 16) % kPlaces;
}
constexpr auto kByName = [] {
  std::array<uint16_t, kPlaces> rows{};
  for (size_t row = 1; row < std::size(kDriver); ++row) {
    size_t at = placeOf(kDriver[row].name);
    while (rows[at]) at = (at + 1) % kPlaces;
    rows[at] = static_cast<uint16_t>(row);
  }
  return rows;
}();
static_assert(std::size(kDriver) < kPlaces / 2);

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

CUpti_CallbackId driverCallback(const char* symbol) {
  const std::string_view name(symbol);
  for (size_t at = placeOf(name); kByName[at]; at = (at + 1) % kPlaces)
    if (kDriver[kByName[at]].name == name) return kDriver[kByName[at]].id;
  return 0;
}

}  // namespace vg::cupti
