#include "cubin/attributes.h"

#include <cstring>

namespace vg::cubin {
namespace {

// How a record's value is stored.
enum Format : uint8_t { kNothing = 1, kByte = 2, kHalf = 3, kSized = 4 };
constexpr size_t kHeader = 4;

template <class T>
T part(std::string_view bytes, size_t index) {
  T value = 0;
  if (index < bytes.size() / sizeof value) std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

}  // namespace

uint32_t Attribute::word(size_t index) const { return part<uint32_t>(bytes, index); }
uint16_t Attribute::half(size_t index) const { return part<uint16_t>(bytes, index); }

CUresult forEachAttribute(std::string_view section, const std::function<void(const Attribute&)>& visit) {
  while (section.size() >= kHeader) {
    const auto format = part<uint8_t>(section, 0);
    Attribute attribute;
    attribute.code = static_cast<Code>(part<uint8_t>(section, 1));
    attribute.value = part<uint16_t>(section, 1);
    section.remove_prefix(kHeader);
    if (format == kByte) attribute.value &= 0xFF;
    if (format == kSized) {
      if (attribute.value > section.size())
        return fail(CUDA_ERROR_INVALID_IMAGE, "cubin information ends within a record of %u bytes", attribute.value);
      attribute.bytes = section.substr(0, attribute.value);
      section.remove_prefix(attribute.value);
    } else if (format < kNothing || format > kSized) {
      return fail(CUDA_ERROR_INVALID_IMAGE, "cubin information of format %u is not known", format);
    }
    visit(attribute);
  }
  return CUDA_SUCCESS;
}

}  // namespace vg::cubin
