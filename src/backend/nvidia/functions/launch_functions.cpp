#include "backend/nvidia/functions/launch_functions.h"

#include <array>
#include <cstring>

#include "backend/nvidia/functions/kernel_request.h"
#include "base/undying.h"
#include "cubin/packed_code.h"

namespace vg::backend::nvidia {
namespace {

#include "backend/nvidia/functions/launch_functions_code.inc"

constexpr std::array kNames = {
#define VG_DEVICE_CALL(name, ...) "vg" #name,
#include "ptx/abi/device_runtime.inc"
#undef VG_DEVICE_CALL
};

bool agrees(const cubin::Cubin& code) {
  const cubin::Variable* const variable = code.variable("vgFingerprint");
  if (!variable || variable->size != sizeof(uint64_t)) return false;
  uint64_t value = 0;
  const std::string_view bytes = code.contents(variable->section);
  if (bytes.size() < variable->offset + sizeof value) return false;
  std::memcpy(&value, bytes.data() + variable->offset, sizeof value);
  return value == requestsFingerprint();
}

Result<LaunchFunctions> make() {
  VG_TRY(std::string bytes, cubin::unpack(kPacked));
  VG_TRY(cubin::Cubin code, cubin::parse(std::move(bytes)));
  LaunchFunctions functions;
  functions.code = std::make_shared<const cubin::Cubin>(std::move(code));
  functions.ring = functions.code->variable("vgRing");
  functions.answers = functions.code->variable("vgAnswers");
  functions.buffers = functions.code->variable("vgBuffers");
  functions.buffersAreSmall = functions.code->variable("vgBuffersAreSmall");
  functions.nobodyCalls = functions.code->function("vgNobodyCalls");
  const cubin::Kernel* const all = functions.code->kernel("vgKeep");
  if (!agrees(*functions.code))
    return fail(CUDA_ERROR_INVALID_IMAGE,
                "the functions that launch from kernels are out of date: run scripts/gpu-kernels");
  bool whole = functions.ring && functions.answers && functions.buffers && functions.buffersAreSmall &&
               functions.nobodyCalls && all;
  for (const char* const name : kNames) whole = whole && functions.code->function(name);
  if (!whole) return fail(CUDA_ERROR_INVALID_IMAGE, "the functions that launch from kernels are incomplete");
  functions.registers = all->registers;
  functions.stackBytes = all->stackBytes;
  return functions;
}

}  // namespace

const cubin::Function* LaunchFunctions::find(ptx::DeviceCall call) const {
  return code->function(kNames[static_cast<size_t>(call)]);
}

Result<const LaunchFunctions&> launchFunctions(uint32_t architecture) {
  if (architecture != kPacked.architecture)
    return unsupported("launches from kernels on GPUs of compute capability %u", architecture);
  VG_TRY(LaunchFunctions & made, undyingIfMade<LaunchFunctions>([] { return make(); }));
  return made;
}

}  // namespace vg::backend::nvidia
