#include "core/process/process.h"

#include <pthread.h>

#include <cstdlib>
#include <mutex>

#include "activity/recorder.h"
#include "base/log.h"
#include "base/own_memory.h"
#include "base/process_board.h"
#include "base/result.h"
#include "check/check.h"
#include "core/dumps/core_dump_attributes.h"
#include "core/dumps/dump_requests.h"
#include "core/memory/memory.h"
#include "core/memory/memory_activity.h"
#include "core/process/checkpoint.h"
#include "core/process/device.h"
#include "core/process/driver_version.h"
#include "ptx/facts/reach.h"

namespace vg::core {

constinit std::atomic<Gate> gate{Gate::Closed};

namespace {

constinit std::mutex initialising;
// True while a thread is between the first and the last step: a child forked then finds half of everything.
constinit std::atomic<bool> underWay{false};

void onExit() {
  Gate now = gate.load();
  do {
    if (!initialised(now)) return;
  } while (!gate.compare_exchange_weak(now, Gate::Exiting));
  gate.notify_all();
  dump::endRequests();
  for (int ordinal = 0; ordinal < deviceCount(); ++ordinal) deviceAt(ordinal).backend().quiesce();
  board::leave();
}

void onForkInChild() {
  if (initialised(gate.load()) || underWay.load()) gate.store(Gate::Forked);
  checkpoint::leaveInChild();
}

// Once in the life of the process. The handlers stay when initialisation fails: with the gate closed they do nothing.
void registerHandlers() {
  static constinit bool done = false;
  if (done) return;
  done = true;
  std::atexit(onExit);
  pthread_atfork(nullptr, nullptr, onForkInChild);
}

// Freed in the order of a stream counts: the stream may not have come to that point. Of what is registered devices see
// whole pages.
bool knownMemory(uint64_t address, uint64_t bytes) {
  constexpr uint64_t kPage = 4096;
  const auto knownByte = [](uint64_t at) {
    return memory::table().find(at) || memory::table().findReleased(at) ||
           memory::table().ranges().overlapping(at / kPage * kPage, kPage);
  };
  return knownByte(address) && (bytes < 2 || knownByte(address + bytes - 1));
}

// Who records is told what devices there are, and of all memory from here on.
void startActivity() {
  if (!activity::recording()) return;
  memory_activity::start();
  for (int ordinal = 0; ordinal < deviceCount(); ++ordinal) {
    activity::Record record;
    record.kind = activity::RecordKind::Name;
    record.name = {activity::Named::Device, static_cast<uint16_t>(ordinal), 0, {}};
    record.name.name.set(deviceAt(ordinal).traits().name);
    activity::tell(record);
  }
}

CUresult openGate() {
  log::readSettings();
  checkDriverVersion();
  own_memory::adoptVariablesOf(&gate);
  ptx::tellKnownMemory(knownMemory);
  check::start(memory::table());
  processDumpAttributes().readSettings();
  registerHandlers();
  VG_CHECK(makeDevices());
  startActivity();
  gate.store(Gate::Open, std::memory_order_release);
  checkpoint::serve();
  return CUDA_SUCCESS;
}

}  // namespace

CUresult initialise(unsigned flags) {
  if (flags) return fail(CUDA_ERROR_INVALID_VALUE, "cuInit's flags must be 0, not %#x", flags);
  if (gate.load(std::memory_order_acquire) == Gate::Open) return CUDA_SUCCESS;
  if (gate.load() != Gate::Closed) return passGate(false);
  std::lock_guard lock(initialising);
  if (gate.load() == Gate::Open) return CUDA_SUCCESS;
  underWay.store(true);
  const CUresult result = openGate();
  underWay.store(false);
  return result;
}

CUresult refusal() {
  switch (gate.load()) {
    case Gate::Exiting:
      return fail(CUDA_ERROR_DEINITIALIZED, "the process is exiting");
    case Gate::Forked:
      return fail(CUDA_ERROR_NOT_INITIALIZED, "this process was forked from one that had initialised the library");
    default:
      return fail(CUDA_ERROR_NOT_INITIALIZED, "cuInit has not been called, or it failed");
  }
}

CUresult passGate(bool whileLocked) {
  for (Gate now = gate.load(std::memory_order_acquire);; now = gate.load(std::memory_order_acquire)) {
    if (now == Gate::Open || (now == Gate::Locked && whileLocked)) return CUDA_SUCCESS;
    if (!initialised(now)) return refusal();
    gate.wait(now, std::memory_order_acquire);
  }
}

bool moveGate(Gate from, Gate to) {
  if (!gate.compare_exchange_strong(from, to)) return false;
  gate.notify_all();
  return true;
}

}  // namespace vg::core
