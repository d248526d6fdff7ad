#include <cuda.h>

#include <string>

#include "replay/driver.h"

namespace vg::replay {

std::string resultName(int result) {
  switch (result) {
#define VG_RESULT(code, text) \
  case code:                  \
    return #code;
#include "api/entry/results.inc"
#undef VG_RESULT
    default:
      return std::to_string(result);
  }
}

}  // namespace vg::replay
