#include "backend/registry.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "backend/queues/interleaving.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/undying.h"
#include "check/tools.h"

namespace vg::backend {
namespace {

constexpr int kMostDevices = 64;

const Kind* kindNamed(const std::string& name, const Kind* kinds) {
  for (const Kind* kind = kinds; kind->name; ++kind)
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

// The variable of a setting that was made and that only emulated devices follow; null when there is none.
const char* wantsEmulation() {
  const Settings& s = settings();
  if (!s.check.empty()) return "VERDIGRIS_CHECK";
  if (!s.coverage.empty()) return "VERDIGRIS_COVERAGE";
  if (!s.profile.empty()) return "VERDIGRIS_PROFILE";
  if (!s.memory.empty()) return "VERDIGRIS_MEMORY";
  if (!s.computeCapability.empty()) return "VERDIGRIS_COMPUTE_CAPABILITY";
  if (!s.kernels.empty()) return "VERDIGRIS_KERNELS";
  if (!s.pageable.empty()) return "VERDIGRIS_PAGEABLE";
  if (!s.approximate.empty()) return "VERDIGRIS_APPROXIMATE";
  if (!s.seed.empty()) return "VERDIGRIS_SEED";
  return s.workers.empty() ? nullptr : "VERDIGRIS_WORKERS";
}

std::vector<Device*> chooseDevices(const Kind* kinds) {
  const Kind* const real = kindNamed("gpu", kinds);
  if (real && (!real->present || real->present())) {
    if (const char* const setting = wantsEmulation()) {
      VG_LOG(Info, "%s is set, which only emulated devices follow: real GPUs are not used", setting);
    } else if (std::vector<Device*> made = makeDevices("gpu:all", kinds); !made.empty()) {
      return made;
    } else {
      VG_LOG(Warn, "an emulated device is used instead of the real GPUs; VERDIGRIS_DEVICES=cpu:1 avoids this warning");
    }
  }
  return makeDevices("cpu:1", kinds);
}

// A program without a report must not seem to be without faults.
void sayWhatIsNotSeen() {
  if (check::parseTools(settings().check, nullptr) & check::kOfKernels)
    VG_LOG(Warn, "VERDIGRIS_CHECK: kernels of real GPUs are not checked, only calls and leaks (tools api, leaks)");
  if (!settings().coverage.empty())
    VG_LOG(Warn, "VERDIGRIS_COVERAGE: nothing is counted of kernels that run on real GPUs");
}

}  // namespace

std::vector<Device*> makeDevices(const std::string& text, const Kind* kinds) {
  if (text == "auto") return chooseDevices(kinds);
  std::vector<std::unique_ptr<Device>> made;  // whoever asks again makes all of them, also where one was made
  std::map<std::string, int> numbers;
  bool anyReal = false;
  for (const DeviceEntry& entry : parseDevices(text)) {
    const Kind* kind = kindNamed(entry.kind, kinds);
    for (int i = 0; kind && i < entry.count && made.size() < kMostDevices; ++i) {
      std::unique_ptr<Device> device(kind->create(numbers[entry.kind]++));
      if (!device && entry.all) break;
      if (!device) continue;
      anyReal |= entry.kind == "gpu";
      made.push_back(std::move(device));
    }
  }
  if (anyReal) sayWhatIsNotSeen();
  std::vector<Device*> kept;
  kept.reserve(made.size());
  for (std::unique_ptr<Device>& device : made) kept.push_back(device.release());
  return kept;
}

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
  return undyingFrom<std::vector<Device*>>([] {
    log::readSettings();  // nvidia-smi's kin ask for devices before cuInit
    interleaving::begin();
    return makeDevices(settings().devices, kKinds);
  });
}

}  // namespace vg::backend
