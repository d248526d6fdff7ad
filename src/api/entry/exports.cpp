// Derives the exported functions and the table of entry points from entry_points.inc.
#include <array>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string_view>

#include "api/entry/call.h"
#include "api/entry/capture_rules.h"
#include "api/entry/entry_points.h"
#include "api/entry/enum_names.h"
#include "api/entry/lock_rules.h"
#include "api/watch/call_activity.h"
#include "api/watch/observed_call.h"
#include "api/watch/trace.h"
#include "backend/queues/interleaving.h"
#include "base/log.h"
#include "base/memory/shortage.h"
#include "base/text/log_history.h"
#include "check/calls.h"
#include "core/contexts/current_context.h"
#include "core/streams/capture_sink.h"
#include "core/work/host_function.h"

namespace vg::handlers {
namespace {
template <class... Args>
[[gnu::cold]] CUresult notImplemented(const char* symbol, const Args&...) {
  return unsupported("%s", symbol);
}
}  // namespace

// LIVE handlers are declared in call.h and defined in api/<room>/<family>.cpp.
#define CU_LIVE(name, since, needs, twin, params, args)
#define CU_STUB(name, since, needs, twin, params, args) \
  static CUresult name(const Call& CU_COMMA params) { return notImplemented(#name CU_COMMA args); }
#include "api/entry/entry_points.inc"
#undef CU_LIVE
#undef CU_STUB
#define CU_STUB CU_LIVE  // from here on a stub is an entry like any other
}  // namespace vg::handlers

namespace vg {
namespace {

// Out of line, with the reason in the log. Waits while another process holds this one, but for calls that the vendor's
// driver answers then, and for host functions, which are part of the work that the other one waits for.
[[gnu::cold, gnu::noinline]] CUresult passGate(const char* symbol, bool whileLocked) {
  const CUresult refused = core::passGate(whileLocked || core::insideHostFunction);
  if (!refused) return refused;
  return fail(refused, "%s: the library is not initialised, shutting down, or was inherited through fork", symbol);
}
[[gnu::cold, gnu::noinline]] CUresult outOfHostMemory(const char* symbol) {
  shortage::tell(Shortage::HostMemory, "%s", symbol);
  return fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: the host is out of memory", symbol);
}

// Host functions must not call the API. The vendor's driver lets them ask a stream all the same.
[[gnu::cold, gnu::noinline]] bool refusedInHostFunction(const char* symbol) {
  return !std::string_view(symbol).starts_with("cuStreamQuery") &&
         !std::string_view(symbol).starts_with("cuEventQuery");
}
[[gnu::cold, gnu::noinline]] CUresult refuseInHostFunction(const char* symbol) {
  return fail(CUDA_ERROR_NOT_PERMITTED, "%s: host functions must not call the API", symbol);
}

template <Needs kNeeds, auto kHandler, class... Args>
CUresult call(const char* symbol, DefaultStream stream, Args... args) {
  if constexpr (kNeeds != Needs::Nothing) {
    if (core::gate.load(std::memory_order_relaxed) != core::Gate::Open) [[unlikely]]
      if (const CUresult refused = passGate(symbol, api::runsWhileLocked<kHandler>())) return refused;
    if (core::insideHostFunction && refusedInHostFunction(symbol)) [[unlikely]]
      return refuseInHostFunction(symbol);
  }
  core::Context* context = nullptr;
  if constexpr (kNeeds == Needs::Context) {
    context = core::threadState.current;
    if (!context || !context->usable(core::threadState.generation)) [[unlikely]]
      if (const auto examined = core::examineCurrentContext(); !examined.ok()) return examined.error();
  }
  if constexpr (api::isUnsafeForCapture<kHandler>()) {
    if (const CUresult refused = core::capture::permitUnsafe()) return refused;
  }
  const Call call{context, stream};
  try {
    return kHandler(call, args...);
  } catch (const std::bad_alloc&) {  // nothing may unwind into the caller
    return outOfHostMemory(symbol);
  } catch (const std::length_error&) {  // a container asked for more than can be addressed
    return outOfHostMemory(symbol);
  }
}

// For the log that programs may read. That work is not done yet is no failure.
[[gnu::cold, gnu::noinline]] void noteFailure(const char* symbol, CUresult result) {
  if (result == CUDA_ERROR_NOT_READY) return;
  const char* const name = api::enumName(result);
  log::callFailed(symbol, result, name ? name : "?");
}

template <Needs kNeeds, auto kHandler, class... Args>
[[gnu::cold, gnu::noinline]] CUresult callObserved(activity::DescribeCall describe, unsigned number,
                                                   DefaultStream stream, Args... args) {
  const activity::CallDescription what = describe();
  const char* const symbol = what.symbol;
  const activity::InsideCall inside(what.async);
  if (backend::interleaving::on()) backend::interleaving::betweenCalls();
  const void* const values[sizeof...(Args) + 1] = {&args..., nullptr};
  api::TellCall told(number, symbol, inside.correlation(), api::kArgumentLayouts<Args...>, values);
  const CUresult result = call<kNeeds, kHandler>(symbol, stream, args...);
  if (check::calls::wanted())
    check::calls::ended(symbol, result, api::enumName(result), values, core::handleOf(core::currentReference()));
  if (result != CUDA_SUCCESS) noteFailure(symbol, result);
  told.ended(result);
  if (activity::callsRecorded.load(std::memory_order_relaxed)) api::recordCall(describe, inside, result, args...);
  if (!api::traceOn.load(std::memory_order_relaxed)) return result;
  const uint64_t duration = activity::now() - inside.began();
  api::TraceLine line(symbol, what.names, result);
  (line.argument(args), ...);
  line.finish(duration);
  return result;
}

// cuInit starts the trace and the timeline and is the first call in them.
template <auto kHandler>
constexpr bool startsTrace() {
  if constexpr (std::is_same_v<decltype(kHandler), decltype(&handlers::cuInit)>) return kHandler == &handlers::cuInit;
  return false;
}

constexpr bool isAsync(std::string_view symbol) {
  return symbol.find("Async") != std::string_view::npos || symbol.starts_with("cuGraphLaunch");
}

template <class... Args>
constexpr activity::CallDescription describe(const char* symbol, const char* names, bool async,
                                             CUresult (*)(const Call&, Args...)) {
  return {symbol, names, &api::writeArgumentOf<Args...>, &api::nameOfResult, sizeof...(Args), async};
}

// The one way in. With the gate open and nobody observing: no lock, no log, four well-predicted branches.
template <Needs kNeeds, auto kHandler, class... Args>
inline CUresult enter(const char* symbol, activity::DescribeCall describe, unsigned number, DefaultStream stream,
                      Args... args) {
  if (startsTrace<kHandler>() || activity::callsObserved.load(std::memory_order_relaxed)) [[unlikely]]
    return callObserved<kNeeds, kHandler>(describe, number, stream, args...);
  const CUresult result = call<kNeeds, kHandler>(symbol, stream, args...);
  if (result != CUDA_SUCCESS) [[unlikely]]
    noteFailure(symbol, result);
  return result;
}

// The number of each symbol, twins behind their entry points.
enum EntryNumber : unsigned {
#define CU_NUMBER_OF_TWIN_None(name) kUnused_##name
#define CU_NUMBER_OF_TWIN_ptsz(name) kNumber_##name##_ptsz
#define CU_NUMBER_OF_TWIN_ptds(name) kNumber_##name##_ptds
#define CU_LIVE(name, since, needs, twin, params, args) kNumber_##name, CU_NUMBER_OF_TWIN_##twin(name),
#define CU_STUB CU_LIVE
#include "api/entry/entry_points.inc"
  kNumbers
#undef CU_LIVE
#undef CU_STUB
};

}  // namespace
}  // namespace vg

// Communication libraries and tracers replace entry points by overwriting their first instructions, after they have
// moved those elsewhere. What they can move are instructions without an address in them; code of a compiler begins with
// any. So each entry begins with 15 bytes of such instructions, room for a jump to anywhere: its number, thrice, in a
// register that no caller reads.
#if defined(__x86_64__)
#define CU_ENTRY(symbol, params, args)                                           \
  extern "C" [[gnu::visibility("default"), gnu::naked]] CUresult symbol params { \
    asm("movl %0, %%eax\n\tmovl %0, %%eax\n\tmovl %0, %%eax\n\tjmp %P1"          \
        :                                                                        \
        : "i"(vg::kNumber_##symbol), "i"(vg::entries::symbol));                  \
  }
#else
#define CU_ENTRY(symbol, params, args) \
  extern "C" [[gnu::visibility("default")]] CUresult symbol params { return vg::entries::symbol args; }
#endif
#define CU_THUNK(symbol, stream, name, needs, params, args)                                          \
  namespace vg::entries {                                                                            \
  static CUresult symbol params {                                                                    \
    const auto what = [] {                                                                           \
      constexpr bool kAsync = vg::isAsync(#symbol);                                                  \
      return vg::describe(#symbol, #args, kAsync, &vg::handlers::name);                              \
    };                                                                                               \
    return vg::enter<vg::Needs::needs, vg::handlers::name>(#symbol, what, vg::kNumber_##symbol,      \
                                                           vg::DefaultStream::stream CU_COMMA args); \
  }                                                                                                  \
  }                                                                                                  \
  CU_ENTRY(symbol, params, args)
#define CU_TWIN_None(...)
#define CU_TWIN_ptsz(name, ...) CU_THUNK(name##_ptsz, PerThread, name, __VA_ARGS__)
#define CU_TWIN_ptds(name, ...) CU_THUNK(name##_ptds, PerThread, name, __VA_ARGS__)
#define CU_LIVE(name, since, needs, twin, params, args) \
  CU_THUNK(name, Legacy, name, needs, params, args)     \
  CU_TWIN_##twin(name, needs, params, args)
#define CU_STUB CU_LIVE
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"  // the entries pass on what is in registers and on the stack
#include "api/entry/entry_points.inc"
#pragma GCC diagnostic pop
#undef CU_LIVE
#undef CU_STUB

namespace vg::api {

// The rows are read by functions: in arrays their names and addresses would be two thousand words that the dynamic
// linker relocates in every process, before it knows whether anyone asks.
#define CU_TEXT(word) #word
#define CU_NAME_OF_TWIN_None(name) nullptr
#define CU_NAME_OF_TWIN_ptsz(name) CU_TEXT(name##_ptsz)
#define CU_NAME_OF_TWIN_ptds(name) CU_TEXT(name##_ptds)
#define CU_LIVE(name, since, needs, twin, params, args) \
  case kNumber_##name:                                  \
    return #name;                                       \
  case CU_NUMBER_OF_TWIN_##twin(name):                  \
    return CU_NAME_OF_TWIN_##twin(name);
#define CU_STUB CU_LIVE
const char* entryName(unsigned number) {
  switch (number) {
#include "api/entry/entry_points.inc"
  }
  return nullptr;
}
#undef CU_LIVE
#undef CU_STUB

namespace {
constexpr size_t kRows = kNumbers / 2;

constexpr char kSymbols[] =
#define CU_LIVE(name, since, needs, twin, params, args) #name "\0"
#define CU_STUB CU_LIVE
#include "api/entry/entry_points.inc"
    ;
#undef CU_LIVE
#undef CU_STUB

struct Place {
  uint16_t begin, size;
};
// The base names among the symbols.
constexpr auto kPlaces = [] {
  std::array<Place, kRows> places{};
  size_t begin = 0;
  for (Place& place : places) {
    const std::string_view symbol(kSymbols + begin);
    place = {static_cast<uint16_t>(begin), static_cast<uint16_t>(splitSymbol(symbol).base.size())};
    begin += symbol.size() + 1;
  }
  return places;
}();
static_assert(sizeof kSymbols <= UINT16_MAX);
}  // namespace

const size_t kEntryPointCount = kRows;

std::string_view baseNameOf(size_t row) { return {kSymbols + kPlaces[row].begin, kPlaces[row].size}; }

#define CU_TWIN_POINTER_None(name) nullptr
#define CU_TWIN_POINTER_ptsz(name) reinterpret_cast<void*>(name##_ptsz)
#define CU_TWIN_POINTER_ptds(name) reinterpret_cast<void*>(name##_ptds)
#define CU_ROW(name, since, twin, live) \
  case kNumber_##name / 2:              \
    return {#name, since, reinterpret_cast<void*>(::name), CU_TWIN_POINTER_##twin(::name), live};
#define CU_LIVE(name, since, needs, twin, params, args) CU_ROW(name, since, twin, true)
#define CU_STUB(name, since, needs, twin, params, args) CU_ROW(name, since, twin, false)
EntryPoint entryPoint(size_t row) {
  switch (row) {
#include "api/entry/entry_points.inc"
  }
  return {};
}
#undef CU_LIVE
#undef CU_STUB

const unsigned kEntryNameCount = kNumbers;

Coverage coverage() {
  Coverage result{0, 0};
  for (size_t row = 0; row < kEntryPointCount; ++row) ++(entryPoint(row).live ? result.live : result.stubs);
  return result;
}

}  // namespace vg::api
