#include "activity/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>

namespace vg::activity {
namespace {

// Where the parameters begin: the last parenthesis that is inside no angle brackets and is closed at the end.
size_t parameters(const std::string& text) {
  int depth = 0;
  for (size_t i = text.size(); i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i;
  }
  return std::string::npos;
}

// Where the name begins: behind the type of what is returned, which stands before functions made from templates.
size_t nameBegin(const std::string& text) {
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '(') ++depth;
    if (text[i] == '>' || text[i] == ')') --depth;
    if (text[i] == ' ' && depth == 0) begin = i + 1;
  }
  return begin;
}

std::string shorten(const std::string& mangled) {
  std::string text = demangled(mangled);
  if (text == mangled) return text;
  text = text.substr(0, parameters(text));
  return text.find("operator") == std::string::npos ? text.substr(nameBegin(text)) : text;
}

}  // namespace

std::string demangled(const std::string& mangled) {
  if (mangled.compare(0, 2, "_Z") != 0) return mangled;
  int status = 0;
  char* const text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  const std::string result = status == 0 && text ? text : mangled;
  std::free(text);
  return result;
}

const std::string& KernelNames::shortName(std::string_view mangled) {
  if (mangled == last_) return lastShort_;
  last_ = mangled;
  if (known_.size() >= kMost) known_.clear();
  const auto [found, isNew] = known_.try_emplace(last_);
  if (isNew) found->second = shorten(last_);
  return lastShort_ = found->second;
}

}  // namespace vg::activity
