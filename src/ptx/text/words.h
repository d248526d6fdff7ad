// Fixed word lists with a hash made at compile time: word -> number. Immutable, no initialisation at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/text/inline_text.h"

namespace vg::ptx {

struct Word {
  InlineText<54> text;
  uint16_t value = 0;
};

constexpr uint32_t hashOf(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash ^ (hash >> 15);
}

// Open addressing over Size slots, a power of two well above the number of words. The first of equal words wins.
template <size_t Size>
class WordTable {
 public:
  template <class List>
  constexpr explicit WordTable(const List& list) {
    for (const Word& word : list) {
      size_t at = hashOf(word.text) % Size;
      while (!slots_[at].text.empty() && std::string_view(slots_[at].text) != word.text) at = (at + 1) % Size;
      if (slots_[at].text.empty()) slots_[at] = word;
    }
  }

  constexpr uint16_t find(std::string_view text, uint16_t otherwise) const {
    for (size_t at = hashOf(text) % Size; !slots_[at].text.empty(); at = (at + 1) % Size)
      if (std::string_view(slots_[at].text) == text) return slots_[at].value;
    return otherwise;
  }

 private:
  std::array<Word, Size> slots_{};
};

}  // namespace vg::ptx
