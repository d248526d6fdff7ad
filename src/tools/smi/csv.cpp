// --query-gpu and --query-compute-apps: one row a field, from which all else follows.
#include <unistd.h>

#include <cstdio>
#include <functional>

#include "base/settings.h"
#include "tools/smi/print.h"
#include "tools/smi/unknown_fields.h"

namespace vg::tools::smi_print {
namespace {

const std::string kUnknown = "[N/A]";

std::string text(const std::optional<unsigned>& value) { return value ? std::to_string(*value) : kUnknown; }
std::string mebibytes(unsigned long long bytes) { return std::to_string(bytes >> 20); }
std::string enabled(bool is) { return is ? "Enabled" : "Disabled"; }
std::string enabled(const std::optional<unsigned>& is) { return is ? enabled(*is != 0) : kUnknown; }
std::string watts(const std::optional<unsigned>& milliwatts) {
  if (!milliwatts) return kUnknown;
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", *milliwatts / 1000.0);
  return text;
}
std::string hexadecimal(unsigned value, int digits) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%0*X", digits, value);
  return text;
}
std::string computeMode(unsigned mode) {
  static const char* const names[] = {"Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process"};
  return mode < 4 ? names[mode] : kUnknown;
}

std::string hostName() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) ? kUnknown : name;
}

// A device, and a process of it where rows are processes.
struct Row {
  const Look& look;
  const MonitoredDevice& device;
  const MonitoredProcess* process;
};

struct Field {
  const char *name, *other;  // `other` may be asked for, too
  const char* unit;
  std::function<std::string(const Row&)> value;
};

std::vector<Field> withUnknown(std::vector<Field> fields) {
  for (const UnknownField& field : kUnknownFields)
    fields.push_back({field.name, field.other, field.unit, [](const Row&) { return kUnknown; }});
  return fields;
}

using D = const Row&;
const std::vector<Field>& deviceFields() {
  static const std::vector<Field> fields = withUnknown({
      {"timestamp", "", "", [](D row) { return row.look.timestamp; }},
      {"driver_version", "", "", [](D row) { return row.look.driverVersion; }},
      {"hostname", "", "", [](D) { return hostName(); }},
      {"count", "", "", [](D row) { return std::to_string(row.look.attached); }},
      {"name", "gpu_name", "", [](D row) { return row.device.name; }},
      {"serial", "gpu_serial", "", [](D) { return kUnknown; }},
      {"uuid", "gpu_uuid", "", [](D row) { return row.device.uuid; }},
      {"pci.bus_id", "gpu_bus_id", "", [](D row) { return row.device.busId; }},
      {"pci.domain", "", "", [](D row) { return hexadecimal(row.device.pciDomain, 4); }},
      {"pci.bus", "", "", [](D row) { return hexadecimal(row.device.pciBus, 2); }},
      {"pci.device", "", "", [](D row) { return hexadecimal(row.device.pciDevice, 2); }},
      {"pci.device_id", "", "", [](D row) { return hexadecimal(row.device.pciDeviceId, 8); }},
      {"pci.sub_device_id", "", "", [](D row) { return hexadecimal(row.device.pciSubsystemId, 8); }},
      {"index", "", "", [](D row) { return std::to_string(row.device.index); }},
      {"display_mode", "", "", [](D row) { return enabled(row.device.displayMode); }},
      {"display_active", "", "", [](D row) { return enabled(row.device.displayActive); }},
      {"persistence_mode", "", "", [](D row) { return enabled(row.device.persistence); }},
      {"accounting.mode", "", "", [](D) { return kUnknown; }},
      {"mig.mode.current", "", "", [](D row) { return enabled(row.device.migMode); }},
      {"mig.mode.pending", "", "", [](D row) { return enabled(row.device.migMode); }},
      {"vbios_version", "", "", [](D) { return kUnknown; }},
      {"fan.speed", "", "%", [](D row) { return text(row.device.fan); }},
      {"pstate", "", "",
       [](D row) { return row.device.performanceState ? "P" + text(row.device.performanceState) : kUnknown; }},
      {"memory.total", "", "MiB", [](D row) { return mebibytes(row.device.totalMemory); }},
      {"memory.reserved", "", "MiB", [](D) { return std::string("0"); }},
      {"memory.used", "", "MiB", [](D row) { return mebibytes(row.device.usedMemory); }},
      {"memory.free", "", "MiB", [](D row) { return mebibytes(row.device.freeMemory); }},
      {"compute_mode", "", "", [](D row) { return computeMode(row.device.computeMode); }},
      {"compute_cap", "", "", [](D row) { return row.device.capability; }},
      {"utilization.gpu", "", "%", [](D row) { return text(row.device.busy); }},
      {"utilization.memory", "", "%", [](D row) { return text(row.device.memoryBusy); }},
      {"ecc.mode.current", "", "", [](D row) { return enabled(row.device.eccCurrent); }},
      {"ecc.mode.pending", "", "", [](D row) { return enabled(row.device.eccPending); }},
      {"temperature.gpu", "", "", [](D row) { return text(row.device.temperature); }},
      {"temperature.memory", "", "", [](D) { return kUnknown; }},
      {"power.draw", "", "W", [](D row) { return watts(row.device.powerDraw); }},
      {"power.limit", "gpu.power.requested_limit", "W", [](D row) { return watts(row.device.powerLimit); }},
      {"enforced.power.limit", "gpu.power.current_limit", "W", [](D row) { return watts(row.device.powerLimit); }},
      {"clocks.current.graphics", "clocks.gr", "MHz", [](D row) { return text(row.device.clocks.graphics); }},
      {"clocks.current.sm", "clocks.sm", "MHz", [](D row) { return text(row.device.clocks.multiprocessors); }},
      {"clocks.current.memory", "clocks.mem", "MHz", [](D row) { return text(row.device.clocks.memory); }},
      {"clocks.current.video", "clocks.video", "MHz", [](D row) { return text(row.device.clocks.video); }},
      {"clocks.max.graphics", "clocks.max.gr", "MHz", [](D row) { return text(row.device.mostClocks.graphics); }},
      {"clocks.max.sm", "", "MHz", [](D row) { return text(row.device.mostClocks.multiprocessors); }},
      {"clocks.max.memory", "clocks.max.mem", "MHz", [](D row) { return text(row.device.mostClocks.memory); }},
  });
  return fields;
}

