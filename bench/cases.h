// What the benches of google-benchmark share that time the driver API.
#pragma once

#include <benchmark/benchmark.h>

#include "driver.h"

namespace vg::bench {

// The main function of a bench of google-benchmark: `prepare` starts the library and registers cases.
inline int runBenchmarks(int count, char** arguments, void (*prepare)()) {
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  prepare();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace vg::bench
