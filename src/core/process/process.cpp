#include "core/process/process.h"

#include <pthread.h>

#include <cstdlib>

#include "activity/recorder.h"
#include "alloc/table_guard.h"
#include "base/log.h"
#include "base/memory/own_memory.h"
#include "base/result.h"
#include "base/sync/mutex.h"
#include "base/system/process_board.h"
#include "check/check.h"
#include "core/arrays/array.h"
#include "core/contexts/context.h"
#include "core/contexts/context_roles.h"
#include "core/contexts/primary_context.h"
#include "core/dumps/core_dump.h"
#include "core/dumps/core_dump_attributes.h"
#include "core/dumps/dump_requests.h"
#include "core/dumps/request_pipe.h"
#include "core/graphs/graph_memory.h"
#include "core/memory/external_memory.h"
#include "core/memory/host_memory.h"
#include "core/memory/ipc_memory.h"
#include "core/memory/memory.h"
#include "core/memory/memory_activity.h"
#include "core/memory/memory_below_4gib.h"
#include "core/memory/memory_heaps.h"
#include "core/memory/memory_roles.h"
#include "core/modules/library.h"
#include "core/modules/module.h"
#include "core/pools/memory_pool.h"
#include "core/process/checkpoint.h"
#include "core/process/device.h"
#include "core/process/driver_version.h"
#include "core/streams/event.h"
#include "core/streams/stream.h"
#include "core/textures/texture.h"
#include "core/textures/texture_reference.h"
#include "core/virtual/virtual_access.h"
#include "ptx/facts/reach.h"

namespace vg::core {

namespace {

constinit Mutex initialising;
// True while a thread is between the first and the last step: a child forked then finds half of everything.
constinit std::atomic<bool> underWay{false};

void onExit() {
  Gate now = gate.load();
  if (!initialised(now)) return;
  for (int ordinal = 0; ordinal < deviceCount(); ++ordinal) deviceAt(ordinal).backend().beforeExit();
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

ptx::KnownWindow knownWindow() {
  const alloc::MemoryTable& table = memory::table();
  if (alloc::tableGuard() < ptx::kReachSlack) return {};
  return {reinterpret_cast<uint64_t>(table.windowStart(0)), table.windows() * table.windowBytes()};
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

// What a context has, by rooms, in the order in which it is given back: what refers to something goes before that.
constexpr ContextEnd kEnds[] = {
    libraries::forgetAll, references::releaseAll, textures::releaseAll,  modules::releaseAll,     events::destroyAll,
    streams::destroyAll,  releaseArrays,          memory::unregisterAll, memory::releaseExternal, memory::releaseLow,
    ipc_memory::closeAll, memory::releaseOfPools, memory::releaseAll,
};
constexpr ContextRoles kContextRoles{kEnds, dump::awaitRequests, dump::writeFor, dump::afterFailure};

constexpr memory::Provider kProviders[] = {{memory::isExternalBuffer, memory::freeExternalBuffer},
                                           {memory::isLow, memory::freeLow}};
constexpr memory::Roles kMemoryRoles{
    kProviders,          memory::collectReleased, graphs::releaseByUser, memory::releasePooled, memory::deviceReaches,
    memory::mappedForAny};

CUresult openGate() {
  contextRoles = &kContextRoles;
  memory::roles = &kMemoryRoles;
  modules::ends = references::releaseAll;
  log::readSettings();
  checkDriverVersion();
  own_memory::adoptVariablesOf(&gate);
  ptx::tellKnownMemory(knownMemory, knownWindow);
  check::start(memory::table());
  processDumpAttributes().readSettings();
  registerHandlers();
  VG_CHECK(makeDevices());
  makePrimaryContexts();
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
  const MutexLock lock(initialising);
  if (gate.load() == Gate::Open) return CUDA_SUCCESS;
  underWay.store(true);
  const CUresult result = openGate();
  underWay.store(false);
  return result;
}

}  // namespace vg::core
