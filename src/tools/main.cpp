// The `verdigris` command.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <vector>

#include "tools/cdi.h"
#include "tools/conform.h"
#include "tools/cover.h"
#include "tools/describe.h"
#include "tools/doctor.h"
#include "tools/explain.h"
#include "tools/gpu_check.h"
#include "tools/info.h"
#include "tools/persist.h"
#include "tools/replay.h"
#include "tools/run.h"
#include "tools/smi.h"
#include "tools/stand_in.h"

using namespace vg::tools;

namespace {

constexpr int kBadUsage = 2;

// Of a command that becomes a program: says what stands behind the options.
class StartFormatter final : public CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string name) const override {
    return "Usage: " + name + " [OPTIONS] PROGRAM [ARGUMENTS...]\n";
  }
};

struct StartOptions {
  CLI::App* command = nullptr;
  RunOptions options;
  std::string traceFileName;
  bool traceToStderr = false;
};

void addLibraryFolder(CLI::App& command, std::string& folder) {
  command.add_option("--library-dir", folder, "folder of Verdigris's libcuda.so.1")->option_text("FOLDER");
}

void addStartOptions(StartOptions& start, CLI::App& app, const char* name, const char* purpose) {
  RunOptions& options = start.options;
  CLI::App* const run = start.command = app.add_subcommand(name, purpose);
  const auto add = [run](const char* option, const char* value, std::string& to, const char* meaning) {
    return run->add_option(option, to, meaning)->option_text(value);
  };
  add("--devices", "LIST", options.devices,
      "devices to offer: kind:count, such as cpu:2 or gpu:all; auto: the real GPUs, or else cpu:1");
  add("--memory", "SIZE", options.memory, "memory of a device, such as 16GiB; a list gives one for each device");
  add("--capability", "M.N", options.capability, "compute capability to report, such as 12.1");
  add("--profile", "NAME", options.profile, "device profile: default or h200");
  add("--timeout", "SECONDS", options.timeout, "time limit of a kernel, which fails when it runs longer");
  add("--seed", "NUMBER", options.seed, "run blocks, streams and devices in an order that depends only on this number");
  add("--log", "LEVEL", options.log, "lowest level to log: trace debug info warn error critical off");
  CLI::Option* const traceFile = add("--trace-file", "FILE", start.traceFileName, "write every call to this file");
  run->add_flag("--trace", start.traceToStderr, "write every call to stderr")->excludes(traceFile)->option_text(" ");
  add("--timeline", "FILE", options.timeline, "write what runs when to this file, for ui.perfetto.dev");
  run->add_flag("--preload", options.preload, "also preload the library, for programs linked with an RPATH");
  run->add_flag("--debug", options.debug, "let gdb see kernels: functions, lines and frames");
  run->add_flag("--no-pageable", options.noPageable,
                "kernels cannot access unregistered host memory, as on an ordinary GPU");
  run->add_flag_callback(
      "--no-redirect", [&options] { options.redirect = false; },
      "let NVRTC, nvJitLink, ptxas and nvlink make native code, which no emulated device can run");
  addLibraryFolder(*run, options.libraryFolder);
  run->formatter(std::make_shared<StartFormatter>());
  run->prefix_command();
}

void addCheck(StartOptions& check, CLI::App& app) {
  addStartOptions(check, app, "check", "run a program and look for faults");
  RunOptions& options = check.options;
  options.check = "all";
  const auto add = [&check](const char* option, const char* value, std::string& to, const char* meaning) {
    check.command->add_option(option, to, meaning)->option_text(value);
  };
  add("--tools", "LIST", options.check,
      "what to look for: memory, race, sync, init, exits, api, leaks, or all (default: without exits and leaks); "
      "continue: kernels go on after a memory fault");
  add("--exit-code", "STATUS", options.checkExitCode,
      "exit status when there are faults and the program itself succeeds (default: 1)");
  add("--report", "FILE", options.report, "write what is found, and the log, to this file");
  add("--output", "FILES", options.checkOutput,
      "also write the list of faults to these files: .json, .sarif, .xml (JUnit), others as text");
  add("--suppressions", "FILE", options.checkSuppressions, "leave out the faults that match a pattern of this file");
  add("--kernels", "PATTERNS", options.checkKernels, "leave out the faults of kernels that match none of these");
  add("--limit", "NUMBER", options.checkLimit, "distinct faults that are reported at once (default: 100)");
  check.command->footer("Example: verdigris check --tools memory,race ./program arguments");
}

