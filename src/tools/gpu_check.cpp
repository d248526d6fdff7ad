#include "tools/gpu_check.h"

#include <sys/utsname.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "backend/nvidia/driver/generation.h"
#include "base/log.h"
#include "tools/common/kernel_driver.h"
#include "tools/gpu_check/bench.h"
#include "tools/gpu_check/mirror.h"

namespace vg::tools {

using namespace backend::nvidia;

bool GpuBench::check(bool passed, const char* what, const char* words, ...) {
  std::printf("%s %s: ", passed ? "ok  " : "FAIL", what);
  va_list arguments;
  va_start(arguments, words);
  std::vprintf(words, arguments);
  va_end(arguments);
  std::printf("\n");
  std::fflush(stdout);
  failures += !passed;
  return passed;
}

double microseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

namespace {

void printCard(int index, const rm::CardInfo& card) {
  std::printf("     gpu %d: %04x:%02x:%02x.%x, PCI %04x:%04x, /dev/nvidia%u, BAR1 %llu MiB\n", index, card.domain,
              card.bus, card.slot, card.function, card.vendor, card.device, card.minor,
              static_cast<unsigned long long>(card.barBytes >> 20));
}

void printList(const char* what, const std::vector<uint32_t>& values) {
  std::printf("     %s:", what);
  for (const uint32_t value : values) std::printf(" %#x", value);
  std::printf("\n");
}

// What whoever writes code for another GPU or driver wants to know of the machine; nothing that tells whose it is.
void printMachine() {
  utsname system{};
  uname(&system);
  std::printf("     %s %s, %s\n", system.sysname, system.release, system.machine);
  for (const char* const path :
       {"/sys/module/nvidia/version", "/proc/driver/nvidia/version", "/proc/driver/nvidia/params"}) {
    std::ifstream file(path);
    if (!file) std::printf("     %s: not there\n", path);
    for (std::string line; std::getline(file, line);) std::printf("     %s: %s\n", path, line.c_str());
  }
}

// A wrong size must be refused: that is what makes the tables of sizes safe.
bool refusesWrongSize(Gpu& gpu) {
  char room[64] = {};
  const Status status = gpu.client().control(gpu.subdevice(), rm::kGetTime, room, 12);
  return status == kInvalidArgument || status == kInvalidParameterStructure;
}

void checkFacts(GpuBench& bench) {
  Gpu& gpu = bench.gpu;
  const GpuFacts& f = gpu.facts();
  Result<uint64_t> freeBytes = gpu.freeMemory(), time = gpu.time();
  bench.check(f.multiprocessors > 0 && f.totalMemory > 0, "facts",
              "%s, capability %d.%d, architecture %#x, %u multiprocessors, %u warps each, %u x %u x %u at most",
              f.name.c_str(), f.computeCapability / 10, f.computeCapability % 10, f.architecture, f.multiprocessors,
              f.warpsPerMultiprocessor, f.gpcs, f.tpcsPerGpc, f.multiprocessorsPerTpc);
  bench.check(freeBytes.ok() && time.ok(), "memory",
              "%llu MiB, %llu MiB handed out, %llu MiB free, bus %u bits, L2 %u, BAR1 %llu MiB",
              static_cast<unsigned long long>(f.totalMemory >> 20), static_cast<unsigned long long>(f.heapMemory >> 20),
              static_cast<unsigned long long>(freeBytes.ok() ? *freeBytes >> 20 : 0), f.busWidth, f.l2Bytes,
              static_cast<unsigned long long>(f.barBytes >> 20));
  bench.check(!f.copyEngines.empty(), "classes", "usermode %#x, channel %#x, compute %#x, copy %#x", f.classes.usermode,
              f.classes.channel, f.classes.compute, f.classes.copy);
  for (const CopyEngine& engine : f.copyEngines)
    std::printf("     copy engine %#x, capabilities %02x %02x, %u physical%s\n", engine.type, engine.caps[0],
                engine.caps[1], engine.physical, engine.sharesGraphics() ? ", on the graphics runlist" : "");
  printList("classes", f.allClasses);
  printList("engines", f.allEngines);
  bench.check(refusesWrongSize(gpu), "sizes", "a control of the wrong size is refused");
}

int checkGpu(Client& client, Uvm& uvm, const rm::CardInfo& card, const GpuCheckOptions& options) {
  const double start = microseconds();
  Result<std::unique_ptr<Gpu>> gpu = Gpu::open(client, uvm, card);
  Result<Addresses&> addresses = Addresses::shared();
  if (!gpu.ok() || !addresses.ok()) {
    std::printf("FAIL open: the GPU cannot be opened\n");
    return 1;
  }
  GpuBench bench{**gpu, *addresses};
  bench.check(true, "open", "device, doorbell and address space in %.0f us", microseconds() - start);
  checkFacts(bench);
  checkMemory(bench);
  checkRanges(bench);
  checkChannels(bench, options);
  if (!isDriven(bench.gpu.facts().computeCapability))
    std::printf(
        "     kernels: not tried, as there is no code for this generation yet; a report of a GPU like this helps\n");
  checkCompute(bench, options);
  return bench.failures ? 1 : 0;
}

// Exit status as of gpuCheck().
int checkAll(const GpuCheckOptions& options) {
  // What is refused is what this command is about.
  log::readSettings();
  if (!std::getenv("VERDIGRIS_LOG")) log::threshold.store(static_cast<int>(log::Level::Info));
  const double start = microseconds();
  const std::optional<KernelDriver> driver = openKernelDriver();
  if (!driver) return kNoGpu;
  Client& client = *driver->client;
  rm::CardInfo cards[32];
  Result<int> count = client.cards(cards, 32);
  if (!count.ok() || *count <= options.gpu) return kNoGpu;
  std::printf("ok   driver: version %s, tables of branch %d, %d GPUs, %.0f us\n", client.version().c_str(),
              client.abi().branch, *count, microseconds() - start);
  for (int i = 0; i < *count; ++i) printCard(i, cards[i]);
  const int result = checkGpu(client, *driver->uvm, cards[options.gpu], options);
  std::printf("%s in %.0f ms\n", result ? "FAILED" : "passed", (microseconds() - start) / 1e3);
  return result;
}

}  // namespace

int gpuCheck(const GpuCheckOptions& options) {
  constexpr int kBadUsage = 2;
  std::optional<Mirror> mirror;
  if (!options.report.empty()) {
    mirror.emplace(options.report);
    if (!mirror->ok()) {
      std::fprintf(stderr, "verdigris gpu-check: %s cannot be written\n", options.report.c_str());
      return kBadUsage;
    }
    printMachine();
  }
  return checkAll(options);
}

}  // namespace vg::tools
