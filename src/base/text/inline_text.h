// Text that lies in the table that holds it. A pointer to text in a constant table is a word that the dynamic linker
// relocates in every process that loads the library, whether or not anyone reads the table; these are read from the
// file where they are used. The text ends with a zero; a literal that is too long does not compile.
#pragma once

#include <cstddef>
#include <string_view>

namespace vg {

template <size_t kSize>
class InlineText {
 public:
  constexpr InlineText() = default;
  constexpr InlineText(std::string_view text) {  // NOLINT(google-explicit-constructor): rows of tables
    if (text.size() >= kSize) throw "too long for its column";
    for (size_t i = 0; i < text.size(); ++i) text_[i] = text[i];
  }
  template <size_t kLength>
  constexpr InlineText(const char (&literal)[kLength])
      : InlineText(std::string_view(literal, kLength - 1)) {}  // NOLINT

  constexpr const char* data() const { return text_; }
  constexpr bool empty() const { return !*text_; }
  constexpr operator std::string_view() const { return text_; }  // NOLINT(google-explicit-constructor)

 private:
  char text_[kSize] = {};
};

}  // namespace vg
