#include "core/process/visible_devices.h"

#include <strings.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/log.h"
#include "base/settings.h"

namespace vg::core {
namespace {

constexpr size_t kNone = ~size_t{0};

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// What C makes of it: a sign, digits, and whatever comes behind them. Only the low 32 bits of the number count.
size_t byIndex(const std::string& text, size_t count) {
  char* end = nullptr;
  const auto index = static_cast<int>(std::strtol(text.c_str(), &end, 10));
  return end != text.c_str() && index >= 0 && static_cast<size_t>(index) < count ? static_cast<size_t>(index) : kNone;
}

size_t byUuid(const std::string& text, const std::vector<backend::Device*>& all) {
  if (text.size() < 5 || strncasecmp(text.c_str(), "GPU-", 4)) return kNone;
  size_t found = kNone;
  for (size_t index = 0; index < all.size(); ++index) {
    if (strncasecmp(uuidText(all[index]->traits().uuid).c_str(), text.c_str(), text.size())) continue;
    if (found != kNone) return kNone;  // fits two devices
    found = index;
  }
  return found;
}

}  // namespace

Result<std::vector<size_t>> visibleDevices(const std::string& list, const std::vector<backend::Device*>& all) {
  std::vector<size_t> visible;
  for (const std::string& item : splitList(list)) {
    const std::string entry = trimmed(item);
    size_t index = byIndex(entry, all.size());
    if (index == kNone) index = byUuid(entry, all);
    if (index == kNone) {
      VG_LOG(Warn, "CUDA_VISIBLE_DEVICES: \"%s\" names no device; it and all that follow are ignored", entry.c_str());
      break;
    }
    if (std::find(visible.begin(), visible.end(), index) != visible.end())
      return fail(CUDA_ERROR_INVALID_DEVICE, "CUDA_VISIBLE_DEVICES: \"%s\" names a device that is listed before",
                  entry.c_str());
    visible.push_back(index);
  }
  return visible;
}

std::vector<size_t> visibleDevices(size_t count) {
  std::vector<size_t> visible(count);
  for (size_t index = 0; index < count; ++index) visible[index] = index;
  return visible;
}

std::string uuidText(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits;
  }
  return text;
}

}  // namespace vg::core
