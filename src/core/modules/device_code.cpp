#include "core/modules/device_code.h"

#include "base/sync/mutex.h"
#include "cubin/compiler.h"
#include "images/container.h"
#include "images/linked_text.h"
#include "ptx/abi/device_runtime.h"

namespace vg::core {
namespace {

CUresult checkArchitecture(const cubin::Cubin& code, const backend::Traits& device, const std::string& name) {
  const auto capability = static_cast<uint32_t>(device.computeCapability);
  if (!device.nativeCode || images::nativeTargetFits(code.architecture, 0, capability)) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_NO_BINARY_FOR_GPU, "%s is native code for sm_%u, the device is sm_%u", name.c_str(),
              code.architecture, capability);
}

}  // namespace

void separateLinked(images::Selected& selected) {
  if (selected.ptx.size() != 1) return;
  constexpr size_t kLength = sizeof images::kBetweenLinkedTexts - 1;
  const std::string& whole = selected.ptx[0];
  size_t at = whole.find(images::kBetweenLinkedTexts);
  if (at == std::string::npos) return;
  std::vector<std::string> parts;
  size_t start = 0;
  for (; at != std::string::npos; start = at + kLength, at = whole.find(images::kBetweenLinkedTexts, start))
    parts.push_back(whole.substr(start, at - start));
  parts.push_back(whole.substr(start));
  selected.ptx = std::move(parts);
}

DeviceCode::DeviceCode(images::Selected selected)
    : none_(selected.ptx.empty() && selected.native.empty()), selected_(std::move(selected)) {
  separateLinked(selected_);
}

Result<std::string> DeviceCode::nativeBytes(const backend::Traits& device, const std::string& name,
                                            const backend::LoadOptions& options) {
  if (selected_.ptx.empty()) return std::move(selected_.native);
  cubin::Request request;
  request.architecture = static_cast<uint32_t>(device.computeCapability);
  for (std::string& text : ptx::withDeviceRuntimeNames(selected_.ptx))
    request.inputs.push_back({cubin::InputKind::Ptx, name, std::move(text)});
  return cubin::compile(request, {options.infoLog, options.errorLog});
}

Result<std::shared_ptr<const cubin::Cubin>> DeviceCode::native(const backend::Traits& device, const std::string& name,
                                                               const backend::LoadOptions& options) {
  const MutexLock lock(mutex_);
  if (native_) return native_;
  VG_TRY(std::string bytes, nativeBytes(device, name, options));
  VG_TRY(cubin::Cubin code, cubin::parse(std::move(bytes)));
  native_ = std::make_shared<const cubin::Cubin>(std::move(code));
  return native_;
}

CUresult DeviceCode::provide(const backend::Traits& device, backend::ImageSource& source,
                             const backend::LoadOptions& options) {
  if (none_)
    return fail(CUDA_ERROR_INVALID_IMAGE, "%s is neither PTX nor a cubin nor a fat binary", source.name.c_str());
  source.ownText = selected_.target == 0;
  if (!device.nativeCode && !selected_.ptx.empty()) {
    source.ptx = selected_.ptx;
    return CUDA_SUCCESS;
  }
  VG_TRY(source.native, native(device, source.name, options));
  return checkArchitecture(*source.native, device, source.name);
}

}  // namespace vg::core