void addProfile(StartOptions& profile, CLI::App& app) {
  addStartOptions(profile, app, "profile", "run a program and print at the end where its time went");
  profile.options.summary = true;
  profile.command->add_option("--html", profile.options.page, "also write the summary as a page")->option_text("FILE");
  profile.command->footer("Example: verdigris profile --timeline out.json ./program arguments");
}

void addRecord(StartOptions& record, CLI::App& app) {
  addStartOptions(record, app, "record", "run a program and write its calls, with their data, to a file");
  RunOptions& options = record.options;
  options.recording = "recording.vgr";
  const auto add = [&record](const char* option, const char* value, std::string& to, const char* meaning) {
    record.command->add_option(option, to, meaning)->option_text(value);
  };
  add("-o,--output", "FILE", options.recording, "the file (default: recording.vgr)");
  add("--limit", "SIZE", options.recordLimit, "stop recording when the file has this size (default: 1GiB)");
  add("--library", "FILE", options.recordLibrary, "record another driver, such as NVIDIA's libcuda.so.1");
  record.command
      ->add_flag("--contents", options.recordContents,
                 "store the data of copies to the host, so that a replay can show differences")
      ->option_text(" ");
  record.command->footer("Example: verdigris record -o bug.vgr ./program arguments");
}

CLI::App* addReplay(ReplayOptions& options, CLI::App& app) {
  CLI::App* const replay = app.add_subcommand("replay", "repeat the calls of a recording and compare the results");
  const auto add = [replay](const char* option, const char* value, auto& to, const char* meaning) {
    replay->add_option(option, to, meaning)->option_text(value);
  };
  add("FILE", " ", options.file, "the recording");
  add("--library", "FILE", options.library, "the driver, such as NVIDIA's libcuda.so.1 (default: Verdigris's)");
  add("--devices", "LIST", options.devices, "devices of Verdigris's driver, such as cpu:2 or gpu:all");
  add("--until", "NUMBER", options.until, "stop after the call with this number");
  add("--patience", "SECONDS", options.patience, "how long a call may take (default: 60)");
  replay->add_flag("--list", options.list, "print the calls without making them");
  replay->add_flag("--verbose", options.verbose, "print each call before it is made");
  replay->add_flag("--own-addresses", options.ownAddresses,
                   "let the driver choose addresses, and replace the recorded ones");
  addLibraryFolder(*replay, options.libraryFolder);
  replay->footer(
      "Exit status: 0 no difference, 1 something differs, 2 there is no such recording or driver, 3 some "
      "calls cannot be repeated.");
  return replay;
}

void addCover(StartOptions& start, CoverOptions& options, CLI::App& app) {
  addStartOptions(start, app, "cover", "run a program and report which lines and branches of its kernels ran");
  const auto add = [&start](const char* option, const char* value, std::string& to, const char* meaning) {
    start.command->add_option(option, to, meaning)->option_text(value);
  };
  add("--output", "FOLDER", options.folder,
      "folder for coverage.info, index.html and the counts, which add up over runs (default: coverage)");
  add("--only", "FOLDERS", options.only, "report on sources below these folders only");
  add("--skip", "FOLDERS", options.skip, "leave out sources below these folders");
  start.command->add_flag("--anew", options.anew, "forget the counts of earlier runs");
  start.command->footer(
      "Example: verdigris cover --only src ./program arguments\nWithout a program: report on earlier runs.");
}

CLI::App* addInfo(InfoOptions& options, CLI::App& app) {
  CLI::App* const info = app.add_subcommand("info", "print devices, versions, paths and what is implemented");
  info->add_flag("--settings", options.settings, "also print every environment setting");
  info->add_flag("--stubs", options.entryPoints, "also list the entry points that are not implemented");
  addLibraryFolder(*info, options.libraryFolder);
  return info;
}

