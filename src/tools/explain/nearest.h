// Names that somebody may have meant.
#pragma once

#include <set>
#include <string_view>
#include <vector>

namespace vg::tools::knowledge {

// The few names that hold `word`, or become it with the fewest letters changed, whether in capitals or not.
std::vector<std::string_view> nearest(std::string_view word, const std::set<std::string_view>& names);
// The name that is the word but for capitals; the word itself if there is none.
std::string_view asSpelt(std::string_view word, const std::set<std::string_view>& names);

}  // namespace vg::tools::knowledge
