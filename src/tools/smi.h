// `verdigris smi`: what people expect of nvidia-smi, for the devices of this machine and the programs of this user.
#pragma once

#include <optional>
#include <string>

namespace vg::tools {

struct SmiOptions {
  std::string libraryFolder, devices, profile;
  bool list = false, everything = false, xml = false, fieldNames = false;
  std::string gpuFields, processFields;  // of --query-gpu and --query-compute-apps
  std::string format = "csv";
  std::string only;               // which devices
  std::string sections;           // of -q
  std::optional<double> seconds;  // between two looks; without, one look
  std::optional<double> milliseconds;
  std::string fileName;  // where to print; empty: standard output
};

// 0; 1: no library or no device; 2: an option is wrong; 6: -i names no device.
int smi(const SmiOptions& options);

}  // namespace vg::tools
