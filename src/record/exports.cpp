// The entry points of the recorder's libcuda.so.1: each passes its call on to the driver, and records it.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "api/entry/entry_points.h"
#include "api/entry/interop.h"
#include "record/driver.h"
#include "record/recorded_call.h"
#include "record/recorder.h"

#define CU_COMMA(...) __VA_OPT__(, ) __VA_ARGS__  // "(a, b)" becomes ", a, b"; "()" becomes nothing

namespace vg::record {

namespace {

// Next to this library's folder.
std::string usualDriver() {
  Dl_info own{};
  if (!dladdr(reinterpret_cast<void*>(&usualDriver), &own) || !own.dli_fname) return "libcuda.so.1";
  const std::string path = own.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + "../libcuda.so.1";
}

void* openDriver() {
  const char* const wanted = std::getenv("VERDIGRIS_RECORD_LIBRARY");
  const std::string path = wanted && *wanted ? wanted : usualDriver();
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) std::fprintf(stderr, "verdigris record: no driver: %s\n", dlerror());
  return library;
}

void* driver() {
  static void* const library = openDriver();
  return library;
}

// Calls that the driver makes of its own entry points are none of the program's.
thread_local bool insideCall = false;

template <class T>
uint64_t toWord(T value) {
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value < sizeof word ? sizeof value : sizeof word);
  return word;
}

// The recorder's own entry point for one of the driver's that a program asked for by name.
void* ownFunction(void* drivers, const char* symbol, int version, bool perThread);

CUresult exchange(CUresult result, const char* symbol, void** function, int version, cuuint64_t flags,
                  CUdriverProcAddressQueryResult* = nullptr) {
  if (result == CUDA_SUCCESS && function && *function)
    *function = ownFunction(*function, symbol, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  return result;
}

// Nothing may unwind into the program: without memory there is no more recording.
template <class Body>
void unlessShort(Recorder& recorder, Body body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    recorder.writer.giveUp("there is no memory");
  } catch (const std::length_error&) {
    recorder.writer.giveUp("there is no memory");
  }
}

// Null: the call is only passed on.
Recorder* recorderOf(unsigned number) { return insideCall || !entries()[number].told ? nullptr : Recorder::get(); }

CUresult noFunction() { return driver() ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_NO_DEVICE; }

// `pass` makes the call with the words, which recording may have exchanged.
template <class Pass>
CUresult recordCall(Recorder& recorder, unsigned number, uint64_t* words, Pass pass) {
  insideCall = true;
  std::optional<RecordedCall> call;
  unlessShort(recorder, [&] { call.emplace(recorder, number, words); });
  const CUresult result = pass();
  if (call) unlessShort(recorder, [&] { call->ended(result); });
  insideCall = false;
  return result;
}

CUresult passWords(unsigned number, uint64_t* words) {
  void* const function = driverFunction(number);
  if (!function) return noFunction();
  const auto pass = [&] { return static_cast<CUresult>(callEntry(number, function, words)); };
  Recorder* const recorder = recorderOf(number);
  return recorder ? recordCall(*recorder, number, words, pass) : pass();
}

// Arguments larger than a word are those of calls that cannot be replayed: they are passed on as they are.
template <class... Args>
CUresult passArguments(unsigned number, Args... args) {
  const auto function = reinterpret_cast<CUresult (*)(Args...)>(driverFunction(number));
  if (!function) return noFunction();
  Recorder* const recorder = recorderOf(number);
  uint64_t words[] = {toWord(args)...};
  return recorder ? recordCall(*recorder, number, words, [&] { return function(args...); }) : function(args...);
}

template <class Function>
struct Passing;
template <class... Args>
struct Passing<CUresult (*)(Args...)> {
  static CUresult call(unsigned number, Args... args) {
    if constexpr (((sizeof(Args) > sizeof(uint64_t)) || ...)) {
      return passArguments(number, args...);
    } else {
      uint64_t words[sizeof...(Args) + 1] = {toWord(args)...};
      const CUresult result = passWords(number, words);
      if constexpr (requires { exchange(result, args...); }) return exchange(result, args...);
      return result;
    }
  }
};

enum EntryNumber : unsigned {
#define CU_LIVE(name, since, needs, twin, params, args) kNumber_##name, kNumberOfTwin_##name,
#define CU_STUB CU_LIVE
#include "api/entry/entry_points.inc"
#undef CU_LIVE
#undef CU_STUB
};

}  // namespace

void* driverFunction(unsigned number) {
  static void* const* const functions = [] {
    auto* const found = new void*[entries().size()];
    for (size_t i = 0; i < entries().size(); ++i)
      found[i] = entries()[i].symbol && driver() ? dlsym(driver(), entries()[i].symbol) : nullptr;
    return found;
  }();
  return functions[number];
}

void* driverFunctionNamed(const char* symbol) { return driverFunction(entryNamed(symbol)); }

}  // namespace vg::record

#define VG_RECORD_EXPORT extern "C" __attribute__((visibility("default")))
#define VG_PASS(symbol, number, name, params, args)                                        \
  VG_RECORD_EXPORT CUresult symbol params {                                                \
    return vg::record::Passing<decltype(&::name)>::call(vg::record::number CU_COMMA args); \
  }
#define VG_PASS_TWIN_None(...)
#define VG_PASS_TWIN_ptsz(name, params, args) VG_PASS(name##_ptsz, kNumberOfTwin_##name, name, params, args)
#define VG_PASS_TWIN_ptds(name, params, args) VG_PASS(name##_ptds, kNumberOfTwin_##name, name, params, args)
#define CU_LIVE(name, since, needs, twin, params, args) \
  VG_PASS(name, kNumber_##name, name, params, args)     \
  VG_PASS_TWIN_##twin(name, params, args)
#define CU_STUB CU_LIVE
#include "api/entry/entry_points.inc"
#undef CU_LIVE

namespace vg::record {

namespace {

#define VG_ADDRESS_None(name) nullptr
#define VG_ADDRESS_ptsz(name) reinterpret_cast<void*>(&::name##_ptsz)
#define VG_ADDRESS_ptds(name) reinterpret_cast<void*>(&::name##_ptds)
#define CU_LIVE(name, since, needs, twin, params, args) reinterpret_cast<void*>(&::name), VG_ADDRESS_##twin(name),
void* const kOwn[] = {
#include "api/entry/entry_points.inc"
};

const std::unordered_map<void*, void*>& ownByDrivers() {
  static const auto& all = *[] {
    auto* const made = new std::unordered_map<void*, void*>;
    for (unsigned i = 0; i < entries().size(); ++i)
      if (kOwn[i] && driverFunction(i)) made->emplace(driverFunction(i), kOwn[i]);
    return made;
  }();
  return all;
}

// The newest version that a program of that version knows, as the driver chooses.
void* ownByName(std::string_view symbol, int version, bool perThread) {
  void* best = nullptr;
  int since = 0;
  for (unsigned i = 0; i < entries().size(); i += 2) {  // twins lie behind
    const Entry& entry = entries()[i];
    if (api::splitSymbol(entry.symbol).base != symbol || entry.since > version || entry.since < since) continue;
    best = perThread && kOwn[i + 1] ? kOwn[i + 1] : kOwn[i];
    since = entry.since;
  }
  return best;
}

void* ownFunction(void* drivers, const char* symbol, int version, bool perThread) {
  const auto found = ownByDrivers().find(drivers);
  if (found != ownByDrivers().end()) return found->second;
  void* const own = ownByName(symbol, version, perThread);
  return own ? own : drivers;
}

}  // namespace
}  // namespace vg::record
