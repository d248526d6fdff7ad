#include "backend/cpu/code/host_cpu.h"

#include <algorithm>
#include <initializer_list>

#include "base/log.h"
#include "base/settings.h"
#include "base/system/processor.h"
#include "base/undying.h"

namespace vg::backend::cpu {
namespace {

enum Level { Baseline, Avx2, Avx512 };

struct NamedFeature {
  const char* name;
  unsigned leaf;
  char word;  // register
  uint8_t bit;
  Level level;
};

// Without AVX512-FP16: arithmetic in half precision is done in f32 here, and LLVM 19 exchanges the operands of masked
// comparisons of halves when it takes one from memory (`vcmpltph` where `vcmpgtph` is meant).
constexpr NamedFeature kFeatures[] = {
    {"sse3", 1, 'c', 0, Baseline},
    {"ssse3", 1, 'c', 9, Baseline},
    {"sse4.1", 1, 'c', 19, Baseline},
    {"sse4.2", 1, 'c', 20, Baseline},
    {"popcnt", 1, 'c', 23, Baseline},
    {"cx16", 1, 'c', 13, Baseline},
    {"avx", 1, 'c', 28, Avx2},
    {"f16c", 1, 'c', 29, Avx2},
    {"fma", 1, 'c', 12, Avx2},
    {"movbe", 1, 'c', 22, Avx2},
    {"avx2", 7, 'b', 5, Avx2},
    {"bmi", 7, 'b', 3, Avx2},
    {"bmi2", 7, 'b', 8, Avx2},
    {"lzcnt", 0x80000001, 'c', 5, Avx2},
    {"avx512f", 7, 'b', 16, Avx512},
    {"avx512dq", 7, 'b', 17, Avx512},
    {"avx512cd", 7, 'b', 28, Avx512},
    {"avx512bw", 7, 'b', 30, Avx512},
    {"avx512vl", 7, 'b', 31, Avx512},
    {"avx512ifma", 7, 'b', 21, Avx512},
    {"avx512vbmi", 7, 'c', 1, Avx512},
    {"avx512vbmi2", 7, 'c', 6, Avx512},
    {"avx512vnni", 7, 'c', 11, Avx512},
    {"avx512bitalg", 7, 'c', 12, Avx512},
    {"avx512vpopcntdq", 7, 'c', 14, Avx512},
    {"gfni", 7, 'c', 8, Avx2},
    {"vaes", 7, 'c', 9, Avx2},
    {"vpclmulqdq", 7, 'c', 10, Avx2},
};

bool hasAll(std::initializer_list<processor::Feature> features) {
  return std::all_of(features.begin(), features.end(), processor::has);
}

Level levelOfMachine() {
  using namespace processor;
  if (!hasAll({kAvx, kFma, kAvx2})) return Baseline;
  return hasAll({kAvx512F, kAvx512Dq, kAvx512Cd, kAvx512Bw, kAvx512Vl}) ? Avx512 : Avx2;
}

Level levelWanted(Level machine) {
  const std::string& isa = settings().isa;
  if (isa.empty()) return machine;
  const Level wanted = isa == "avx512" ? Avx512 : isa == "avx2" ? Avx2 : Baseline;
  if (wanted <= machine) return wanted;
  VG_LOG(Warn, "VERDIGRIS_ISA=%s: this processor does not have it", isa.c_str());
  return machine;
}

// The name decides how instructions are scheduled; which there are is said by the features.
const char* nameFor(Level level) {
  const bool amd = processor::isAmd();
  switch (level) {
    case Baseline:
      return "x86-64-v2";
    case Avx2:
      return amd ? "znver3" : "haswell";
    case Avx512:
      return amd ? "znver4" : "icelake-server";
  }
  return "x86-64";
}

HostCpu describe(Level level) {
  HostCpu cpu;
  cpu.name = nameFor(level);
  for (const NamedFeature& feature : kFeatures) {
    const processor::Feature bit{feature.leaf, feature.word, feature.bit, processor::State::General};
    const bool present = feature.level <= level && processor::has(bit);
    cpu.features += (present ? "+" : "-") + std::string(feature.name) + ",";
  }
  // Kernels are written in whole vectors; what this spares elsewhere would halve them.
  cpu.features += "-prefer-256-bit";
  return cpu;
}

}  // namespace

const HostCpu& hostCpu() {
  return undyingFrom<HostCpu>([] { return describe(levelWanted(levelOfMachine())); });
}

std::vector<InstructionSet> instructionSets() {
  std::vector<InstructionSet> out;
  switch (levelOfMachine()) {
    case Avx512:
      out.push_back({"avx512", 16, describe(Avx512)});
      [[fallthrough]];
    case Avx2:
      out.push_back({"avx2", 8, describe(Avx2)});
      [[fallthrough]];
    case Baseline:
      out.push_back({"baseline", 4, describe(Baseline)});
  }
  return out;
}

}  // namespace vg::backend::cpu
