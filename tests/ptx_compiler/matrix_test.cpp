// The opcode matrix in compiled code, for every vector width that this machine runs, against what a GPU answered, or,
// with `interpreter` for a record, against the interpreter; of the cases that no record answers, those with exact
// results. Arguments: unit/ptx/matrix_arguments.h.
#include <cinttypes>
#include <cstdlib>

#include "ptx_compiler/harness.h"
#include "unit/ptx/matrix_arguments.h"
#include "unit/ptx/opcode_interpret.h"

namespace vg::ptx::test {
namespace {

using namespace matrix;

struct Tally {
  uint32_t agree = 0, differ = 0, refused = 0;
};

void report(const Case& c, const char* target, const Record& expected, const Record& actual, Tally& tally) {
  uint32_t thread = 0;
  size_t result = 0;
  const uint32_t count = differences(c, expected, actual, &thread, &result);
  if (!count) {
    ++tally.agree;
    return;
  }
  ++tally.differ;
  const std::vector<uint64_t> in = inputsOf(c);
  std::printf("%-9s%-36s %4u lanes; thread %u:", target, c.name.c_str(), count, thread);
  for (size_t k = 0; k < c.operands.size(); ++k) std::printf(" %" PRIx64, in[size_t{thread} * kOperands + k]);
  std::printf(" -> %c %" PRIx64 ", not %" PRIx64 "\n", static_cast<char>('x' + result), actual.results[result][thread],
              expected.results[result][thread]);
}

bool isExact(const Case& c) {
  const auto& all = c.results;
  return !c.oneNaN && !c.relative && !c.absolute &&
         std::all_of(all.begin(), all.end(), [](const auto& result) { return result.second == Match::Bits; });
}

std::vector<Case> casesFor(const Arguments& arguments) {
  std::vector<Case> cases = allCases();
  if (!arguments.unrecorded()) return cases;
  const std::set<std::string> answered = answeredBy(arguments.records(), cases);
  std::erase_if(cases, [&](const Case& c) { return answered.count(c.name) || !isExact(c); });
  return cases;
}

std::map<std::string, Record> interpreted(const std::vector<Case>& cases, const Arguments& arguments) {
  std::map<std::string, Record> records;
  for (size_t k = 0; k < cases.size(); ++k) {
    if (!arguments.wants(cases[k], k)) continue;
    std::string problem;
    records[cases[k].name] = recordOf(cases[k], harness::interpretCase(cases[k], &problem));
    if (!problem.empty()) std::printf("%s: %s\n", cases[k].name.c_str(), problem.c_str());
  }
  return records;
}

int run(const Arguments& arguments) {
  const std::vector<Case> cases = casesFor(arguments);
  const bool byInterpreter = arguments.unrecorded() || arguments.record() == "interpreter";
  const auto records = byInterpreter ? interpreted(cases, arguments) : readPackedRecords(arguments.record(), cases);
  if (records.empty()) return std::printf("no record in %s\n", arguments.record().c_str()), 2;
  bool failed = false;
  uint32_t turn = 0;
  for (const Target& target : targets()) {
    const uint32_t ours = turn++;
    if (!arguments.target().empty() && arguments.target() != target.name) continue;
    Tally tally;
    for (size_t number = 0; number < cases.size(); ++number) {
      const Case& c = cases[number];
      const auto expected = records.find(c.name);
      if (!arguments.runsOn(number, ours, targets().size())) continue;
      if (!arguments.wants(c, number) || expected == records.end() || expected->second.status) continue;
      CompiledKernel kernel;
      std::string log;
      if (std::getenv("VERBOSE")) std::fprintf(stderr, "%s\n", c.name.c_str());
      const Shape3 block{kBlock, 1, 1};
      const int status = kernel.compile(kHeader + kernelText(c, "matrix"), "matrix", target, block, &log);
      if (status == CUDA_ERROR_NOT_SUPPORTED) {
        ++tally.refused;
        if (!arguments.names().empty()) std::printf("%-9s%-36s %s", target.name, c.name.c_str(), log.c_str());
        continue;
      }
      if (status != CUDA_SUCCESS) {
        std::printf("%-9s%-36s error %d: %s\n", target.name, c.name.c_str(), status, log.c_str());
        ++tally.differ;
        continue;
      }
      const std::vector<uint64_t> in = inputsOf(c);
      std::vector<uint64_t> out(size_t{kThreads} * kResults, 0);
      LaunchSpec spec;
      spec.grid = {kThreads / kBlock, 1, 1};
      spec.block = block;
      harness::Interpreted storage(c.module.empty() ? "" : kHeader + kernelText(c, "matrix"));
      if (!c.module.empty()) spec.globals = storage.globalsOf("matrix");
      const HostTensor tensor(c);
      const std::vector<std::byte> parameters = parametersOf(c, reinterpret_cast<uint64_t>(in.data()),
                                                             reinterpret_cast<uint64_t>(out.data()), tensor.address());
      spec.parameters.resize(parameters.size());
      std::memcpy(spec.parameters.data(), parameters.data(), parameters.size());
      spec.cluster = c.cluster;
      runGrid(kernel.entry(), nullptr, kernel.blob.traits, spec);
      report(c, target.name, expected->second, recordOf(c, out), tally);
    }
    std::printf("%s: %u agree, %u differ, %u not compiled\n", target.name, tally.agree, tally.differ, tally.refused);
    failed |= tally.differ != 0 || (tally.refused && target.hasFma());
  }
  return failed;
}

}  // namespace
}  // namespace vg::ptx::test

int main(int argc, char** argv) {
  const vg::ptx::matrix::Arguments arguments(argc, argv);
  if (!arguments.valid())
    return std::fprintf(stderr, "usage: %s RECORD [--part K/N] [--spread|--sample] [CASE [TARGET]]\n", argv[0]), 2;
  return vg::ptx::test::run(arguments);
}
