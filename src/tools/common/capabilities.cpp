#include "tools/common/capabilities.h"

#include <set>

namespace vg::tools {

bool isKnownCapability(const std::string& text) {
  static const std::set<std::string> known = {"5.0", "5.2",  "5.3",  "6.0",  "6.1",  "6.2",  "7.0",
                                              "7.2", "7.5",  "8.0",  "8.6",  "8.7",  "8.8",  "8.9",
                                              "9.0", "10.0", "10.1", "10.3", "11.0", "12.0", "12.1"};
  return known.count(text);
}

}  // namespace vg::tools
