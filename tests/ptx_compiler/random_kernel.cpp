#include "ptx_compiler/random_kernel.h"

#include "ptx_compiler/random_statements.h"

namespace vg::ptx::test {
namespace {

class Generator : Statements {
 public:
  explicit Generator(uint64_t seed) : Statements(seed), shares_(chance(40)) {}
  Generator(uint64_t seed, uint32_t unwritten) : Generator(seed) { unwritten_ = unwritten; }

  std::string make() {
    prologue();
    for (uint32_t n = 6 + below(8); n > 0; --n) statement(0);
    if (shares_) readCounters();
    for (uint32_t k = 0; k < kVariables; ++k) line("st.global.u32 [%%out+%u], %%v%u;", 4 * k, k);
    line("ret;");
    return "// Random kernel\n.version 8.0\n.target sm_90\n.address_size 64\n\n"
           ".visible .entry random(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n" +
           declarations() + text_ + "}\n";
  }

 private:
  static constexpr uint32_t kCounters = 8;  // words of shared memory that any lane may add to, read at the end

  std::string declarations() const {
    return registers() + (shares_ ? "\t.shared .align 4 .b32 counters[8], words[256];\n" : "");
  }

  void prologue() {
    threadPrologue();
    if (!shares_) return;
    line("setp.eq.u32 %s, %%r11, 0;", newTest().c_str());
    for (uint32_t k = 0; k < kCounters; ++k) line("@%%p1 st.shared.u32 [counters+%u], %u;", 4 * k, k);
    line("bar.sync 0;");
  }
  void count() {
    const Name index = fresh('r', words_);
    line("and.b32 %s, %s, %u;", index.c_str(), wordRegister().c_str(), kCounters - 1);
    const Name at = sharedWord("counters", index);
    const Name who = chance(40) ? guard() + " " : "";
    const Name added = wordRegister();
    line("%sred.shared.add.u32 [%s], %s;", who.c_str(), at.c_str(), added.c_str());
  }

  void readCounters() {
    line("bar.sync 0;");
    const Name index = fresh('r', words_);
    line("and.b32 %s, %%r11, %u;", index.c_str(), kCounters - 1);
    const Name at = sharedWord("counters", index);
    line("ld.shared.u32 %s, [%s];", newWord().c_str(), at.c_str());
    line("xor.b32 %%v0, %%v0, %s;", scope_.words.back().c_str());
  }

  // Every thread reads another's word, or the last one's.
  void exchange() {
    const Name given = wordRegister(), mine = sharedWord("words", "%r11"), last = fresh('r', words_);
    line("st.shared.u32 [%s], %s;", mine.c_str(), given.c_str());
    line("bar.sync 0;");
    const Name other = fresh('r', words_);
    line("sub.u32 %s, %%r13, 1;", last.c_str());
    line("%s.b32 %s, %%r11, %u;", chance(50) ? "xor" : "and", other.c_str(), below(40));
    line("min.u32 %s, %s, %s;", other.c_str(), other.c_str(), last.c_str());
    const Name theirs = sharedWord("words", other);
    line("ld.shared.u32 %s, [%s];", newWord().c_str(), theirs.c_str());
    line("bar.sync 0;");
  }

  // All lanes that are left meet here.
  void vote() {
    const Name members = fresh('r', words_), p = pick(scope_.tests);
    line("activemask.b32 %s;", members.c_str());
    if (chance(40)) return line("vote.sync.ballot.b32 %s, %s, %s;", newWord().c_str(), p.c_str(), members.c_str());
    line("vote.sync.%s.pred %s, %s, %s;", chance(50) ? "any" : "all", newTest().c_str(), p.c_str(), members.c_str());
  }

  void body(int depth) {
    const Scope saved = scope_;
    for (uint32_t n = 1 + below(4); n > 0; --n) statement(depth + 1);
    effect();
    scope_ = saved;
  }

  void branch(int depth) {
    const Name p = condition();
    const char* const sign = chance(50) ? "!" : "";
    const uint32_t id = labels_++;
    if (chance(50)) {
      line("@%s%s bra $End%u;", sign, p.c_str(), id);
      body(depth);
    } else {
      line("@%s%s bra $Else%u;", sign, p.c_str(), id);
      body(depth);
      line("bra $End%u;", id);
      label("Else", id);
      body(depth);
    }
    label("End", id);
  }

  // Up to eight rounds; lanes may leave early, or begin the next round early.
  void loop(int depth) {
    const uint32_t id = labels_++;
    const Name counter = fresh('r', words_), bound = fresh('r', words_), again = fresh('p', tests_);
    line("and.b32 %s, %s, 7;", bound.c_str(), wordRegister().c_str());
    line("mov.u32 %s, 0;", counter.c_str());
    const bool testsFirst = chance(50);
    if (testsFirst) {
      line("setp.ge.u32 %s, %s, %s;", again.c_str(), counter.c_str(), bound.c_str());
      line("@%s bra $End%u;", again.c_str(), id);
    }
    label("Loop", id);
    const Scope saved = scope_;
    scope_.words.push_back(counter);
    body(depth);
    if (chance(40))
      line("@%s%s bra $%s%u;", chance(50) ? "!" : "", condition().c_str(), chance(60) ? "End" : "Next", id);
    effect();
    scope_ = saved;
    label("Next", id);
    endLoop(id, counter, bound, again);
    label("End", id);
  }

  void statement(int depth) {
    const uint32_t kind = below(100);
    if (depth == 0 && chance(8)) return vote();
    if (shares_ && chance(8)) return depth == 0 && chance(60) ? exchange() : count();
    if (depth < 3 && kind < 18) return branch(depth);
    if (depth < 2 && kind < 26) return loop(depth);
    if (kind < 45) return effect();
    if (kind < 65) return test();
    if (kind == 99 && depth == 1 && !shares_) return line("@%s ret;", condition().c_str());
    compute();
  }
  const bool shares_;  // uses shared memory, and no thread returns early
};

}  // namespace

std::string randomKernel(uint64_t seed) { return Generator(seed).make(); }
std::string randomUnwritten(uint64_t seed) { return Generator(seed, 50).make(); }

}  // namespace vg::ptx::test
