// `verdigris run`, `profile`, `cover`, `check` and `record`: the program, with this installation's libcuda.so.1 in
// place of any other.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace vg::tools {

struct RunOptions {
  std::string command = "run";  // as the user called it: run, profile, cover, check or record
  std::string libraryFolder;    // empty: found from the command's own place
  std::string devices, memory, capability, profile, timeout, seed, log;
  std::optional<std::string> trace;   // empty text: to stderr
  std::string timeline;               // the file; empty: none
  std::string coverage;               // the folder; empty: nothing is counted
  std::string page;                   // of the summary; empty: none
  bool summary = false;               // at the end, on stderr
  std::string check;                  // tools of checked mode; empty: off
  std::string checkExitCode, report;  // of checked mode; empty: its own
  std::string checkOutput, checkSuppressions, checkKernels, checkLimit;
  std::string recording;        // the file that calls are recorded in; empty: none
  std::string recordLimit;      // its largest size; empty: the recorder's own
  std::string recordLibrary;    // the driver that is recorded; empty: Verdigris's
  bool recordContents = false;  // what copies to the host give is kept, and not its hash alone
  bool preload = false;
  bool debug = false;                // gdb sees kernels
  bool noPageable = false;           // kernels do not reach host memory that nobody registered
  bool redirect = true;              // PTX in place of the native code that run-time compilers make
  std::vector<std::string> program;  // and its arguments
};

// What --devices accepts, of every command.
bool isDeviceList(const std::string& text);
inline constexpr const char* kDeviceListForm = "auto, or a list of cpu and gpu with counts, such as cpu:2 or gpu:all";

// Replaces this process by the program. Returns an exit code only when that fails: 2 for bad options, 126 for a program
// that cannot be run, 127 for one that is not there. While it records it waits for the program and returns its status.
int run(const RunOptions& options);

}  // namespace vg::tools
