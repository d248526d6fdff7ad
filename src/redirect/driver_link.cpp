#include "redirect/driver_link.h"

#include <cuda.h>

#include "images/linked_text.h"
#include "redirect/replacement.h"

namespace vg::redirect {

Handle theDriver = nullptr;

bool isText(const Input& input) {
  return input.type == InputType::Ptx ||
         (input.type == InputType::Any && input.content.find(".version") != std::string::npos);
}

namespace {

// Requires: no library of native code.
CUjitInputType kindOf(const Input& input) {
  if (isText(input)) return CU_JIT_INPUT_PTX;
  return input.type == InputType::Object ? CU_JIT_INPUT_OBJECT : CU_JIT_INPUT_FATBINARY;
}

// A link that ends with its scope.
class DriverLink {
 public:
  bool create() {
    const auto make = functionOf<decltype(cuLinkCreate)>(theDriver, "cuLinkCreate_v2");
    return make && make(0, nullptr, nullptr, &state_) == CUDA_SUCCESS;
  }
  ~DriverLink() {
    if (state_) functionOf<decltype(cuLinkDestroy)>(theDriver, "cuLinkDestroy")(state_);
  }
  bool add(const Input& input) {
    std::string content = input.content;
    const auto addData = functionOf<decltype(cuLinkAddData)>(theDriver, "cuLinkAddData_v2");
    return addData(state_, kindOf(input), content.data(), content.size(), input.name.c_str(), 0, nullptr, nullptr) ==
           CUDA_SUCCESS;
  }
  std::string complete() {
    void* image = nullptr;
    size_t size = 0;
    const auto finish = functionOf<decltype(cuLinkComplete)>(theDriver, "cuLinkComplete");
    if (finish(state_, &image, &size) != CUDA_SUCCESS) return {};
    return {static_cast<const char*>(image), size};
  }

 private:
  CUlinkState state_ = nullptr;
};

// Texts need no driver, and so no context.
std::string joined(const std::vector<Input>& inputs) {
  std::string text;
  for (const Input& input : inputs) {
    if (!isText(input)) return {};
    text += (text.empty() ? "" : images::kBetweenLinkedTexts) + std::string(input.content.c_str());
  }
  return text;
}

}  // namespace

std::string textOf(const std::vector<Input>& inputs) {
  std::vector<Input> parts;
  for (const Input& input : inputs)
    if (input.type != InputType::Library && input.type != InputType::Cubin) parts.push_back(input);
  if (std::string text = joined(parts); !text.empty() || parts.empty() || !theDriver) return text;
  DriverLink link;
  if (!link.create()) return {};
  unsigned added = 0;
  for (const Input& part : parts) added += link.add(part);
  return added ? link.complete() : std::string();
}

}  // namespace vg::redirect
