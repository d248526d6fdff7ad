#include "backend/cpu/code/kernel_image.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "backend/cpu/code/kernel.h"
#include "backend/device_side/kernel_print.h"
#include "backend/names.h"
#include "base/log.h"
#include "check/check.h"
#include "copy/watch.h"
#include "ptx/facts/layout.h"
#include "ptx/interpreter/interpreter.h"

namespace vg::backend::cpu {
namespace {

constexpr size_t kVariablesAlignment = 256;

class CpuImage final : public Image {
 public:
  CpuImage(const Device& device, const ImageSource& source) : device_(device), source_(keep(source)) {}
  ~CpuImage() override {
    if (!variables_) return;
    if (check::any()) check::endParts(variables_, variablesBytes_);
    source_.release(source_.memoryOwner, variables_);
  }

  CUresult loadPtx(const std::vector<std::string>& texts, const LoadOptions& options);
  void loadNative(std::shared_ptr<const cubin::Cubin> native);

  Result<Kernel*> kernel(const std::string& name) override {
    const auto found = kernels_.find(name);
    if (found == kernels_.end())
      return fail(CUDA_ERROR_NOT_FOUND, "%s: no kernel %s", source_.name.c_str(), name.c_str());
    return found->second.get();
  }
  Result<Global> global(const std::string& name) override {
    const auto [variable, address] = placed([&](const ptx::Variable& one) { return one.name == name; });
    if (variable && !opaque(*variable)) return Global{address, variable->size};
    if (variable) return fail(CUDA_ERROR_INVALID_VALUE, "%s is a texture, surface or sampler reference", name.c_str());
    return fail(CUDA_ERROR_NOT_FOUND, "%s: no variable %s", source_.name.c_str(), name.c_str());
  }
  Result<Global> reference(Reference kind, const std::string& name) override {
    const ptx::Type type = kind == Reference::Texture ? ptx::Type::TexRef : ptx::Type::SurfRef;
    const auto [variable, address] =
        placed([&](const ptx::Variable& one) { return one.name == name && one.type == type; });
    if (variable) return Global{address, variable->size};
    return fail(CUDA_ERROR_NOT_FOUND, "%s: no %s reference %s", source_.name.c_str(), ptx::nameOf(type), name.c_str());
  }
  std::vector<std::string> kernelNames() const override { return namesOf(kernels_); }

 private:
  // What the image needs of its source later; the texts live in the program.
  static ImageSource keep(const ImageSource& source) {
    ImageSource kept;
    kept.name = source.name;
    kept.ownText = source.ownText;
    kept.resolveManaged = source.resolveManaged;
    kept.resolveOwner = source.resolveOwner;
    kept.allocate = source.allocate;
    kept.release = source.release;
    kept.memoryOwner = source.memoryOwner;
    kept.limits = source.limits;
    return kept;
  }
  // The first variable that has an address and for which is(variable) holds; null, 0.
  template <class Is>
  std::pair<const ptx::Variable*, CUdeviceptr> placed(Is is) const {
    if (!program_) return {};
    const std::vector<ptx::Variable>& variables = program_->module().variables;
    for (size_t i = 0; i < variables.size(); ++i)
      if (is(variables[i]) && family_.addresses[i]) return {&variables[i], family_.addresses[i]};
    return {};
  }
  static bool opaque(const ptx::Variable& variable) {
    return variable.type == ptx::Type::TexRef || variable.type == ptx::Type::SamplerRef ||
           variable.type == ptx::Type::SurfRef;
  }
  static bool inMemory(const ptx::Variable& variable) {
    return (variable.space == ptx::Space::Global || variable.space == ptx::Space::Const) &&
           variable.linkage != ptx::Linkage::Extern;
  }
  CUresult placeVariables();
  CUresult initialise(const ptx::Variable& variable, CUdeviceptr address) const;

