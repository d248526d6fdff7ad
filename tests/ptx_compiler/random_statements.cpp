#include "ptx_compiler/random_statements.h"

#include <cstdarg>
#include <cstdio>

namespace vg::ptx::test {

void Statements::line(const char* format, ...) {
  char buffer[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  text_ += std::string("\t") + buffer + "\n";
}

std::string Statements::registers() const {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer,
                "\t.reg .b32 %%r<%u>, %%v<%u>;\n\t.reg .b64 %%d<%u>, %%in, %%out;\n\t.reg .pred %%p<%u>;\n"
                "\t.reg .f32 %%f<2>;\n",
                words_ + 1, kVariables, wides_ + 1, tests_ + 1);
  return buffer + unwrittenRegisters();
}

void Statements::special(const char* source) { line("mov.u32 %s, %s;", newWord().c_str(), source); }

void Statements::threadPrologue() {
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
}

Name Statements::sharedWord(const char* symbol, const Name& index) {
  const Name at = fresh('r', words_), base = fresh('r', words_);
  line("shl.b32 %s, %s, 2;", at.c_str(), index.c_str());
  line("mov.u32 %s, %s;", base.c_str(), symbol);
  line("add.u32 %s, %s, %s;", at.c_str(), at.c_str(), base.c_str());
  return at;
}

Name Statements::word() {
  if (chance(25)) return Name("%v") + std::to_string(below(kVariables));
  if (chance(20)) {
    static constexpr const char* kNumbers[] = {"0",  "1",   "2",   "3",     "7",          "15",
                                               "16", "31",  "32",  "33",    "63",         "-1",
                                               "-2", "100", "255", "65535", "2147483647", "-2147483648"};
    return oneOf(kNumbers);
  }
  return pick(scope_.words);
}
Name Statements::wordRegister() {
  return chance(25) ? Name("%v") + std::to_string(below(kVariables)) : pick(scope_.words);
}
Name Statements::wide() {
  static constexpr const char* kNumbers[] = {"0", "1", "4", "-1", "31", "4294967295", "4294967296"};
  return chance(20) ? Name(oneOf(kNumbers)) : pick(scope_.wides);
}

void Statements::compute() {
  if (chance(unwritten_)) return unwritten();
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

void Statements::test() {
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
Name Statements::condition() {
  for (uint32_t n = 1 + below(5); n > 0; --n) test();
  return scope_.tests.back();
}

Name Statements::guard() { return Name("@") + (chance(40) ? "!" : "") + pick(scope_.tests); }

// Changes a variable or stores a word, some of the lanes at times.
void Statements::effect() {
  const Name who = chance(50) ? guard() + " " : "";
  const Name a = word(), b = wordRegister();
  if (chance(20)) return line("%sst.global.u32 [%%out+%u], %s;", who.c_str(), 4 * (6 + below(2)), b.c_str());
  const uint32_t variable = below(kVariables);
  static constexpr const char* kOps[] = {"add.u32", "xor.b32", "sub.u32", "max.u32"};
  if (chance(40)) return line("%smov.u32 %%v%u, %s;", who.c_str(), variable, a.c_str());
  line("%s%s %%v%u, %s, %s;", who.c_str(), oneOf(kOps), variable, b.c_str(), a.c_str());
}

void Statements::endLoop(uint32_t id, const Name& counter, const Name& bound, const Name& again) {
  line("add.u32 %s, %s, 1;", counter.c_str(), counter.c_str());
  line("setp.lt.u32 %s, %s, %s;", again.c_str(), counter.c_str(), bound.c_str());
  line("@%s bra $Loop%u;", again.c_str(), id);
}
}  // namespace vg::ptx::test
