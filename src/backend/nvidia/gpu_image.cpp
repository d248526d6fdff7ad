#include "backend/nvidia/gpu_image.h"

#include <algorithm>
#include <map>

#include "backend/nvidia/device.h"
#include "backend/nvidia/gpu_kernel.h"

namespace vg::backend::nvidia {
namespace {

constexpr uint64_t kAlignment = 256;
constexpr uint64_t kBehindCode = 4096;  // bytes that the hardware may fetch ahead
// In this order, one behind the other.
constexpr cubin::Kind kKinds[] = {cubin::Kind::Code, cubin::Kind::Constant, cubin::Kind::Data, cubin::Kind::Zeroes};

uint64_t roundUp(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

class GpuImage final : public Image {
 public:
  GpuImage(GpuDevice& device, const ImageSource& source)
      : device_(device),
        cubin_(source.native),
        name_(source.name),
        limits_(source.limits),
        release_(source.release),
        owner_(source.memoryOwner) {}
  ~GpuImage() override {
    if (memory_) release_(owner_, memory_);
  }

  CUresult load(const ImageSource& source);

  Result<Kernel*> kernel(const std::string& name) override {
    const auto found = kernels_.find(name);
    if (found != kernels_.end()) return found->second.get();
    return fail(CUDA_ERROR_NOT_FOUND, "%s: no kernel %s", name_.c_str(), name.c_str());
  }
  Result<Global> global(const std::string& name) override {
    const cubin::Variable* const variable = cubin_->variable(name);
    if (variable) return Global{addressOf(*variable), variable->size};
    return fail(CUDA_ERROR_NOT_FOUND, "%s: no variable %s", name_.c_str(), name.c_str());
  }
  std::vector<std::string> kernelNames() const override {
    std::vector<std::string> names;
    for (const auto& [name, kernel] : kernels_) names.push_back(name);
    return names;
  }

 private:
  CUdeviceptr addressOf(const cubin::Variable& variable) const;
  CUresult place(const ImageSource& source);
  CUresult placeManaged(const ImageSource& source);
  CUresult fillSections(bool managedOnly);
  bool holdsFresh(uint32_t section) const;
  CUresult upload(CUdeviceptr to, const std::string& bytes) const;
  CUresult clear(CUdeviceptr start, uint64_t bytes) const;
  Result<KernelCode> codeOf(const cubin::Kernel& kernel) const;

  GpuDevice& device_;
  const std::shared_ptr<const cubin::Cubin> cubin_;
  const std::string name_;
  const KernelLimits* const limits_;
  const ImageSource::Release release_;
  void* const owner_;
  CUdeviceptr memory_ = 0;
  cubin::Addresses addresses_;
  std::vector<const cubin::Variable*> fresh_;  // managed ones whose initial value we write
  std::map<std::string, std::unique_ptr<GpuKernel>> kernels_;
};

CUresult GpuImage::load(const ImageSource& source) {
  VG_CHECK(place(source));
  VG_CHECK(placeManaged(source));
  VG_CHECK(fillSections(source.describeOnly));
  for (const cubin::Kernel& kernel : cubin_->kernels) {
    VG_TRY(const KernelCode code, codeOf(kernel));
    kernels_[kernel.name] = std::make_unique<GpuKernel>(device_, *cubin_, kernel, code, limits_);
  }
  device_.codeChanged();
  return CUDA_SUCCESS;
}

CUresult GpuImage::place(const ImageSource& source) {
  uint64_t bytes = 0, alignment = kAlignment;
  addresses_.sections.assign(cubin_->sections.size(), 0);
  for (const cubin::Kind kind : kKinds) {
    const cubin::Layout layout = cubin::layOut(*cubin_, kind);
    alignment = std::max(alignment, layout.alignment);
    bytes = roundUp(bytes, std::max(layout.alignment, kAlignment));
    for (size_t i = 0; i < cubin_->sections.size(); ++i)
      if (cubin_->sections[i].kind == kind) addresses_.sections[i] = bytes + layout.offsets[i];
    bytes += layout.bytes + (kind == cubin::Kind::Code ? kBehindCode : 0);
  }
  if (!source.allocate) return fail(CUDA_ERROR_INVALID_VALUE, "nowhere to put %s", name_.c_str());
  VG_TRY(memory_, source.allocate(source.memoryOwner, bytes, alignment));
  for (uint64_t& address : addresses_.sections) address += memory_;
  return CUDA_SUCCESS;
}

CUresult GpuImage::placeManaged(const ImageSource& source) {
  for (const cubin::Variable& variable : cubin_->variables) {
    if (!variable.managed) continue;
    if (!source.resolveManaged) return fail(CUDA_ERROR_INVALID_VALUE, "nowhere to put managed variables");
    const size_t alignment = cubin_->sections[variable.section].alignment;
    VG_TRY(const ImageSource::Managed managed,
           source.resolveManaged(source.resolveOwner, variable.name, variable.size, alignment));
    addresses_.variables[variable.symbol] = managed.address;
    if (managed.fresh) fresh_.push_back(&variable);
  }
  return CUDA_SUCCESS;
}

bool GpuImage::holdsFresh(uint32_t section) const {
  return std::any_of(fresh_.begin(), fresh_.end(), [&](const auto* variable) { return variable->section == section; });
}

CUresult GpuImage::fillSections(bool managedOnly) {
  const auto external = [this](const std::string& function) -> Result<uint64_t> {
    return fail(CUDA_ERROR_NOT_SUPPORTED, "%s calls %s, which devices of this kind do not supply yet", name_.c_str(),
                function.c_str());
  };
  for (uint32_t i = 0; i < cubin_->sections.size(); ++i) {
    const cubin::Section& section = cubin_->sections[i];
    if (managedOnly && !holdsFresh(i)) continue;
    if (section.kind == cubin::Kind::Zeroes) {
      VG_CHECK(clear(addresses_.sections[i], section.size));
      continue;
    }
    VG_TRY(const std::string bytes, cubin::relocate(*cubin_, i, addresses_, external));
    VG_CHECK(upload(addresses_.sections[i], bytes));
    for (const cubin::Variable* variable : fresh_)
      if (variable->section == i)
        VG_CHECK(upload(addressOf(*variable), bytes.substr(variable->offset, variable->size)));
  }
  return CUDA_SUCCESS;
}

CUresult GpuImage::upload(CUdeviceptr to, const std::string& bytes) const {
  copy::Shape shape;
  shape.destination.base = reinterpret_cast<std::byte*>(to);
  shape.source.base = reinterpret_cast<std::byte*>(const_cast<char*>(bytes.data()));
  shape.width = bytes.size();
  return device_.transfer().copy(shape);
}

CUresult GpuImage::clear(CUdeviceptr start, uint64_t bytes) const {
  copy::Fill fill;
  fill.base = reinterpret_cast<std::byte*>(start);
  fill.width = bytes;
  fill.height = 1;
  fill.pitch = bytes;
  fill.elementSize = 1;
  return device_.transfer().fill(fill);
}

CUdeviceptr GpuImage::addressOf(const cubin::Variable& variable) const {
  const auto elsewhere = addresses_.variables.find(variable.symbol);
  return elsewhere != addresses_.variables.end() ? elsewhere->second
                                                 : addresses_.sections[variable.section] + variable.offset;
}

Result<KernelCode> GpuImage::codeOf(const cubin::Kernel& kernel) const {
  KernelCode code;
  code.program = addresses_.sections[kernel.section] + kernel.offset;
  code.registers = kernel.registers;
  code.barriers = kernel.barriers;
  code.sharedBytes = kernel.reservedBytes + kernel.sharedBytes;
  code.parameterBase = kernel.parameterBase;
  code.bank0Bytes = kernel.bank0Bytes;
  for (const cubin::Bank& bank : kernel.banks) {
    if (bank.number >= Qmd::kBanks)
      return fail(CUDA_ERROR_NOT_SUPPORTED, "kernel %s reads constant bank %u", kernel.name.c_str(), bank.number);
    code.banks[bank.number] = {addresses_.sections[bank.section],
                               static_cast<uint32_t>(cubin_->sections[bank.section].size)};
  }
  return code;
}

}  // namespace

Result<std::unique_ptr<Image>> loadImage(GpuDevice& device, const ImageSource& source) {
  if (!source.native) return fail(CUDA_ERROR_NO_BINARY_FOR_GPU, "%s: no native code", source.name.c_str());
  const int capability = device.traits().computeCapability;
  if (static_cast<int>(source.native->architecture) != capability)
    return fail(CUDA_ERROR_NO_BINARY_FOR_GPU, "%s: code for compute capability %u, the device has %d",
                source.name.c_str(), source.native->architecture, capability);
  auto image = std::make_unique<GpuImage>(device, source);
  VG_CHECK(image->load(source));
  return std::unique_ptr<Image>(std::move(image));
}

}  // namespace vg::backend::nvidia
