#include "tools/info.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/settings.h"
#include "tools/common/driver.h"
#include "tools/common/installation.h"

namespace vg::tools {

namespace {

std::string hostLockingOf(const api::PrivateTable& table) {
  char text[256] = "unknown";
  if (table.size > offsetof(api::PrivateTable, hostLocking)) table.hostLocking(text, sizeof text);
  return text;
}

void row(const char* label, const std::string& value) { std::printf("  %-20s %s\n", label, value.c_str()); }

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string uuidText(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += byte;
  }
  return text;
}

std::string sizeText(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); bytes /= 1024) ++unit;
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %s", bytes, units[unit]);
  return text;
}

void printDevice(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  if (const CUresult result = driver.device(&device, ordinal)) {
    std::printf("\nDevice %d: %s\n", ordinal, driver.describe(result).c_str());
    return;
  }
  char name[256] = "", pciId[32] = "";
  size_t memory = 0;
  CUuuid uuid{};
  driver.deviceName(name, sizeof name, device);
  driver.devicePciId(pciId, sizeof pciId, device);
  driver.deviceMemory(&memory, device);
  driver.deviceUuid(&uuid, device);
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    driver.attribute(&value, which, device);
    return value;
  };
  std::printf("\nDevice %d: %s\n", ordinal, name);
  row("compute capability", std::to_string(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)) + "." +
                                std::to_string(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)));
  row("memory", sizeText(static_cast<double>(memory)));
  row("multiprocessors", std::to_string(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)));
  row("shared memory", sizeText(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)) + " a block, " +
                           sizeText(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)) + " on request");
  row("threads", std::to_string(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)) + " a block");
  row("host memory",
      attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)
          ? "kernels reach all of it, unlike those of most GPUs (VERDIGRIS_PAGEABLE=0: what is registered)"
          : "kernels reach what is registered");
  row("UUID", uuidText(uuid));
  row("PCI id", pciId);
}

// What the entry points with a prefix are about; the first prefix that fits counts.
constexpr struct {
  const char* prefix;
  const char* family;
} kFamilies[] = {
    {"cuDeviceGetDevResource", "green contexts"},
    {"cuCtxGetDevResource", "green contexts"},
    {"cuCtxFromGreen", "green contexts"},
    {"cuGreen", "green contexts"},
    {"cuDev", "devices"},
    {"cuCtx", "contexts"},
    {"cuModule", "modules"},
    {"cuLibrary", "libraries"},
    {"cuKernel", "libraries"},
    {"cuFunc", "modules"},
    {"cuLink", "linker"},
    {"cuMemcpy", "copies"},
    {"cuMemset", "fills"},
    {"cuMemHost", "page-locked memory"},
    {"cuMemAllocHost", "page-locked memory"},
    {"cuMemFreeHost", "page-locked memory"},
    {"cuMemPool", "memory pools"},
    {"cuMemAllocAsync", "memory pools"},
    {"cuMemAllocFromPool", "memory pools"},
    {"cuMemFreeAsync", "memory pools"},
    {"cuMem", "memory"},
    {"cuMulticast", "memory"},
    {"cuPointer", "memory"},
    {"cuIpc", "sharing between processes"},
    {"cuArray", "arrays"},
    {"cuMipmapped", "arrays"},
    {"cuTex", "textures and surfaces"},
    {"cuSurf", "textures and surfaces"},
    {"cuTensor", "tensor maps"},
    {"cuStream", "streams"},
    {"cuEvent", "events"},
    {"cuLaunch", "launches"},
    {"cuParam", "launches"},
    {"cuOccupancy", "occupancy"},
    {"cuGraphics", "graphics"},
    {"cuGL", "graphics"},
    {"cuEGL", "graphics"},
    {"cuVDPAU", "graphics"},
    {"cuGraph", "graphs"},
    {"cuUserObject", "graphs"},
    {"cuThread", "graphs"},
    {"cuImportExternal", "external memory"},
    {"cuExternal", "external memory"},
    {"cuDestroyExternal", "external memory"},
    {"cuSignalExternal", "external memory"},
    {"cuWaitExternal", "external memory"},
    {"cuCheckpoint", "checkpoint and core dump"},
    {"cuCoredump", "checkpoint and core dump"},
    {"cuProfiler", "profiler and logs"},
    {"cuLogs", "profiler and logs"},
};

