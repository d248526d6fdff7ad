// The report of `verdigris conform` as one HTML page that needs nothing else: both sides of every rule next to each
// other.
#pragma once

#include <string>

#include "tools/conform/report.h"

namespace vg::tools {

std::string htmlOf(const ConformReport& report);

}  // namespace vg::tools
