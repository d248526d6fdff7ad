// The `verdigris` command.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>

#include "tools/conform.h"
#include "tools/doctor.h"
#include "tools/gpu_check.h"
#include "tools/info.h"
#include "tools/run.h"

using namespace vg::tools;

namespace {

// A subcommand that becomes a program.
struct StartOptions {
  CLI::App* command = nullptr;
  RunOptions options;
  CLI::Option* traceFile = nullptr;
  std::string traceFileName;
  bool traceToStderr = false;
};

void addStartOptions(StartOptions& start, CLI::App& app, const char* name, const char* purpose) {
  RunOptions& options = start.options;
  CLI::App* const run = start.command = app.add_subcommand(name, purpose);
  run->add_option(
      "--devices", options.devices,
      "devices to offer: a list of kind:count, such as cpu:2 or gpu:all; auto: the real GPUs, or else cpu:1");
  run->add_option("--memory", options.memory, "memory of a device, such as 16GiB; a list gives one for each device");
  run->add_option("--capability", options.capability, "compute capability to report, such as 12.1");
  run->add_option("--profile", options.profile, "device profile: default or h200");
  run->add_option("--timeout", options.timeout, "seconds after which a kernel that has not ended fails");
  run->add_option("--log", options.log, "lowest level to log: trace debug info warn error critical off");
  start.traceFile = run->add_option("--trace-file", start.traceFileName, "write every call to this file");
  run->add_flag("--trace", start.traceToStderr, "write every call to stderr")->excludes(start.traceFile);
  run->add_flag("--preload", options.preload, "also preload the library, for programs linked with an RPATH");
  run->add_flag("!--no-redirect", options.redirect,
                "leave to NVRTC and nvJitLink that they make native code, which no emulated device can run");
  run->add_option("--library-dir", options.libraryFolder, "folder of Verdigris's libcuda.so.1");
  run->prefix_command();
}

// `words` is what stood behind "--".
int become(StartOptions& start, char** words, char** end) {
  RunOptions& options = start.options;
  if (*start.traceFile) options.trace = start.traceFileName;
  if (start.traceToStderr) options.trace = "";
  options.program = start.command->remaining();
  // After the program's name, "--" is one of its own arguments.
  if (words != end) options.program.insert(options.program.end(), words + options.program.empty(), end);
  return vg::tools::run(options);
}

int command(int argc, char** argv) {
  CLI::App app("Runs CUDA programs on machines without a GPU.");
  app.set_version_flag("--version", "verdigris " VERDIGRIS_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);

  StartOptions run, check;
  addStartOptions(run, app, "run", "run a program with Verdigris's libcuda.so.1");
  run.command->footer("Example: verdigris run --devices cpu:2 --memory 8GiB ./program arguments");
  addStartOptions(check, app, "check", "run a program and look for faults of its kernels");
  check.command->add_option("--tools", check.options.check,
                            "what to look for: a list of memory, race, sync, init and exits, or all");
  check.command->add_option("--exit-code", check.options.checkExitCode,
                            "exit status when there are faults and the program itself ends well (1)");
  check.command->add_option("--report", check.options.report, "write what is found, and the log, to this file");
  check.command->footer("Example: verdigris check --tools memory,race ./program arguments");
  check.options.check = "all";

  InfoOptions infoOptions;
  CLI::App* const info = app.add_subcommand("info", "print devices, versions, paths and what is implemented");
  info->add_flag("--settings", infoOptions.settings, "also print every environment setting");
  info->add_flag("--stubs", infoOptions.entryPoints, "also list the entry points that are not implemented");
  info->add_option("--library-dir", infoOptions.libraryFolder, "folder of the libcuda.so.1 to ask");

  DoctorOptions doctorOptions;
  CLI::App* const doctor = app.add_subcommand("doctor", "find out why a program does not see the device");
  doctor->add_option("program", doctorOptions.program, "the program or library to look at");
  doctor->add_option("--library-dir", doctorOptions.libraryFolder, "folder of Verdigris's libcuda.so.1");

  ConformOptions conformOptions;
  CLI::App* const conform = app.add_subcommand("conform", "run the conformance suite on a libcuda.so.1");
  conform->add_option("--library", conformOptions.library, "the libcuda.so.1 under test (default: Verdigris's)");
  conform->add_option("--compare", conformOptions.compare, "a record of another driver to compare with");
  conform->add_option("--html", conformOptions.html, "write a report to this file");
  conform->add_option("--record", conformOptions.record, "keep this run's record in this file");
  conform->add_option("--filter", conformOptions.filter, "run these tests only: Suite.Name patterns");
  conform->add_option("--library-dir", conformOptions.libraryFolder, "folder of Verdigris's libcuda.so.1");
  conform->footer("Exit status: 0 no rule differs, 1 some do, 2 the suite or the library cannot be used.");

  GpuCheckOptions gpuOptions;
  CLI::App* const gpuCheck =
      app.add_subcommand("gpu-check", "drive a real GPU through the kernel driver, step by step");
  gpuCheck->add_option("--gpu", gpuOptions.gpu, "which GPU of the driver's list (default: 0)");
  gpuCheck->add_flag("--fault", gpuOptions.fault, "also copy from an address where nothing is");
  gpuCheck->add_flag("!--quick", gpuOptions.bandwidth, "do not measure copies");
  gpuCheck->footer("Exit status: 0 every step passed, 1 one did not, 77 there is no GPU.");

  // "--" ends our options; what follows belongs to the program word for word.
  char** const separator =
      std::find_if(argv + 1, argv + argc, [](const char* word) { return !std::strcmp(word, "--"); });
  CLI11_PARSE(app, static_cast<int>(separator - argv), argv);
  if (*info) return vg::tools::info(infoOptions);
  if (*doctor) return vg::tools::doctor(doctorOptions);
  if (*gpuCheck) return vg::tools::gpuCheck(gpuOptions);
  if (*conform) return vg::tools::conform(conformOptions);
  return become(*run.command ? run : check, separator, argv + argc);
}

}  // namespace

int main(int argc, char** argv) try { return command(argc, argv); } catch (const std::exception& e) {
  std::fprintf(stderr, "verdigris: %s\n", e.what());
  return 1;
}
