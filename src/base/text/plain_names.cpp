#include "base/text/plain_names.h"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <memory>

namespace vg {
namespace {

bool isPartOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.'; }

std::string shortened(std::string name, size_t longest) {
  constexpr std::string_view kGap = " ... ";
  if (name.size() <= longest) return name;
  const size_t kept = longest - kGap.size(), end = kept / 4;
  return name.replace(kept - end, name.size() - kept, kGap);
}

}  // namespace

// Without the prefix the demangler would take any word for a type.
std::string plainName(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &failed),
                                                          std::free);
  return plain ? plain.get() : name;
}

std::string plainNames(std::string_view text, size_t longest) {
  std::string plain;
  while (!text.empty()) {
    size_t length = 0;
    while (length < text.size() && isPartOfName(text[length])) ++length;
    const std::string word(text.substr(0, length ? length : 1));
    plain += word.starts_with("_Z") ? shortened(plainName(word), longest) : word;
    text.remove_prefix(word.size());
  }
  return plain;
}

}  // namespace vg