CLI::App* addDoctor(DoctorOptions& options, CLI::App& app) {
  CLI::App* const doctor = app.add_subcommand("doctor", "find out why a program does not see the device");
  doctor->add_option("PROGRAM", options.program, "the program or library to look at")->option_text(" ");
  addLibraryFolder(*doctor, options.libraryFolder);
  return doctor;
}

CLI::App* addExplain(ExplainOptions& options, CLI::App& app) {
  CLI::App* const explain = app.add_subcommand("explain", "print what is known of a rule, call, error or setting");
  explain
      ->add_option("NAME", options.names,
                   "such as MEMCPY2D-020, cuMemcpy2D, CUDA_ERROR_INVALID_VALUE, 700, VERDIGRIS_LOG, or a function or "
                   "file of the source")
      ->option_text("...");
  explain->add_flag("--list", options.list, "list the names of rules, calls, errors and settings");
  explain->footer("Exit status: 0, 2 there is no such name.");
  return explain;
}

CLI::App* addConform(ConformOptions& options, CLI::App& app) {
  CLI::App* const conform = app.add_subcommand("conform", "run the conformance suite on a libcuda.so.1");
  const auto add = [conform](const char* option, const char* value, std::string& to, const char* meaning) {
    conform->add_option(option, to, meaning)->option_text(value);
  };
  add("--library", "FILE", options.library, "the libcuda.so.1 under test (default: Verdigris's)");
  add("--compare", "FILE", options.compare, "a record of another driver to compare with");
  add("--html", "FILE", options.html, "write a report to this file");
  add("--record", "FILE", options.record, "keep this run's record in this file");
  add("--filter", "PATTERNS", options.filter, "run these tests only: Suite.Name patterns");
  addLibraryFolder(*conform, options.libraryFolder);
  conform->footer("Exit status: 0 no rule differs, 1 some do, 2 the suite or the library cannot be used.");
  return conform;
}

CLI::App* addSmi(SmiOptions& options, CLI::App& app) {
  CLI::App* const smi = app.add_subcommand("smi", "print devices and the programs that use them, as nvidia-smi does");
  const auto add = [smi](const char* option, const char* value, std::string& to, const char* meaning) {
    smi->add_option(option, to, meaning)->option_text(value);
  };
  smi->add_flag("-L,--list-gpus", options.list, "list the devices, one a line");
  smi->add_flag("-q,--query", options.everything, "print everything that is known");
  smi->add_flag("-x,--xml-format", options.xml, "the same as XML");
  add("-d,--display", "SECTIONS", options.sections,
      "with -q: only these sections: MEMORY, UTILIZATION, ECC, TEMPERATURE, POWER, CLOCK, COMPUTE, PIDS");
  add("-i,--id", "LIST", options.only, "only these devices: numbers, UUIDs or PCI bus ids");
  add("--query-gpu", "FIELDS", options.gpuFields, "print these fields of each device");
  add("--query-compute-apps", "FIELDS", options.processFields, "print these fields of each program that uses a device");
  add("--format", "FORMAT", options.format, "format of the fields: csv, csv,noheader, csv,noheader,nounits");
  smi->add_flag("--help-query,--help-query-gpu,--help-query-compute-apps", options.fieldNames, "list the fields");
  smi->add_option("-l,--loop", options.seconds, "repeat, with this time in between")->option_text("SECONDS");
  smi->add_option("--loop-ms,--lms", options.milliseconds, "as --loop; -lms TIME is the same")
      ->option_text("MILLISECONDS");
  add("-f,--filename", "FILE", options.fileName, "print to this file");
  add("--devices", "LIST", options.devices, "the devices, such as cpu:2 (default: VERDIGRIS_DEVICES, or those in use)");
  add("--profile", "NAME", options.profile, "device profile that the programs use: default or h200");
  addLibraryFolder(*smi, options.libraryFolder);
  smi->footer("Exit status: 0, 1 there is no library, 2 an option is wrong, 6 there is no such device.");
  return smi;
}

