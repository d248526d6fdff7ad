// The name of an enumerator, or null for a value that has none.
#pragma once

#include <cuda.h>

namespace vg::api {

const char* enumName(CUresult value);
#define VG_ENUM(type) const char* enumName(type value);
#define VG_NAME(enumerator)
#define VG_END
#include "api/entry/enum_names.inc"
#undef VG_ENUM
#undef VG_NAME
#undef VG_END

// What cuGetErrorString answers; null for a code that is not one.
const char* resultText(CUresult value);

}  // namespace vg::api
