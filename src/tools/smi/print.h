// The forms in which `verdigris smi` prints devices.
#pragma once

#include <string>
#include <vector>

#include "tools/smi/monitor.h"

namespace vg::tools::smi_print {

struct Look {
  std::string time, driverVersion, cudaVersion;  // time as "Wed Nov 25 23:11:10 2026"
  std::string timestamp;                         // as "2026/11/25 23:11:10.123"
  unsigned attached = 0;                         // devices that there are
  std::vector<MonitoredDevice> devices;          // that were asked for
};

void list(const Look& look);
void table(const Look& look);

// Everything, indented or as XML. `sections`: names of those to print, as MEMORY; empty: all.
void everything(const Look& look, const std::vector<std::string>& sections);
void xml(const Look& look);
bool isSection(const std::string& name);

// Comma separated values of the fields that --query-gpu or --query-compute-apps names.
struct CsvForm {
  bool header = true, units = true;
};
enum class Rows { Devices, Processes };
// "" when all of them are fields, else the first that is not.
std::string unknownField(Rows rows, const std::vector<std::string>& fields);
void csvHeader(Rows rows, const std::vector<std::string>& fields);
void csv(Rows rows, const Look& look, const std::vector<std::string>& fields, const CsvForm& form);
// The names of all fields, each with its other names.
void fieldNames(Rows rows);

}  // namespace vg::tools::smi_print
