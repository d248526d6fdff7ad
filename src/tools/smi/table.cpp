// The table, and the list of devices.
#include <cstdio>

#include "tools/smi/print.h"

namespace vg::tools::smi_print {
namespace {

// Cut or filled to a width; what is too long loses its beginning (`keepEnd`) or its end.
std::string fitted(const std::string& text, size_t width, bool keepEnd = false) {
  if (text.size() <= width) return text + std::string(width - text.size(), ' ');
  return keepEnd ? "..." + text.substr(text.size() - width + 3) : text.substr(0, width - 3) + "...";
}
std::string right(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}
std::string mebibytes(unsigned long long bytes) { return std::to_string(bytes >> 20) + "MiB"; }
std::string percent(const std::optional<unsigned>& value) { return value ? std::to_string(*value) + "%" : "N/A"; }
std::string watts(const std::optional<unsigned>& milliwatts) {
  return milliwatts ? std::to_string(*milliwatts / 1000) + "W" : "N/A";
}
std::string onOff(bool is) { return is ? "On" : "Off"; }
const char* modeName(unsigned mode) {
  static const char* const names[] = {"Default", "E. Thread", "Prohibited", "E. Process"};
  return mode < 4 ? names[mode] : "N/A";
}

constexpr size_t kWidths[] = {41, 24, 22};  // of the columns, between the bars

void rule(char line) {
  std::string text = "+";
  for (const size_t width : kWidths) text += std::string(width, line) + "+";
  if (line == '=') text.front() = text.back() = '|';
  std::puts(text.c_str());
}
void cells(const std::string& first, const std::string& second, const std::string& third) {
  std::printf("|%s|%s|%s|\n", fitted(first, kWidths[0]).c_str(), fitted(second, kWidths[1]).c_str(),
              right(third + " ", kWidths[2]).c_str());
}
constexpr size_t kWhole = 89;
void wideRule(char line) {
  const char end = line == '=' ? '|' : '+';
  std::printf("%c%s%c\n", end, std::string(kWhole, line).c_str(), end);
}
void wide(const std::string& text) { std::printf("|%s|\n", fitted(text, kWhole).c_str()); }

void deviceRows(const MonitoredDevice& device) {
  const std::string state = device.performanceState ? "P" + std::to_string(*device.performanceState) : "N/A";
  const std::string heat = device.temperature ? std::to_string(*device.temperature) + "C" : "N/A";
  cells(right(std::to_string(device.index), 4) + "  " + fitted(device.name, 25) + right(onOff(device.persistence), 8) +
            "  ",
        right(device.busId + " " + onOff(device.displayActive) + " ", kWidths[1]),
        device.eccCurrent && *device.eccCurrent ? "0" : "N/A");
  cells(right(percent(device.fan), 4) + right(heat, 6) + right(state, 6) + "    " +
            right(watts(device.powerDraw) + " / " + watts(device.powerLimit), 19),
        right(mebibytes(device.usedMemory) + " / " + mebibytes(device.totalMemory) + " ", kWidths[1]),
        right(percent(device.busy), 8) + right(modeName(device.computeMode), 13));
  cells("", "", device.migMode ? (*device.migMode ? "Enabled" : "Disabled") : "N/A");
}

void processRow(const MonitoredDevice& device, const MonitoredProcess& process) {
  wide(right(std::to_string(device.index), 5) + "   N/A  N/A  " + right(std::to_string(process.pid), 14) +
       "      C   " + fitted(process.name, 37, true) + right(mebibytes(process.usedMemory), 9));
}

void processes(const Look& look) {
  bool any = false;
  wideRule('-');
  wide(" Processes:");
  wide("  GPU   GI   CI              PID   Type   Process name                        GPU Memory");
  wide("        ID   ID                                                               Usage");
  wideRule('=');
  for (const MonitoredDevice& device : look.devices)
    for (const MonitoredProcess& process : device.processes) {
      any = true;
      processRow(device, process);
    }
  if (!any) wide("  No running processes found");
  wideRule('-');
}

}  // namespace

void list(const Look& look) {
  for (const MonitoredDevice& device : look.devices)
    std::printf("GPU %u: %s (UUID: %s)\n", device.index, device.name.c_str(), device.uuid.c_str());
}

void table(const Look& look) {
  std::puts(look.time.c_str());
  wideRule('-');
  wide(fitted(" Verdigris " VERDIGRIS_VERSION, 35) + fitted("Driver Version: " + look.driverVersion, 35) +
       "CUDA Version: " + look.cudaVersion);
  rule('-');
  cells(" GPU  Name                 Persistence-M", " Bus-Id          Disp.A", "Volatile Uncorr. ECC");
  cells(" Fan  Temp   Perf          Pwr:Usage/Cap", right("Memory-Usage ", kWidths[1]), "GPU-Util  Compute M.");
  cells("", "", "MIG M.");
  rule('=');
  for (const MonitoredDevice& device : look.devices) {
    deviceRows(device);
    rule('-');
  }
  std::puts("");
  processes(look);
}

}  // namespace vg::tools::smi_print
