// opcode_matrix_run LIBCUDA OUTPUT [FILTER...]: runs every case of the opcode matrix whose name contains a FILTER
// through cuModuleLoadData of the given libcuda.so.1 and writes what the device answered. Cases that the driver does
// not load are recorded with its error and listed with the first lines of its log. One that ends the context costs only
// itself: another process goes on behind it.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "unit/ptx/opcode_record.h"

using namespace vg::ptx::matrix;

namespace {

struct Driver {
  decltype(&cuInit) init;
  decltype(&cuDeviceGet) deviceGet;
  decltype(&cuDevicePrimaryCtxRetain) retain;
  decltype(&cuCtxSetCurrent) setCurrent;
  decltype(&cuModuleLoadDataEx) load;
  decltype(&cuModuleUnload) unload;
  decltype(&cuModuleGetFunction) getFunction;
  CUresult (*allocate)(CUdeviceptr*, size_t);
  CUresult (*copyIn)(CUdeviceptr, const void*, size_t);
  CUresult (*copyOut)(void*, CUdeviceptr, size_t);
  CUresult (*fill)(CUdeviceptr, unsigned char, size_t);
  decltype(&cuLaunchKernel) launch;
  decltype(&cuCtxSynchronize) synchronize;
};

template <class Function>
void bind(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) {
    std::fprintf(stderr, "%s is missing\n", name);
    std::exit(2);
  }
}

void require(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", what, static_cast<int>(result));
  std::exit(2);
}

Driver open(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  Driver d;
  bind(library, d.init, "cuInit");
  bind(library, d.deviceGet, "cuDeviceGet");
  bind(library, d.retain, "cuDevicePrimaryCtxRetain");
  bind(library, d.setCurrent, "cuCtxSetCurrent");
  bind(library, d.load, "cuModuleLoadDataEx");
  bind(library, d.unload, "cuModuleUnload");
  bind(library, d.getFunction, "cuModuleGetFunction");
  bind(library, d.allocate, "cuMemAlloc_v2");
  bind(library, d.copyIn, "cuMemcpyHtoD_v2");
  bind(library, d.copyOut, "cuMemcpyDtoH_v2");
  bind(library, d.fill, "cuMemsetD8_v2");
  bind(library, d.launch, "cuLaunchKernel");
  bind(library, d.synchronize, "cuCtxSynchronize");
  return d;
}

class Runner {
 public:
  Runner(const Driver& driver, RecordWriter& writer) : d_(driver), writer_(writer) {
    require(d_.init(0), "cuInit");
    CUdevice device = 0;
    CUcontext context = nullptr;
    require(d_.deviceGet(&device, 0), "cuDeviceGet");
    require(d_.retain(&context, device), "cuDevicePrimaryCtxRetain");
    require(d_.setCurrent(context), "cuCtxSetCurrent");
    require(d_.allocate(&in_, kThreads * kOperands * 8), "cuMemAlloc");
    require(d_.allocate(&out_, kThreads * kResults * 8), "cuMemAlloc");
    require(d_.allocate(&tensor_, kTensorBytes), "cuMemAlloc");
    fillTensor(contents_.data());
  }

  // Returns the number of the first case that did not run, for want of a context.
  size_t run(const std::vector<Case>& cases, size_t first, size_t end) {
    std::string text = kHeader;
    for (size_t i = first; i < end; ++i) text += kernelText(cases[i], "k" + std::to_string(i));
    char log[4096] = {};
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    CUmodule module = nullptr;
    const CUresult loaded = d_.load(&module, text.c_str(), 2, options, values);
    if (loaded != CUDA_SUCCESS && end - first > 1) {  // find the culprit
      const size_t middle = first + (end - first) / 2;
      const size_t done = run(cases, first, middle);
      return done < middle ? done : run(cases, middle, end);
    }
    for (size_t i = first; i < end; ++i) {
      Record record;
      record.status = static_cast<uint32_t>(loaded);
      if (loaded == CUDA_SUCCESS)
        record = launch(module, cases[i], i);
      else
        std::fprintf(stderr, "not loaded (%d): %s\n%.600s\n", static_cast<int>(loaded), cases[i].text.c_str(), log);
      writer_.write(cases[i], record);
      if (loaded == CUDA_SUCCESS && record.status != 0) return i + 1;
    }
    if (module) d_.unload(module);
    return end;
  }

