#include "backend/registry.h"

#include <cstdlib>
#include <cstring>
#include <map>

#include "base/log.h"
#include "base/settings.h"

namespace vg::backend {
namespace {

constexpr int kMostDevices = 64;

const Kind* kindNamed(const std::string& name) {
  for (const Kind* kind = kKinds; kind->name; ++kind)
    if (name == kind->name) return kind;
  VG_LOG(Warn, "VERDIGRIS_DEVICES names '%s', which is no kind of device", name.c_str());
  return nullptr;
}

// "3"; or "all" of what the machine has, which is not said of emulated devices.
bool readCount(const char* text, DeviceEntry* entry) {
  entry->all = !std::strcmp(text, "all") && entry->kind != "cpu";
  if (entry->all) {
    entry->count = kMostDevices;
    return true;
  }
  char* end = nullptr;
  const long count = std::strtol(text, &end, 10);
  entry->count = static_cast<int>(count);
  return end != text && !*end && count >= 0 && count <= kMostDevices;
}

std::vector<Device*> make() {
  std::vector<Device*> made;
  std::map<std::string, int> numbers;
  for (const DeviceEntry& entry : parseDevices(settings().devices)) {
    const Kind* kind = kindNamed(entry.kind);
    for (int i = 0; kind && i < entry.count && made.size() < kMostDevices; ++i) {
      if (Device* device = kind->create(numbers[entry.kind]++))
        made.push_back(device);
      else if (entry.all)
        break;
    }
  }
  return made;
}

}  // namespace

std::vector<DeviceEntry> parseDevices(const std::string& text) {
  std::vector<DeviceEntry> entries;
  for (const std::string& item : splitList(text)) {
    if (item.empty()) continue;
    const size_t colon = item.find(':');
    DeviceEntry entry{item.substr(0, colon)};
    if (colon != std::string::npos) {
      const char* number = item.c_str() + colon + 1;
      if (!readCount(number, &entry)) {
        VG_LOG(Warn, "VERDIGRIS_DEVICES has '%s': the count is no number from 0 to %d", item.c_str(), kMostDevices);
        continue;
      }
    }
    entries.push_back(entry);
  }
  return entries;
}

const std::vector<Device*>& devices() {
  static const std::vector<Device*>* const all = new std::vector<Device*>(make());
  return *all;
}

}  // namespace vg::backend
