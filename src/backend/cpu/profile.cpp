#include "backend/cpu/profile.h"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "base/memory/memory_limit.h"
#include "base/settings.h"

namespace vg::backend::cpu {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr int kDefaultCapability = 121;

void set(Traits& traits, CUdevice_attribute which, int value) {
  traits.attributes[which] = value;
  traits.known[which] = true;
}

// What a multiprocessor of each generation holds; applications size their launches by it.
struct Multiprocessor {
  int capability;  // this one and later, up to the next row
  int threads, blocks;
  int sharedKilobytes, sharedPerBlockKilobytes;  // the latter with opt-in
};
constexpr Multiprocessor kMultiprocessors[] = {
    {50, 2048, 32, 64, 48},    {52, 2048, 32, 96, 48},    {53, 2048, 32, 64, 48},   {61, 2048, 32, 96, 48},
    {62, 2048, 32, 64, 48},    {70, 2048, 32, 96, 96},    {75, 1024, 16, 64, 64},   {80, 2048, 32, 164, 163},
    {86, 1536, 16, 100, 99},   {87, 1536, 16, 164, 163},  {89, 1536, 24, 100, 99},  {90, 2048, 32, 228, 227},
    {100, 2048, 32, 228, 227}, {110, 1536, 24, 228, 227}, {120, 1536, 24, 100, 99},
};

void setCapability(Traits& traits, int capability) {
  traits.computeCapability = capability;
  set(traits, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, capability / 10);
  set(traits, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, capability % 10);
}

void setMultiprocessor(Traits& traits, int capability) {
  const Multiprocessor* row = kMultiprocessors;
  for (const Multiprocessor& candidate : kMultiprocessors)
    if (candidate.capability <= capability) row = &candidate;
  set(traits, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, row->threads);
  set(traits, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, row->blocks);
  set(traits, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, row->sharedKilobytes << 10);
  set(traits, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, row->sharedPerBlockKilobytes << 10);
  set(traits, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, capability >= 80 ? 1024 : 0);
}

uint64_t readNumber(const char* path) {
  FILE* file = std::fopen(path, "re");
  if (!file) return 0;
  unsigned long long value = 0;
  const bool found = std::fscanf(file, "%llu", &value) == 1;
  std::fclose(file);
  return found ? value : 0;
}

int clockKilohertz() {
  const uint64_t maximum = readNumber("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  return maximum > 0 && maximum < 100'000'000 ? static_cast<int>(maximum) : 2'000'000;
}

int lastLevelCache() {
  const long bytes = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
  return bytes > 0 ? static_cast<int>(std::min(bytes, 1L << 30)) : 32 << 20;
}

// Three quarters of the memory at hand, shared among the devices; the rest is the application's.
uint64_t defaultMemory(uint64_t devices) {
  static std::atomic<uint64_t> known{0};
  uint64_t atHand = known.load(std::memory_order_relaxed);
  if (!atHand) {
    const uint64_t found = hostMemory();
    if (known.compare_exchange_strong(atHand, found, std::memory_order_relaxed))
      atHand = found;  // the first answer stays
  }
  const uint64_t share = atHand / 4 * 3 / devices;
  return std::max(share / (64 * kMiB) * (64 * kMiB), 64 * kMiB);
}

Traits defaultProfile(const ProfileRequest& request) {
  Traits traits;
  traits.name = "Verdigris Emulated Device";
#define VG_ATTRIBUTE(name, value) set(traits, CU_DEVICE_ATTRIBUTE_##name, value);
#include "backend/cpu/profile_default.inc"
#undef VG_ATTRIBUTE
  traits.totalMemory = {defaultMemory, static_cast<uint64_t>(std::max(request.count, 1))};
  setCapability(traits, kDefaultCapability);
  set(traits, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, static_cast<int>(request.workers));
  set(traits, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, clockKilohertz());
  set(traits, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, lastLevelCache());
  set(traits, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, request.ordinal + 1);
  return traits;
}

Traits h200Profile(const ProfileRequest& request) {
  Traits traits;
  traits.name = "NVIDIA H200";
#define VG_ATTRIBUTE(name, value) set(traits, CU_DEVICE_ATTRIBUTE_##name, value);
#include "backend/attributes_h200.inc"
#undef VG_ATTRIBUTE
  traits.totalMemory = 150109880320;
  setCapability(traits, 90);
  // The first device is the recorded one; its sisters sit on buses of their own.
  traits.attributes[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID] += request.ordinal;
  // What cuOccupancyMaxActiveClusters answers on an H200 for clusters of 1 to 16 blocks follows from these.
  traits.clusterGroups = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
  return traits;
}

// The same device gets the same UUID in every process; no two devices share one.
CUuuid stableUuid(const std::string& name, int ordinal) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(name.data(), name.size(), static_cast<XXH64_hash_t>(ordinal));
  CUuuid uuid;
  std::memcpy(uuid.bytes, &hash, sizeof uuid.bytes);
  uuid.bytes[6] = static_cast<char>((uuid.bytes[6] & 0x0f) | 0x80);  // version 8: made by a rule of our own
  uuid.bytes[8] = static_cast<char>((uuid.bytes[8] & 0x3f) | 0x80);
  return uuid;
}

// One value is meant for all devices, several for one each.
std::string valueFor(const std::string& setting, int ordinal) {
  const std::vector<std::string> values = splitList(setting);
  if (values.size() == 1) return values[0];
  return static_cast<size_t>(ordinal) < values.size() ? values[static_cast<size_t>(ordinal)] : "";
}

int emulatedDevices(const std::string& setting) {
  int count = 0;
  for (const std::string& entry : splitList(setting)) {
    const size_t colon = entry.find(':');
    if (entry.substr(0, colon) == "cpu") count += colon == std::string::npos ? 1 : std::atoi(entry.c_str() + colon + 1);
  }
  return std::max(count, 1);
}

}  // namespace

