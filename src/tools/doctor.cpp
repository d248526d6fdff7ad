#include "tools/doctor.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/settings.h"
#include "images/container.h"
#include "ptx/abi/engine.h"
#include "tools/common/driver.h"
#include "tools/common/installation.h"
#include "tools/doctor/loader.h"
#include "tools/doctor/program.h"

namespace vg::tools {

namespace {

// Prints findings as they are made and counts what stands in the way.
class Report {
 public:
  [[gnu::format(printf, 2, 3)]] void ok(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line("ok  ", format, arguments);
    va_end(arguments);
  }
  [[gnu::format(printf, 2, 3)]] void note(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line("note", format, arguments);
    va_end(arguments);
  }
  [[gnu::format(printf, 2, 3)]] void problem(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line("FAIL", format, arguments);
    va_end(arguments);
    ++problems_;
  }
  // What to do about the finding just made.
  [[gnu::format(printf, 2, 3)]] void advice(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line("    ->", format, arguments);
    va_end(arguments);
  }
  void heading(const char* text) { std::printf("%s\n", text); }
  int problems() const { return problems_; }

 private:
  static void line(const char* mark, const char* format, va_list arguments) {
    std::printf("  %s  ", mark);
    std::vprintf(format, arguments);
    std::printf("\n");
  }
  int problems_ = 0;
};

// Compute capabilities, 90 for 9.0, of the first device of either kind; 0 where there is none.
struct Devices {
  int real = 0, emulated = 0;
};

int capabilityOf(const Driver& driver, CUdevice device) {
  int major = 0, minor = 0;
  driver.attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver.attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  return 10 * major + minor;
}

Devices devicesOf(const Driver& driver) {
  Devices devices;
  const std::vector<int> real = driver.realGpus();
  CUdevice first = 0;
  if (!real.empty()) {
    devices.real = real.front();
  } else if (driver.device(&first, 0) == CUDA_SUCCESS) {
    devices.emulated = capabilityOf(driver, first);
  }
  return devices;
}

void checkDevices(Report& report, const Driver& driver) {
  const CUresult started = driver.init(0);
  int count = 0;
  if (started == CUDA_SUCCESS) driver.deviceCount(&count);
  if (started == CUDA_SUCCESS && count > 0) {
    report.ok("cuInit finds %d device%s", count, count == 1 ? "" : "s");
    const size_t real = driver.realGpus().size();
    return real ? report.ok("%zu real GPU%s among all devices: programs run native code there", real,
                            real == 1 ? "" : "s")
                : report.ok("all devices are emulated: programs need PTX");
  }
  report.problem("cuInit answers %s and finds %d devices", driver.describe(started).c_str(), count);
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const char* const devices = std::getenv("VERDIGRIS_DEVICES");
  if (visible) {
    report.advice("CUDA_VISIBLE_DEVICES is \"%s\": unset it, or name devices that exist (0, 1, ...)", visible);
  } else if (devices) {
    report.advice("VERDIGRIS_DEVICES is \"%s\": use kind:count, such as cpu:1 or gpu:all, or auto", devices);
  } else {
    report.advice("run again with VERDIGRIS_LOG=debug: the log says which device was refused and why");
  }
}

void checkCompiler(Report& report, const Installation& installation) {
  const std::string path = installation.compiler();
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  const auto version =
      library ? reinterpret_cast<ptx::EngineVersion>(dlsym(library, ptx::kEngineVersionSymbol)) : nullptr;
  if (version && version() == ptx::kEngineVersion) return report.ok("the kernel compiler is there: %s", path.c_str());
  if (!fileExists(path)) {
    report.note("%s is missing: kernels are interpreted, which is slow", ptx::kEngineLibrary);
    return report.advice("build it, or copy it to %s", installation.libraryFolder.c_str());
  }
  report.problem("%s cannot be used: %s", path.c_str(), library ? "it is of another version" : dlerror());
  report.advice("build it together with the library");
}

Devices checkInstallation(Report& report, const Installation& installation) {
  report.heading("Installation");
  if (installation.libraryFolder.empty()) {
    report.problem("libcuda.so.1 is in none of the folders that belong to this command");
    for (const std::string& folder : installation.searched) report.advice("looked in %s", folder.c_str());
    report.advice("build it, or name its folder with --library-dir");
    return {};
  }
  std::string reason = unreachable(installation, false);
  if (!reason.empty()) {
    report.problem("%s cannot be used: %s", installation.library().c_str(), reason.c_str());
    return {};
  }
  const std::unique_ptr<Driver> driver = Driver::open(installation.library(), reason);
  if (!driver) {
    report.problem("%s cannot be opened: %s", installation.library().c_str(), reason.c_str());
    report.advice("it must be built for this system (x86-64, glibc); build it here");
    return {};
  }
  if (const api::PrivateTable* table = driver->privateTable()) {
    report.ok("%s, Verdigris %s", installation.library().c_str(), table->version);
  } else {
    report.problem("%s is not Verdigris's library", installation.library().c_str());
    report.advice("name the folder of Verdigris's libcuda.so.1 with --library-dir");
  }
  checkDevices(report, *driver);
  if (const api::PrivateTable* table = driver->privateTable();
      table && table->size > offsetof(api::PrivateTable, hostLocking)) {
    char how[256];
    table->hostLocking(how, sizeof how);
    report.ok("page-locked host memory is kept by %s", how);
  }
  checkCompiler(report, installation);
  return devicesOf(*driver);
}

// The folder itself may be made later: its nearest ancestor that exists must be writable.
bool canMake(const std::string& folder) {
  std::filesystem::path path = folder;
  while (!path.empty() && !fileExists(path.string()) && path != path.parent_path()) path = path.parent_path();
  return access(path.c_str(), W_OK | X_OK) == 0;
}

// Nobody reads a setting whose name is misspelt.
void checkNames(Report& report) {
  const std::vector<SettingRow> known = settingRows();
  for (char** variable = environ; *variable; ++variable) {
    const std::string name(*variable, std::strcspn(*variable, "="));
    const auto isIt = [&name](const SettingRow& row) { return name == row.variable; };
    if (name.rfind("VERDIGRIS_", 0) || std::any_of(known.begin(), known.end(), isIt)) continue;
    report.note("%s is set, which is no setting of the library", name.c_str());
    report.advice("`verdigris info --settings` lists them");
  }
}

void checkEnvironment(Report& report) {
  report.heading("Environment");
  if (const std::string folder = kernelCacheFolder(); truthy(settings().cacheDisable)) {
    report.note("CUDA_CACHE_DISABLE is set: every process compiles its kernels again");
  } else if (folder.empty()) {
    report.note("compiled kernels are not cached: none of CUDA_CACHE_PATH, XDG_CACHE_HOME and HOME names a folder");
    report.advice("set CUDA_CACHE_PATH to a folder that can be written");
  } else if (canMake(folder)) {
    report.ok("compiled kernels are cached in %s", folder.c_str());
  } else {
    report.note("%s cannot be written: every process compiles its kernels again", folder.c_str());
    report.advice("set CUDA_CACHE_PATH to a folder that can be written");
  }
  checkNames(report);
  if (truthy(settings().disablePtxJit)) {
    report.problem("CUDA_DISABLE_PTX_JIT is set: no kernel can be loaded from PTX");
    report.advice("unset it: emulated devices run kernels from their PTX alone");
  }
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  constexpr rlim_t kComfortable = rlim_t{64} << 20;
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < kComfortable && geteuid() != 0) {
    report.note("only %llu KiB may be locked: page-locked memory beyond that stays pageable",
                static_cast<unsigned long long>(limit.rlim_cur >> 10));
    report.advice("raise it with `ulimit -l unlimited` or in /etc/security/limits.conf, if that matters");
  }
  if (fileExists("/proc/driver/nvidia/version"))
    report.note("a vendor's kernel driver is loaded: programs that find the vendor's libcuda.so.1 first will use it");
}

std::string listTargets(const std::map<std::string, unsigned>& targets) {
  std::string text;
  for (const auto& [target, count] : targets)
    text += (text.empty() ? "" : ", ") + target + (count > 1 ? " x" + std::to_string(count) : "");
  return text;
}

// Whether native code for "sm_86" or "sm_90a" runs on a device of this capability.
bool runsOn(const std::string& target, int capability) {
  int number = 0;
  char suffix = 0;
  if (std::sscanf(target.c_str(), "sm_%d%c", &number, &suffix) < 1) return false;
  return suffix ? number == capability : number / 10 == capability / 10 && number <= capability;
}

// For a real GPU that runs native code.
void checkNativeCode(Report& report, const Program& file, int capability) {
  for (const auto& [target, count] : file.native)
    if (runsOn(target, capability)) return report.ok("%s: native code for %s", file.path.c_str(), target.c_str());
  if (!file.ptx.empty())
    return report.ok("%s: PTX for %s, which a compiler of this machine compiles for sm_%d; the result is cached",
                     file.path.c_str(), listTargets(file.ptx).c_str(), capability);
  report.problem("%s: native code for %s, none for sm_%d, and no PTX", file.path.c_str(),
                 listTargets(file.native).c_str(), capability);
  report.advice("build it for the device: nvcc -arch=sm_%d", capability);
}

std::string versionText(uint32_t capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

// For an emulated device: PTX for sm_90a is for devices of 9.0 alone, and no device takes what is for later ones.
void checkPtx(Report& report, const Program& file, int capability) {
  for (const auto& [target, suffix] : file.ptxTargets)
    if (!capability || images::targetFits(target, suffix, static_cast<uint32_t>(capability)))
      return report.ok("%s: PTX for %s%s%s", file.path.c_str(), listTargets(file.ptx).c_str(),
                       file.native.empty() ? "" : "; native code (not used) for ", listTargets(file.native).c_str());
  report.problem("%s: PTX for %s, none of which a device of compute capability %s takes", file.path.c_str(),
                 listTargets(file.ptx).c_str(), versionText(static_cast<uint32_t>(capability)).c_str());
  report.advice("offer another device: verdigris run --capability %s",
                versionText(file.ptxTargets.front().first).c_str());
  report.advice("or build the program with PTX for older devices: nvcc -gencode arch=compute_75,code=compute_75");
}

void checkGpuCode(Report& report, const Program& file, const Devices& devices) {
  if (file.damagedFatBinary) {
    report.problem("%s: its GPU code is damaged", file.path.c_str());
    report.advice("build or install the file again");
    return;
  }
  if (file.ptx.empty() && file.native.empty()) return;
  if (devices.real) return checkNativeCode(report, file, devices.real);
  if (file.ptx.empty()) {
    report.problem("%s: native GPU code only (%s), no PTX to compile", file.path.c_str(),
                   listTargets(file.native).c_str());
    report.advice("build it with PTX, for example nvcc -gencode arch=compute_75,code=compute_75");
    return;
  }
  checkPtx(report, file, devices.emulated);
}

// The object whose search path counts is the one that opens the driver: libcudart.so when there is one, the program
// itself otherwise.
void checkResolution(Report& report, const Program& program, const std::vector<Program>& libraries,
                     const Installation& installation) {
  const Program* asker = &program;
  std::string how = "is linked with libcuda.so.1";
  if (!program.needs("libcuda.so")) {
    how = program.hasFatBinary ? "has the CUDA runtime inside (-cudart static)" : "opens libcuda.so itself";
    for (const Program& library : libraries)
      if (library.soname.rfind("libcudart.so", 0) == 0) {
        asker = &library;
        how = "uses the shared CUDA runtime, " + library.path;
      }
    if (asker == &program && !program.mentionsDriver) {
      for (const Program& library : libraries)
        if (library.needs("libcuda.so") || (library.mentionsDriver && library.hasFatBinary)) {
          asker = &library;
          how = "reaches the driver through " + library.path;
        }
      if (asker == &program) {
        report.note(
            "%s does not mention libcuda.so: it may open CUDA through libraries it loads later (as Python does)",
            program.path.c_str());
        how = "is assumed to open libcuda.so.1";
      }
    }
  }
  report.ok("%s %s", program.path.c_str(), how.c_str());
  const Resolution where = resolve("libcuda.so.1", *asker);
  if (!where.path.empty() && canonical(where.path) == canonical(installation.library()))
    return report.ok("libcuda.so.1 resolves to ours, through %s", where.why.c_str());
  if (where.path.empty()) {
    report.problem("libcuda.so.1 is not found in the present environment");
  } else {
    report.problem("libcuda.so.1 resolves to %s, through %s", where.path.c_str(), where.why.c_str());
  }
  if (where.why.rfind("RPATH", 0) == 0) {
    report.advice("an RPATH goes before LD_LIBRARY_PATH: use `verdigris run --preload %s`", program.path.c_str());
  } else {
    report.advice("start it with `verdigris run %s`", program.path.c_str());
    report.advice("or set LD_LIBRARY_PATH=%s", installation.libraryFolder.c_str());
  }
}

// The program that a script's first line names, found as `env` and the system do; "" when it is not there.
std::string interpreterOf(const std::string& line) {
  const std::vector<std::string> words = splitList(line, ' ');
  const bool searches = words[0].ends_with("/env") && words.size() > 1 && fileExists(words[0]);
  const std::string path = searches ? findInPath(words[1] == "-S" && words.size() > 2 ? words[2] : words[1]) : words[0];
  return fileExists(path) ? path : "";
}

void checkScript(Report& report, const Program& script) {
  const std::string interpreter = interpreterOf(script.interpreter);
  if (interpreter.empty() && script.interpreter.ends_with('\r')) {
    report.problem("%s is a script whose lines end as on Windows, so that the system looks for no such interpreter",
                   script.path.c_str());
    return report.advice("remove the carriage returns: sed -i 's/\\r$//' %s", script.path.c_str());
  }
  if (interpreter.empty()) {
    report.problem("%s is a script for %s, which is not there", script.path.c_str(), script.interpreter.c_str());
    return report.advice("install that program, or name another in the script's first line");
  }
  report.note("%s is a script for %s: look at that program and the libraries it loads", script.path.c_str(),
              script.interpreter.c_str());
  report.advice("run `verdigris doctor %s`, or on a library that holds the GPU code", interpreter.c_str());
}

// The dynamic linker that a program names starts it.
void checkLoader(Report& report, const Program& program) {
  if (program.loader.find("ld-musl") != std::string::npos) {
    report.problem("%s is a program of the C library musl: libcuda.so.1 needs glibc", program.path.c_str());
    return report.advice("build the program on a system with glibc, and run it there");
  }
  if (program.loader.empty() || fileExists(program.loader)) return;
  report.problem("%s needs the dynamic linker %s, which is not there: starting it fails with \"not found\"",
                 program.path.c_str(), program.loader.c_str());
  report.advice("run it on a system with the C library that it was built for");
}

void checkProgram(Report& report, const std::string& name, const Installation& installation, const Devices& devices) {
  report.heading("Program");
  const std::string path = findInPath(name);
  const Program program = inspect(path);
  switch (program.kind) {
    case FileKind::Missing:
      report.problem("%s is not there", name.c_str());
      return report.advice("give its path, such as ./%s", name.c_str());
    case FileKind::Folder:
      report.problem("%s is a folder", path.c_str());
      return report.advice("name a program or a library in it");
    case FileKind::Unreadable:
      report.problem("%s cannot be read", path.c_str());
      return report.advice("check its permissions");
    case FileKind::Script:
      return checkScript(report, program);
    case FileKind::Other:
      report.problem("%s is neither an ELF file nor a script", path.c_str());
      return;
    case FileKind::Elf:
      break;
  }
  if (!program.nativeMachine) {
    report.problem("%s is not for x86-64", path.c_str());
    return report.advice("build it for this machine");
  }
  const bool isLibrary = !program.soname.empty();
  if (!program.executable && !isLibrary) {
    report.problem("%s may not be executed", path.c_str());
    report.advice("chmod +x %s", path.c_str());
  }
  if (program.privileged) {
    report.problem("%s is setuid, setgid or has capabilities: the loader ignores LD_LIBRARY_PATH and LD_PRELOAD for it",
                   path.c_str());
    report.advice("run a copy without those, or link it with an RPATH of %s", installation.libraryFolder.c_str());
  }
  if (!program.dynamic) {
    report.problem("%s is linked statically: it cannot load any libcuda.so.1", path.c_str());
    return report.advice("link it without -static");
  }
  checkLoader(report, program);
  const std::vector<Program> libraries = dependencies(program);
  checkResolution(report, program, libraries, installation);
  checkGpuCode(report, program, devices);
  for (const Program& library : libraries) checkGpuCode(report, library, devices);
}

}  // namespace

int doctor(const DoctorOptions& options) {
  Report report;
  const Installation installation = findInstallation(options.libraryFolder);
  const Devices devices = checkInstallation(report, installation);
  checkEnvironment(report);
  if (!options.program.empty()) checkProgram(report, options.program, installation, devices);
  const int problems = report.problems();
  std::printf(problems ? "%d problem%s found\n" : "Nothing stands in the way.\n", problems, problems == 1 ? "" : "s");
  return problems ? 1 : 0;
}

}  // namespace vg::tools
