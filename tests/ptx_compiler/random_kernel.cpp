#include "ptx_compiler/random_kernel.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <random>
#include <vector>

namespace vg::ptx::test {
namespace {

using Name = std::string;
using Names = std::vector<Name>;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed), shares_(chance(40)) {}

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
  static constexpr uint32_t kVariables = 6;  // registers that any statement may change, stored at the end
  static constexpr uint32_t kCounters = 8;   // words of shared memory that any lane may add to, read at the end

  // What is defined where a statement stands.
  struct Scope {
    Names words, wides, tests;
  };

  uint32_t below(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_); }
  bool chance(uint32_t percent) { return below(100) < percent; }
  template <size_t N>
  const char* oneOf(const char* const (&list)[N]) {
    return list[below(N)];
  }
  // Late ones more often: they depend on more.
  const Name& pick(const Names& names) {
    const size_t a = below(static_cast<uint32_t>(names.size())), b = below(static_cast<uint32_t>(names.size()));
    return names[chance(50) ? std::max(a, b) : a];
  }

  __attribute__((format(printf, 2, 3))) void line(const char* format, ...) {
    char buffer[256];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    text_ += std::string("\t") + buffer + "\n";
  }

  Name fresh(char kind, uint32_t& count) { return Name("%") + kind + std::to_string(count++); }
  Name newWord() { return scope_.words.emplace_back(fresh('r', words_)); }
  Name newWide() { return scope_.wides.emplace_back(fresh('d', wides_)); }
  Name newTest() { return scope_.tests.emplace_back(fresh('p', tests_)); }

  std::string declarations() const {
    char buffer[256];
    std::snprintf(buffer, sizeof buffer,
                  "\t.reg .b32 %%r<%u>, %%v<%u>;\n\t.reg .b64 %%d<%u>, %%in, %%out;\n\t.reg .pred %%p<%u>;\n"
                  "\t.reg .f32 %%f<2>;\n",
                  words_ + 1, kVariables, wides_ + 1, tests_ + 1);
    return buffer + std::string(shares_ ? "\t.shared .align 4 .b32 counters[8], words[256];\n" : "");
  }

  void special(const char* source) { line("mov.u32 %s, %s;", newWord().c_str(), source); }

  void prologue() {
    for (const char* name : {"%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y"})
      special(name);
    line("mad.lo.u32 %s, %%r6, %%r3, %%r0;", newWord().c_str());     // r8: column of the grid
    line("mad.lo.u32 %s, %%r7, %%r4, %%r1;", newWord().c_str());     // r9: row of the grid
    line("mad.lo.u32 %s, %%r2, %%r4, %%r1;", newWord().c_str());     // r10
    line("mad.lo.u32 %s, %%r10, %%r3, %%r0;", newWord().c_str());    // r11: thread of the block
    line("mul.lo.u32 %s, %%r3, %%r4;", newWord().c_str());           // r12
    line("mul.lo.u32 %s, %%r12, %%r5;", newWord().c_str());          // r13: threads of a block
    line("mad.lo.u32 %s, %%r7, 3, %%r6;", newWord().c_str());        // r14: the block, grids being three wide
    line("mad.lo.u32 %s, %%r14, %%r13, %%r11;", newWord().c_str());  // r15: thread of the grid
    line("ld.param.u64 %%in, [in];");
    line("ld.param.u64 %%out, [out];");
    line("ld.param.u32 %s, [n];", newWord().c_str());     // r16
    line("rem.u32 %s, %%r15, 1064;", newWord().c_str());  // r17: the input's words
    line("mul.wide.u32 %s, %%r17, 4;", newWide().c_str());
    line("add.s64 %%d0, %%d0, %%in;");
    line("ld.global.u32 %s, [%%d0];", newWord().c_str());  // r18
    line("mul.wide.u32 %s, %%r15, 32;", newWide().c_str());
    line("add.s64 %%out, %%out, %%d1;");
    scope_.wides.clear();  // addresses differ between runs
    line("cvt.u64.u32 %s, %%r8;", newWide().c_str());
    line("cvt.u64.u32 %s, %%r9;", newWide().c_str());
    line("cvt.u64.u32 %s, %%r16;", newWide().c_str());
    line("setp.lt.u32 %s, %%r0, 5;", newTest().c_str());
    for (uint32_t k = 0; k < kVariables; ++k) line("mov.u32 %%v%u, %s;", k, pick(scope_.words).c_str());
    if (!shares_) return;
    line("setp.eq.u32 %s, %%r11, 0;", newTest().c_str());
    for (uint32_t k = 0; k < kCounters; ++k) line("@%%p1 st.shared.u32 [counters+%u], %u;", 4 * k, k);
    line("bar.sync 0;");
  }

  // An address of shared memory, of one of `count` words from `symbol`.
  Name sharedWord(const char* symbol, const Name& index) {
    const Name at = fresh('r', words_), base = fresh('r', words_);
    line("shl.b32 %s, %s, 2;", at.c_str(), index.c_str());
    line("mov.u32 %s, %s;", base.c_str(), symbol);
    line("add.u32 %s, %s, %s;", at.c_str(), at.c_str(), base.c_str());
    return at;
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

  // A register or a number that is likely to matter.
  Name word() {
    if (chance(25)) return Name("%v") + std::to_string(below(kVariables));
    if (chance(20)) {
      static constexpr const char* kNumbers[] = {"0",  "1",   "2",   "3",     "7",          "15",
                                                 "16", "31",  "32",  "33",    "63",         "-1",
                                                 "-2", "100", "255", "65535", "2147483647", "-2147483648"};
      return oneOf(kNumbers);
    }
    return pick(scope_.words);
  }
  Name wordRegister() { return chance(25) ? Name("%v") + std::to_string(below(kVariables)) : pick(scope_.words); }
  Name wide() {
    static constexpr const char* kNumbers[] = {"0", "1", "4", "-1", "31", "4294967295", "4294967296"};
    return chance(20) ? Name(oneOf(kNumbers)) : pick(scope_.wides);
  }

  void compute() {
    const Name a = wordRegister(), b = word(), c = word();
    switch (below(12)) {
      default: {
        static constexpr const char* kOps[] = {"add.s32", "add.u32", "sub.s32", "and.b32", "or.b32",    "xor.b32",
                                               "min.s32", "max.s32", "min.u32", "max.u32", "mul.lo.s32"};
        return line("%s %s, %s, %s;", oneOf(kOps), newWord().c_str(), a.c_str(), b.c_str());
      }
      case 0: {
        static constexpr const char* kShifts[] = {"shl.b32", "shr.u32", "shr.s32"};
        return line("%s %s, %s, %u;", oneOf(kShifts), newWord().c_str(), a.c_str(), below(33));
      }
      case 1: {
        static constexpr const char* kOps[] = {"mad.lo.s32", "mad.lo.u32", "mad.hi.u32", "prmt.b32", "sad.u32"};
        return line("%s %s, %s, %s, %s;", oneOf(kOps), newWord().c_str(), a.c_str(), b.c_str(), c.c_str());
      }
      case 2: {
        static constexpr const char* kOps[] = {"not.b32", "neg.s32", "abs.s32", "brev.b32", "popc.b32", "clz.b32"};
        return line("%s %s, %s;", oneOf(kOps), newWord().c_str(), a.c_str());
      }
      case 3: {
        static constexpr const char* kOps[] = {"div.u32", "rem.u32", "div.s32", "rem.s32"};
        return line("%s %s, %s, %u;", oneOf(kOps), newWord().c_str(), a.c_str(), 1 + below(40));
      }
      case 4: {
        static constexpr const char* kOps[] = {"bfe.u32", "bfe.s32"};
        return line("%s %s, %s, %u, %u;", oneOf(kOps), newWord().c_str(), a.c_str(), below(32), below(33));
      }
      case 5:
        return line("selp.b32 %s, %s, %s, %s;", newWord().c_str(), a.c_str(), b.c_str(), pick(scope_.tests).c_str());
      case 6: {
        static constexpr const char* kOps[] = {"cvt.u64.u32", "cvt.s64.s32"};
        return line("%s %s, %s;", oneOf(kOps), newWide().c_str(), a.c_str());
      }
      case 7: {
        const Name x = pick(scope_.wides), y = wide();
        static constexpr const char* kOps[] = {"add.s64", "sub.s64", "and.b64", "xor.b64", "mul.lo.s64", "min.s64"};
        return line("%s %s, %s, %s;", oneOf(kOps), newWide().c_str(), x.c_str(), y.c_str());
      }
      case 8: {
        const Name x = pick(scope_.wides);
        return line("cvt.u32.u64 %s, %s;", newWord().c_str(), x.c_str());
      }
      case 9: {
        line("and.b32 %s, %s, 1023;", newWord().c_str(), a.c_str());
        const Name index = scope_.words.back(), address = fresh('d', wides_);
        line("mul.wide.u32 %s, %s, 4;", address.c_str(), index.c_str());
        line("add.s64 %s, %s, %%in;", address.c_str(), address.c_str());
        return line("ld.global.u32 %s, [%s];", newWord().c_str(), address.c_str());
      }
      case 10:
        line("and.b32 %s, %s, 65535;", newWord().c_str(), a.c_str());
        line("cvt.rn.f32.u32 %%f0, %s;", scope_.words.back().c_str());
        line("%s.rn.f32 %%f1, %%f0, 0f40500000;", chance(50) ? "mul" : "add");
        return line("cvt.rzi.s32.f32 %s, %%f1;", newWord().c_str());
    }
  }

  void test() {
    const Name old = pick(scope_.tests);
    static constexpr const char* kOrders[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static constexpr const char* kJoins[] = {"and", "or", "xor"};
    switch (below(8)) {
      case 0: {
        const Name other = pick(scope_.tests);
        return line("%s.pred %s, %s, %s;", oneOf(kJoins), newTest().c_str(), old.c_str(), other.c_str());
      }
      case 1: {
        const Name a = pick(scope_.tests), b = pick(scope_.tests);
        return line("%s.pred %s, %s, %s;", chance(50) ? "and" : "or", newTest().c_str(), a.c_str(), b.c_str());
      }
      case 2:
        return line("not.pred %s, %s;", newTest().c_str(), old.c_str());
      case 3: {
        static constexpr const char* kTypes[] = {"u64", "s64"};
        const Name a = pick(scope_.wides), b = wide();
        return line("setp.%s.%s %s, %s, %s;", oneOf(kOrders), oneOf(kTypes), newTest().c_str(), a.c_str(), b.c_str());
      }
      case 4: {
        const Name a = wordRegister(), b = word();
        return line("setp.%s.%s.s32 %s, %s, %s, %s%s;", oneOf(kOrders), oneOf(kJoins), newTest().c_str(), a.c_str(),
                    b.c_str(), chance(30) ? "!" : "", old.c_str());
      }
      default: {
        static constexpr const char* kTypes[] = {"u32", "s32"};
        const Name a = wordRegister(), b = word();
        return line("setp.%s.%s %s, %s, %s;", oneOf(kOrders), oneOf(kTypes), newTest().c_str(), a.c_str(), b.c_str());
      }
    }
  }

  // A test made of several, as conditions of programs are.
  Name condition() {
    for (uint32_t n = 1 + below(5); n > 0; --n) test();
    return scope_.tests.back();
  }

  Name guard() { return Name("@") + (chance(40) ? "!" : "") + pick(scope_.tests); }

  // Changes a variable or stores a word, some of the lanes at times.
  void effect() {
    const Name who = chance(50) ? guard() + " " : "";
    const Name a = word(), b = wordRegister();
    if (chance(20)) return line("%sst.global.u32 [%%out+%u], %s;", who.c_str(), 4 * (6 + below(2)), b.c_str());
    const uint32_t variable = below(kVariables);
    static constexpr const char* kOps[] = {"add.u32", "xor.b32", "sub.u32", "max.u32"};
    if (chance(40)) return line("%smov.u32 %%v%u, %s;", who.c_str(), variable, a.c_str());
    line("%s%s %%v%u, %s, %s;", who.c_str(), oneOf(kOps), variable, b.c_str(), a.c_str());
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
      text_ += "$Else" + std::to_string(id) + ":\n";
      body(depth);
    }
    text_ += "$End" + std::to_string(id) + ":\n";
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
    text_ += "$Loop" + std::to_string(id) + ":\n";
    const Scope saved = scope_;
    scope_.words.push_back(counter);
    body(depth);
    if (chance(40))
      line("@%s%s bra $%s%u;", chance(50) ? "!" : "", condition().c_str(), chance(60) ? "End" : "Next", id);
    effect();
    scope_ = saved;
    text_ += "$Next" + std::to_string(id) + ":\n";
    line("add.u32 %s, %s, 1;", counter.c_str(), counter.c_str());
    line("setp.lt.u32 %s, %s, %s;", again.c_str(), counter.c_str(), bound.c_str());
    line("@%s bra $Loop%u;", again.c_str(), id);
    text_ += "$End" + std::to_string(id) + ":\n";
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

  std::mt19937_64 random_;
  const bool shares_;  // uses shared memory, and no thread returns early
  std::string text_;
  Scope scope_;
  uint32_t words_ = 0, wides_ = 0, tests_ = 0, labels_ = 0;
};

}  // namespace

std::string randomKernel(uint64_t seed) { return Generator(seed).make(); }

}  // namespace vg::ptx::test
