#include "cubin/compile_request.h"

namespace vg::cubin {

std::string Request::target() const {
  std::string plain = "sm_" + std::to_string(architecture);
  for (const Input& input : inputs) {
    if (input.kind != InputKind::Ptx) continue;
    const size_t directive = input.bytes.find(".target");
    const size_t at = directive == std::string::npos ? directive : input.bytes.find("sm_", directive);
    if (at == std::string::npos) continue;
    const size_t end = input.bytes.find_first_not_of("0123456789", at + 3);
    if (end == std::string::npos) continue;
    if (const char suffix = input.bytes[end]; suffix == 'a' || suffix == 'f') return plain + suffix;
  }
  return plain;
}

}  // namespace vg::cubin
