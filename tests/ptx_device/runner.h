// Runs cases of the opcode matrix through a libcuda.so.1.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "ptx_device/object.h"
#include "unit/ptx/opcode_record.h"

namespace vg::ptx::matrix {

// Not thread-safe; its context is current from then on.
class Runner {
 public:
  using Take = std::function<void(const Case&, const Record&)>;

  Runner(const Driver& driver, Take take) : d_(driver), take_(std::move(take)) {
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

  // Runs cases from `first` to `end` and hands on what each answered. Returns the number of the first one that did not
  // run, for want of a context.
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
      take_(cases[i], record);
      if (loaded == CUDA_SUCCESS && record.status != 0 && d_.synchronize() != CUDA_SUCCESS) return i + 1;
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
    std::optional<Object> object;
    if (c.object) object.emplace(d_, *c.object);
    uint64_t third = c.object ? object->handle() : tensor_;
    TensorMapBits map;
    if (c.map) map = mapOf(c, tensor_);
    void* parameters[] = {&in_, &out_, &third, &map};
    std::vector<std::byte> packed = parametersOf(c, in_, out_, tensor_);
    size_t bytes = packed.size();
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CUresult r = object ? object->status() : CUDA_SUCCESS;
    if (r == CUDA_SUCCESS) r = d_.getFunction(&function, module, ("k" + std::to_string(index)).c_str());
    if (r == CUDA_SUCCESS) r = d_.copyIn(in_, in.data(), in.size() * 8);
    if (r == CUDA_SUCCESS && c.map) r = d_.copyIn(tensor_, contents_.data(), kTensorBytes);
    if (r == CUDA_SUCCESS) r = d_.fill(out_, 0, out.size() * 8);
    if (r == CUDA_SUCCESS)
      r = d_.launch(function, kThreads / kBlock, 1, 1, kBlock, 1, 1, 0, nullptr, c.parameters ? nullptr : parameters,
                    c.parameters ? extra : nullptr);
    if (r == CUDA_SUCCESS) r = d_.synchronize();
    if (r == CUDA_SUCCESS)
      r = c.object && c.object->stores ? object->read(out) : d_.copyOut(out.data(), out_, out.size() * 8);
    if (r == CUDA_SUCCESS) return recordOf(c, out);
    std::fprintf(stderr, "not run (%d): %s\n", static_cast<int>(r), c.text.c_str());
    failed.status = static_cast<uint32_t>(r);
    return failed;
  }

  const Driver& d_;
  const Take take_;
  CUdeviceptr in_ = 0, out_ = 0, tensor_ = 0;
  std::vector<uint64_t> contents_ = std::vector<uint64_t>(kTensorBytes / 8);
};

}  // namespace vg::ptx::matrix
