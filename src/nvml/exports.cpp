// The exported functions, derived from entry_points.inc. A stub takes whatever it is given: its caller cleans up.
#include <string_view>

#include "nvml/handlers.h"
#include "nvml/state.h"

#define NVML_EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

// What may be called at any time.
constexpr bool opens(std::string_view name) {
  return name.starts_with("nvmlInit") || name == "nvmlShutdown" || name.starts_with("nvmlSystemGetCudaDriverVersion");
}

}  // namespace

#define NVML_LIVE(name, parameters, arguments)                                 \
  NVML_EXPORT nvmlReturn_t name parameters {                                   \
    if (!opens(#name) && !vg::nvml::isOpen()) return NVML_ERROR_UNINITIALIZED; \
    return vg::nvml::handlers::name arguments;                                 \
  }
#define NVML_STUB(name) \
  NVML_EXPORT nvmlReturn_t name() { return vg::nvml::isOpen() ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_UNINITIALIZED; }
#include "nvml/entry_points.inc"

namespace {

struct Text {
  nvmlReturn_t code;
  const char* text;
};
constexpr Text kTexts[] = {
    {NVML_SUCCESS, "Success"},
    {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
    {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
    {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
    {NVML_ERROR_NOT_FOUND, "Not Found"},
    {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
    {NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"},
    {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "Argument Version Mismatch"},
};

}  // namespace

NVML_EXPORT const char* nvmlErrorString(nvmlReturn_t code) {
  for (const Text& row : kTexts)
    if (row.code == code) return row.text;
  return "Unknown Error";
}
