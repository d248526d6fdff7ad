// Reading PTX: text to module, and module to interpreter program, in bytes of PTX a second. The text is the opcode
// matrix: short kernels of all instructions, three quarters of which are loads, stores and address arithmetic.
#include <benchmark/benchmark.h>

#include "ptx/interpreter/interpreter.h"
#include "ptx/text/parser.h"
#include "unit/ptx/opcode_matrix.h"

namespace {

std::string matrixText() {
  std::string text = vg::ptx::matrix::kHeader;
  size_t number = 0;
  for (const vg::ptx::matrix::Case& c : vg::ptx::matrix::allCases())
    text += vg::ptx::matrix::kernelText(c, std::string("k").append(std::to_string(number++)));
  return text;
}

void parseText(benchmark::State& state) {
  const std::string text = matrixText();
  for (auto _ : state) {
    auto module = vg::ptx::parse(text);
    if (!module.ok()) state.SkipWithError("the text does not parse");
    benchmark::DoNotOptimize(module);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}
BENCHMARK(parseText)->Unit(benchmark::kMillisecond);

void prepareKernels(benchmark::State& state) {
  const std::string text = matrixText();
  auto module = vg::ptx::parse(text);
  for (auto _ : state)
    for (uint32_t k = 0; k < module->functions.size(); ++k)
      benchmark::DoNotOptimize(vg::ptx::prepare(*module.operator->(), k));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}
BENCHMARK(prepareKernels)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
