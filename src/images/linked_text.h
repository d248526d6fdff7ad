// How several PTX modules that were linked stand in one text: one after another, with this line between them. Loading
// takes them apart again. Other linkers of PTX (redirect) write the same.
#pragma once

namespace vg::images {

inline constexpr char kBetweenLinkedTexts[] = "\n// ---- linked with ----\n";

}  // namespace vg::images
