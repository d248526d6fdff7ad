// Text on standard output, broken into lines that a terminal holds.
#pragma once

#include <string>
#include <string_view>

#include "tools/explain/index.h"

namespace vg::tools::knowledge {

// A paragraph. `first` stands before its first line, as many blanks as it is long before the others.
void printParagraph(std::string_view text, std::string_view first = "");

// "  tests      a", then each further item below the first; nothing when there is none.
void printList(std::string_view label, const Words& items);

}  // namespace vg::tools::knowledge