CLI::App* addCdi(CdiOptions& options, CLI::App& app) {
  CLI::App* const cdi = app.add_subcommand("cdi", "print a specification by which container engines offer devices");
  cdi->add_option("--devices", options.devices, "also offer verdigris/gpu=chosen with these, such as cpu:3")
      ->option_text("LIST");
  addLibraryFolder(*cdi, options.libraryFolder);
  cdi->footer("Example: verdigris cdi > /etc/cdi/verdigris.yaml");
  return cdi;
}

CLI::App* addGpuCheck(GpuCheckOptions& options, CLI::App& app) {
  CLI::App* const check = app.add_subcommand("gpu-check", "drive a real GPU through the kernel driver, step by step");
  check->add_option("--gpu", options.gpu, "which GPU of the driver's list (default: 0)")->option_text("NUMBER");
  check->add_flag("--fault", options.fault, "also copy from an address where nothing is");
  check->add_flag_callback(
      "--quick", [&options] { options.bandwidth = false; }, "do not measure copies");
  check->add_option("--report", options.report, "also write all of it to this file, with what is known of the machine")
      ->option_text("FILE");
  check->footer("Exit status: 0 every step passed, 1 one did not, 77 there is no GPU.");
  return check;
}

CLI::App* addPersist(PersistOptions& options, CLI::App& app) {
  CLI::App* const persist =
      app.add_subcommand("persist", "keep real GPUs awake, so that programs open them in a few milliseconds");
  persist->add_option("--seconds", options.seconds, "how long (default: until it is interrupted)")
      ->check(CLI::NonNegativeNumber)
      ->option_text("NUMBER");
  persist->footer("Exit status: 0 at its end, 77 there is no GPU.");
  return persist;
}

// One line that says what is wrong, and where to read more. `command` may be empty.
int refuse(const std::string& command, const std::string& reason) {
  const std::string name = "verdigris" + (command.empty() ? "" : " " + command);
  std::fprintf(stderr, "%s: %s\nRun `%s --help`.\n", name.c_str(), reason.c_str(), name.c_str());
  return kBadUsage;
}

// Words as people type them, as the options that they mean: `help smi` and nvidia-smi's -lms.
void spellOut(std::vector<char*>& words) {
  static char help[] = "--help", loop[] = "--loop-ms";
  if (words.size() > 1 && !std::strcmp(words[1], "help")) {
    words.erase(words.begin() + 1);
    words.push_back(help);
  }
  if (words.size() > 1 && !std::strcmp(words[1], "smi"))
    for (char*& word : words)
      if (!std::strcmp(word, "-lms")) word = loop;
}

// `words` is what stood behind "--". Where that is refused, the exit status; else 0.
int takeProgram(StartOptions& start, char** words, char** end) {
  RunOptions& options = start.options;
  options.command = start.command->get_name();
  if (!start.traceFileName.empty()) options.trace = start.traceFileName;
  if (start.traceToStderr) options.trace = "";
  options.program = start.command->remaining();
  if (!options.program.empty() && options.program[0][0] == '-')
    return refuse(options.command, "there is no option " + options.program[0]);
  // After the program's name, "--" is one of its own arguments.
  if (words != end) options.program.insert(options.program.end(), words + options.program.empty(), end);
  return 0;
}

int become(StartOptions& start, char** words, char** end) {
  const int refused = takeProgram(start, words, end);
  return refused ? refused : vg::tools::run(start.options);
}

int coverProgram(StartOptions& start, const CoverOptions& options, char** words, char** end) {
  const int refused = takeProgram(start, words, end);
  return refused ? refused : vg::tools::runCovered(options, start.options);
}

// All commands with their options.
struct Commands {
  CLI::App app{"Runs CUDA programs on machines without a GPU.", "verdigris"};
  std::string description;  // the kind that is asked for: for packages
  StartOptions run, profiled, covered, checked, recorded;
  CoverOptions coverOptions;
  ReplayOptions replayOptions;
  InfoOptions infoOptions;
  DoctorOptions doctorOptions;
  ExplainOptions explainOptions;
  ConformOptions conformOptions;
  GpuCheckOptions gpuOptions;
  PersistOptions persistOptions;
  SmiOptions smiOptions;
  CdiOptions cdiOptions;
  const CLI::App *replay, *info, *doctor, *explain, *conform, *gpuCheck, *persist, *smi, *cdi;
};

