#include "ptx_compiler/compare.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include "ptx/facts/coverage.h"
#include "ptx/facts/layout.h"
#include "ptx_compiler/harness.h"

namespace vg::ptx::test {
namespace {

const Shape3 kBlocks[] = {{64, 1, 1}, {33, 1, 1}, {1, 1, 1},  {7, 5, 1},   {16, 16, 1}, {128, 1, 1},
                          {32, 4, 1}, {8, 4, 2},  {24, 4, 1}, {100, 1, 1}, {16, 2, 4},  {8, 3, 3},
                          {48, 2, 1}, {4, 5, 3},  {96, 2, 1}, {16, 1, 1},  {20, 1, 1},  {32, 1, 1}};

struct Memory {
  std::vector<uint32_t> in, out;
  std::vector<std::vector<uint8_t>> variables;
  std::vector<uint64_t> addresses;
  std::vector<uint64_t> counts;  // of instructions; empty: nobody counts
};

uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

void fill(Memory& memory, const Module& module, uint32_t entry, uint32_t n, uint32_t threads) {
  memory.in.resize(n + 64);
  for (uint32_t k = 0; k < memory.in.size(); ++k) memory.in[k] = k % 5 ? mix(k + 1) : k;
  memory.out.assign(size_t{threads} * 8 + n + 64, 0xdeadbeef);
  for (uint32_t index : references(module, entry).globals) {
    const Variable& v = module.variables[index];
    std::vector<uint8_t>& bytes = memory.variables.emplace_back(v.size + 16);
    if (!v.initial.empty()) std::memcpy(bytes.data(), v.initial.data(), v.initial.size());
    for (const Variable::Reference& r : v.references) {
      const uint64_t address = functionAddress(r.symbol);
      if (r.kind == SymbolKind::Function) std::memcpy(bytes.data() + r.offset, &address, r.width);
    }
  }
  for (auto& bytes : memory.variables) memory.addresses.push_back(reinterpret_cast<uint64_t>(bytes.data()));
}

// Kernels without shared memory run several blocks a call.
LaunchSpec launchOf(Memory& memory, const KernelTraits& traits, const Shape3& grid, const Shape3& block, uint32_t n) {
  LaunchSpec spec;
  spec.grid = grid;
  spec.block = block;
  spec.globals = memory.addresses;
  spec.counts = memory.counts.empty() ? nullptr : memory.counts.data();
  spec.dynamicShared = traits.usesDynamicShared ? 4096 : 0;
  spec.parameters.resize(20);
  const uint64_t pointers[2] = {reinterpret_cast<uint64_t>(memory.in.data()),
                                reinterpret_cast<uint64_t>(memory.out.data())};
  std::memcpy(spec.parameters.data(), pointers, 16);
  std::memcpy(spec.parameters.data() + 16, &n, 4);
  return spec;
}

bool reportCounts(const std::vector<uint64_t>& expected, const std::vector<uint64_t>& actual,
                  const std::string& where) {
  for (size_t n = 0; n < expected.size(); ++n) {
    if (expected[n] == actual[n]) continue;
    std::printf("%s: counter %zu is %llu, not %llu\n", where.c_str(), n, static_cast<unsigned long long>(actual[n]),
                static_cast<unsigned long long>(expected[n]));
    return false;
  }
  return true;
}

// A short run takes every second variant of the best target, every fourth of the others, and others for the next
// kernel.
bool leftOut(size_t variant, uint32_t kernel, uint32_t target) {
  return (variant + kernel + target) % (target ? 4 : 2);
}

}  // namespace

bool compare(const std::string& text, const std::string& what, const std::string& only, Counts& counts, bool whole,
             bool counted) {
  std::string log;
  auto module = parse(text, &log);
  if (!module.ok()) return std::printf("%s: %s\n", what.c_str(), log.c_str()), false;
  const coverage::Plan plan = coverage::planOf(*module);
  if (counted) coverage::instrument(*module, plan);
  for (uint32_t e = 0; e < module->functions.size(); ++e) {
    const Function& f = module->functions[e];
    if (!f.isEntry || f.isDeclaration || (!only.empty() && f.name != only)) continue;
    auto program = prepare(*module, e);
    if (!program.ok()) return std::printf("%s does not interpret\n", f.name.c_str()), false;
    for (uint32_t t = 0; t < targets().size() * (whole ? 2 : 1); ++t) {
      const Target& target = targets()[t % targets().size()];
      std::map<std::pair<int, bool>, CompiledKernel> compiled;
      std::map<std::pair<int, bool>, size_t> variants;  // in their order
      for (const Shape3& block : kBlocks) {
        const uint32_t n = 1000;
        const Shape3 grid{3, block.y > 1 ? 2u : 1u, 1};
        const BlockShape variant = blockShapeOf(block.x, block.y, block.z);
        const auto key = std::pair{static_cast<int>(variant), hasFullWarps(variant, block.count())};
        const size_t number = variants.try_emplace(key, variants.size()).first->second;
        if (!whole && leftOut(number, e, t)) continue;
        auto [kernel, fresh] = compiled.try_emplace(key);
        const bool quick = whole ? t >= targets().size() : (text.size() + e + compiled.size() + t) % 2;
        if (fresh) {
          const uint32_t flags = kTestsOwn | (quick ? kMayBeQuick | kQuickAnyway : 0) | (counted ? kCounts : 0);
          const int status = kernel->second.compile(text, f.name, target, block, &log, nullptr, flags);
          if (status != CUDA_SUCCESS) {
            std::printf("%s %s: %d %s", f.name.c_str(), target.name, status, log.c_str());
            const BlockShape shape = blockShapeOf(block.x, block.y, block.z);
            const bool malformed = log.find("malformed") != std::string::npos;
            const bool mayRefuse =
                !malformed && ((shape != BlockShape::RowsOf32 && shape != BlockShape::Line) || !target.hasFma());
            status == CUDA_ERROR_NOT_SUPPORTED&& mayRefuse ? ++counts.refused : ++counts.differ;
          }
        }
        if (kernel->second.blob.code.empty()) continue;
        if (std::getenv("VERBOSE"))
          std::fprintf(stderr, "%s %s %ux%ux%u\n", f.name.c_str(), target.name, block.x, block.y, block.z);
        Memory expected, actual;
        const uint32_t threads = grid.count() * block.count();
        fill(expected, *module, e, n, threads);
        fill(actual, *module, e, n, threads);
        if (counted) expected.counts.resize(plan.counters), actual.counts.resize(plan.counters);
        const KernelTraits &plain = (*program)->traits(), &traits = kernel->second.blob.traits;
        runGrid(interpretWarps, (*program)->code(), plain, launchOf(expected, plain, grid, block, n));
        runGrid(kernel->second.entry(), nullptr, traits, launchOf(actual, plain, grid, block, n));
        size_t at = 0;
        while (at < expected.out.size() && expected.out[at] == actual.out[at]) ++at;
        if (at == expected.out.size() && expected.variables == actual.variables) {
          reportCounts(expected.counts, actual.counts, f.name + " " + target.name) ? ++counts.equal : ++counts.differ;
        } else {
          ++counts.differ;
          if (std::getenv("VERBOSE"))
            for (size_t k = at; k < expected.out.size(); ++k)
              if (expected.out[k] != actual.out[k])
                std::fprintf(stderr, "  [%zu] %x not %x\n", k, actual.out[k], expected.out[k]);
          std::printf("%s %s%s block %ux%ux%u: out[%zu] (thread %zu, word %zu) is %x, not %x\n", f.name.c_str(),
                      target.name, kernel->second.facts.quick ? " quick" : "", block.x, block.y, block.z, at, at / 8,
                      at % 8, at < actual.out.size() ? actual.out[at] : 0,
                      at < expected.out.size() ? expected.out[at] : 0);
        }
      }
    }
  }
  return true;
}

bool compileForOthers(const std::string& text, const std::string& what, bool whole) {
  std::string log;
  auto module = parse(text, &log);
  if (!module.ok()) return std::printf("%s: %s\n", what.c_str(), log.c_str()), false;
  for (const Function& f : module->functions) {
    if (!f.isEntry || f.isDeclaration) continue;
    for (const Target& target : allTargets()) {
      const auto isIt = [&](const Target& t) { return !std::strcmp(t.name, target.name); };
      if (std::ranges::any_of(targets(), isIt)) continue;
      std::set<std::pair<int, bool>> variants;
      for (const Shape3& block : kBlocks) {
        const BlockShape variant = blockShapeOf(block.x, block.y, block.z);
        if (!variants.insert({static_cast<int>(variant), hasFullWarps(variant, block.count())}).second) continue;
        if (!whole && leftOut(variants.size(), text.size(), 0)) continue;
        CompiledKernel kernel;
        kernel.compile(text, f.name, target, block, &log, nullptr, kTestsOwn);
        if (log.find("malformed") == std::string::npos) continue;
        std::printf("%s %s: %s\n", f.name.c_str(), target.name, log.c_str());
        return false;
      }
    }
  }
  return true;
}

}  // namespace vg::ptx::test
