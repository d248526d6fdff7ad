// What PTX texts that are linked want of each other, found and changed in the texts themselves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vg::ptx {

// Functions that the text declares and leaves to another text: `.extern .func`. Pure, as what follows.
std::vector<std::string> functionsWanted(std::string_view text);
// Those that it has itself, with a body or without, but not from another text.
std::vector<std::string> functionsOf(std::string_view text);
// The text in which other texts see these functions, without the variables whose names begin with `mark`.
std::string withVisible(std::string_view text, const std::vector<std::string>& functions, std::string_view mark);

}  // namespace vg::ptx
