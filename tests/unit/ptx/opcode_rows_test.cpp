// The rows of ops.inc against what really happens: every case of the opcode matrix is parsed, and some of each opcode
// run in the interpreter while an observer looks on. What must hold of a row by itself is asserted in opcodes.cpp.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"
#include "unit/ptx/harness.h"
#include "unit/ptx/opcode_matrix.h"

namespace vg::ptx {
namespace {

using matrix::Case;

constexpr uint32_t kThreads = matrix::kBlock;  // that run: one block
constexpr size_t kCasesEach = 5;               // of an opcode that run

std::set<std::string> split(const char* list) {
  std::istringstream in(list);
  return {std::istream_iterator<std::string>(in), {}};
}

std::string opcodeOf(const Case& c) { return c.name.substr(0, c.name.find_first_of(". ")); }

// Of each opcode some, from the beginning to the end of the list.
std::vector<Case> someOfEach(const std::vector<Case>& all) {
  std::map<std::string, std::vector<const Case*>> byOpcode;
  for (const Case& c : all) byOpcode[opcodeOf(c)].push_back(&c);
  std::vector<Case> some;
  for (const auto& [opcode, cases] : byOpcode)
    for (size_t n = 0; n < std::min(cases.size(), kCasesEach); ++n)
      some.push_back(*cases[n * (cases.size() - 1) / std::max<size_t>(std::min(cases.size(), kCasesEach) - 1, 1)]);
  return some;
}

const std::vector<Case>& casesToRun() {
  static const std::vector<Case> cases = someOfEach(matrix::allCases());
  return cases;
}

// Asks the row of each instruction that touches memory, or meets other threads, whether it may.
class RowChecks final : public BlockObserver, public Observer {
 public:
  std::set<Op> touched, met;

  BlockObserver* enter(BlockState&, const Module&, const Function&, Carries, uint32_t) override { return this; }
  bool watchesAccesses() const override { return true; }
  bool allows(const Access& access, Own) override {
    const Opcode& row = touch(access);
    if (access.kind != Access::Kind::Store) {
      EXPECT_TRUE(row.readsMemory()) << nameOf(access.instruction->op);
    }
    if (access.kind != Access::Kind::Load) {
      EXPECT_TRUE(row.writesMemory()) << nameOf(access.instruction->op);
    }
    return true;
  }
  void passes(const Access& object) override { touch(object); }
  void copies(uint32_t, uint32_t, Copies, uint32_t) override {}
  void fills(const Access& to, const Access*) override { EXPECT_TRUE(touch(to).writesMemory()); }
  void arrives(const BarrierArrival& arrival) override {
    EXPECT_TRUE(isBarrier(arrival.instruction->op)) << nameOf(arrival.instruction->op);
    met.insert(arrival.instruction->op);
  }
  void leaves(uint32_t, uint32_t, uint32_t) override {}
  void arrivesCluster(const ClusterArrival&) override {}
  void leavesCluster(uint32_t) override {}
  void operate(uint32_t, uint32_t) override {}
  void meet(uint32_t, uint32_t) override {}
  void notNamed(uint32_t, uint32_t, uint32_t, const Instruction&) override {}
  void missing(uint32_t, uint32_t, uint32_t, const Instruction&) override {}