const std::vector<Field>& processFields() {
  static const std::vector<Field> fields = {
      {"timestamp", "", "", [](D row) { return row.look.timestamp; }},
      {"gpu_name", "", "", [](D row) { return row.device.name; }},
      {"gpu_bus_id", "", "", [](D row) { return row.device.busId; }},
      {"gpu_serial", "", "", [](D) { return kUnknown; }},
      {"gpu_uuid", "", "", [](D row) { return row.device.uuid; }},
      {"pid", "", "", [](D row) { return std::to_string(row.process->pid); }},
      {"process_name", "name", "", [](D row) { return row.process->name; }},
      {"used_gpu_memory", "used_memory", "MiB", [](D row) { return mebibytes(row.process->usedMemory); }},
  };
  return fields;
}

const std::vector<Field>& fieldsOf(Rows rows) { return rows == Rows::Devices ? deviceFields() : processFields(); }

const Field* find(Rows rows, const std::string& name) {
  for (const Field& field : fieldsOf(rows))
    if (name == field.name || (*field.other && name == field.other)) return &field;
  return nullptr;
}

void printRow(Rows rows, const Row& row, const std::vector<std::string>& fields, const CsvForm& form) {
  std::string line;
  for (const std::string& name : fields) {
    const Field& field = *find(rows, name);
    const std::string value = field.value(row);
    line += (line.empty() ? "" : ", ") + value;
    if (*field.unit && form.units && value != kUnknown) line += std::string(" ") + field.unit;
  }
  std::puts(line.c_str());
}

}  // namespace

std::string unknownField(Rows rows, const std::vector<std::string>& fields) {
  for (const std::string& name : fields)
    if (!find(rows, name)) return name;
  return "";
}

void csvHeader(Rows rows, const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& name : fields) {
    const Field& field = *find(rows, name);
    line += (line.empty() ? "" : ", ") + std::string(field.name);
    if (*field.unit) line += std::string(" [") + field.unit + "]";
  }
  std::puts(line.c_str());
}

void csv(Rows rows, const Look& look, const std::vector<std::string>& fields, const CsvForm& form) {
  for (const MonitoredDevice& device : look.devices) {
    if (rows == Rows::Devices) printRow(rows, {look, device, nullptr}, fields, form);
    if (rows == Rows::Processes)
      for (const MonitoredProcess& process : device.processes) printRow(rows, {look, device, &process}, fields, form);
  }
}

void fieldNames(Rows rows) {
  std::puts(rows == Rows::Devices ? "--query-gpu:" : "--query-compute-apps:");
  for (const Field& field : fieldsOf(rows))
    std::printf("  %s%s%s%s%s\n", field.name, *field.other ? " or " : "", field.other, *field.unit ? " in " : "",
                field.unit);
}

}  // namespace vg::tools::smi_print
