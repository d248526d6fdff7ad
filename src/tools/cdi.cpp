#include "tools/cdi.h"

#include <cstdio>

#include "tools/common/installation.h"
#include "tools/run.h"

namespace vg::tools {
namespace {

// Where containers find the files: a folder that the command there looks for its library in, too.
const Installation kThere = {"/usr/local/lib/verdigris", {}};
const std::string kCommand = "/usr/local/bin/verdigris";

// A scalar between double quotes.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

bool isPlain(const std::string& text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < ' ') return false;
  return true;
}

void printMount(const std::string& host, const std::string& container) {
  std::printf(
      "    - hostPath: %s\n      containerPath: %s\n      options: [\"ro\", \"nosuid\", \"nodev\", \"rbind\"]\n",
      quoted(host).c_str(), quoted(container).c_str());
}

// Names may hold letters, digits, '-', '_', '.' and ':'.
void printDevice(const std::string& name, const std::string& devices) {
  std::printf("  - name: %s\n    containerEdits:\n      env:\n        - %s\n", quoted(name).c_str(),
              quoted("VERDIGRIS_DEVICES=" + devices).c_str());
}

void printEnvironment(const Installation& installation) {
  std::puts("  env:");
  const auto print = [](const std::string& setting) { std::printf("    - %s\n", quoted(setting).c_str()); };
  print("LD_LIBRARY_PATH=" + kThere.libraryFolder + ":" + kThere.monitoringFolder() + ":" + kThere.profilersFolder());
  if (fileExists(installation.redirect())) print("LD_AUDIT=" + kThere.redirect());
  print("CUDA_FORCE_PTX_JIT=1");
}

}  // namespace

int cdi(const CdiOptions& options) {
  if (!options.devices.empty() && !isDeviceList(options.devices)) {
    std::fprintf(stderr, "verdigris cdi: --devices %s: expected %s\n", options.devices.c_str(), kDeviceListForm);
    return 2;
  }
  const Installation installation = findInstallation(options.libraryFolder);
  if (installation.libraryFolder.empty()) {
    tellNotFound(installation, "cdi", options.libraryFolder);
    return 1;
  }
  const std::string command = canonical(ownFolder() + "/verdigris");
  if (!isPlain(installation.libraryFolder + command)) {
    std::fprintf(stderr, "verdigris cdi: the path of the installation cannot be written down\n");
    return 2;
  }
  std::puts(
      "# Made by `verdigris cdi`. Engines read it in /etc/cdi: podman run --device verdigris/gpu=2 IMAGE PROGRAM");
  std::puts("cdiVersion: \"0.5.0\"\nkind: \"verdigris/gpu\"\ndevices:");
  for (const int count : {1, 2, 4, 8}) printDevice(std::to_string(count), "cpu:" + std::to_string(count));
  if (!options.devices.empty()) printDevice("chosen", options.devices);
  std::puts("containerEdits:");
  printEnvironment(installation);
  std::puts("  mounts:");
  printMount(installation.libraryFolder, kThere.libraryFolder);
  printMount(command, kCommand);
  return 0;
}

}  // namespace vg::tools