  const Device& device_;
  const ImageSource source_;
  std::shared_ptr<KernelContext> context_;
  std::shared_ptr<Program> program_;
  CUdeviceptr variables_ = 0;  // one allocation for all that are not managed
  size_t variablesBytes_ = 0;
  PtxKernel::Family family_;  // address 0: a variable without memory
  std::shared_ptr<const cubin::Cubin> native_;
  std::map<std::string, std::unique_ptr<CpuKernel>> kernels_;  // those of native code point into native_
};

CUresult CpuImage::placeVariables() {
  const std::vector<ptx::Variable>& variables = program_->module().variables;
  family_.addresses.assign(variables.size(), 0);
  size_t bytes = 0;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!inMemory(variables[i]) || variables[i].managed) continue;
    const size_t alignment = std::max<size_t>(variables[i].alignment, 1);
    bytes = (bytes + alignment - 1) / alignment * alignment;
    family_.addresses[i] = bytes;  // relative at first
    if (__builtin_add_overflow(bytes, variables[i].size, &bytes))
      return fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: variable %s is too large", source_.name.c_str(),
                  variables[i].name.c_str());
    if (check::any()) bytes += check::kGapBetweenParts;
  }
  if (bytes) {
    if (!source_.allocate) return fail(CUDA_ERROR_INVALID_VALUE, "no memory for %zu bytes of variables", bytes);
    size_t alignment = kVariablesAlignment;
    for (const ptx::Variable& variable : variables) alignment = std::max<size_t>(alignment, variable.alignment);
    VG_TRY(variables_, source_.allocate(source_.memoryOwner, bytes, alignment));
    variablesBytes_ = bytes;
    std::memset(reinterpret_cast<void*>(variables_), 0, bytes);
    copy::tellWritten(reinterpret_cast<void*>(variables_), bytes);
    if (check::any()) check::beginParts(variables_, bytes);
  }
  std::vector<bool> fresh(variables.size(), true);
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!inMemory(variables[i])) continue;
    if (!variables[i].managed) {
      family_.addresses[i] += variables_;
      if (check::any()) check::addPart(family_.addresses[i], variables[i].size, "variable " + variables[i].name, true);
      continue;
    }
    if (!source_.resolveManaged) return fail(CUDA_ERROR_INVALID_VALUE, "nowhere to put managed variables");
    VG_TRY(const ImageSource::Managed managed,
           source_.resolveManaged(source_.resolveOwner, variables[i].name, variables[i].size, variables[i].alignment));
    family_.addresses[i] = managed.address;
    fresh[i] = managed.fresh;
  }
  for (size_t i = 0; i < variables.size(); ++i)
    if (family_.addresses[i] && fresh[i]) VG_CHECK(initialise(variables[i], family_.addresses[i]));
  return CUDA_SUCCESS;
}

CUresult CpuImage::initialise(const ptx::Variable& variable, CUdeviceptr address) const {
  auto* const bytes = reinterpret_cast<std::byte*>(address);
  std::copy_n(variable.initial.begin(), std::min<size_t>(variable.initial.size(), variable.size), bytes);
  for (const ptx::Variable::Reference& reference : variable.references) {
    if (reference.width > 8 || reference.offset > variable.size || reference.width > variable.size - reference.offset)
      return fail(CUDA_ERROR_INVALID_PTX, "variable %s: initialiser beyond its end", variable.name.c_str());
    uint64_t value = 0;
    if (reference.kind == ptx::SymbolKind::ModuleVariable) {
      value = family_.addresses[reference.symbol];
    } else {
      value = ptx::functionAddress(reference.symbol);
    }
    value = (value + static_cast<uint64_t>(reference.addend)) >> reference.shift;
    std::memcpy(bytes + reference.offset, &value, reference.width);
  }
  return CUDA_SUCCESS;
}

CUresult CpuImage::loadPtx(const std::vector<std::string>& texts, const LoadOptions& options) {
  const Traits& traits = device_.traits();
  context_ = KernelContext::of(source_.limits);
  VG_TRY(program_, Program::of(texts, static_cast<uint32_t>(traits.computeCapability), options.errorLog));
  if (source_.ownText && !program_->module().unknowns.empty()) {
    const ptx::Module::Unknown& first = program_->module().unknowns.front();
    if (options.errorLog && options.errorLog->empty())
      *options.errorLog = "line " + std::to_string(first.line) + ": unknown instruction '" + first.text + "'\n";
    return fail(CUDA_ERROR_INVALID_PTX, "%s: line %u: unknown instruction %s", source_.name.c_str(), first.line,
                first.text.c_str());
  }
  VG_CHECK(placeVariables());
  family_.kernels.resize(program_->module().functions.size());
  for (const auto& [name, kernel] : program_->kernels()) {
    auto made = std::make_unique<PtxKernel>(device_, *kernel, family_, *context_, program_->module().target);
    family_.kernels[kernel->index()] = made.get();
    kernels_[name] = std::move(made);
  }
  if (!program_->usesDeviceRuntime()) return CUDA_SUCCESS;
  for (const uint32_t function : ptx::addressedFunctions(program_->module()))
    if (family_.kernels[function])
      family_.launched.push_back(program_->kernel(program_->module().functions[function].name));
  return CUDA_SUCCESS;
}

void CpuImage::loadNative(std::shared_ptr<const cubin::Cubin> native) {
  native_ = std::move(native);
  for (const cubin::Kernel& kernel : native_->kernels)
    kernels_[kernel.name] = std::make_unique<NativeOnlyKernel>(device_, kernel);
}

}  // namespace

Result<std::unique_ptr<Image>> loadImage(const Device& device, const ImageSource& source, const LoadOptions& options) {
  auto image = std::make_unique<CpuImage>(device, source);
  if (source.native) {
    image->loadNative(source.native);
  } else {
    VG_CHECK(image->loadPtx(source.ptx, options));
  }
  return std::unique_ptr<Image>(std::move(image));
}

void flushKernelOutput() noexcept { print::flush(); }

}  // namespace vg::backend::cpu