 private:
  const Opcode& touch(const Access& access) {
    const Opcode& row = rowOf(access.instruction->op);
    EXPECT_TRUE(row.touchesMemory() && row.has(Trait::MayFault)) << nameOf(access.instruction->op);
    touched.insert(access.instruction->op);
    return row;
  }
};

// What a case writes, from these inputs.
std::vector<uint64_t> run(const Case& c, std::vector<uint64_t> in, Observer* observer = nullptr) {
  std::vector<uint64_t> out(size_t{kThreads} * matrix::kResults);
  harness::Interpreted kernel(matrix::kHeader + matrix::kernelText(c, "k"));
  EXPECT_TRUE(kernel.ok()) << c.name << ": " << kernel.log;
  if (!kernel.ok()) return out;
  uint32_t entry = 0;
  while (kernel.module->functions[entry].name != "k") ++entry;
  auto program = prepare(*kernel.module, entry, observer);
  harness::Launch launch;
  launch.block[0] = kThreads;
  launch.cluster = c.cluster;
  launch.globals = kernel.globalsOf("k");
  const matrix::HostTensor tensor(c);
  launch.parameters = matrix::parametersOf(c, reinterpret_cast<uint64_t>(in.data()),
                                           reinterpret_cast<uint64_t>(out.data()), tensor.address());
  const InterpreterProgram& made = *program.value();
  EXPECT_FALSE(harness::runKernel({interpretWarps, made.traits(), made.code()}, launch).trapped)
      << c.name << made.gaps();
  return out;
}

// Whether the case's own instructions all have it; those around them load operands, store results and end the kernel.
template <class Has>
bool all(const Case& c, const Has& has) {
  for (const char* own : {"%", "slot", "sgen", "lane", "thread", "buffer", "$"})  // what threads have their own of
    if (c.text.find(own) != std::string::npos) return false;
  const auto parsed = parse(matrix::kHeader + matrix::kernelText(c, "k"), nullptr);
  if (!parsed.ok() || parsed.value().functions.size() != 1) return false;
  size_t others = 0;
  for (const Instruction& i : parsed.value().functions[0].body) others += !has(rowOf(i.op));
  return others == 5 + c.operands.size();
}

TEST(OpcodeRows, WhatTouchesMemoryOrMeetsOthersHasItInItsRow) {
  RowChecks checks;
  for (const Case& c : casesToRun()) {
    SCOPED_TRACE(c.name);
    run(c, matrix::inputsOf(c), &checks);
  }
  // And the other way: those that say so are seen to do so, but for what the runner does without the interpreter.
  for (size_t op = 1; op < std::size(rows::kOpcodes); ++op) {
    const Opcode& row = rows::kOpcodes[op];
    const bool seenElsewhere = row.has(Trait::Missing) || row.has(Trait::Texture) ||
                               row.memory == MemoryUse::AnyMemory || static_cast<Op>(op) == Op::Tensormap ||
                               static_cast<Op>(op) == Op::Clusterlaunchcontrol || static_cast<Op>(op) == Op::Wgmma;
    if (row.touchesMemory() && !seenElsewhere) {
      EXPECT_TRUE(checks.touched.count(static_cast<Op>(op))) << nameOf(static_cast<Op>(op));
    }
    if (isBarrier(static_cast<Op>(op))) {
      EXPECT_TRUE(checks.met.count(static_cast<Op>(op))) << nameOf(static_cast<Op>(op));
    }
  }
}

// When threads change places, so do the results of what depends on a thread's operands alone.
TEST(OpcodeRows, PureOpcodesDependOnTheirOperandsAlone) {
  std::set<std::string> seen;
  for (const Case& c : casesToRun()) {
    if (!all(c, [](const Opcode& row) { return row.has(Trait::Pure); })) continue;
    seen.insert(opcodeOf(c));
    const std::vector<uint64_t> in = matrix::inputsOf(c);
    std::vector<uint64_t> turned = in;
    std::rotate(turned.begin(), turned.begin() + matrix::kOperands, turned.begin() + kThreads * matrix::kOperands);
    std::vector<uint64_t> expected = run(c, in);
    std::rotate(expected.begin(), expected.begin() + matrix::kResults, expected.end());
    EXPECT_EQ(run(c, turned), expected) << c.name;
  }
  for (size_t op = 1; op < std::size(rows::kOpcodes); ++op) {
    const Opcode& row = rows::kOpcodes[op];
    const bool ofAddresses = !std::strcmp(nameOf(static_cast<Op>(op)), "cvta") ||
                             !std::strcmp(nameOf(static_cast<Op>(op)), "mapa") ||
                             !std::strcmp(nameOf(static_cast<Op>(op)), "getctarank") ||
                             !std::strcmp(nameOf(static_cast<Op>(op)), "createpolicy");
    if (row.has(Trait::Pure) && !ofAddresses) {
      EXPECT_TRUE(seen.count(nameOf(static_cast<Op>(op)))) << nameOf(static_cast<Op>(op)) << " has no plain case";
    }
  }
}

TEST(OpcodeRows, ResultsAreAlikeWhereOperandsAre) {
  size_t compared = 0;
  for (const Case& c : casesToRun()) {
    if (!all(c, [](const Opcode& row) {
          return row.result != ResultKind::Own && !row.touchesMemory() && !row.has(Trait::Leaves);
        }))
      continue;
    std::vector<uint64_t> in = matrix::inputsOf(c);
    const size_t chosen = 7 * matrix::kOperands;
    for (size_t n = 0; n < in.size(); ++n) in[n] = in[chosen + n % matrix::kOperands];
    const std::vector<uint64_t> out = run(c, in);
    for (size_t n = 0; n < out.size(); ++n)
      EXPECT_EQ(out[n], out[n % matrix::kResults]) << c.name << ", thread " << n / 2;
    ++compared;
  }
  EXPECT_GT(compared, 200u);
}

// Types and words that the matrix has in its cases, by opcode.
struct Used {
  std::set<std::string> types, words;
};

std::map<Op, Used> findUsed() {
  std::map<Op, Used> used;
  for (const Case& c : matrix::everyCase()) {
    const auto parsed = parse(matrix::kHeader + matrix::kernelText(c, "k"), nullptr);
    EXPECT_TRUE(parsed.ok() && parsed.value().unknowns.empty()) << c.name;
    if (!parsed.ok()) continue;
    for (const Function& f : parsed.value().functions)
      for (const Instruction& i : f.body) {
        Used& of = used[i.op];
        for (uint8_t t = 0; t < i.typeCount; ++t) of.types.insert(nameOf(i.types[t]));
        for (size_t m = 0; m < static_cast<size_t>(Mod::Count); ++m)
          if (i.mods.test(m)) of.words.insert(nameOf(static_cast<Mod>(m)));
      }
  }
  return used;
}

const std::map<Op, Used>& usedByCases() {
  static const std::map<Op, Used> used = findUsed();
  return used;
}

// Words that rows list and no case has: "opcode.word". May only shrink, but for words that no recorded driver takes
// (later_isa_test.cpp, small_floats_test.cpp, byte_matrices_test.cpp, random_rounding_test.cpp).
const std::set<std::string> kWordsWithoutCase = {"cp.cp_mask",
                                                 "cp.ignore_oob",
                                                 "cp.cta_group::1",
                                                 "cp.sync_restrict::proxy::async",
                                                 "cp.tile::gather4",
                                                 "cp.tile::scatter4",
                                                 "createpolicy.cvt",
                                                 "createpolicy.range",
                                                 "cvt.rs",
                                                 "fence.alias",
                                                 "fence.async::generic",
                                                 "fence.async::global",
                                                 "fence.async::shared::cluster",
                                                 "fence.async::shared::cta",
                                                 "fence.fabric::fabric",
                                                 "fence.fabric::generic",
                                                 "fence.generic",
                                                 "fence.generic::fabric",
                                                 "fence.sync_restrict::read",
                                                 "fence.sync_restrict::shared::cluster",
                                                 "fence.sync_restrict::shared::cluster::read",
                                                 "fence.sync_restrict::shared::cta",
                                                 "fence.sync_restrict::shared::cta::read",
                                                 "fence.tensormap",
                                                 "fence.tensormap::generic",
                                                 "ld.proxy::readonly",
                                                 "ld.unified",
                                                 "ldmatrix.b4x16_p64",
                                                 "ldmatrix.b6x16_p32",
                                                 "ldmatrix.b8x16",
                                                 "ldmatrix.m16n16",
                                                 "ldmatrix.m8n16",
                                                 "mbarrier.layout::v0",
                                                 "mbarrier.phase_type::primary",
                                                 "membar.alias",
                                                 "membar.async",
                                                 "membar.async::generic",
                                                 "membar.generic",
                                                 "membar.proxy",
                                                 "membar.tensormap",
                                                 "membar.tensormap::generic",
                                                 "mma.block_scale",
                                                 "mma.kind::f8f6f4",
                                                 "mma.kind::mxf4",
                                                 "mma.kind::mxf4nvf4",
                                                 "mma.kind::mxf8f6f4",
                                                 "mma.rm",
                                                 "mma.rn",
                                                 "mma.rp",
                                                 "mma.rz",
                                                 "mma.scale_vec::1X",
                                                 "mma.scale_vec::2X",
                                                 "mma.scale_vec::4X",
                                                 "mma.sp",
                                                 "redux.NaN",
                                                 "redux.abs",
                                                 "st.bulk",
                                                 "stmatrix.m16n8",
                                                 "stmatrix.x4",
                                                 "tex.2dms",
                                                 "tex.a2dms",
                                                 "tex.base",
                                                 "txq.force_unnormalized_coords",
                                                 "vset.max",
                                                 "vset.min",
                                                 "vshl.sat",
                                                 "vshr.sat"};

TEST(OpcodeRows, RowsListTheTypesAndWordsOfTheCasesAndNoOthers) {
  const std::map<Op, Used>& used = usedByCases();
  std::set<std::string> without;
  for (const auto& [op, of] : used) {
    const std::set<std::string> types = split(typesOf(op)), words = split(wordsOf(op));
    for (const std::string& type : of.types) EXPECT_TRUE(types.count(type)) << nameOf(op) << "." << type;
    for (const std::string& word : words)
      if (word != "*" && !of.words.count(word)) without.insert(std::string(nameOf(op)) + "." + word);
  }
  for (const std::string& word : without) EXPECT_TRUE(kWordsWithoutCase.count(word)) << word << " has no case";
  for (const std::string& word : kWordsWithoutCase) EXPECT_TRUE(without.count(word)) << word << " has a case now";
}

// trap ends the kernel: tests/kernels/fault_test.cpp. tensormap changes maps in memory:
// tests/kernels/tensor_map_test.cpp. clusterlaunchcontrol takes blocks of the grid:
// tests/kernels/work_stealing_test.cpp. wgmma is of four warps: tests/apps/driver_warpgroup_products.cpp.
const std::set<Op> kTestedElsewhere = {Op::Tensormap, Op::Trap, Op::Clusterlaunchcontrol, Op::Wgmma};

TEST(OpcodeRows, EveryOpcodeThatIsNotMissingHasACase) {
  const std::map<Op, Used>& used = usedByCases();
  for (size_t op = 1; op < std::size(rows::kOpcodes); ++op) {
    const Opcode& row = rows::kOpcodes[op];
    if (row.has(Trait::Hint) || kTestedElsewhere.count(static_cast<Op>(op))) continue;
    EXPECT_EQ(used.count(static_cast<Op>(op)), !row.has(Trait::Missing)) << nameOf(static_cast<Op>(op));
  }
}

TEST(OpcodeRows, RowsNameKnownTypesAndWords) {
  for (size_t n = 0; n < std::size(rows::kOpcodes); ++n) {
    const Op op = static_cast<Op>(n);
    for (const std::string& type : split(typesOf(op)))
      EXPECT_NE(findType(type), Type::None) << nameOf(op) << " " << type;
    for (const std::string& word : split(wordsOf(op)))
      EXPECT_TRUE(word == "*" || findMod(word) != Mod::Count) << nameOf(op) << " " << word;
  }
  for (const std::string& word : split(kCommonWords)) EXPECT_NE(findMod(word), Mod::Count) << word;
}

// A word that would change the result of another opcode must not be passed over.
TEST(OpcodeRows, WordsOfOtherOpcodesMakeAnInstructionUnknown) {
  for (const char* text : {"add.relu.s32", "mul.ballot.lo.s32", "min.rz.s32", "shl.sat.b32", "and.not.b32"}) {
    std::string log;
    const auto parsed =
        parse(std::string(matrix::kHeader) + ".entry k() { .reg .s32 a; " + text + " a, a, a; ret; }", &log);
    ASSERT_TRUE(parsed.ok()) << text << log;
    EXPECT_EQ(parsed.value().functions[0].body[0].op, Op::Invalid) << text;
    ASSERT_EQ(parsed.value().unknowns.size(), 1u) << text;
    EXPECT_EQ(parsed.value().unknowns[0].text, text);
  }
}

}  // namespace
}  // namespace vg::ptx
