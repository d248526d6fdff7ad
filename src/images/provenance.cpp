#include "images/provenance.h"

#include <dlfcn.h>

#include <algorithm>
#include <vector>

#include "base/sync/mutex.h"
#include "base/undying.h"

namespace vg::images {
namespace {

// By what files are called, the versions that the tests of libraries run with (tests/python/requirements.txt).
constexpr struct {
  const char* prefix;
  const char* advice;
} kAdvice[] = {
    {"libtorch",
     "`verdigris run python` runs PyTorch's operators on the CPU instead (docs/pytorch.md), torch.compile makes "
     "kernels that run"},
    {"libcublas", "nvidia-cublas 13.0.2.14 holds PTX of more kernels"},
    {"libcurand", "nvidia-curand 10.4.0.35 holds PTX"},
    {"libcusparse", "nvidia-cusparse 12.6.3.3 holds PTX"},
    {"libcusolver", "nvidia-cusolver 12.0.9.81 holds PTX"},
    {"libcufft", "nvidia-cufft 12.0.0.61 holds PTX"},
};

}  // namespace

std::string fileOf(const void* image) {
  Dl_info info;
  if (!dladdr(image, &info) || !info.dli_fname) return {};
  const std::string path = info.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

static const char* knownAdvice(const std::string& file) {
  for (const auto& [prefix, advice] : kAdvice)
    if (file.starts_with(prefix)) return advice;
  return nullptr;
}

std::string wayOutOfNative(const std::string& file) {
  const char* const known = knownAdvice(file);
  return known ? known : "what is compiled at run time gives PTX under `verdigris run`";
}

std::string wayOut(const std::string& file) {
  if (const char* const known = knownAdvice(file)) return known;
  return "build it with PTX (nvcc -arch=compute_75, or -gencode with code=compute_...), or name a folder of its PTX in "
         "VERDIGRIS_IMAGES";
}

bool firstOf(const std::string& file) {
  constexpr size_t kMost = 64;
  static Mutex mutex;
  auto* const told = &undying<std::vector<std::string>, struct ToldFiles>();
  const MutexLock lock(mutex);
  if (told->size() == kMost || std::find(told->begin(), told->end(), file) != told->end()) return false;
  told->push_back(file);
  return true;
}

}  // namespace vg::images
