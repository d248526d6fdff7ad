#include "base/text/plain_names.h"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <memory>

namespace vg {
namespace {

bool isPartOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.'; }

}  // namespace

// Without the prefix the demangler would take any word for a type.
std::string plainName(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &failed),
                                                          std::free);
  return plain ? plain.get() : name;
}

std::string plainNames(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    size_t length = 0;
    while (length < text.size() && isPartOfName(text[length])) ++length;
    const std::string word(text.substr(0, length ? length : 1));
    plain += plainName(word);
    text.remove_prefix(word.size());
  }
  return plain;
}

}  // namespace vg