int parseCapability(const std::string& text) {
  int major = 0, minor = 0, used = 0;
  if (std::sscanf(text.c_str(), "%2d.%1d%n", &major, &minor, &used) != 2 || used != static_cast<int>(text.size())) {
    if (text.size() < 2 || text.size() > 3 || text.find_first_not_of("0123456789") != std::string::npos) return 0;
    major = std::atoi(text.c_str()) / 10;
    minor = std::atoi(text.c_str()) % 10;
  }
  return major >= 5 && major <= 99 && minor >= 0 ? 10 * major + minor : 0;
}

uint64_t hostMemory() { return memory_limit::bytes(); }

ProfileRequest requestFromSettings(int ordinal, uint32_t workers) {
  const Settings& s = settings();
  ProfileRequest request;
  request.ordinal = ordinal;
  request.count = emulatedDevices(s.devices);
  request.workers = workers;
  request.profile = valueFor(s.profile, ordinal);
  request.memory = valueFor(s.memory, ordinal);
  request.capability = valueFor(s.computeCapability, ordinal);
  request.hidesPageable = s.pageable == "0" || (!s.check.empty() && s.pageable != "1");
  return request;
}

Traits makeTraits(const ProfileRequest& request) {
  const bool h200 = request.profile == "h200";
  if (!h200 && !request.profile.empty() && request.profile != "default")
    VG_LOG(Warn, "VERDIGRIS_PROFILE: no profile \"%s\" (there are: default, h200); device %d gets the default one",
           request.profile.c_str(), request.ordinal);
  Traits traits = h200 ? h200Profile(request) : defaultProfile(request);

  if (!request.capability.empty()) {
    if (const int capability = parseCapability(request.capability))
      setCapability(traits, capability);
    else
      VG_LOG(Warn,
             "VERDIGRIS_COMPUTE_CAPABILITY: \"%s\" is no compute capability such as 12.1; device %d stays at %d.%d",
             request.capability.c_str(), request.ordinal, traits.computeCapability / 10, traits.computeCapability % 10);
  }
  if (!h200) setMultiprocessor(traits, traits.computeCapability);

  if (!request.memory.empty()) {
    if (const uint64_t bytes = parseBytes(request.memory))
      traits.totalMemory = std::max(bytes / (2 * kMiB), uint64_t{1}) * (2 * kMiB);
    else
      VG_LOG(Warn, "VERDIGRIS_MEMORY: \"%s\" is no size such as 16GiB; device %d keeps %llu MiB",
             request.memory.c_str(), request.ordinal, static_cast<unsigned long long>(traits.totalMemory / kMiB));
  }
  if (request.hidesPageable) {
    set(traits, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0);
    set(traits, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0);
  }
  traits.workers = request.workers;
  traits.sharesMemory = true;
  traits.uuid = stableUuid(traits.name, request.ordinal);
  return traits;
}

}  // namespace vg::backend::cpu
