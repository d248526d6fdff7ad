#include "cubin/device_functions.h"

#include <map>
#include <string>

#include "base/sync/mutex.h"
#include "base/undying.h"
#include "cubin/compiler.h"
#include "cubin/packed_code.h"

namespace vg::cubin {
namespace {

constexpr char kText[] =
#include "cubin/device_functions.inc"
    ;

// Programs are compiled to call functions with this many registers of their own.
constexpr uint32_t kMostRegisters = 32;
// The kernel that nobody launches; it calls them all, so that it needs what they need.
constexpr std::string_view kCallsAll = "vg_keep";

struct Name {
  std::string_view external, ours;
};
constexpr Name kNames[] = {{"vprintf", "vg_vprintf"},
                           {"malloc", "vg_malloc"},
                           {"free", "vg_free"},
                           {"__assertfail", "vg_assertfail"},
                           {"cudaGraphSetConditional", "vg_set_conditional"}};

// Code that comes along, for one architecture; of no use when the text has changed since it was made.
#include "cubin/device_functions_code.inc"

constexpr uint64_t fingerprint(std::string_view text) {  // FNV-1a
  uint64_t value = 0xCBF29CE484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return value;
}

bool broughtAlong(uint32_t architecture) {
  return architecture == kPacked.architecture && fingerprint(deviceFunctionsPtx()) == kBuiltOf;
}

Result<std::string> compiled(uint32_t architecture) {
  Request request;
  request.architecture = architecture;
  request.inputs.push_back({InputKind::Ptx, "printf, malloc and assert of kernels", kText});
  request.maxRegisters = kMostRegisters;
  request.linked = true;
  return compile(request, {});
}

Result<DeviceFunctions> make(uint32_t architecture) {
  VG_TRY(std::string bytes, broughtAlong(architecture) ? unpack(kPacked) : compiled(architecture));
  VG_TRY(Cubin code, parse(std::move(bytes)));
  DeviceFunctions functions;
  functions.comesAlong = broughtAlong(architecture);
  if (const Kernel* const all = code.kernel(kCallsAll)) {
    functions.registers = all->registers;
    functions.stackBytes = all->stackBytes;
  }
  functions.code = std::make_shared<const Cubin>(std::move(code));
  for (const Name& name : kNames)
    if (!functions.find(name.external))
      return fail(CUDA_ERROR_INVALID_IMAGE, "the compiler left out %s", name.ours.data());
  return functions;
}

}  // namespace

std::string_view deviceFunctionsPtx() { return kText; }

const Function* DeviceFunctions::find(std::string_view external) const {
  for (const Name& name : kNames)
    if (name.external == external) return code->function(name.ours);
  return nullptr;
}

Result<const DeviceFunctions&> deviceFunctions(uint32_t architecture) {
  static Mutex mutex;  // guards made; held while one is compiled, so that it is compiled once
  auto* const made = &undying<std::map<uint32_t, DeviceFunctions>, struct MadeFunctions>();
  const MutexLock lock(mutex);
  if (const auto known = made->find(architecture); known != made->end()) return known->second;
  VG_TRY(DeviceFunctions functions, make(architecture));
  return made->emplace(architecture, std::move(functions)).first->second;
}

}  // namespace vg::cubin
