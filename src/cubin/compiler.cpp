#include "cubin/compiler.h"

#include <xxhash.h>

#include <memory>

#include "base/log.h"
#include "base/system/kernel_cache.h"
#include "cubin/compiler_tools.h"
#include "images/elf_file.h"

namespace vg::cubin {
namespace {

constexpr char kVersion[] = "native code, 1";  // of what is kept

KernelCache::Key keyOf(const Request& request) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), XXH3_freeState);
  XXH3_128bits_reset(state.get());
  const auto add = [&](const void* bytes, size_t size) { XXH3_128bits_update(state.get(), bytes, size); };
  add(kVersion, sizeof kVersion);
  const std::string target = request.target();
  add(target.c_str(), target.size() + 1);
  add(&request.maxRegisters, sizeof request.maxRegisters);
  add(&request.linked, sizeof request.linked);
  for (const Input& input : request.inputs) {
    const uint64_t size = input.bytes.size();
    add(&input.kind, sizeof input.kind);
    add(&size, sizeof size);
    add(input.bytes.data(), size);
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return {hash.high64, hash.low64};
}

bool isNative(const std::string& bytes) {
  return images::ElfFile::isCubin(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
}

std::string keptCode(const KernelCache::Key& key) {
  const KernelCache& cache = KernelCache::shared();
  const std::vector<uint8_t> kept = cache.read(key);
  std::string code(kept.begin(), kept.end());
  if (!code.empty() && !isNative(code)) {
    VG_LOG(Info, "kernel cache %s: a file is damaged and made anew", cache.folder().c_str());
    cache.remove(key);
    code.clear();
  }
  return code;
}

// The words of the vendor's assembler for text that is newer than it.
bool tooNew(const std::string& error) { return error.find("Unsupported .version") != std::string::npos; }

std::string firstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

// The library first: it costs no process. Whoever knows the text decides; a library that is older than the text does
// not, so the programs are asked as well.
Result<std::string> compile(const Request& request, const Logs& logs) {
  const KernelCache::Key key = keyOf(request);
  std::string code = keptCode(key);
  if (!code.empty()) return code;
  std::string error;
  CUresult refused = CUDA_SUCCESS;
  for (const auto compiler : {compileWithNvJitLink, compileWithPrograms}) {
    error.clear();
    const Outcome outcome = compiler(request, code, {logs.info, &error});
    // Under `verdigris run` nvJitLink may give out PTX.
    if (outcome == Outcome::Made && isNative(code)) {
      KernelCache::shared().write(key, std::vector<uint8_t>(code.begin(), code.end()));
      return code;
    }
    if (outcome != Outcome::Refused) continue;
    refused = tooNew(error) ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION : CUDA_ERROR_INVALID_PTX;
    if (logs.error) *logs.error += error;
    VG_LOG(Info, "%s is not compiled for %s: %s", request.inputs[0].name.c_str(), request.target().c_str(),
           firstLine(error).c_str());
  }
  if (refused)
    return fail(refused, "%s cannot be made native code of %s", request.inputs[0].name.c_str(),
                request.target().c_str());
  VG_LOG(Warn,
         "%s has no code for %s but PTX, and there is no compiler to native code: install nvJitLink (PyPI: "
         "nvidia-nvjitlink) or ptxas (PyPI: nvidia-cuda-nvcc), or set CUDA_HOME to a toolkit that has them",
         request.inputs[0].name.c_str(), request.target().c_str());
  return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
}

}  // namespace vg::cubin
