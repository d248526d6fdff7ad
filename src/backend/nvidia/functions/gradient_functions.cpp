#include "backend/nvidia/functions/gradient_functions.h"

#include "base/undying.h"
#include "cubin/packed_code.h"

namespace vg::backend::nvidia {
namespace {

#include "backend/nvidia/functions/gradient_functions_code.inc"

// Reads that answer whether memory is there have the same arguments and answers.
struct Name {
  std::string_view external, asking, ours;
};
constexpr Name kNames[] = {
#define VG_GRADIENT(geometry, type, ours)                                 \
  {                                                                       \
    "__cuda_syscall_tex_grad_" geometry "_v4_" type "_f32",               \
        "__cuda_syscall_tex_grad_pred_" geometry "_v4_" type "_f32", ours \
  }
    VG_GRADIENT("3d", "f32", "vgGradientBoxF32"),      VG_GRADIENT("3d", "s32", "vgGradientBoxS32"),
    VG_GRADIENT("3d", "u32", "vgGradientBoxU32"),      VG_GRADIENT("cube", "f32", "vgGradientCubeF32"),
    VG_GRADIENT("cube", "s32", "vgGradientCubeS32"),   VG_GRADIENT("cube", "u32", "vgGradientCubeU32"),
    VG_GRADIENT("acube", "f32", "vgGradientCubesF32"), VG_GRADIENT("acube", "s32", "vgGradientCubesS32"),
    VG_GRADIENT("acube", "u32", "vgGradientCubesU32"),
#undef VG_GRADIENT
};

Result<GradientFunctions> make() {
  VG_TRY(std::string bytes, cubin::unpack(kPacked));
  VG_TRY(cubin::Cubin code, cubin::parse(std::move(bytes)));
  GradientFunctions functions;
  functions.code = std::make_shared<const cubin::Cubin>(std::move(code));
  const cubin::Kernel* const all = functions.code->kernel("vgKeepGradients");
  bool whole = all != nullptr;
  for (const Name& name : kNames) whole = whole && functions.find(name.external);
  if (!whole) return fail(CUDA_ERROR_INVALID_IMAGE, "the functions for gradients are incomplete");
  functions.registers = all->registers;
  functions.stackBytes = all->stackBytes;
  return functions;
}

}  // namespace

const cubin::Function* GradientFunctions::find(std::string_view external) const {
  for (const Name& name : kNames)
    if (name.external == external || name.asking == external) return code->function(std::string(name.ours));
  return nullptr;
}

bool isGradientCall(std::string_view external) { return external.starts_with("__cuda_syscall_tex_grad_"); }

Result<const GradientFunctions&> gradientFunctions(uint32_t architecture) {
  if (architecture != kPacked.architecture)
    return unsupported("gradients of boxes and cubemaps on GPUs of compute capability %u", architecture);
  VG_TRY(GradientFunctions & made, undyingIfMade<GradientFunctions>([] { return make(); }));
  return made;
}

}  // namespace vg::backend::nvidia
