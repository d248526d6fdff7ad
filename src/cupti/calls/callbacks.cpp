#include "cupti/calls/callbacks.h"

#include <cstring>
#include <iterator>

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

CUpti_CallbackId driverCallback(const char* symbol) {
  for (const Row& row : kDriver)
    if (!std::strcmp(row.name, symbol)) return row.id;
  return 0;
}

}  // namespace vg::cupti
