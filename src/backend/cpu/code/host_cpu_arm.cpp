#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "backend/cpu/code/host_cpu.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/undying.h"

namespace vg::backend::cpu {
namespace {

struct NamedFeature {
  const char* name;
  unsigned long bit;  // of AT_HWCAP
};

// Without arithmetic in half precision, which is done in f32 here, and without SVE: a vector has four lanes.
constexpr NamedFeature kFeatures[] = {
    {"neon", HWCAP_ASIMD},   {"lse", HWCAP_ATOMICS},     {"lse2", HWCAP_USCAT},
    {"rdm", HWCAP_ASIMDRDM}, {"dotprod", HWCAP_ASIMDDP}, {"rcpc", HWCAP_LRCPC},
};

HostCpu describe(unsigned long present) {
  HostCpu cpu;
  cpu.name = "generic";
  for (const NamedFeature& feature : kFeatures) {
    if (!cpu.features.empty()) cpu.features += ',';
    cpu.features += (present & feature.bit ? "+" : "-") + std::string(feature.name);
  }
  return cpu;
}

}  // namespace

const HostCpu& hostCpu() {
  return undyingFrom<HostCpu>([] {
    const std::string& isa = settings().isa;
    if (!isa.empty() && isa != "neon" && isa != "baseline")
      VG_LOG(Warn, "VERDIGRIS_ISA=%s: this processor does not have it", isa.c_str());
    return describe(getauxval(AT_HWCAP));
  });
}

std::vector<InstructionSet> instructionSets() { return {{"neon", 4, describe(getauxval(AT_HWCAP))}}; }

}  // namespace vg::backend::cpu
