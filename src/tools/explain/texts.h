// The texts that come along with the command, compressed: what `verdigris explain` prints from, without the source
// tree.
#pragma once

#include <string_view>

namespace vg::tools::knowledge {

struct Texts {
  std::string_view index;      // that scripts/rule-index makes
  std::string_view rules;      // tests/conformance/rules.tsv
  std::string_view behaviour;  // docs/driver-behaviour.md
  std::string_view settings;   // docs/settings.md
};

// Unpacked at the first call; stays for good. One thread at a time.
const Texts& texts();

}  // namespace vg::tools::knowledge
