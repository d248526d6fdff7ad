#include "core/link.h"

#include <cstring>

#include "base/slab.h"
#include "core/blueprint.h"
#include "core/device.h"
#include "core/device_code.h"
#include "core/module.h"

namespace vg::core {
namespace {

constinit Slab<Link, 1 << 14> slab;

constexpr char kSeparator[] = "\n// ---- linked with ----\n";

CUresult refuse(CUjitInputType type) {
  if (type < 0 || type >= CU_JIT_NUM_INPUT_TYPES)
    return fail(CUDA_ERROR_INVALID_VALUE, "there is no linker input of type %d", static_cast<int>(type));
  return unsupported("linker input of type %d: only PTX and fat binaries with PTX can be linked",
                     static_cast<int>(type));
}

}  // namespace

CUresult Link::add(CUjitInputType type, const void* data, size_t size, const std::string& name) {
  if (!image_.empty()) return fail(CUDA_ERROR_INVALID_VALUE, "%s: the link is complete", name.c_str());
  if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY) return refuse(type);
  if (!data || !size) return fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes at %p", name.c_str(), size, data);
  if (type == CU_JIT_INPUT_PTX) {
    const char* text = static_cast<const char*>(data);
    texts_.emplace_back(text, strnlen(text, size));
    return CUDA_SUCCESS;
  }
  VG_TRY(images::Selected selected,
         images::select(data, size, modules::selectOptions(device_.backend(), &options_.errorLog())));
  if (selected.ptx.empty()) return refuse(CU_JIT_INPUT_CUBIN);
  for (std::string& text : selected.ptx) texts_.push_back(std::move(text));
  return CUDA_SUCCESS;
}

CUresult Link::addFile(CUjitInputType type, const std::string& path) {
  if (!image_.empty()) return fail(CUDA_ERROR_INVALID_VALUE, "%s: the link is complete", path.c_str());
  if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY) return refuse(type);
  VG_TRY(images::Selected selected,
         images::selectFile(path, modules::selectOptions(device_.backend(), &options_.errorLog())));
  if (selected.ptx.empty()) return refuse(CU_JIT_INPUT_CUBIN);
  for (std::string& text : selected.ptx) texts_.push_back(std::move(text));
  return CUDA_SUCCESS;
}

CUresult Link::complete(void** image, size_t* size) {
  if (texts_.empty()) return fail(CUDA_ERROR_INVALID_VALUE, "nothing has been added to the link");
  if (image_.empty()) {
    images::Selected selected;
    selected.ptx = texts_;
    DeviceCode code(std::move(selected));
    VG_CHECK(Blueprint::load(device_.backend(), code, "link", nullptr, options_.loadOptions()));
    for (const std::string& text : texts_) image_ += (image_.empty() ? "" : kSeparator) + text;
  }
  *image = image_.data();
  *size = image_.size() + 1;
  return CUDA_SUCCESS;
}

void separateLinked(images::Selected& selected) {
  if (selected.ptx.size() != 1) return;
  constexpr size_t kLength = sizeof kSeparator - 1;
  const std::string& whole = selected.ptx[0];
  size_t at = whole.find(kSeparator);
  if (at == std::string::npos) return;
  std::vector<std::string> parts;
  size_t start = 0;
  for (; at != std::string::npos; start = at + kLength, at = whole.find(kSeparator, start))
    parts.push_back(whole.substr(start, at - start));
  parts.push_back(whole.substr(start));
  selected.ptx = std::move(parts);
}

namespace links {

Link& create(Device& device, JitOptions options) { return *slab.create(device, std::move(options)); }

Result<Link&> find(CUlinkState handle) {
  if (Link* link = slab.find(handle)) return *link;
  return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no link", static_cast<void*>(handle));
}

CUresult destroy(Link& link) { return slab.destroy(&link) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }

}  // namespace links
}  // namespace vg::core
