// What libnvidia-ml.so.1 of this installation says of the devices: everything that `verdigris smi` prints.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vg::tools {

struct MonitoredProcess {
  unsigned pid;
  std::string name;  // path of the program
  unsigned long long usedMemory;
};

// A device at one moment. Empty options: the library does not know.
struct MonitoredDevice {
  unsigned index = 0, minorNumber = 0;
  std::string name, uuid, busId, architecture, capability;
  unsigned pciDomain = 0, pciBus = 0, pciDevice = 0, pciDeviceId = 0, pciSubsystemId = 0;
  bool persistence = false, displayMode = false, displayActive = false;
  unsigned computeMode = 0;
  std::optional<unsigned> eccCurrent, eccPending, migMode;
  unsigned long long totalMemory = 0, usedMemory = 0, freeMemory = 0;
  unsigned long long totalBar1 = 0, usedBar1 = 0, freeBar1 = 0;
  std::optional<unsigned> busy, memoryBusy;  // per cent
  std::optional<unsigned> temperature, fan, powerDraw, powerLimit, performanceState;
  struct Clocks {
    std::optional<unsigned> graphics, multiprocessors, memory, video;  // MHz
  } clocks, mostClocks;
  std::vector<MonitoredProcess> processes;
};

class Monitor {
 public:
  // Null when the library cannot be used; `reason` then says why. It reads the environment now.
  static std::unique_ptr<Monitor> open(const std::string& libraryFolder, std::string& reason);
  ~Monitor();
  Monitor(const Monitor&) = delete;

  std::string driverVersion() const;
  std::string cudaVersion() const;
  unsigned deviceCount() const;
  // `index` below deviceCount().
  MonitoredDevice device(unsigned index) const;

 private:
  explicit Monitor(void* library) : library_(library) {}
  template <class... Arguments>
  unsigned call(const char* function, Arguments... arguments) const;
  std::string text(const char* function, void* device) const;
  std::optional<unsigned> number(const char* function, void* device) const;
  std::optional<unsigned> number(const char* function, void* device, unsigned which) const;
  void fillIdentity(MonitoredDevice& to, void* device) const;
  void fillState(MonitoredDevice& to, void* device) const;
  void fillMemory(MonitoredDevice& to, void* device) const;
  void fillProcesses(MonitoredDevice& to, void* device) const;

  void* const library_;
};

}  // namespace vg::tools
