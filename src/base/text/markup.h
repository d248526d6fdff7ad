// Text as it stands in HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace vg {

// Marks are written out, also those that end a quoted attribute. Characters that no document may hold become '?'.
std::string escapedForMarkup(std::string_view text);

}  // namespace vg
