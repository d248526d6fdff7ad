// Addresses of local, shared and constant variables, some of which kernels keep in 32 bits. Arguments: files of PTX,
// whose kernels leave in each thread's first word what their names say.
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "driver_check.h"

namespace {

constexpr unsigned kBlocks = 2, kThreads = 64, kWords = 8;

unsigned sumOf(const unsigned (&values)[8]) {
  unsigned sum = 0;
  for (unsigned i = 0; i < 8; ++i) sum += values[i] * (i + 1);
  return sum;
}

unsigned expected(const std::string& kernel, unsigned thread) {
  const unsigned constants[8] = {3, 1, 4, 1, 5, 9, 2, 6}, more[8] = {2, 7, 1, 8, 2, 8, 1, 8};
  if (kernel.compare(0, 8, "aligned_") == 0) return 0;
  if (kernel == "shared_dynamic" || kernel == "const_tells") return 0;
  if (kernel == "const_divergent" && thread % 2 == 0) return sumOf(more);
  if (kernel.compare(0, 6, "const_") == 0) return sumOf(constants);
  unsigned own[8];
  for (unsigned i = 0; i < 8; ++i) own[i] = 64 * thread + i;
  return sumOf(own);
}

void run(CUmodule module, const std::string& name) {
  CUfunction kernel;
  CUdeviceptr in, out;
  unsigned count = 8;
  std::vector<unsigned> words(kBlocks * kThreads * kWords);
  CHECK(cuModuleGetFunction(&kernel, module, name.c_str()));
  CHECK(cuMemAlloc(&in, 4096));
  CHECK(cuMemAlloc(&out, words.size() * 4));
  void* arguments[] = {&in, &out, &count};
  CHECK(cuLaunchKernel(kernel, kBlocks, 1, 1, kThreads, 1, 1, 256, nullptr, arguments, nullptr));
  const CUresult end = cuCtxSynchronize();
  if (end != CUDA_SUCCESS) fprintf(stderr, "%s:\n", name.c_str());
  CHECK(end);
  CHECK(cuMemcpyDtoH(words.data(), out, words.size() * 4));
  for (unsigned t = 0; t < kBlocks * kThreads; ++t) {
    const unsigned want = expected(name, t % kThreads);
    if (words[t * kWords] == want) continue;
    fprintf(stderr, "%s: thread %u has %u, not %u\n", name.c_str(), t, words[t * kWords], want);
    exit(1);
  }
  CHECK(cuMemFree(in));
  CHECK(cuMemFree(out));
}

void runAll(const char* path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT(!text.empty());
  CUmodule module;
  CHECK(cuModuleLoadData(&module, text.c_str()));
  const std::string word = ".entry ";
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t first = at + word.size();
    run(module, text.substr(first, text.find('(', first) - first));
  }
  CHECK(cuModuleUnload(module));
}

}  // namespace

int main(int argc, char** argv) {
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  for (int n = 1; n < argc; ++n) runAll(argv[n]);
  return passed();
}
