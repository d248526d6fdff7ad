// What compiling costs as kernels grow, counted in what it makes: times decide nothing. And whether what is made is
// right, as good code and as quick code.
//
//   ptx_compiler_growth [-w] [-t FAMILY]  the test, of all families or one; -w: at whole sizes, not half
//   ptx_compiler_growth [-q] FAMILY [N]   one compile of a kernel of size N, and where its time goes; -q: quick code
//
//   ptx_compiler_growth [-q] FILE         the same for the kernels of a file
//
//   ptx_compiler_growth -m                a table of all families at whole sizes: KB, quick or good code, ms
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "ptx_compiler/families.h"
#include "ptx_compiler/harness.h"

using namespace vg::ptx;
using namespace vg::ptx::test;

namespace {

const char* const kPhases[] = {"parse", "analyse", "emit", "optimise", "generate", "link"};
const char* const kWork[] = {"emitted", "promoted", "optimised", "joined"};
constexpr double kMostGrowth = 2.7;        // of what is made, for twice the size
constexpr uint64_t kMostAWord = 100;       // instructions of LLVM's for each instruction of the text
constexpr uint64_t kMostOfCopies = 70000;  // where calls are copies of functions, up to a bound
constexpr uint64_t kQuickIsUsed = 10000;   // at the latest beyond so many, as src/ptx/llvm/backend.cpp has it
constexpr uint64_t kNeverQuick = 1000;     // up to so many
constexpr uint64_t kLeastAPhi = 12;        // instructions of quick code for 16 lanes of a value that a phi joins
int failures = 0;

double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void fail(const std::string& what) {
  std::printf("FAILED: %s\n", what.c_str());
  ++failures;
}

struct Compiled {
  CompiledKernel kernel;
  double seconds = 0;
  bool ok = false;
};

Compiled compile(const std::string& what, const std::string& text, const std::string& entry, const Shape3& block,
                 uint32_t flags, const Target& target = targets()[0]) {
  Compiled out;
  std::string log;
  const double before = cpuSeconds();
  const int status = out.kernel.compile(text, entry, target, block, &log, nullptr, flags);
  out.seconds = cpuSeconds() - before;
  out.ok = status == CUDA_SUCCESS;
  std::printf("%-18s %-8s %6.1f KB: %5.2f s%s", what.c_str(), target.name, double(text.size()) / 1024, out.seconds,
              out.kernel.facts.quick ? " quick" : "");
  for (size_t n = 0; n < std::size(kWork); ++n)
    std::printf(", %s %llu", kWork[n], static_cast<unsigned long long>(out.kernel.facts.work[n]));
  if (!out.ok) std::printf(", refused: %s", log.c_str());
  std::printf("\n");
  std::fflush(stdout);
  return out;
}

void explain(const std::string& what, const std::string& text, const std::string& entry, uint32_t flags) {
  const Compiled made = compile(what, text, entry, {64, 1, 1}, flags);
  for (size_t n = 0; n < std::size(kPhases); ++n)
    std::printf("  %s %.0f ms", kPhases[n], made.kernel.microseconds[n] / 1e3);
  std::printf(", %zu bytes, stack of %u\n", made.kernel.blob.code.size(), made.kernel.blob.traits.stackPerWarp);
}

// --- Whether it is right ---------------------------------------------------------------------------------------------

struct Memory {
  std::vector<uint32_t> in, out;
};

Memory freshMemory(uint32_t threads) {
  Memory memory;
  memory.in.resize(threads + 64);
  for (uint32_t n = 0; n < memory.in.size(); ++n) memory.in[n] = n % 5 ? n * 2654435761u >> 3 : n;
  memory.out.assign(size_t{threads} * 8 + 64, 0xdeadbeef);
  return memory;
}

LaunchSpec launchOf(Memory& memory, const Shape3& block) {
  LaunchSpec spec;
  spec.grid = {2, 1, 1};
  spec.block = block;
  spec.parameters.resize(4096);
  for (size_t n = 0; n < spec.parameters.size(); ++n) spec.parameters[n] = static_cast<uint8_t>(n * 37);
  const uint64_t pointers[2] = {reinterpret_cast<uint64_t>(memory.in.data()),
                                reinterpret_cast<uint64_t>(memory.out.data())};
  std::memcpy(spec.parameters.data(), pointers, sizeof pointers);
  return spec;
}

void compare(const std::string& what, const std::string& text, const CompiledKernel& kernel, const Shape3& block) {
  auto module = parse(text);
  uint32_t entry = 0;
  while (!module->functions[entry].isEntry) ++entry;
  auto program = prepare(*module, entry);
  if (!program.ok()) return fail(what + " does not interpret");
  const uint32_t threads = 2 * block.count();
  Memory expected = freshMemory(threads), actual = freshMemory(threads);
  const KernelTraits& plain = (*program)->traits();
  if (!runGrid(interpretWarps, (*program)->code(), plain, launchOf(expected, block)))
    return fail(what + " traps in the interpreter");
  if (!runGrid(kernel.entry(), nullptr, kernel.blob.traits, launchOf(actual, block)))
    return fail(what + " traps as compiled code");
  for (size_t n = 0; n < expected.out.size(); ++n)
    if (expected.out[n] != actual.out[n])
      return fail(what + ": word " + std::to_string(n) + " of the results is " + std::to_string(actual.out[n]) +
                  ", not " + std::to_string(expected.out[n]));
}

// --- The test --------------------------------------------------------------------------------------------------------

// Good code of a small one, and what a large one gets, quick or good.
void checkResults(const Family& family, uint32_t largest) {
  const std::string whole = familyText(family, largest);
  const Compiled large = compile(family.name, whole, "family", {64, 1, 1}, kMayBeQuick);
  large.ok ? compare(family.name, whole, large.kernel, {64, 1, 1})
           : fail(std::string(family.name) + " is not compiled");
  const uint32_t size = largest / 7 + 1;
  const std::string text = familyText(family, size), what = std::string(family.name) + " " + std::to_string(size);
  for (const Shape3& block : {Shape3{64, 1, 1}, Shape3{33, 1, 1}}) {
    const Compiled made = compile(what, text, "family", block, 0);
    made.ok ? compare(what, text, made.kernel, block) : fail(what + " is not compiled");
  }
}

// Instructions of the text: what is made must be in proportion.
uint64_t words(const std::string& text) {
  uint64_t count = 0;
  for (char c : text) count += c == ';';
  return count;
}

// Of half the size or one more, what makes more: graphs of some families are simpler where a size divides what they
// step by.
uint64_t workOfHalf(const Family& family, uint32_t largest, const Target& target, size_t kind, uint64_t ofHalf) {
  const std::string text = familyText(family, largest / 2 + 1);
  const Compiled made = compile(std::string(family.name) + " 1/2+1", text, "family", {64, 1, 1}, kMayBeQuick, target);
  return made.ok ? std::max(ofHalf, made.kernel.facts.work[kind]) : ofHalf;
}

// What code for any processor costs: this one need not run it.
void checkGrowth(const Family& family, uint32_t largest, const Target& target) {
  const std::string half = familyText(family, largest / 2), whole = familyText(family, largest);
  const std::string what = std::string(family.name) + " for " + target.name;
  const uint32_t flags = kMayBeQuick;
  const Compiled small = compile(std::string(family.name) + " 1/2", half, "family", {64, 1, 1}, flags, target);
  const Compiled large = compile(family.name, whole, "family", {64, 1, 1}, flags, target);
  if (!small.ok || !large.ok) return fail(what + " is not compiled");
  const double text = double(whole.size()) / double(half.size());
  for (size_t n = 0; n < std::size(kWork); ++n) {
    const uint64_t before = small.kernel.facts.work[n], now = large.kernel.facts.work[n];
    const double most = kMostGrowth * text / 2;
    if (!family.functions && now > 20000 && double(now) > double(before) * most &&
        double(now) > double(workOfHalf(family, largest, target, n, before)) * most)
      fail(what + ": " + kWork[n] + " grows from " + std::to_string(before) + " to " + std::to_string(now));
    if (now > (family.functions ? kMostOfCopies : kMostAWord * words(whole)))
      fail(what + ": " + kWork[n] + " is " + std::to_string(now));
  }
  const bool isLarge = large.kernel.facts.work[static_cast<uint32_t>(CompileWork::Promoted)] > kQuickIsUsed;
  if (isLarge && !large.kernel.facts.quick) fail(what + " is large and not quick");
  const auto done = [&](CompileWork kind) { return large.kernel.facts.work[static_cast<uint32_t>(kind)]; };
  if (large.kernel.facts.quick &&
      done(CompileWork::Joined) * kLeastAPhi * target.lanes / 16 > done(CompileWork::Promoted))
    fail(what + ": phis join " + std::to_string(done(CompileWork::Joined)) + " values");
  const bool isSmall = small.kernel.facts.work[static_cast<uint32_t>(CompileWork::Emitted)] < kNeverQuick;
  // Where there are calls, copies of functions may be what better code has more of.
  if (isSmall && small.kernel.facts.quick && !family.functions) fail(what + " is small but quick");
  std::printf("%-18s %-8s twice the text takes %.1f times as long\n", family.name, target.name,
              large.seconds / small.seconds);
}

int makeTable() {
  for (const Family& family : families()) {
    const std::string text = familyText(family, family.largest);
    CompiledKernel kernel;
    const double before = cpuSeconds();
    if (kernel.compile(text, "family", targets()[0], {64, 1, 1}, nullptr, nullptr, kMayBeQuick)) return 1;
    std::printf("| %s %u | %.1f | %s | %.0f |\n", family.name, family.largest, double(text.size()) / 1024,
                kernel.facts.quick ? "quick" : "good", (cpuSeconds() - before) * 1e3);
    std::fflush(stdout);
  }
  return 0;
}

int explainEach(int argc, char** argv) {
  uint32_t flags = 0;
  for (int a = 1; a < argc; ++a) {
    if (!std::strcmp(argv[a], "-q")) {
      flags = kMayBeQuick;
    } else if (const Family* family = familyNamed(argv[a])) {
      const int size = a + 1 < argc ? std::atoi(argv[a + 1]) : 0;
      a += size > 0;
      explain(family->name, familyText(*family, size > 0 ? static_cast<uint32_t>(size) : family->largest), "family",
              flags);
    } else {
      std::ifstream file(argv[a]);
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      auto module = parse(text);
      if (!module.ok()) return std::printf("%s does not parse\n", argv[a]), 2;
      for (const Function& f : module->functions)
        if (f.isEntry) explain(f.name.substr(0, 18), text, f.name, flags);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool whole = argc > 1 && !std::strcmp(argv[1], "-w");
  argc -= whole;
  argv += whole;
  if (argc == 2 && !std::strcmp(argv[1], "-m")) return makeTable();
  const bool one = argc == 3 && !std::strcmp(argv[1], "-t");
  if (argc > 1 && !one) return explainEach(argc, argv);
  for (const Family& family : families()) {
    if (one && std::strcmp(argv[2], family.name)) continue;
    const uint32_t largest = whole ? family.largest : family.largest / 2;
    checkResults(family, largest);
    for (const Target& target : allTargets()) checkGrowth(family, largest, target);
  }
  std::printf("%d failures\n", failures);
  return failures != 0;
}
