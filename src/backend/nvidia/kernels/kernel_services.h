// What kernels of one context ask of a driver while they run: printing, malloc, assertions, values of graphs'
// conditions. Made when the first image of a context needs it, kept by the images that do. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "backend/device_side/device_output.h"
#include "backend/nvidia/functions/gradient_functions.h"
#include "backend/nvidia/kernels/kernel_roles.h"
#include "backend/nvidia/kernels/placed_cubin.h"
#include "base/sync/mutex.h"
#include "cubin/device_functions.h"

namespace vg::backend::nvidia {

class KernelRequests;
struct GpuParts;

class KernelServices final : public CalledServices {
 public:
  // Those of the source's context. CUDA_ERROR_JIT_COMPILER_NOT_FOUND where the functions cannot be made.
  static Result<std::shared_ptr<KernelServices>> of(const GpuParts& gpu, const ImageSource& source);
  // Writes what kernels of all contexts have printed. Cheap when no kernel prints.
  static void flushAll() noexcept;

  KernelServices(const GpuParts& gpu, const ImageSource& source, const cubin::DeviceFunctions& functions);
  KernelServices(const KernelServices&) = delete;
  ~KernelServices();

  // The address of a function that programs expect. CUDA_ERROR_NOT_SUPPORTED for others.
  Result<uint64_t> external(const std::string& name);
  // The same for those that read textures with gradients, which get memory at the first call.
  Result<uint64_t> gradient(const ImageSource& source, const std::string& name);
  // What kernels that launch kernels ask; made at the first call.
  Result<std::shared_ptr<KernelRequests>> launching(const ImageSource& source);
  // What kernels that call the functions need: registers at least, local memory beside their own.
  uint32_t registers() const;
  uint32_t stackBytes() const override;
  bool flush() noexcept override;

 private:
  CUresult make(const ImageSource& source);
  CUresult placeGradients(const ImageSource& source) VG_REQUIRES(gradientsMutex_);
  Result<CUdeviceptr> allocate(const ImageSource& source, size_t bytes, CUdeviceptr& kept);
  CUresult makeHeap(const ImageSource& source, cubin::DeviceState& state);
  CUresult shareConditions();
  CUresult makeOutput(const ImageSource& source, cubin::DeviceState& state);

  const GpuParts& gpu_;
  const cubin::DeviceFunctions& functions_;
  void* const owner_;  // the context
  const ImageSource::Release release_;
  PlacedCubin code_;
  CUdeviceptr heap_ = 0, ring_ = 0;
  CUdeviceptr state_ = 0;  // cubin::DeviceState
  Mutex gradientsMutex_;
  std::unique_ptr<PlacedCubin> gradients_ VG_GUARDED_BY(gradientsMutex_);  // null: no kernel has needed them
  std::atomic<const GradientFunctions*> gradientFunctions_ = nullptr;      // set when they lie there
  Mutex launchingMutex_;
  std::shared_ptr<KernelRequests> requests_ VG_GUARDED_BY(launchingMutex_);
  Mutex mutex_;
  bool conditionsShared_ VG_GUARDED_BY(mutex_) = false;
  std::optional<DeviceOutput> output_ VG_GUARDED_BY(mutex_);
  bool asserted_ VG_GUARDED_BY(mutex_) = false;
};

}  // namespace vg::backend::nvidia
