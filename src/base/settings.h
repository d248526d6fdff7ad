// Every environment setting of the library, once: name, meaning, default. Read once, in cuInit (never at load), and
// constant afterwards. `verdigris info` prints the table; a test checks docs/settings.md against it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vg {

//   field          variable                         default   meaning
#define VG_SETTINGS(X)                                                                                              \
  X(devices, "VERDIGRIS_DEVICES", "auto",                                                                           \
    "devices to offer: a comma list of kind:count; auto: the real GPUs, or else cpu:1")                             \
  X(memory, "VERDIGRIS_MEMORY", "",                                                                                 \
    "memory of an emulated device, such as 16GiB; a comma list gives one value a device")                           \
  X(computeCapability, "VERDIGRIS_COMPUTE_CAPABILITY", "",                                                          \
    "reported compute capability, such as 12.1; a comma list gives one value a device")                             \
  X(profile, "VERDIGRIS_PROFILE", "", "device profile: default or h200; a comma list gives one value a device")     \
  X(workers, "VERDIGRIS_WORKERS", "", "worker threads of an emulated device (default: usable cores)")               \
  X(launchTimeout, "VERDIGRIS_LAUNCH_TIMEOUT", "", "seconds after which a running kernel fails; 0 or unset: never") \
  X(seed, "VERDIGRIS_SEED", "", "a number: work of emulated devices runs in an order that depends only on it")      \
  X(stuckAfter, "VERDIGRIS_STUCK_AFTER", "",                                                                        \
    "seconds after which the log names the blocks of a kernel that only waits (10); 0: never")                      \
  X(trace, "VERDIGRIS_TRACE", "", "1 or a file name: write every call with its arguments")                          \
  X(timeline, "VERDIGRIS_TIMELINE", "", "a file name: write what runs when, for Perfetto")                          \
  X(timelineKeep, "VERDIGRIS_TIMELINE_KEEP", "",                                                                    \
    "1: never overwrite files of VERDIGRIS_TIMELINE and _SUMMARY; write beside them")                               \
  X(summary, "VERDIGRIS_SUMMARY", "",                                                                               \
    "print at the end where the time went: 1 (stderr) or a file name, .html for a page; or a comma list of them")   \
  X(logLevel, "VERDIGRIS_LOG", "warn", "lowest level that is logged: trace debug info warn error critical off")     \
  X(logFile, "VERDIGRIS_LOG_FILE", "", "where the log goes (default: stderr)")                                      \
  X(isa, "VERDIGRIS_ISA", "", "force the copy engines' and kernels' instruction set: baseline avx2 avx512")         \
  X(kernels, "VERDIGRIS_KERNELS", "", "how kernels run: compile (default), optimize or interpret")                  \
  X(exitWait, "VERDIGRIS_EXIT_WAIT", "",                                                                            \
    "seconds that a process may wait at its end for optimised code that earlier ones could not finish (3)")         \
  X(approximate, "VERDIGRIS_APPROXIMATE", "",                                                                       \
    "approximate functions of compiled kernels: fast (default), within PTX's bounds; exact, a GPU's bits")          \
  X(pageable, "VERDIGRIS_PAGEABLE", "",                                                                             \
    "0: kernels of emulated devices cannot access unregistered host memory; unguarded: compiled ones do not "       \
    "test for the library's own")                                                                                   \
  X(dump, "VERDIGRIS_DUMP", "", "directory that receives PTX, LLVM IR and assembly of compiled kernels")            \
  X(check, "VERDIGRIS_CHECK", "", "look for faults: a comma list of memory race sync init exits api leaks, or all") \
  X(checkExitCode, "VERDIGRIS_CHECK_EXIT_CODE", "", "exit status of a program that has faults (1)")                 \
  X(checkOutput, "VERDIGRIS_CHECK_OUTPUT", "",                                                                      \
    "also write the list of faults to these files, a comma list: .json, .sarif, .xml (JUnit) or text")              \
  X(checkSuppressions, "VERDIGRIS_CHECK_SUPPRESSIONS", "", "a file of patterns of faults that are left out")        \
  X(checkKernels, "VERDIGRIS_CHECK_KERNELS", "", "a comma list of patterns: faults of other kernels are left out")  \
  X(checkLimit, "VERDIGRIS_CHECK_LIMIT", "", "distinct faults that are reported at once (100); the list has all")   \
  X(checkHost, "VERDIGRIS_CHECK_HOST", "", "1: race also watches the host's accesses to managed memory")            \
  X(visibleDevices, "CUDA_VISIBLE_DEVICES", "\1", "which devices are visible, and in which order")                  \
  X(launchBlocking, "CUDA_LAUNCH_BLOCKING", "", "1: every launch waits for its kernel")                             \
  X(moduleLoading, "CUDA_MODULE_LOADING", "", "LAZY (default) or EAGER")                                            \
  X(cachePath, "CUDA_CACHE_PATH", "", "where compiled kernels are kept (default: $XDG_CACHE_HOME/verdigris)")       \
  X(cacheDisable, "CUDA_CACHE_DISABLE", "", "1: no kernel cache on disk")                                           \
  X(cacheMaxSize, "CUDA_CACHE_MAXSIZE", "", "bytes the kernel cache may take (default: 1 GiB)")                     \
  X(forcePtxJit, "CUDA_FORCE_PTX_JIT", "", "1: ignore native code in images")                                       \
  X(disablePtxJit, "CUDA_DISABLE_PTX_JIT", "", "1: refuse to compile PTX")                                          \
  X(dumpOnException, "CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "", "1: a core dump of the device when a kernel faults")  \
  X(dumpOnRequest, "CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "", "1: a core dump when something is written to a pipe") \
  X(dumpFile, "CUDA_COREDUMP_FILE", "", "name of core dumps; %h, %p and %t stand for host, process and time")       \
  X(dumpPipe, "CUDA_COREDUMP_PIPE", "", "name of the pipe, with the same placeholders")                             \
  X(dumpFlags, "CUDA_COREDUMP_GENERATION_FLAGS", "", "what core dumps leave out: a comma list of skip_... names")   \
  X(dumpLightly, "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP", "", "1: core dumps without memory")                            \
  X(dumpAborts, "CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION", "", "0: the process goes on after a core dump")            \
  X(dumpProgress, "CUDA_COREDUMP_SHOW_PROGRESS", "", "1: print the progress of a core dump on standard error")      \
  X(sharedState, "VERDIGRIS_SHARED_STATE", "/dev/shm",                                                              \
    "folder in which this user's programs tell each other what they use of devices; off: none")                     \
  X(driverVersion, "VERDIGRIS_DRIVER_VERSION", "13.5",                                                              \
    "version of the driver API, 13.0 to 13.5: later entry points are not found")                                    \
  X(images, "VERDIGRIS_IMAGES", "", "folder of PTX files that replace native code with kernels of the same names")  \
  X(eager, "VERDIGRIS_EAGER", "",                                                                                   \
    "off: PyTorch's operators on emulated devices are left to its own kernels, which hold no PTX")                  \
  X(coverage, "VERDIGRIS_COVERAGE", "", "a folder: count which instructions of kernels run, for verdigris cover")   \
  X(dumpRegisters, "VERDIGRIS_DUMP_REGISTERS", "1",                                                                 \
    "0: core dumps lack registers of compiled kernels, which run faster")                                           \
  X(debug, "VERDIGRIS_DEBUG", "", "1: gdb sees compiled kernels: lines, frames, registers")

