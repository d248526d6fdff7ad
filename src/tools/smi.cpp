#include "tools/smi.h"

#include <strings.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "backend/device_use.h"
#include "base/settings.h"
#include "base/system/process_board.h"
#include "tools/common/installation.h"
#include "tools/run.h"
#include "tools/smi/monitor.h"
#include "tools/smi/print.h"

namespace vg::tools {
namespace {

constexpr int kNoDevice = 6;

int refuse(const std::string& reason, int status) {
  std::fprintf(stderr, "verdigris smi: %s\n", reason.c_str());
  return status;
}

// Programs may have more emulated devices than this command would have by itself.
unsigned emulatedDevicesOfPrograms() {
  unsigned count = 0;
  board::readOthers([&](pid_t, board::Entries entries) {
    for (size_t at = 0; at < entries.size(); at += board::kEntryBytes) {
      const auto& use = *reinterpret_cast<const backend::DeviceUse*>(entries.data() + at);
      if (use.emulated && use.number < board::kEntries) count = std::max(count, use.number + 1);
    }
  });
  return count;
}

// The devices of the environment; where that names none, this user's programs say which.
void chooseDevices(const SmiOptions& options) {
  if (!options.devices.empty()) setenv("VERDIGRIS_DEVICES", options.devices.c_str(), 1);
  if (!options.profile.empty()) setenv("VERDIGRIS_PROFILE", options.profile.c_str(), 1);
  setenv("VERDIGRIS_LOG", "error", 0);
  if (std::getenv("VERDIGRIS_DEVICES")) return;
  const unsigned emulated = emulatedDevicesOfPrograms();
  if (!emulated) return;
  const bool real = !access("/dev/nvidiactl", F_OK);
  setenv("VERDIGRIS_DEVICES", ((real ? "gpu:all,cpu:" : "cpu:") + std::to_string(emulated)).c_str(), 1);
}

bool isAsked(const MonitoredDevice& device, const std::vector<std::string>& only) {
  for (const std::string& name : only)
    if (name == std::to_string(device.index) || name == device.uuid ||
        !strcasecmp(name.c_str(), device.busId.c_str()) ||
        (device.busId.size() > 4 && !strcasecmp(name.c_str(), device.busId.c_str() + 4)))  // with a domain of 16 bits
      return true;
  return only.empty();
}

std::string timeText(const timespec& now, const char* form) {
  tm local{};
  char text[64];
  localtime_r(&now.tv_sec, &local);
  return std::string(text, strftime(text, sizeof text, form, &local));
}

smi_print::Look lookAt(const Monitor& monitor, const std::vector<std::string>& only) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  char fraction[24];
  std::snprintf(fraction, sizeof fraction, ".%03ld", now.tv_nsec / 1'000'000);
  smi_print::Look look;
  look.time = timeText(now, "%a %b %e %H:%M:%S %Y");
  look.timestamp = timeText(now, "%Y/%m/%d %H:%M:%S") + fraction;
  look.driverVersion = monitor.driverVersion();
  look.cudaVersion = monitor.cudaVersion();
  look.attached = monitor.deviceCount();
  for (unsigned i = 0; i < look.attached; ++i)
    if (MonitoredDevice device = monitor.device(i); isAsked(device, only)) look.devices.push_back(std::move(device));
  return look;
}

// Words of a list, with or without spaces behind the commas.
std::vector<std::string> words(std::string list) {
  std::erase(list, ' ');
  return splitList(list);
}

struct Plan {
  bool csv = false;
  smi_print::Rows rows = smi_print::Rows::Devices;
  std::vector<std::string> fields, sections;
  smi_print::CsvForm form;
  double pause = 0;  // between two looks, in seconds; 0: one look
};

// "" when all is well.
std::string readFormat(const std::string& text, smi_print::CsvForm& form) {
  bool csv = false;
  for (const std::string& word : words(text)) {
    if (word == "csv")
      csv = true;
    else if (word == "noheader")
      form.header = false;
    else if (word == "nounits")
      form.units = false;
    else
      return "--format " + text + ": there is no " + word + "; expected csv, with noheader and nounits if wanted";
  }
  return csv ? "" : "--format " + text + ": expected csv, with noheader and nounits if wanted";
}

std::string readPause(const SmiOptions& options, Plan& plan) {
  if (options.seconds && options.milliseconds) return "--loop and --loop-ms: one of them at a time";
  if (!options.seconds && !options.milliseconds) return "";
  plan.pause = options.seconds ? *options.seconds : *options.milliseconds / 1000;
  if (plan.pause > 0 && plan.pause <= 1e6) return "";
  return options.seconds ? "--loop: expected a number of seconds" : "--loop-ms: expected a number of milliseconds";
}

std::string makePlan(const SmiOptions& options, Plan& plan) {
  const bool devices = !options.gpuFields.empty(), processes = !options.processFields.empty();
  plan.csv = devices || processes;
  if (devices && processes) return "--query-gpu and --query-compute-apps: one of them at a time";
  plan.rows = processes ? smi_print::Rows::Processes : smi_print::Rows::Devices;
  plan.fields = words(processes ? options.processFields : options.gpuFields);
  if (const std::string unknown = smi_print::unknownField(plan.rows, plan.fields); !unknown.empty())
    return std::string(processes ? "--query-compute-apps" : "--query-gpu") + ": there is no field " + unknown +
           "; --help-query lists them";
  for (std::string section : words(options.sections)) {
    for (char& c : section) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (!smi_print::isSection(section))
      return "--display: there is no " + section +
             "; expected some of MEMORY, UTILIZATION, ECC, TEMPERATURE, POWER, CLOCK, COMPUTE, PIDS";
    plan.sections.push_back(section);
  }
  if (!options.devices.empty() && !isDeviceList(options.devices))
    return "--devices " + options.devices + ": expected " + kDeviceListForm;
  if (const std::string wrong = readPause(options, plan); !wrong.empty()) return wrong;
  return plan.csv ? readFormat(options.format, plan.form) : "";
}

void print(const SmiOptions& options, const Plan& plan, const smi_print::Look& look, bool first) {
  if (options.list) return smi_print::list(look);
  if (plan.csv) {
    if (first && plan.form.header) smi_print::csvHeader(plan.rows, plan.fields);
    return smi_print::csv(plan.rows, look, plan.fields, plan.form);
  }
  if (options.xml) return smi_print::xml(look);
  if (options.everything) return smi_print::everything(look, plan.sections);
  smi_print::table(look);
}

// How busy a device is is said of the time between two questions.
void firstQuestion(const Monitor& monitor) {
  for (unsigned i = 0; i < monitor.deviceCount(); ++i) (void)monitor.device(i);
  usleep(100'000);
}

void sleepFor(double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  const timespec time{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  nanosleep(&time, nullptr);
}

int printLooks(const Monitor& monitor, const SmiOptions& options, const Plan& plan) {
  const std::vector<std::string> only = words(options.only);
  if (!options.list) firstQuestion(monitor);
  for (bool first = true;; first = false) {
    const smi_print::Look look = lookAt(monitor, only);
    if (look.devices.empty()) return refuse("no devices were found", kNoDevice);
    print(options, plan, look, first);
    std::fflush(stdout);
    if (plan.pause <= 0 || std::ferror(stdout)) return 0;
    sleepFor(plan.pause);
  }
}

}  // namespace

int smi(const SmiOptions& options) {
  Plan plan;
  if (options.fieldNames) {
    smi_print::fieldNames(smi_print::Rows::Devices);
    smi_print::fieldNames(smi_print::Rows::Processes);
    return 0;
  }
  if (const std::string wrong = makePlan(options, plan); !wrong.empty()) return refuse(wrong, 2);
  const Installation installation = findInstallation(options.libraryFolder);
  if (installation.libraryFolder.empty()) {
    tellNotFound(installation, "smi", options.libraryFolder);
    return 1;
  }
  if (!options.fileName.empty() && !std::freopen(options.fileName.c_str(), "w", stdout))
    return refuse("--filename " + options.fileName + ": " + std::strerror(errno), 2);
  chooseDevices(options);
  std::string reason;
  const std::unique_ptr<Monitor> monitor = Monitor::open(installation.monitoringFolder(), reason);
  if (!monitor) return refuse(reason, 1);
  return printLooks(*monitor, options, plan);
}

}  // namespace vg::tools
