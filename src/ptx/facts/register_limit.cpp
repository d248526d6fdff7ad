#include "ptx/facts/register_limit.h"

#include "ptx/facts/words.h"

namespace vg::ptx {
namespace {

// Where the body of a kernel begins, behind its parameters and directives; npos for a prototype, and for one that has a
// limit.
size_t bodyWithoutLimit(Words& words) {
  bool limited = false;
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == ";") return std::string_view::npos;
    if (word == "{") return limited ? std::string_view::npos : words.begin(word);
    limited |= word == ".maxnreg";
  }
  return std::string_view::npos;
}

}  // namespace

std::string withRegisterLimit(std::string_view text, uint32_t registers) {
  std::string result;
  size_t copied = 0;
  Words words(text);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word != ".entry") continue;
    const size_t body = bodyWithoutLimit(words);
    if (body == text.npos) continue;
    result.append(text.substr(copied, body - copied)) += ".maxnreg " + std::to_string(registers) + " ";
    copied = body;
  }
  return result.append(text.substr(copied));
}

}  // namespace vg::ptx