struct Settings {
#define VG_SETTING_FIELD(field, variable, fallback, meaning) std::string field;
  VG_SETTINGS(VG_SETTING_FIELD)
#undef VG_SETTING_FIELD

  // CUDA_VISIBLE_DEVICES unset (its default is a byte no environment holds) differs from set and empty.
  bool visibleDevicesSet() const { return visibleDevices != "\1"; }
};

struct SettingRow {
  const char* variable;
  const char* fallback;
  const char* meaning;
  std::string value;
};

// The settings of this process: read from the environment by the first caller, then constant. Never destroyed.
const Settings& settings();
// Name, default, meaning and present value of each, in table order.
std::vector<SettingRow> settingRows();

// Where compiled kernels are kept, by CUDA_CACHE_PATH, CUDA_CACHE_DISABLE and the user's folders; "" when they are not.
std::string kernelCacheFolder();

// "16GiB", "512M", "4096" -> bytes; 0 when the text is not a size. Suffixes are powers of 1024.
unsigned long long parseBytes(const std::string& text);
// "2.5" -> nanoseconds, at most 1e18 of them; nothing when the text is no number of seconds.
std::optional<uint64_t> parseSeconds(const std::string& text);
// "a,b,c" -> {"a","b","c"}; an empty text gives an empty list.
std::vector<std::string> splitList(const std::string& text, char separator = ',');
// True for "1", "true", "yes", "on" in any case.
bool truthy(const std::string& text);

}  // namespace vg
