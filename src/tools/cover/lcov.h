// A report as lcov's tools and most services read it.
#pragma once

#include <string>

#include "tools/cover/report.h"

namespace vg::tools::cover {

std::string lcov(const Report& report);

}  // namespace vg::tools::cover
