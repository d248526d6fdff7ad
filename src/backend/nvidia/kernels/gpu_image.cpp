#include "backend/nvidia/kernels/gpu_image.h"

#include <algorithm>
#include <map>
#include <optional>

#include "backend/names.h"
#include "backend/nvidia/kernels/device_calls.h"
#include "backend/nvidia/kernels/gpu_kernel.h"
#include "backend/nvidia/kernels/gpu_parts.h"
#include "backend/nvidia/kernels/kernel_requests.h"
#include "backend/nvidia/kernels/kernel_services.h"
#include "backend/nvidia/kernels/placed_cubin.h"
#include "backend/nvidia/textures/named_textures.h"

namespace vg::backend::nvidia {
namespace {

class GpuImage final : public Image {
 public:
  GpuImage(const GpuParts& gpu, const ImageSource& source)
      : gpu_(gpu),
        cubin_(source.native),
        name_(source.name),
        limits_(source.limitsOrDefaults()),
        textures_(*cubin_),
        placed_(gpu.transfer, source.native, source.name) {}

  CUresult load(const ImageSource& source);

  Result<Kernel*> kernel(const std::string& name) override {
    const auto found = kernels_.find(name);
    if (found != kernels_.end()) return found->second.get();
    return fail(CUDA_ERROR_NOT_FOUND, "%s: no kernel %s", name_.c_str(), name.c_str());
  }
  Result<Global> global(const std::string& name) override {
    const cubin::Variable* const variable = cubin_->variable(name);
    if (variable) return Global{placed_.addressOf(*variable), variable->size};
    if (textures_.knows(name))
      return fail(CUDA_ERROR_INVALID_VALUE, "%s is a texture, surface or sampler reference", name.c_str());
    return fail(CUDA_ERROR_NOT_FOUND, "%s: no variable %s", name_.c_str(), name.c_str());
  }
  Result<Global> reference(Reference kind, const std::string& name) override { return textures_.find(kind, name); }
  std::vector<std::string> kernelNames() const override { return namesOf(kernels_); }

 private:
  CUresult useDeviceRuntime(const ImageSource& source);
  CUresult makeKernels(const ImageSource& source);
  Result<KernelCode> codeOf(const cubin::Kernel& kernel, bool asks) const;

  const GpuParts& gpu_;
  const std::shared_ptr<const cubin::Cubin> cubin_;
  const std::string name_;
  const KernelLimits& limits_;
  std::shared_ptr<KernelServices> services_;  // null: no kernel needs them
  std::shared_ptr<KernelRequests> requests_;  // null: no kernel calls the device runtime
  NamedTextures textures_;
  PlacedCubin placed_;
  std::map<std::string, std::unique_ptr<GpuKernel>> kernels_;
  LaunchableKernels launchable_;
};

CUresult GpuImage::load(const ImageSource& source) {
  VG_CHECK(placed_.place(source));
  if (!cubin_->externals.empty() && !source.describeOnly) {
    VG_TRY(services_, KernelServices::of(gpu_, source));
  }
  const auto external = [this, &source](const std::string& name) -> Result<uint64_t> {
    if (requests_ && isVendorCall(name)) return requests_->nobodyCalls();
    if (services_ && isGradientCall(name)) return services_->gradient(source, name);
    if (services_) return services_->external(name);
    return uint64_t{0};  // of code that nobody runs
  };
  if (!source.describeOnly && callsDeviceRuntime(*cubin_)) VG_CHECK(useDeviceRuntime(source));
  VG_CHECK(placed_.fill(external, source.describeOnly));
  if (!source.describeOnly) VG_CHECK(textures_.make(gpu_.engine));
  VG_CHECK(makeKernels(source));
  gpu_.engine.codeChanged();
  return CUDA_SUCCESS;
}

CUresult GpuImage::makeKernels(const ImageSource& source) {
  std::optional<DeviceCalls> calls;
  if (requests_) calls.emplace(*cubin_);
  for (const cubin::Kernel& kernel : cubin_->kernels) {
    const bool asks = calls && calls->mayReach(kernel);
    VG_TRY(const KernelCode code, codeOf(kernel, asks));
    auto made = std::make_unique<GpuKernel>(gpu_, *cubin_, kernel, code, limits_, services_.get());
    if (!source.describeOnly) made->setTextures(textures_.wordsOf(kernel));
    if (asks) made->setRequests(requests_, calls->of(kernel), calls->mayQueueWork(kernel), launchable_);
    if (requests_) VG_CHECK(requests_->noteParameters(kernel.parameterBytes));
    launchable_[code.program] = made.get();
    kernels_[kernel.name] = std::move(made);
  }
  return CUDA_SUCCESS;
}

// Ours takes the place of what was linked in, wherever that is called by its name.
CUresult GpuImage::useDeviceRuntime(const ImageSource& source) {
  if (const cubin::Kernel* const kernel = kernelWithVendorCode(*cubin_))
    return unsupported("kernel %s, which has the vendor's device runtime in its own code", kernel->name.c_str());
  VG_TRY(services_, KernelServices::of(gpu_, source));
  VG_TRY(requests_, services_->launching(source));
  for (uint32_t i = 0; i < cubin_->symbols.size(); ++i)
    if (const auto call = deviceCallOf(cubin_->symbols[i])) placed_.replace(i, requests_->addressOf(*call));
  return CUDA_SUCCESS;
}

Result<KernelCode> GpuImage::codeOf(const cubin::Kernel& kernel, bool asks) const {
  KernelCode code;
  code.program = placed_.addressOf(kernel);
  code.programBytes = static_cast<uint32_t>(kernel.size);
  code.registers = std::max(kernel.registers, services_ ? services_->registers() : 0);
  if (asks) code.registers = std::max(code.registers, requests_->functions().registers);
  code.barriers = kernel.barriers;
  code.sharedBytes = kernel.reservedBytes + kernel.sharedBytes;
  code.parameterBase = kernel.parameterBase;
  code.bank0Bytes = kernel.bank0Bytes;
  for (const cubin::Bank& bank : kernel.banks) {
    if (bank.number >= Qmd::kBanks)
      return fail(CUDA_ERROR_NOT_SUPPORTED, "kernel %s reads constant bank %u", kernel.name.c_str(), bank.number);
    code.banks[bank.number] = {placed_.addressOf(bank.section),
                               static_cast<uint32_t>(cubin_->sections[bank.section].size)};
  }
  return code;
}

}  // namespace

Result<std::unique_ptr<Image>> loadImage(const GpuParts& gpu, const ImageSource& source) {
  if (!source.native) return fail(CUDA_ERROR_NO_BINARY_FOR_GPU, "%s: no native code", source.name.c_str());
  const int capability = gpu.traits.computeCapability;
  if (static_cast<int>(source.native->architecture) != capability)
    return fail(CUDA_ERROR_NO_BINARY_FOR_GPU, "%s: code for compute capability %u, the device has %d",
                source.name.c_str(), source.native->architecture, capability);
  auto image = std::make_unique<GpuImage>(gpu, source);
  VG_CHECK(image->load(source));
  return std::unique_ptr<Image>(std::move(image));
}

}  // namespace vg::backend::nvidia
