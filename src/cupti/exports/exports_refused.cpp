// What is not there says so. A refused call takes whatever it is given: its caller cleans up.
#include "cupti/exports/exports.h"

using namespace vg::cupti;

#define CUPTI_REFUSED(name, result)        \
  CUPTI_EXPORT CUptiResult name() {        \
    return guarded([] { return result; }); \
  }
#include "cupti/exports/refused.inc"
#undef CUPTI_REFUSED