// Help lists them in this order.
void addCommands(Commands& all) {
  CLI::App& app = all.app;
  app.set_version_flag("--version", "verdigris " VERDIGRIS_VERSION);
  app.require_subcommand(0, 1);
  app.add_option("--describe", all.description)->group("");
  addStartOptions(all.run, app, "run", "run a program with Verdigris's libcuda.so.1");
  all.run.command->footer("Example: verdigris run --devices cpu:2 --memory 8GiB ./program arguments");
  addProfile(all.profiled, app);
  addCover(all.covered, all.coverOptions, app);
  addCheck(all.checked, app);
  addRecord(all.recorded, app);
  all.replay = addReplay(all.replayOptions, app);
  all.info = addInfo(all.infoOptions, app);
  all.doctor = addDoctor(all.doctorOptions, app);
  all.explain = addExplain(all.explainOptions, app);
  all.conform = addConform(all.conformOptions, app);
  all.gpuCheck = addGpuCheck(all.gpuOptions, app);
  all.persist = addPersist(all.persistOptions, app);
  all.smi = addSmi(all.smiOptions, app);
  all.cdi = addCdi(all.cdiOptions, app);
  app.allow_extras();  // to say which command is not there; the last of all, because commands take this over
}

// The command that was given; `words` is what stood behind "--".
int dispatch(Commands& all, char** words, char** end) {
  for (StartOptions* const start : {&all.run, &all.profiled, &all.checked, &all.recorded})
    if (*start->command) return become(*start, words, end);
  if (*all.covered.command) return coverProgram(all.covered, all.coverOptions, words, end);
  if (*all.replay) return vg::tools::replay(all.replayOptions);
  if (*all.info) return vg::tools::info(all.infoOptions);
  if (*all.doctor) return vg::tools::doctor(all.doctorOptions);
  if (*all.explain) return vg::tools::explain(all.explainOptions);
  if (*all.conform) return vg::tools::conform(all.conformOptions);
  if (*all.smi) return vg::tools::smi(all.smiOptions);
  if (*all.cdi) return vg::tools::cdi(all.cdiOptions);
  if (*all.gpuCheck) return vg::tools::gpuCheck(all.gpuOptions);
  if (*all.persist) return vg::tools::persist(all.persistOptions);
  std::fputs(all.app.help().c_str(), stderr);
  return kBadUsage;
}

int command(int argc, char** argv) {
  Commands all;
  addCommands(all);
  CLI::App& app = all.app;
  // "--" ends our options; what follows belongs to the program word for word.
  char** const separator =
      std::find_if(argv + 1, argv + argc, [](const char* word) { return !std::strcmp(word, "--"); });
  try {
    std::vector<char*> ours(argv, separator);
    spellOut(ours);
    app.parse(static_cast<int>(ours.size()), ours.data());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const auto commands = app.get_subcommands();
    return refuse(commands.empty() ? "" : commands.front()->get_name(), error.what());
  }
  if (const auto unknown = app.remaining(); !unknown.empty())
    return refuse("", std::string("there is no ") + (unknown[0][0] == '-' ? "option " : "command ") + unknown[0]);
  const std::string& kind = all.description;
  if (!kind.empty())
    return describe(app, kind) ? 0 : refuse("", "--describe " + kind + ": expected man, bash, zsh or fish");
  return dispatch(all, separator, argv + argc);
}

}  // namespace

// `--stand-in` is what the redirect library makes of compilers; their options are not ours to read.
int main(int argc, char** argv) try {
  if (argc > 1 && !std::strcmp(argv[1], "--stand-in")) return vg::tools::standIn(argc - 2, argv + 2);
  return command(argc, argv);
} catch (const std::exception& e) {
  std::fprintf(stderr, "verdigris: %s\n", e.what());
  return 1;
}
