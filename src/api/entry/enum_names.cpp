#include "api/entry/enum_names.h"

namespace vg::api {

#define VG_ENUM(type)                \
  const char* enumName(type value) { \
    switch (static_cast<long long>(value)) {
#define VG_NAME(enumerator) \
  case enumerator:          \
    return #enumerator;
#define VG_END    \
  }               \
  return nullptr; \
  }
#include "api/entry/enum_names.inc"
#undef VG_ENUM
#undef VG_NAME
#undef VG_END

const char* enumName(CUresult value) {
  switch (static_cast<int>(value)) {
#define VG_RESULT(code, text) \
  case code:                  \
    return #code;
#include "api/entry/results.inc"
#undef VG_RESULT
  }
  return nullptr;
}

const char* resultText(CUresult value) {
  switch (static_cast<int>(value)) {
#define VG_RESULT(code, text) \
  case code:                  \
    return text;
#include "api/entry/results.inc"
#undef VG_RESULT
  }
  return nullptr;
}

}  // namespace vg::api
