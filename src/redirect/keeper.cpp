#include "redirect/keeper.h"

#include "redirect/replacement.h"

namespace vg::redirect {

Handle theCompiler = nullptr;

namespace {

using Program = void*;

template <class... Arguments>
bool compiler(const char* name, Arguments... arguments) {
  const auto function = functionOf<int(Arguments...)>(theCompiler, name);
  return function && !function(arguments...);
}

std::string sourceFor(const std::vector<std::string>& functions) {
  std::string source;
  for (const std::string& name : functions)
    source += "extern \"C\" __device__ void " + name + "();\nextern \"C\" __device__ void (*" + std::string(kKeeper) +
              name + ")() = " + name + ";\n";
  return source;
}

}  // namespace

std::string keeperOf(const std::vector<std::string>& functions, const std::string& architecture) {
  if (!theCompiler) return {};
  const std::string source = sourceFor(functions), target = "-arch=" + architecture;
  const char* const options[] = {"-dlto", "-rdc=true", target.c_str()};
  Program program = nullptr;
  if (!compiler("nvrtcCreateProgram", &program, source.c_str(), "keeper.cu", 0,
                static_cast<const char* const*>(nullptr), static_cast<const char* const*>(nullptr)))
    return {};
  size_t size = 0;
  std::string code;
  if (compiler("nvrtcCompileProgram", program, 3, &options[0]) && compiler("nvrtcGetLTOIRSize", program, &size)) {
    code.resize(size);
    if (!compiler("nvrtcGetLTOIR", program, code.data())) code.clear();
  }
  (void)compiler("nvrtcDestroyProgram", &program);
  return code;
}

}  // namespace vg::redirect
