// Images that lie in files.
#pragma once

#include <string>

#include "base/result.h"

namespace vg::images {

// CUDA_ERROR_FILE_NOT_FOUND when it cannot be read.
Result<std::string> readFile(const std::string& path);

}  // namespace vg::images
