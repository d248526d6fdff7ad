#include "copy/engines.h"

#include <iterator>
#include <string>

#include "base/log.h"
#include "base/settings.h"

namespace vg::copy {
namespace {

std::string allNames() {
  std::string names;
  for (const Engines* engines : kAllEngines) names += (names.empty() ? "" : " ") + std::string(engines->name);
  return names;
}

const Engines& chooseEngines() {
  const std::string& wanted = settings().isa;
  for (const Engines* candidate : kAllEngines)
    if ((wanted.empty() || wanted == candidate->name) && candidate->supported()) return *candidate;
  const Engines& last = **std::rbegin(kAllEngines);
  if (wanted == "baseline") return last;
  VG_LOG(Warn, "VERDIGRIS_ISA=%s is unknown or not supported by this processor; using the best of: %s", wanted.c_str(),
         allNames().c_str());
  for (const Engines* candidate : kAllEngines)
    if (candidate->supported()) return *candidate;
  return last;
}

}  // namespace

const Engines& engines() {
  static const Engines& chosen = chooseEngines();
  return chosen;
}

}  // namespace vg::copy
