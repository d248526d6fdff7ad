// Everything that is known, as a tree: indented text, or XML with the names that readers of nvidia-smi's know.
#include <cstdio>
#include <utility>

#include "base/text/markup.h"
#include "tools/smi/print.h"

namespace vg::tools::smi_print {
namespace {

struct Node {
  std::string label, element;
  std::string value;                                       // of a leaf
  std::vector<Node> children;                              // of others
  std::string section;                                     // by which -d names it
  std::vector<std::pair<std::string, std::string>> extra;  // attributes of the element
};

Node leaf(const char* label, const char* element, const std::string& value) {
  return {label, element, value, {}, "", {}};
}
Node branch(const char* label, const char* element, std::vector<Node> children, const char* section = "") {
  return {label, element, "", std::move(children), section, {}};
}

std::string unit(const std::optional<unsigned>& value, const char* of) {
  return value ? std::to_string(*value) + " " + of : "N/A";
}
std::string mebibytes(unsigned long long bytes) { return std::to_string(bytes >> 20) + " MiB"; }
std::string enabled(bool is) { return is ? "Enabled" : "Disabled"; }
std::string enabled(const std::optional<unsigned>& is) { return is ? enabled(*is != 0) : "N/A"; }
std::string watts(const std::optional<unsigned>& milliwatts) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f W", milliwatts.value_or(0) / 1000.0);
  return milliwatts ? text : "N/A";
}
std::string hexadecimal(unsigned value, int digits) {
  char text[16];
  std::snprintf(text, sizeof text, "%0*X", digits, value);
  return text;
}
std::string modeName(unsigned mode) {
  static const char* const names[] = {"Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process"};
  return mode < 4 ? names[mode] : "N/A";
}

Node pciNode(const MonitoredDevice& device) {
  return branch("PCI", "pci",
                {leaf("Bus", "pci_bus", hexadecimal(device.pciBus, 2)),
                 leaf("Device", "pci_device", hexadecimal(device.pciDevice, 2)),
                 leaf("Domain", "pci_domain", hexadecimal(device.pciDomain, 4)),
                 leaf("Device Id", "pci_device_id", hexadecimal(device.pciDeviceId, 8)),
                 leaf("Bus Id", "pci_bus_id", device.busId),
                 leaf("Sub System Id", "pci_sub_system_id", hexadecimal(device.pciSubsystemId, 8))});
}

Node clocksNode(const char* label, const char* element, const MonitoredDevice::Clocks& clocks) {
  return branch(label, element,
                {leaf("Graphics", "graphics_clock", unit(clocks.graphics, "MHz")),
                 leaf("SM", "sm_clock", unit(clocks.multiprocessors, "MHz")),
                 leaf("Memory", "mem_clock", unit(clocks.memory, "MHz")),
                 leaf("Video", "video_clock", unit(clocks.video, "MHz"))},
                "CLOCK");
}

Node processesNode(const MonitoredDevice& device) {
  std::vector<Node> nodes;
  for (const MonitoredProcess& process : device.processes)
    nodes.push_back(branch(
        "Process", "process_info",
        {leaf("GPU Instance ID", "gpu_instance_id", "N/A"), leaf("Compute Instance ID", "compute_instance_id", "N/A"),
         leaf("Process ID", "pid", std::to_string(process.pid)), leaf("Type", "type", "C"),
         leaf("Name", "process_name", process.name),
         leaf("Used GPU Memory", "used_memory", mebibytes(process.usedMemory))}));
  return branch("Processes", "processes", std::move(nodes), "PIDS");
}

Node memoryNode(const MonitoredDevice& device) {
  return branch(
      "FB Memory Usage", "fb_memory_usage",
      {leaf("Total", "total", mebibytes(device.totalMemory)), leaf("Reserved", "reserved", "0 MiB"),
       leaf("Used", "used", mebibytes(device.usedMemory)), leaf("Free", "free", mebibytes(device.freeMemory))},
      "MEMORY");
}

Node barNode(const MonitoredDevice& device) {
  return branch("BAR1 Memory Usage", "bar1_memory_usage",
                {leaf("Total", "total", mebibytes(device.totalBar1)), leaf("Used", "used", mebibytes(device.usedBar1)),
                 leaf("Free", "free", mebibytes(device.freeBar1))},
                "MEMORY");
}

Node computeModeNode(const MonitoredDevice& device) {
  Node node = leaf("Compute Mode", "compute_mode", modeName(device.computeMode));
  node.section = "COMPUTE";
  return node;
}

Node deviceNode(const MonitoredDevice& device) {
  const std::string state = device.performanceState ? "P" + std::to_string(*device.performanceState) : "N/A";
  Node node = branch("GPU", "gpu",
                     {leaf("Product Name", "product_name", device.name),
                      leaf("Product Architecture", "product_architecture", device.architecture),
                      leaf("Display Mode", "display_mode", enabled(device.displayMode)),
                      leaf("Display Active", "display_active", enabled(device.displayActive)),
                      leaf("Persistence Mode", "persistence_mode", enabled(device.persistence)),
                      branch("MIG Mode", "mig_mode",
                             {leaf("Current", "current_mig", enabled(device.migMode)),
                              leaf("Pending", "pending_mig", enabled(device.migMode))}),
                      leaf("Serial Number", "serial", "N/A"),
                      leaf("GPU UUID", "uuid", device.uuid),
                      leaf("Minor Number", "minor_number", std::to_string(device.minorNumber)),
                      leaf("CUDA Compute Capability", "compute_capability", device.capability),
                      pciNode(device),
                      leaf("Fan Speed", "fan_speed", unit(device.fan, "%")),
                      leaf("Performance State", "performance_state", state),
                      memoryNode(device),
                      barNode(device),
                      computeModeNode(device),
                      branch("Utilization", "utilization",
                             {leaf("GPU", "gpu_util", unit(device.busy, "%")),
                              leaf("Memory", "memory_util", unit(device.memoryBusy, "%"))},
                             "UTILIZATION"),
                      branch("ECC Mode", "ecc_mode",
                             {leaf("Current", "current_ecc", enabled(device.eccCurrent)),
                              leaf("Pending", "pending_ecc", enabled(device.eccPending))},
                             "ECC"),
                      branch("Temperature", "temperature",
                             {leaf("GPU Current Temp", "gpu_temp", unit(device.temperature, "C"))}, "TEMPERATURE"),
                      branch("GPU Power Readings", "gpu_power_readings",
                             {leaf("Power Draw", "power_draw", watts(device.powerDraw)),
                              leaf("Current Power Limit", "current_power_limit", watts(device.powerLimit))},
                             "POWER"),
                      clocksNode("Clocks", "clocks", device.clocks),
                      clocksNode("Max Clocks", "max_clocks", device.mostClocks),
                      processesNode(device)});
  node.label = "GPU " + device.busId;
  node.extra = {{"id", device.busId}};
  return node;
}

std::vector<Node> treeOf(const Look& look) {
  std::vector<Node> nodes = {leaf("Timestamp", "timestamp", look.time),
                             leaf("Driver Version", "driver_version", look.driverVersion),
                             leaf("CUDA Version", "cuda_version", look.cudaVersion),
                             leaf("Attached GPUs", "attached_gpus", std::to_string(look.attached))};
  for (const MonitoredDevice& device : look.devices) nodes.push_back(deviceNode(device));
  return nodes;
}

void printText(const Node& node, int depth) {
  const std::string label = std::string(static_cast<size_t>(depth) * 4, ' ') + node.label;
  const bool isLeaf = node.children.empty();
  std::printf(isLeaf ? "%-50s: %s\n" : "%s\n", label.c_str(), node.value.empty() ? "None" : node.value.c_str());
  for (const Node& child : node.children) printText(child, depth + 1);
}

bool holdsElements(const Node& node) { return !node.children.empty() || node.element == "processes"; }

void printXml(const Node& node, int depth) {
  const std::string indent(static_cast<size_t>(depth), '\t');
  std::string attributes;
  for (const auto& [name, value] : node.extra) attributes += " " + name + "=\"" + escapedForMarkup(value) + "\"";
  std::printf("%s<%s%s>", indent.c_str(), node.element.c_str(), attributes.c_str());
  if (!holdsElements(node)) {
    std::printf("%s</%s>\n", escapedForMarkup(node.value).c_str(), node.element.c_str());
    return;
  }
  std::puts("");
  for (const Node& child : node.children) printXml(child, depth + 1);
  std::printf("%s</%s>\n", indent.c_str(), node.element.c_str());
}

bool wanted(const Node& node, const std::vector<std::string>& sections) {
  for (const std::string& section : sections)
    if (section == node.section) return true;
  return sections.empty();
}

}  // namespace

bool isSection(const std::string& name) {
  for (const char* known : {"MEMORY", "UTILIZATION", "ECC", "TEMPERATURE", "POWER", "CLOCK", "COMPUTE", "PIDS"})
    if (name == known) return true;
  return false;
}

void everything(const Look& look, const std::vector<std::string>& sections) {
  std::puts("\n==============Verdigris SMI LOG==============\n");
  for (Node& node : treeOf(look)) {
    if (!node.children.empty()) {
      std::erase_if(node.children, [&](const Node& child) { return !wanted(child, sections); });
      std::puts("");
    }
    printText(node, 0);
  }
  std::puts("");
}

void xml(const Look& look) {
  std::puts("<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>");
  for (const Node& node : treeOf(look)) printXml(node, 1);
  std::puts("</nvidia_smi_log>");
}

}  // namespace vg::tools::smi_print
