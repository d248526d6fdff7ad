#include "tools/stand_in/ptx_checker.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>

namespace vg::tools {
namespace {

// What a user set for the program that wants code says nothing about this process.
void prepareEnvironment(const std::string& capability) {
  for (const char* variable : {"VERDIGRIS_TRACE", "VERDIGRIS_CHECK", "VERDIGRIS_PROFILE", "VERDIGRIS_MEMORY",
                               "VERDIGRIS_LOG_FILE", "VERDIGRIS_DUMP", "CUDA_VISIBLE_DEVICES", "CUDA_DISABLE_PTX_JIT"})
    unsetenv(variable);
  setenv("VERDIGRIS_DEVICES", "cpu:1", 1);
  setenv("VERDIGRIS_COMPUTE_CAPABILITY", capability.c_str(), 1);
  setenv("VERDIGRIS_LOG", "off", 1);
}

// The options that ask for the log of errors; the numbers are pointers, as the driver wants them.
struct ErrorLog {
  std::string text = std::string(16384, '\0');
  std::array<CUjit_option, 2> options = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values = {text.data(), reinterpret_cast<void*>(text.size())};

  std::string read(CUresult result) const {
    const std::string said = text.c_str();
    return said.empty() ? "the driver answers " + std::to_string(result) + "\n" : said;
  }
};

}  // namespace

template <class Function>
Function* PtxChecker::function(const char* name) const {
  return reinterpret_cast<Function*>(dlsym(library_, name));
}

std::unique_ptr<PtxChecker> PtxChecker::open(const std::string& library, const std::string& capability,
                                             std::string& reason) {
  prepareEnvironment(capability);
  std::unique_ptr<PtxChecker> checker(new PtxChecker);
  checker->library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!checker->library_) {
    reason = dlerror();
    return nullptr;
  }
  CUcontext context = nullptr;
  CUresult result = checker->function<decltype(cuInit)>("cuInit")(0);
  if (!result) result = checker->function<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context, 0);
  if (!result) result = checker->function<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(context);
  if (!result) return checker;
  reason = library + " answers " + std::to_string(result);
  return nullptr;
}

PtxChecker::Kernel PtxChecker::kernelOf(CUfunction kernel) const {
  const char* name = "";
  function<decltype(cuFuncGetName)>("cuFuncGetName")(&name, kernel);
  const auto attribute = [&](CUfunction_attribute which) {
    int value = 0;
    function<decltype(cuFuncGetAttribute)>("cuFuncGetAttribute")(&value, which, kernel);
    return value;
  };
  return {name, attribute(CU_FUNC_ATTRIBUTE_NUM_REGS), attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
          attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), attribute(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)};
}

std::vector<PtxChecker::Kernel> PtxChecker::kernelsOf(CUmodule module) const {
  unsigned count = 0;
  function<decltype(cuModuleGetFunctionCount)>("cuModuleGetFunctionCount")(&count, module);
  std::vector<CUfunction> functions(count);
  if (count)
    function<decltype(cuModuleEnumerateFunctions)>("cuModuleEnumerateFunctions")(functions.data(), count, module);
  std::vector<Kernel> kernels;
  for (const CUfunction each : functions) kernels.push_back(kernelOf(each));
  return kernels;
}

PtxChecker::Answer PtxChecker::check(const std::string& text) const {
  ErrorLog log;
  CUmodule module = nullptr;
  const CUresult result = function<decltype(cuModuleLoadDataEx)>("cuModuleLoadDataEx")(
      &module, text.c_str(), static_cast<unsigned>(log.options.size()), log.options.data(), log.values.data());
  Answer answer;
  if (result) {
    answer.errors = log.read(result);
    answer.unresolved = answer.errors.starts_with("unresolved function");
    return answer;
  }
  answer.kernels = kernelsOf(module);
  function<decltype(cuModuleUnload)>("cuModuleUnload")(module);
  return answer;
}

std::string PtxChecker::link(const std::vector<Part>& parts, std::string& errors) const {
  ErrorLog log;
  CUlinkState state = nullptr;
  CUresult result = function<decltype(cuLinkCreate)>("cuLinkCreate_v2")(static_cast<unsigned>(log.options.size()),
                                                                        log.options.data(), log.values.data(), &state);
  for (const Part& part : parts) {
    if (result) break;
    std::string bytes = part.bytes;
    result = function<decltype(cuLinkAddData)>("cuLinkAddData_v2")(
        state, part.library ? CU_JIT_INPUT_LIBRARY : CU_JIT_INPUT_PTX, bytes.data(), bytes.size(), part.name.c_str(), 0,
        nullptr, nullptr);
  }
  void* image = nullptr;
  size_t size = 0;
  if (!result) result = function<decltype(cuLinkComplete)>("cuLinkComplete")(state, &image, &size);
  std::string text;
  if (result)
    errors = log.read(result);
  else
    text.assign(static_cast<const char*>(image));
  if (state) function<decltype(cuLinkDestroy)>("cuLinkDestroy")(state);
  return text;
}

}  // namespace vg::tools
