#include "copy/engines.h"

#include <immintrin.h>

#include <string>

#include "base/log.h"
#include "base/settings.h"

namespace vg::copy {
namespace {

const Engines& chooseEngines() {
  const std::string& wanted = settings().isa;
  for (const Engines* candidate : kAllEngines)
    if ((wanted.empty() || wanted == candidate->name) && candidate->supported()) return *candidate;
  VG_LOG(Warn,
         "VERDIGRIS_ISA=%s is unknown or not supported by this processor; using the best of baseline, avx2 and avx512",
         wanted.c_str());
  for (const Engines* candidate : kAllEngines)
    if (candidate->supported()) return *candidate;
  return kBaselineEngines;
}

}  // namespace

const Engines& engines() {
  static const Engines& chosen = chooseEngines();
  return chosen;
}

void streamFence() { _mm_sfence(); }

}  // namespace vg::copy
