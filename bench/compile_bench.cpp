// What making code of families of kernels takes, in processor time, at half their largest size (some 12 KB of text) and
// at it: as a launch gets it that finds nothing in the cache, and the good code that takes the place of quick code.
#include <benchmark/benchmark.h>

#include <string>

#include "ptx_compiler/families.h"
#include "ptx_compiler/harness.h"

namespace {

using namespace vg::ptx;
using namespace vg::ptx::test;

void make(benchmark::State& state, const Family& family, uint32_t size, uint32_t flags) {
  const std::string text = familyText(family, size);
  std::string log;
  CompileFacts facts{};
  for (auto _ : state) {
    CompiledKernel kernel;
    if (kernel.compile(text, "family", targets()[0], {64, 1, 1}, &log, nullptr, flags) != CUDA_SUCCESS)
      return state.SkipWithError(log.c_str());
    facts = kernel.facts;
  }
  state.counters["text bytes"] = static_cast<double>(text.size());
  state.counters["quick"] = facts.quick;
  state.counters["instructions"] = static_cast<double>(facts.work[static_cast<uint32_t>(CompileWork::Promoted)]);
}

void add(const Family& family, const char* size, uint32_t n, const char* effort, uint32_t flags) {
  const std::string name = std::string("compile/") + family.name + "/" + size + "/" + effort;
  benchmark::RegisterBenchmark(name.c_str(), [=, &family](benchmark::State& state) { make(state, family, n, flags); })
      ->Unit(benchmark::kMillisecond)
      ->MeasureProcessCPUTime()
      ->Iterations(1);
}

}  // namespace

int main(int argc, char** argv) {
  for (const Family& family : families()) {
    add(family, "half", family.largest / 2, "first", kMayBeQuick);
    add(family, "whole", family.largest, "first", kMayBeQuick);
    add(family, "whole", family.largest, "good", 0);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
