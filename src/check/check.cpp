#include "check/check.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "base/log.h"
#include "base/settings.h"
#include "base/sync/mutex.h"
#include "base/undying.h"
#include "check/blocks/block_checks.h"
#include "check/blocks/faulted.h"
#include "check/calls.h"
#include "check/memory/allocations.h"
#include "check/memory/heap_leaks.h"
#include "check/memory/initialised.h"
#include "check/races/global_races.h"
#include "check/reports/report.h"
#include "copy/watch.h"
#include "ptx/abi/check_abi.h"

namespace vg::check {
namespace {

class Observer final : public ptx::Observer {
 public:
  ptx::BlockObserver* enter(ptx::BlockState& block, const ptx::Module& module, const ptx::Function& entry,
                            ptx::Carries carries, uint32_t reserved) override {
    BlockChecks& checks = of(block);
    checks.enter(block, module, entry, carries, reserved);
    return &checks;
  }
  void stuck(const ptx::BlockState& block) { of(block).stuck(); }
  BlockChecks& of(const ptx::BlockState& block) {
    if (block.checked && block.checked->owner) return *static_cast<BlockChecks*>(block.checked->owner);
    const MutexLock lock(mutex_);
    std::unique_ptr<BlockChecks>& slot = checks_[&block];
    if (!slot) slot = std::make_unique<BlockChecks>();
    if (block.checked) block.checked->owner = slot.get();
    return *slot;
  }

 private:
  Mutex mutex_;  // guards the map; the checks belong to whoever runs the block
  std::map<const ptx::BlockState*, std::unique_ptr<BlockChecks>> checks_
      VG_GUARDED_BY(mutex_);  // a running block's state is used again
};

Observer& theObserver() {  // never destroyed
  return undying<Observer, Observer>();
}

// What copies and fills write.
uintptr_t addressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

void copied(const copy::Shape& shape) {
  const bool init = wants(Tool::Init), race = wants(Tool::Race);
  for (size_t z = 0; z < shape.depth; ++z)
    for (size_t y = 0; y < shape.height; ++y) {
      const uintptr_t to =
          addressOf(shape.destination.base) + z * shape.destination.slicePitch + y * shape.destination.rowPitch;
      const uintptr_t from = addressOf(shape.source.base) + z * shape.source.slicePitch + y * shape.source.rowPitch;
      if (init) initialised::copied(to, from, shape.width);
      if (race) global_races::copied(to, from, shape.width);
    }
}
void filled(const copy::Fill& fill) {
  for (size_t y = 0; y < fill.height; ++y) {
    const uintptr_t row = addressOf(fill.base) + y * fill.pitch;
    if (wants(Tool::Init)) initialised::written(row, fill.width);
    if (wants(Tool::Race)) global_races::filled(row, fill.width);
  }
}
void written(const void* address, size_t bytes) {
  if (wants(Tool::Init)) initialised::written(addressOf(address), bytes);
  if (wants(Tool::Race)) global_races::written(addressOf(address), bytes);
}
constexpr copy::Watcher kCopyWatcher{copied, filled, written};

struct Faulted {
  std::atomic<FirstFault> told{nullptr};
  Mutex mutex;
  std::map<uint64_t, CUresult> grids VG_GUARDED_BY(mutex);
};
Faulted& faulted() { return undying<Faulted, Faulted>(); }

int exitStatus() {
  const std::string& text = settings().checkExitCode;
  char* end = nullptr;
  const long status = std::strtol(text.c_str(), &end, 10);
  if (!text.empty() && !*end && status >= 0 && status < 256) return static_cast<int>(status);
  if (!text.empty()) VG_LOG(Warn, "VERDIGRIS_CHECK_EXIT_CODE=%s is no number from 0 to 255; using 1", text.c_str());
  return 1;
}

pid_t checkedProcess;  // a forked child reports nothing
int endsWith = -1;     // the status that the process ends with; -1: not known yet

// The report and, for a process that ends well, the status that says that faults were found.
void atExit(int status, void*) {
  if (getpid() != checkedProcess) return;
  endsWith = status;
  if (wants(Tool::Leaks)) return;  // destructors of the program's own may still end things
  summarise();
  if (!distinctFaults() || status != 0) return;
  if (const int code = exitStatus()) std::exit(code);  // goes on with what is left to do at the end
}

// Behind the last destructor of the program.
[[gnu::destructor]] void atUnload() {
  if (getpid() != checkedProcess || endsWith < 0 || !wants(Tool::Leaks)) return;
  calls::reportLeaks();
  heap_leaks::reportAll();
  summarise();
  const int code = distinctFaults() && endsWith == 0 ? exitStatus() : 0;
  if (!code) return;
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace

void start(const alloc::MemoryTable& table) {
  std::string unknown;
  const ToolSet tools = parseTools(settings().check, &unknown);
  if (!unknown.empty())
    VG_LOG(Warn, "VERDIGRIS_CHECK=%s: there is no tool %s", settings().check.c_str(), unknown.c_str());
  if (!tools) return;
  toolsOn.store(tools, std::memory_order_release);
  if (any() || wants(Tool::Api)) allocations::start(table);
  if (wants(Tool::Init) || wants(Tool::Race)) copy::watcher.store(&kCopyWatcher, std::memory_order_release);
  checkedProcess = getpid();
  on_exit(atExit, nullptr);
}

ptx::Observer* observer(FirstFault told) {
  if (!any()) return nullptr;
  faulted().told.store(told, std::memory_order_relaxed);
  return &theObserver();
}

BlockChecks& blockChecks(const ptx::BlockState& block) { return theObserver().of(block); }

bool markFaulted(const ptx::BlockState& block, CUresult error) {
  if (toolsOn.load(std::memory_order_relaxed) & kGoOn) return false;
  {
    const MutexLock lock(faulted().mutex);
    if (!faulted().grids.emplace(block.launch->gridId, error).second) return false;
  }
  if (const FirstFault told = faulted().told.load(std::memory_order_relaxed)) told(block, error);
  return false;
}

CUresult takeFaulted(uint64_t grid) {
  const MutexLock lock(faulted().mutex);
  const auto found = faulted().grids.find(grid);
  if (found == faulted().grids.end()) return CUDA_SUCCESS;
  const CUresult error = found->second;
  faulted().grids.erase(found);
  return error;
}

void tellEnded(const ptx::BlockState& block) {
  if (block.checked && block.checked->owner) theObserver().of(block).leave();
}
void tellStuck(const ptx::BlockState& block) { theObserver().stuck(block); }

void beginParts(CUdeviceptr address, size_t bytes) { allocations::beginBlock(address, bytes); }
void addPart(CUdeviceptr address, size_t bytes, std::string name, bool lasting) {
  allocations::addPart(address, bytes, std::move(name), lasting);
}
void removePart(CUdeviceptr address) { allocations::removePart(address); }
void endParts(CUdeviceptr address, size_t bytes) { allocations::endBlock(address, bytes); }

}  // namespace vg::check
