#include "core/modules/link.h"

#include <cstring>
#include <optional>
#include <string_view>

#include "base/memory/slab.h"
#include "core/modules/device_code.h"
#include "core/modules/image_preview.h"
#include "core/modules/module.h"
#include "core/process/device.h"
#include "images/linked_text.h"
#include "images/read_file.h"
#include "ptx/text/parser.h"

namespace vg::core {
namespace {

constinit Slab<Link, 1 << 14> slab;

// Parts that are taken as they are; of others, and of numbers that mean nothing, none.
std::optional<cubin::InputKind> kindOf(CUjitInputType type) {
  switch (type) {
    case CU_JIT_INPUT_PTX:
      return cubin::InputKind::Ptx;
    case CU_JIT_INPUT_CUBIN:
      return cubin::InputKind::Cubin;
    case CU_JIT_INPUT_OBJECT:
      return cubin::InputKind::Object;
    case CU_JIT_INPUT_LIBRARY:
      return cubin::InputKind::Library;
    case CU_JIT_INPUT_NVVM:
      return cubin::InputKind::LtoIr;
    default:
      return std::nullopt;
  }
}

// libcudadevrt, which whoever launches kernels from kernels links: devices that run PTX need nothing of it.
bool isDeviceRuntime(CUjitInputType type, std::string_view bytes) {
  return type == CU_JIT_INPUT_LIBRARY && bytes.starts_with("!<arch>\n") &&
         bytes.find("cuda_device_runtime") != bytes.npos;
}

CUresult refuse(CUjitInputType type) {
  if (type < 0 || type >= CU_JIT_NUM_INPUT_TYPES)
    return fail(CUDA_ERROR_INVALID_VALUE, "there is no linker input of type %d", static_cast<int>(type));
  return unsupported("linker input of type %d: only PTX and fat binaries with PTX can be linked",
                     static_cast<int>(type));
}

template <class Symbol>
bool defines(const Symbol& symbol) {
  return symbol.linkage == ptx::Linkage::Visible;
}

// The names that no other part may define.
std::vector<std::string> namesOf(const ptx::Module& module) {
  std::vector<std::string> names;
  for (const ptx::Variable& variable : module.variables)
    if (defines(variable)) names.push_back(variable.name);
  for (const ptx::Function& function : module.functions)
    if (defines(function) && !function.isDeclaration) names.push_back(function.name);
  return names;
}

}  // namespace

bool Link::native() const { return device_.backend().traits().nativeCode; }

CUresult Link::check(CUjitInputType type, const std::string& name) const {
  if (!image_.empty()) return fail(CUDA_ERROR_INVALID_VALUE, "%s: the link is complete", name.c_str());
  if (type == CU_JIT_INPUT_PTX || type == CU_JIT_INPUT_FATBINARY || type == CU_JIT_INPUT_LIBRARY) return CUDA_SUCCESS;
  return native() && kindOf(type) ? CUDA_SUCCESS : refuse(type);
}

// A text by itself, then beside those that are there.
CUresult Link::checkText(const std::string& text) {
  ptx::ParseOptions options;
  options.maxTarget = static_cast<uint32_t>(device_.backend().traits().computeCapability);
  VG_TRY(const ptx::Module module, ptx::parse(text, &options_.errorLog(), options));
  if (!module.unknowns.empty() && !native())
    return fail(CUDA_ERROR_INVALID_PTX, "line %u: unknown instruction %s", module.unknowns.front().line,
                module.unknowns.front().text.c_str());
  const std::vector<std::string> names = namesOf(module);
  for (const std::string& name : names) {
    if (!names_.contains(name)) continue;
    options_.errorLog() += "symbol '" + name + "' is defined more than once\n";
    return broken_ = fail(CUDA_ERROR_INVALID_SOURCE, "two parts of the link define %s", name.c_str());
  }
  names_.insert(names.begin(), names.end());
  return CUDA_SUCCESS;
}

// The compiler for native code may know more than we do: it has the last word.
CUresult Link::tryNative(const std::string& name, const std::string& text, CUresult refused) {
  options_.errorLog().clear();
  const auto capability = static_cast<uint32_t>(device_.backend().traits().computeCapability);
  const Result<std::string> code = cubin::compile({capability, {{cubin::InputKind::Ptx, name, text}}, 0},
                                                  {&options_.infoLog(), &options_.errorLog()});
  return code || code.error() == CUDA_ERROR_JIT_COMPILER_NOT_FOUND ? CUDA_SUCCESS : refused;
}

CUresult Link::addText(const std::string& name, std::string text) {
  CUresult result = checkText(text);
  if (native() && result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_SOURCE) result = tryNative(name, text, result);
  VG_CHECK(result);
  parts_.push_back({cubin::InputKind::Ptx, name, std::move(text)});
  return CUDA_SUCCESS;
}

CUresult Link::addPart(CUjitInputType type, const std::string& name, std::string bytes) {
  if (type == CU_JIT_INPUT_PTX && bytes.find(".version") == std::string::npos)
    return fail(CUDA_ERROR_INVALID_IMAGE, "%s is no PTX", name.c_str());
  if (type == CU_JIT_INPUT_PTX) return addText(name, std::move(bytes));
  if (native()) {
    parts_.push_back({*kindOf(type), name, std::move(bytes)});
    return CUDA_SUCCESS;
  }
  return isDeviceRuntime(type, bytes) ? CUDA_SUCCESS : refuse(type);
}

CUresult Link::addSelected(images::Selected selected, const std::string& name) {
  if (!native() && selected.ptx.empty()) return refuse(CU_JIT_INPUT_CUBIN);
  for (std::string& text : selected.ptx) VG_CHECK(addText(name, std::move(text)));
  if (!selected.native.empty()) parts_.push_back({cubin::InputKind::Cubin, name, std::move(selected.native)});
  return CUDA_SUCCESS;
}

CUresult Link::add(CUjitInputType type, const void* data, size_t size, const std::string& name) {
  if (!data || !size) return fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes at %p", name.c_str(), size, data);
  VG_CHECK(check(type, name));
  const char* const bytes = static_cast<const char*>(data);
  if (kindOf(type)) {
    const size_t used = type == CU_JIT_INPUT_PTX ? strnlen(bytes, size) : size;
    return addPart(type, name, std::string(bytes, used));
  }
  VG_TRY(images::Selected selected,
         images::select(data, size, modules::selectOptions(device_.backend(), &options_.errorLog())));
  return addSelected(std::move(selected), name);
}

CUresult Link::addFile(CUjitInputType type, const std::string& path) {
  VG_CHECK(check(type, path));
  if (const auto kind = kindOf(type); kind && kind != cubin::InputKind::Ptx) {
    VG_TRY(std::string bytes, images::readFile(path));
    return addPart(type, path, std::move(bytes));
  }
  VG_TRY(images::Selected selected,
         images::selectFile(path, modules::selectOptions(device_.backend(), &options_.errorLog())));
  return addSelected(std::move(selected), path);
}

// The text is tried, so that what does not fit together is refused here.
CUresult Link::completeText() {
  images::Selected selected;
  for (cubin::Input& part : parts_) {
    options_.limitRegisters(part.bytes);
    selected.ptx.push_back(part.bytes);
  }
  DeviceCode code(std::move(selected));
  VG_CHECK(Blueprint::load(device_.backend(), code, "link", nullptr, options_.loadOptions()));
  for (const cubin::Input& part : parts_) image_ += (image_.empty() ? "" : images::kBetweenLinkedTexts) + part.bytes;
  image_ += '\0';
  return CUDA_SUCCESS;
}

CUresult Link::completeNative() {
  const auto capability = static_cast<uint32_t>(device_.backend().traits().computeCapability);
  VG_TRY(image_,
         cubin::compile({capability, parts_, options_.maxRegisters()}, {&options_.infoLog(), &options_.errorLog()}));
  return CUDA_SUCCESS;
}

// The vendor's driver links nothing, too, to a module that holds nothing.
std::string Link::nothing() const {
  return ".version 7.0\n.target sm_" + std::to_string(device_.backend().traits().computeCapability) +
         "\n.address_size 64\n";
}

CUresult Link::complete(void** image, size_t* size) {
  if (!image_.empty()) return fail(CUDA_ERROR_INVALID_HANDLE, "the link is complete");
  if (broken_ != CUDA_SUCCESS) return fail(broken_, "the link failed: two parts define one name");
  if (parts_.empty()) parts_.push_back({cubin::InputKind::Ptx, "nothing", nothing()});
  VG_CHECK(native() ? completeNative() : completeText());
  *image = image_.data();
  *size = image_.size();
  return CUDA_SUCCESS;
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