std::string familyOf(const std::string& symbol) {
  for (const auto& [prefix, family] : kFamilies)
    if (symbol.rfind(prefix, 0) == 0) return family;
  return "process";
}

struct Families {
  struct Count {
    unsigned live = 0, all = 0;
  };
  std::map<std::string, Count> counts;
  std::string stubs;
};

void printCoverage(const api::PrivateTable& table, bool listStubs) {
  unsigned live = 0, stubs = 0;
  table.coverage(&live, &stubs);
  std::printf("\nEntry points\n");
  row("implemented",
      std::to_string(live) + " of " + std::to_string(live + stubs) + "; the others answer CUDA_ERROR_NOT_SUPPORTED");
  Families families;
  table.entryPoints(
      [](void* state, const char* symbol, bool isLive) {
        Families& all = *static_cast<Families*>(state);
        Families::Count& count = all.counts[familyOf(symbol)];
        ++count.all;
        count.live += isLive;
        if (!isLive) all.stubs += std::string("    ") + symbol + "\n";
      },
      &families);
  for (const auto& [family, count] : families.counts)
    std::printf("    %-26s %3u of %3u\n", family.c_str(), count.live, count.all);
  if (listStubs) std::printf("  not implemented:\n%s", families.stubs.c_str());
}

void printSettings(const api::PrivateTable& table) {
  std::printf("\nSettings (environment variables; * where set)\n");
  table.settings(
      [](void*, const char* variable, const char* fallback, const char* meaning, const char* value) {
        const bool isSet = std::getenv(variable) != nullptr;
        const bool printable = static_cast<unsigned char>(fallback[0]) >= ' ';
        std::printf("%s %-30s %s%s%s\n", isSet ? " *" : "  ", variable, meaning, isSet ? "; now: " : "",
                    isSet ? value : "");
        if (!isSet && printable && *fallback) std::printf("   %-30s (default %s)\n", "", fallback);
      },
      nullptr);
}

}  // namespace

int info(const InfoOptions& options) {
  const Installation installation = findInstallation(options.libraryFolder);
  if (installation.libraryFolder.empty()) {
    tellNotFound(installation, "info", options.libraryFolder);
    return 1;
  }
  std::string reason;
  const std::unique_ptr<Driver> driver = Driver::open(installation.library(), reason);
  if (!driver) {
    std::fprintf(stderr, "verdigris info: %s\n", reason.c_str());
    return 1;
  }
  const api::PrivateTable* const table = driver->privateTable();
  int version = 0;
  driver->version(&version);
  std::printf("%s%s\n", table ? "Verdigris " : "A driver that is not Verdigris", table ? table->version : "");
  row("driver API", versionText(version));
  row("library", installation.library());
  row("kernel compiler",
      fileExists(installation.compiler()) ? installation.compiler() : "missing: kernels are interpreted, slowly");

  row("kernel cache", kernelCacheFolder().empty() ? "none" : kernelCacheFolder());
  if (table) row("page-locked by", hostLockingOf(*table));

  const CUresult started = driver->init(0);
  int count = 0;
  if (started == CUDA_SUCCESS) driver->deviceCount(&count);
  row("devices", std::to_string(count));
  for (int i = 0; i < count; ++i) printDevice(*driver, i);
  if (table) printCoverage(*table, options.entryPoints);
  if (table && options.settings) printSettings(*table);
  if (started != CUDA_SUCCESS) {
    std::fprintf(stderr, "\nverdigris info: cuInit answered %s\nRun `verdigris doctor` to find out why.\n",
                 driver->describe(started).c_str());
    return 1;
  }
  return 0;
}

}  // namespace vg::tools
