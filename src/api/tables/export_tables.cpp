// The tables behind cuGetExportTable: what the CUDA runtime and the CUDA libraries ask of the driver beside its API.
//
// A table is the number of its bytes and then functions by position (context-local storage has no size and ends with
// null). Tables are constant data with fixed addresses: the runtime's validity check covers those. Positions that
// nobody is known to use hold a function that refuses and names table and position in the log; a few more such
// functions lie behind the end, so that a library that is newer than this table finds them and not foreign words.
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <utility>

#include "api/entry/call.h"
#include "api/tables/observer.h"
#include "api/tables/private_table.h"
#include "api/tables/validity.h"
#include "api/watch/observed_call.h"
#include "base/log.h"
#include "base/text/log_history.h"
#include "core/contexts/current_context.h"
#include "core/contexts/green_context.h"
#include "core/contexts/primary_context.h"
#include "core/modules/kernel.h"
#include "core/modules/module.h"
#include "core/process/device.h"

namespace vg {
namespace {

// The gate of the entry points, for the functions of the tables: they are called at exit and after fork too.
CUresult closed() {
  return core::gate.load(std::memory_order_relaxed) == core::Gate::Open ? CUDA_SUCCESS : core::passGate(true);
}

// Nothing may unwind into the caller.
template <class Body>
CUresult guarded(Body body) noexcept {
  VG_CHECK(closed());
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

// A table is named by the first four bytes of its identifier.
CUresult refuse(uint32_t table, size_t slot) {
  return unsupported("slot %zu (offset %#zx) of export table %08x-..., which no known library calls", slot,
                     slot * sizeof(void*), table);
}
using Refused = CUresult (*)();
template <uint32_t kTable, size_t kSlot>
CUresult refused() {
  return refuse(kTable, kSlot);
}

// The refusals of the slots from kFirst on.
template <uint32_t kTable, size_t kFirst, size_t kCount>
struct Unknown {
  Refused slots[kCount];
};
template <uint32_t kTable, size_t kFirst, size_t... kNext>
constexpr Unknown<kTable, kFirst, sizeof...(kNext)> unknown(std::index_sequence<kNext...>) {
  return {{refused<kTable, kFirst + kNext>...}};
}
template <uint32_t kTable, size_t kFirst, size_t kCount>
constexpr void fill(Unknown<kTable, kFirst, kCount>& gap) {
  gap = unknown<kTable, kFirst>(std::make_index_sequence<kCount>());
}
constexpr size_t kBehind = 16;  // slots behind the end of a table

// A table whose gaps are filled; its size is what lies before `behind`.
template <class Table, class... Gaps>
constexpr Table filled(Table table, Gaps Table::*... gaps) {
  (fill(table.*gaps), ...);
  fill(table.behind);
  table.size = sizeof(Table) - sizeof table.behind;
  return table;
}

// The context that a handle names, null meaning the current one. A primary context counts before it is retained.
Result<core::Context&> named(CUcontext handle) {
  if (handle) return core::findContextOrPrimary(handle);
  if (core::Context* current = core::threadState.current) return *current;
  return CUDA_ERROR_INVALID_CONTEXT;  // asked before each first use of a thread: not worth a line in the log
}

// The streams of that context, of which the default ones may be meant.
Result<core::StreamSet&> streamsOf(CUcontext handle) {
  VG_CHECK(named(handle));
  if (!handle) return core::streamsOf(core::currentReference());
  VG_TRY(const core::ContextReference found, core::findAnyContext(handle));
  return core::streamsOf(found);
}

// ---- the runtime's own ----

// The handle of a device's primary context, which need not be retained yet.
CUresult primaryContext(CUcontext* context, CUdevice device) {
  return guarded([&]() -> CUresult {
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    VG_TRY(core::Device & found, core::findDevice(device));
    *context = core::primaryOf(found).context().handle();
    return CUDA_SUCCESS;
  });
}

// Asked once for each device by runtimes of 13.2 and later, which go on when told that it went well. It is said to load
// the compilers of the driver, which ours has always at hand.
CUresult loadCompilers() { return closed(); }

constexpr uint32_t kRuntimeId = 0x6bd5fb6c;
struct RuntimeTable {
  size_t size;
  Unknown<kRuntimeId, 1, 1> gap1;
  CUresult (*primaryContext)(CUcontext*, CUdevice);
  Unknown<kRuntimeId, 3, 9> gap3;
  CUresult (*loadCompilers)();
  Unknown<kRuntimeId, 13, kBehind> behind;
};
constexpr RuntimeTable runtimeTable() {
  RuntimeTable table{};
  table.primaryContext = primaryContext;
  table.loadCompilers = loadCompilers;
  return filled(table, &RuntimeTable::gap1, &RuntimeTable::gap3);
}
constexpr RuntimeTable kRuntime = runtimeTable();
static_assert(kRuntime.size == 13 * sizeof(void*));

// ---- hooks of tools: words that a profiler sets where it wants to be told (api/tables/observer.h) ----

constexpr size_t kHookWords = api::kRuntimeWords;
constinit uint32_t eventHooks[kHookWords];

void apiHookWords(void** words, size_t* count) {
  *words = api::runtimeWords;
  *count = kHookWords;
}
void contextNumberOf(CUcontext context, uint64_t* id) {
  int device;
  if (id && api::observerTable().contextId(context, id, &device) != CUDA_SUCCESS) *id = 0;
}
// Of a stream that is not the default one; the thread's or the old default stream by its handle.
void streamNumberOf(CUcontext context, CUstream stream, uint64_t* id) {
  if (id && api::observerTable().streamId(context, stream, false, id) != CUDA_SUCCESS) *id = 0;
}
void ignoreEvent(uint32_t, void*) {}
void eventHookWords(void** words, size_t* count) {
  *words = eventHooks;
  *count = kHookWords;
}

constexpr uint32_t kHooksId = 0xa094798c;
struct HooksTable {
  size_t size;
  void (*call)(uint32_t, void*);
  void (*apiWords)(void**, size_t*);
  void (*streamName)(CUcontext, CUstream, uint64_t*);
  void (*name)(CUcontext, uint64_t*);
  void (*event)(uint32_t, void*);
  void (*eventWords)(void**, size_t*);
  Unknown<kHooksId, 7, kBehind> behind;
};
constexpr HooksTable hooksTable() {
  HooksTable table{};
  table.call = api::tellRuntimeCall;
  table.apiWords = apiHookWords;
  table.streamName = streamNumberOf;
  table.name = contextNumberOf;
  table.event = ignoreEvent;
  table.eventWords = eventHookWords;
  return filled(table);
}
constexpr HooksTable kHooks = hooksTable();
static_assert(kHooks.size == 7 * sizeof(void*));

// ---- the thread's context ----

CUresult threadContext(CUcontext* context) {
  if (const CUresult refused = closed()) return refused;
  *context = core::handleOf(core::currentReference());
  return CUDA_SUCCESS;
}

constexpr uint32_t kThreadId = 0x42d85a81;
struct ThreadTable {
  size_t size;
  Unknown<kThreadId, 1, 1> gap1;
  CUresult (*context)(CUcontext*);
  Unknown<kThreadId, 3, 1> gap3;
  Unknown<kThreadId, 4, kBehind> behind;
};
constexpr ThreadTable threadTable() {
  ThreadTable table{};
  table.context = threadContext;
  return filled(table, &ThreadTable::gap1, &ThreadTable::gap3);
}
constexpr ThreadTable kThread = threadTable();

// ---- values that libraries keep in a context ----

CUresult putStored(CUcontext context, void* key, void* value, core::LocalStorage::Destructor destructor) {
  return guarded([&]() -> CUresult {
    VG_TRY(core::Context & found, named(context));
    if (!found.alive()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;  // nothing would ever remove the value
    found.localStorage().put(key, value, destructor);
    return CUDA_SUCCESS;
  });
}

CUresult removeStored(CUcontext context, void* key) {
  return guarded([&]() -> CUresult {
    VG_TRY(core::Context & found, named(context));
    return found.localStorage().remove(key) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult getStored(void** value, CUcontext context, void* key) {
  return guarded([&]() -> CUresult {
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    VG_TRY(core::Context & found, named(context));
    return found.localStorage().get(key, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

struct StorageTable {
  CUresult (*put)(CUcontext, void*, void*, core::LocalStorage::Destructor);
  CUresult (*remove)(CUcontext, void*);
  CUresult (*get)(void**, CUcontext, void*);
  void* end;
};
constexpr StorageTable kStorage = {putStored, removeStored, getStored, nullptr};

// ---- what kind of context a handle is ----

CUresult contextKind(CUcontext context, unsigned* kind, CUcontext* inner) {
  return guarded([&]() -> CUresult {
    VG_CHECK(named(context));
    if (kind) *kind = 0;  // not derived from another context
    if (inner) *inner = nullptr;
    return CUDA_SUCCESS;
  });
}

unsigned nothingSpecial(unsigned) { return 0; }

constexpr uint32_t kChecksId = 0x263e8860;
struct ChecksTable {
  size_t size;
  Unknown<kChecksId, 1, 1> gap1;
  CUresult (*kind)(CUcontext, unsigned*, CUcontext*);
  unsigned (*special)(unsigned);
  Unknown<kChecksId, 4, 11> gap4;
  Unknown<kChecksId, 15, kBehind> behind;
};
constexpr ChecksTable checksTable() {
  ChecksTable table{};
  table.kind = contextKind;
  table.special = nothingSpecial;
  return filled(table, &ChecksTable::gap1, &ChecksTable::gap4);
}
constexpr ChecksTable kChecks = checksTable();

// ---- the validity check ----

CUresult checkValidity(uint32_t version, uint64_t seconds, uint64_t answer[2]);

constexpr uint32_t kIntegrityId = 0xd4082055;
struct IntegrityTable {
  size_t size;
  CUresult (*check)(uint32_t, uint64_t, uint64_t*);
  Unknown<kIntegrityId, 2, 1> gap2;
  Unknown<kIntegrityId, 3, kBehind> behind;
};
constexpr IntegrityTable integrityTable() {
  IntegrityTable table{};
  table.check = checkValidity;
  return filled(table, &IntegrityTable::gap2);
}
constexpr IntegrityTable kIntegrity = integrityTable();

CUresult checkValidity(uint32_t version, uint64_t seconds, uint64_t answer[2]) {
  return guarded([&] {
    return api::validity(version, seconds, &kRuntime, &kIntegrity, reinterpret_cast<const void*>(kIntegrity.check),
                         answer);
  });
}

// ---- messages of the runtime ----

void logMessage(const char* component, int level, const char* format, va_list arguments) {
  if (!log::enabled(log::Level::Info) || !format) return;
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  VG_LOG(Info, "%s (%d): %s", component ? component : "runtime", level, text);
}

// Called with 0 before and with 1 after a call that may fail, by runtimes of 13.4 and later.
CUresult switchLog(int on) {
  log::expectsFailures = !on;
  return CUDA_SUCCESS;
}

constexpr uint32_t kLogId = 0xf8cff951;
struct LogTable {
  size_t size;
  void (*message)(const char*, int, const char*, va_list);
  CUresult (*switchLog)(int);
  Unknown<kLogId, 3, kBehind> behind;
};
constexpr LogTable logTable() {
  LogTable table{};
  table.message = logMessage;
  table.switchLog = switchLog;
  return filled(table);
}
constexpr LogTable kLog = logTable();

// ---- numbers for contexts and streams, which cuBLAS and cuFFT use as keys ----

CUresult contextDevice(CUcontext context, CUdevice* device) {
  return guarded([&]() -> CUresult {
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    VG_TRY(core::Context & found, named(context));
    *device = found.device().handle();
    return CUDA_SUCCESS;
  });
}

CUresult contextNumber(CUcontext context, uint64_t* id) {
  return guarded([&]() -> CUresult {
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    VG_TRY(core::Context & found, named(context));
    *id = found.id();
    return CUDA_SUCCESS;
  });
}

// The object of a stream is the handle that names it whatever the default stream is.
CUresult streamObject(CUcontext context, CUstream stream, void** object, int perThread) {
  return guarded([&]() -> CUresult {
    if (!object) return CUDA_ERROR_INVALID_VALUE;
    VG_TRY(core::StreamSet & streams, streamsOf(context));
    if (!stream) stream = perThread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    VG_CHECK(core::resolveStream(stream, &streams));
    *object = stream;
    return CUDA_SUCCESS;
  });
}

CUresult streamNumber(CUcontext context, void* object, uint64_t* id) {
  return guarded([&]() -> CUresult {
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    VG_TRY(core::StreamSet & streams, streamsOf(context));
    VG_TRY(core::Stream & stream, core::resolveStream(static_cast<CUstream>(object), &streams));
    *id = stream.id();
    return CUDA_SUCCESS;
  });
}

constexpr uint32_t kIdentityId = 0x21318c60;
struct IdentityTable {
  size_t size;
  Unknown<kIdentityId, 1, 2> gap1;
  CUresult (*device)(CUcontext, CUdevice*);
  CUresult (*context)(CUcontext, uint64_t*);
  Unknown<kIdentityId, 5, 34> gap5;
  CUresult (*streamNumber)(CUcontext, void*, uint64_t*);
  Unknown<kIdentityId, 40, 11> gap40;
  CUresult (*streamObject)(CUcontext, CUstream, void**, int);
  Unknown<kIdentityId, 52, 43> gap52;
  Unknown<kIdentityId, 95, kBehind> behind;
};
constexpr IdentityTable identityTable() {
  IdentityTable table{};
  table.device = contextDevice;
  table.context = contextNumber;
  table.streamNumber = streamNumber;
  table.streamObject = streamObject;
  return filled(table, &IdentityTable::gap1, &IdentityTable::gap5, &IdentityTable::gap40, &IdentityTable::gap52);
}
constexpr IdentityTable kIdentity = identityTable();
static_assert(kIdentity.size == 95 * sizeof(void*));

// ---- the kernels of a module ----

// The number of kernels, after `visit` was called for each; 0 on failure.
int visitKernels(CUcontext, CUmodule module, void (*visit)(void*, CUfunction), void* user) {
  int count = 0;
  (void)guarded([&]() -> CUresult {
    VG_TRY(core::Module & found, core::modules::find(module));
    VG_TRY(const std::vector<core::Function*> all, found.functions());
    for (core::Function* function : all) {
      if (visit) visit(user, function->handle());
      ++count;
    }
    return CUDA_SUCCESS;
  });
  return count;
}

constexpr uint32_t kFunctionsId = 0x6e163fbe;
struct FunctionsTable {
  size_t size;
  Unknown<kFunctionsId, 1, 6> gap1;
  int (*visitKernels)(CUcontext, CUmodule, void (*)(void*, CUfunction), void*);
  Unknown<kFunctionsId, 8, kBehind> behind;
};
constexpr FunctionsTable functionsTable() {
  FunctionsTable table{};
  table.visitKernels = visitKernels;
  return filled(table, &FunctionsTable::gap1);
}
constexpr FunctionsTable kFunctions = functionsTable();

// ---- two numbers that cuBLASLt asks for and does without ----

CUresult twoNumbers(uint64_t*, uint64_t*) { return CUDA_SUCCESS; }

constexpr uint32_t kNumbersId = 0x1734dc26;
struct NumbersTable {
  size_t size;
  Unknown<kNumbersId, 1, 3> gap1;
  CUresult (*numbers)(uint64_t*, uint64_t*);
  Unknown<kNumbersId, 5, kBehind> behind;
};
constexpr NumbersTable numbersTable() {
  NumbersTable table{};
  table.numbers = twoNumbers;
  return filled(table, &NumbersTable::gap1);
}
constexpr NumbersTable kNumbers = numbersTable();

struct Row {
  uint8_t id[16];
  const void* table;
};
// nvrtc's table is missing on purpose: offered one, nvrtc leaves compiling to the driver.
constexpr Row kRows[] = {
    {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9}, &kRuntime},
    {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66}, &kHooks},
    {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc}, &kThread},
    {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93}, &kStorage},
    {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa, 0x7e}, &kChecks},
    {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2}, &kIntegrity},
    {{0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d, 0xd9}, &kLog},
    {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2}, &kIdentity},
    {{0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99, 0x1e}, &kFunctions},
    {{0x17, 0x34, 0xdc, 0x26, 0x80, 0x0d, 0x47, 0x45, 0x87, 0x26, 0xc0, 0xf1, 0xe7, 0xdd, 0x8b, 0xca}, &kNumbers},
};

// NVIDIA's libcupti.so asks for this one first. Refused, it asks again and again until its stack is used up.
constexpr uint8_t kVendorsProfilers[16] = {0x7c, 0xb6, 0x3f, 0x9b, 0x9c, 0xa4, 0x8e, 0x42,
                                           0xa4, 0x84, 0xbe, 0xb6, 0x6e, 0x6a, 0xed, 0x7f};

void tellOfVendorsProfilers() {
  static constinit std::atomic<bool> told{false};
  if (told.exchange(true, std::memory_order_relaxed)) return;
  VG_LOG(Error,
         "NVIDIA's libcupti.so needs NVIDIA's driver and may end the process now; use the libcupti.so.13 beside this "
         "driver: by `verdigris run`, or with its folder `cupti` in LD_LIBRARY_PATH");
}

const void* findTable(const CUuuid& id) {
  if (!std::memcmp(&id, &api::kPrivateTableId, sizeof id)) return &api::privateTable();
  if (!std::memcmp(&id, &api::kObserverTableId, sizeof id)) return &api::observerTable();
  for (const Row& row : kRows)
    if (!std::memcmp(&id, row.id, sizeof row.id)) return row.table;
  return nullptr;
}

}  // namespace

namespace handlers {

CUresult cuGetExportTable(const Call&, const void** ppExportTable, const CUuuid* pExportTableId) {
  if (!ppExportTable || !pExportTableId)
    return fail(CUDA_ERROR_INVALID_VALUE, "ppExportTable or pExportTableId is null");
  const void* table = findTable(*pExportTableId);
  if (!table) {
    if (!std::memcmp(pExportTableId, kVendorsProfilers, sizeof kVendorsProfilers)) tellOfVendorsProfilers();
    uint32_t start = 0;
    std::memcpy(&start, pExportTableId, sizeof start);
    return fail(CUDA_ERROR_INVALID_VALUE, "no export table %08x-...", __builtin_bswap32(start));
  }
  *ppExportTable = table;
  return CUDA_SUCCESS;
}

}  // namespace handlers
}  // namespace vg
