// A report as pages: an index of files, and a page for each of them with its text, counts and branches. They need
// nothing from elsewhere.
#pragma once

#include <string>

#include "tools/cover/report.h"

namespace vg::tools::cover {

// Writes index.html and the others into a folder that exists. False, with errno, when one cannot be written.
bool writePages(const Report& report, const std::string& folder);

}  // namespace vg::tools::cover
