#include "nvml/state.h"

#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "api/tables/companion.h"
#include "base/sync/mutex.h"

// A handle is the address of one of these.
struct nvmlDevice_st {
  unsigned long long askedAt;                        // nanoseconds; of the last question about utilisation
  std::map<unsigned, unsigned long long>* busyThen;  // nanoseconds, by process
};

namespace vg::nvml {
namespace {

constexpr unsigned kMost = 256;  // devices

struct Driver {
  const api::PrivateTable* table = nullptr;
  CUresult (*version)(int*) = nullptr;
};

Mutex mutex;
unsigned openings VG_GUARDED_BY(mutex) = 0;
Driver driver VG_GUARDED_BY(mutex);
unsigned devices VG_GUARDED_BY(mutex) = 0;
nvmlDevice_st handles[kMost] VG_GUARDED_BY(mutex);

unsigned long long nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<unsigned long long>(now.tv_sec) * 1'000'000'000 + static_cast<unsigned long long>(now.tv_nsec);
}

bool find(Driver& found) {
  void* const library = api::driverLibrary();
  if (!library) return false;
  const Driver asked = {api::exportTable<api::PrivateTable>(library, api::kPrivateTableId),
                        reinterpret_cast<CUresult (*)(int*)>(dlsym(library, "cuDriverGetVersion"))};
  if (!asked.version || !asked.table || asked.table->size < sizeof(api::PrivateTable)) return false;
  found = asked;
  return true;
}

Driver driverNow() {
  const MutexLock lock(mutex);
  return driver;
}

}  // namespace

nvmlReturn_t open() {
  const MutexLock lock(mutex);
  if (!openings) {
    if (!driver.table && !find(driver)) return NVML_ERROR_DRIVER_NOT_LOADED;
    api::DeviceReport report;
    for (devices = 0; devices < kMost && driver.table->device(devices, &report, sizeof report);) ++devices;
  }
  ++openings;
  return NVML_SUCCESS;
}

nvmlReturn_t close() {
  const MutexLock lock(mutex);
  if (!openings) return NVML_ERROR_UNINITIALIZED;
  --openings;
  return NVML_SUCCESS;
}

bool isOpen() {
  const MutexLock lock(mutex);
  return openings != 0;
}

unsigned deviceCount() {
  const MutexLock lock(mutex);
  return devices;
}
nvmlDevice_t handleOf(unsigned number) { return &handles[number]; }

bool numberOf(nvmlDevice_t device, unsigned& number) {
  if (device < handles || device >= handles + deviceCount()) return false;
  number = static_cast<unsigned>(device - handles);
  return &handles[number] == device;
}

nvmlReturn_t report(nvmlDevice_t device, api::DeviceReport& report) {
  unsigned number;
  if (!numberOf(device, number)) return NVML_ERROR_INVALID_ARGUMENT;
  return driverNow().table->device(number, &report, sizeof report) ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

std::vector<api::OtherProcess> others(unsigned number) {
  std::vector<api::OtherProcess> found;
  driverNow().table->otherProcesses(
      number,
      [](void* list, const api::OtherProcess& process) {
        static_cast<std::vector<api::OtherProcess>*>(list)->push_back(process);
      },
      &found);
  return found;
}

unsigned busyPercent(unsigned number, const api::DeviceReport& report) {
  bool running = report.runningKernels;  // what they have spent is not known before they end
  std::map<unsigned, unsigned long long> busyNow = {{0, report.busyNanoseconds}};
  for (const api::OtherProcess& other : others(number)) {
    running |= other.runningKernels != 0;
    busyNow[other.pid] = other.busyNanoseconds;
  }
  const MutexLock lock(mutex);
  nvmlDevice_st& handle = handles[number];
  const unsigned long long now = nanoseconds(), passed = (now - handle.askedAt) * std::max(report.workers, 1u);
  const bool first = !handle.busyThen;
  if (first) handle.busyThen = new std::map<unsigned, unsigned long long>;
  unsigned long long busy = 0;
  for (const auto& [process, spent] : busyNow)
    if (const unsigned long long then = (*handle.busyThen)[process]; spent > then) busy += spent - then;
  handle.askedAt = now;
  *handle.busyThen = std::move(busyNow);
  if (running) return 100;
  return first || !passed ? 0 : static_cast<unsigned>(std::min(busy * 100 / passed, 100ull));
}

int cudaVersion() {
  int version = 0;
  driverNow().version(&version);
  return version;
}

nvmlReturn_t give(const char* text, char* out, unsigned length) {
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  const size_t needed = std::strlen(text) + 1;
  if (length < needed) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(out, text, needed);
  return NVML_SUCCESS;
}

}  // namespace vg::nvml