 private:
  Record launch(CUmodule module, const Case& c, size_t index) {
    CUfunction function = nullptr;
    const std::vector<uint64_t> in = inputsOf(c);
    std::vector<uint64_t> out(kThreads * kResults);
    Record failed;
    vg::ptx::TensorMapBits map;
    if (c.map) map = mapOf(c, tensor_);
    void* parameters[] = {&in_, &out_, &tensor_, &map};
    CUresult r = d_.getFunction(&function, module, ("k" + std::to_string(index)).c_str());
    if (r == CUDA_SUCCESS) r = d_.copyIn(in_, in.data(), in.size() * 8);
    if (r == CUDA_SUCCESS && c.map) r = d_.copyIn(tensor_, contents_.data(), kTensorBytes);
    if (r == CUDA_SUCCESS) r = d_.fill(out_, 0, out.size() * 8);
    if (r == CUDA_SUCCESS)
      r = d_.launch(function, kThreads / kBlock, 1, 1, kBlock, 1, 1, 0, nullptr, parameters, nullptr);
    if (r == CUDA_SUCCESS) r = d_.synchronize();
    if (r == CUDA_SUCCESS) r = d_.copyOut(out.data(), out_, out.size() * 8);
    if (r == CUDA_SUCCESS) return recordOf(c, out);
    std::fprintf(stderr, "not run (%d): %s\n", static_cast<int>(r), c.text.c_str());
    failed.status = static_cast<uint32_t>(r);
    return failed;
  }

  const Driver& d_;
  RecordWriter& writer_;
  CUdeviceptr in_ = 0, out_ = 0, tensor_ = 0;
  std::vector<uint64_t> contents_ = std::vector<uint64_t>(kTensorBytes / 8);
};

// Runs cases until one of them ends the context; the number of the next one.
size_t runFrom(const char* library, RecordWriter& writer, const std::vector<Case>& cases, size_t first) {
  constexpr size_t kBatch = 64;
  const Driver driver = open(library);
  Runner runner(driver, writer);
  for (size_t end; first < cases.size(); first = end) {
    end = std::min(first + kBatch, cases.size());
    const size_t done = runner.run(cases, first, end);
    if (done < end) return done;
  }
  return first;
}

size_t inAnotherProcess(const char* library, RecordWriter& writer, const std::vector<Case>& cases, size_t first) {
  int ends[2];
  if (pipe(ends) != 0) require(CUDA_ERROR_OPERATING_SYSTEM, "pipe");
  writer.flush();
  const pid_t child = fork();
  if (child == 0) {
    const size_t done = runFrom(library, writer, cases, first);
    writer.flush();
    _exit(write(ends[1], &done, sizeof done) == sizeof done ? 0 : 2);
  }
  close(ends[1]);
  size_t done = 0;
  const bool told = child > 0 && read(ends[0], &done, sizeof done) == sizeof done;
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  if (!told) std::exit(2);
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s LIBCUDA OUTPUT [FILTER...]\n", argv[0]);
    return 2;
  }
  std::vector<Case> cases;
  for (Case& c : allCases())
    if (argc < 4 ||
        std::any_of(argv + 3, argv + argc, [&](const char* part) { return c.name.find(part) != c.name.npos; }))
      cases.push_back(std::move(c));
  RecordWriter writer(argv[2]);
  if (!writer.ok()) {
    std::fprintf(stderr, "cannot write %s\n", argv[2]);
    return 2;
  }
  size_t done = 0;
  while (done < cases.size()) done = inAnotherProcess(argv[1], writer, cases, done);
  std::printf("%zu cases\n", cases.size());
  return writer.ok() ? 0 : 1;
}
