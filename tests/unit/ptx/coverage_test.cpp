// What coverage counts, against kernels whose counts are plain.
#include "ptx/facts/coverage.h"

#include <gtest/gtest.h>

#include <map>

#include "unit/ptx/harness.h"

namespace vg::ptx {
namespace {

// The counts of a kernel `k` run by `threads` threads of one block, by line of its text.
class Counted {
 public:
  Counted(const std::string& body, uint32_t threads, const std::string& before = "") {
    const std::string head = ".version 8.0\n.target sm_90\n.address_size 64\n";
    Result<Module> parsed = parse(head + before + ".visible .entry k()\n{\n" + body + "\n}\n");
    EXPECT_TRUE(parsed.ok());
    if (!parsed.ok()) return;
    module_ = std::move(*parsed);
    original_ = module_;
    plan_ = coverage::planOf(module_);
    coverage::instrument(module_, plan_);
    uint32_t entry = 0;
    while (module_.functions[entry].name != "k") ++entry;
    auto program = prepare(module_, entry);
    EXPECT_TRUE(program.ok());
    harness::Launch launch;
    launch.block[0] = threads;
    counts_.resize(plan_.counters);
    launch.counts = counts_.data();
    const InterpreterProgram& made = *program.value();
    EXPECT_FALSE(harness::runKernel({interpretWarps, made.traits(), made.code()}, launch).trapped) << made.gaps();
  }

  // Of the block that a label begins.
  uint64_t at(const std::string& label) const {
    for (size_t n = 0; n < original_.functions.size(); ++n)
      for (const Label& known : original_.functions[n].labels) {
        if (known.name != label) continue;
        for (const coverage::Block& block : plan_.functions[n].blocks)
          if (block.begin == known.instruction) return counts_[block.counter];
      }
    ADD_FAILURE() << "no block begins at " << label;
    return 0;
  }

  // Of the n-th branch of the kernel.
  std::vector<uint64_t> branch(size_t n) const {
    std::vector<uint64_t> ways;
    for (const coverage::Way& way : plan_.functions.back().branches.at(n).ways) ways.push_back(way.of(counts_.data()));
    return ways;
  }
  size_t branches() const { return plan_.functions.back().branches.size(); }

 private:
  Module original_, module_;
  coverage::Plan plan_;
  std::vector<uint64_t> counts_;
};

using Ways = std::vector<uint64_t>;
constexpr char kRegisters[] = ".reg .pred %p<4>; .reg .b32 %r<9>;\nmov.u32 %r1, %tid.x;\n";

TEST(Coverage, LanesOfBothWaysAreCounted) {
  const Counted k(std::string(kRegisters) +
                      "setp.lt.u32 %p1, %r1, 10;\n@%p1 bra LOW;\nHIGH: mov.u32 %r2, 1; bra END;\n"
                      "LOW: mov.u32 %r2, 2;\nEND: ret;",
                  40);
  EXPECT_EQ(k.at("HIGH"), 30u);
  EXPECT_EQ(k.at("LOW"), 10u);
  EXPECT_EQ(k.at("END"), 40u);
  EXPECT_EQ(k.branch(0), (Ways{10, 30}));
}

// Where both ends of a way have others, blocks alone do not tell how often it was gone.
TEST(Coverage, WaysBetweenCrossroadsAreCounted) {
  const Counted k(std::string(kRegisters) +
                      "setp.lt.u32 %p1, %r1, 10;\nsetp.lt.u32 %p2, %r1, 4;\n@%p1 bra END;\nnext: @!%p2 bra END;\n"
                      "END: ret;",
                  32);
  EXPECT_EQ(k.branch(0), (Ways{10, 22}));
  EXPECT_EQ(k.branch(1), (Ways{22, 0}));
}

TEST(Coverage, RoundsOfLoopsAreCounted) {
  const Counted k(std::string(kRegisters) +
                      "mov.u32 %r2, 0;\nLOOP: add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, %r1;\n@%p1 bra LOOP;\nret;",
                  8);
  // A thread goes round max(1, its number) times.
  EXPECT_EQ(k.at("LOOP"), 1u + 1 + 2 + 3 + 4 + 5 + 6 + 7);
  EXPECT_EQ(k.branch(0), (Ways{29 - 8, 8}));
}

TEST(Coverage, InstructionsWithPredicatesAreBranches) {
  const Counted k(std::string(kRegisters) + "setp.eq.u32 %p1, %r1, 3;\n@%p1 mov.u32 %r2, 1;\n@!%p1 exit;\nret;", 32);
  EXPECT_EQ(k.branch(0), (Ways{1, 31}));
  EXPECT_EQ(k.branch(1), (Ways{31, 1}));
}

TEST(Coverage, EachTargetOfATableIsAWay) {
  const Counted k(std::string(kRegisters) +
                      "and.b32 %r2, %r1, 3;\nT: .branchtargets A, B, A, END;\nbrx.idx %r2, T;\n"
                      "A: mov.u32 %r3, 1; bra END;\nB: mov.u32 %r3, 2;\nEND: ret;",
                  32);
  ASSERT_EQ(k.branches(), 1u);
  EXPECT_EQ(k.branch(0), (Ways{16, 8, 8}));
  EXPECT_EQ(k.at("A"), 16u);
  EXPECT_EQ(k.at("END"), 32u);
}

TEST(Coverage, LanesThatDoNotReturnAreNotCountedBehindACall) {
  const Counted k(std::string(kRegisters) + "call f, (%r1);\nBEHIND: ret;", 32,
                  ".func f(.reg .b32 %n)\n{\n.reg .pred %q;\nsetp.lt.u32 %q, %n, 5;\n@%q exit;\nret;\n}\n");
  EXPECT_EQ(k.at("BEHIND"), 27u);
}

// The linked program's numbering is what a report goes by: it must not depend on what is put into the code.
TEST(Coverage, CountersFollowFromTheTextAlone) {
  Result<Module> first = parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n.reg .f32 %f<4>;\n"
      "mul.f32 %f1, %f2, %f3;\nadd.f32 %f1, %f1, %f2;\nL: bra L;\n}\n");
  ASSERT_TRUE(first.ok());
  const coverage::Plan plan = coverage::planOf(*first);
  EXPECT_EQ(plan.counters, 2u);
  const size_t before = first->functions[0].body.size();
  coverage::instrument(*first, plan);
  EXPECT_EQ(first->functions[0].body.size(), before + 2);
}

TEST(Coverage, NoTextHasTheInstructionThatCounts) {
  Result<Module> parsed = parse(".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\npmevent 1;\n}\n");
  ASSERT_TRUE(parsed.ok());
  EXPECT_FALSE(coverage::counts(parsed->functions[0].body[0]));
}

}  // namespace
}  // namespace vg::ptx
