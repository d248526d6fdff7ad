// Registers that are read before anything wrote them, as compilers leave them where a value is only needed when it was
// made. Each has a word beside it that says whether the lane has written it; what is made of a number that nobody wrote
// is thrown away by that word, in the ways that programs do.
#include "ptx_compiler/random_statements.h"

namespace vg::ptx::test {
namespace {

std::string numbered(const char* name, uint32_t n) { return name + std::to_string(n); }

}  // namespace

std::string Statements::unwrittenRegisters() {
  std::string text =
      "\t.reg .b32 %u<3>, %uw<3>, %qw<2>, %ew;\n\t.reg .b64 %w0;\n\t.reg .pred %q<2>;\n"
      "\t.reg .f32 %e;\n";
  for (const char* word : {"%uw0", "%uw1", "%uw2", "%qw0", "%qw1", "%ew"})
    text += std::string("\tmov.u32 ") + word + ", 0;\n";
  return text;
}

Statements::Unwritten Statements::pickUnwritten() {
  const uint32_t n = below(3);
  return {numbered("%u", n), numbered("%uw", n)};
}

void Statements::unwritten() {
  switch (below(10)) {
    case 0:
      return unwrittenTest();
    case 1:
      return unwrittenFloat();
    case 2:
      return partlyWritten();
    case 3:
    case 4:
      return writtenInALoop();
    default: {
      const Unwritten u = pickUnwritten();
      if (chance(40)) changeUnwritten(u);
      if (chance(60)) writeUnwritten(u);
      if (chance(70)) readUnwritten(u);
    }
  }
}

// Some lanes, or those that are here.
void Statements::writeUnwritten(const Unwritten& u) {
  const Name value = word();
  switch (below(5)) {
    case 0:
      line("mov.b32 %s, %s;", u.name.c_str(), value.c_str());
      return line("mov.u32 %s, 1;", u.written.c_str());
    case 1: {
      const Name who = guard();
      line("%s mov.b32 %s, %s;", who.c_str(), u.name.c_str(), value.c_str());
      return line("%s mov.u32 %s, 1;", who.c_str(), u.written.c_str());
    }
    case 2: {
      const Name who = guard();
      line("%s ld.global.u32 %s, [%%in+%u];", who.c_str(), u.name.c_str(), 4 * below(64));
      return line("%s mov.u32 %s, 1;", who.c_str(), u.written.c_str());
    }
    default: {
      const Name p = pick(scope_.tests);
      line("selp.b32 %s, %s, %s, %s;", u.name.c_str(), value.c_str(), u.name.c_str(), p.c_str());
      return line("selp.b32 %s, 1, %s, %s;", u.written.c_str(), u.written.c_str(), p.c_str());
    }
  }
}

// Numbers that nobody wrote stay that.
void Statements::changeUnwritten(const Unwritten& u) {
  static constexpr const char* kOps[] = {"add.u32", "xor.b32", "mul.lo.s32", "max.s32", "and.b32", "shl.b32"};
  if (chance(70)) {
    const Name value = wordRegister();
    return line("%s %s, %s, %s;", oneOf(kOps), u.name.c_str(), u.name.c_str(), value.c_str());
  }
  const Unwritten other = pickUnwritten();
  line("add.u32 %s, %s, %s;", u.name.c_str(), u.name.c_str(), other.name.c_str());
  line("and.b32 %s, %s, %s;", u.written.c_str(), u.written.c_str(), other.written.c_str());
}

void Statements::readUnwritten(const Unwritten& u) {
  const Name known = fresh('p', tests_), instead = word();
  line("setp.ne.u32 %s, %s, 0;", known.c_str(), u.written.c_str());
  switch (below(6)) {
    case 0: {
      const Name mask = fresh('r', words_);
      line("neg.s32 %s, %s;", mask.c_str(), u.written.c_str());
      return line("and.b32 %s, %s, %s;", newWord().c_str(), u.name.c_str(), mask.c_str());
    }
    case 1: {
      const Name test = fresh('p', tests_);
      line("setp.lt.s32 %s, %s, %s;", test.c_str(), u.name.c_str(), instead.c_str());
      return line("and.pred %s, %s, %s;", newTest().c_str(), chance(50) ? test.c_str() : known.c_str(),
                  chance(50) ? known.c_str() : scope_.tests.front().c_str());
    }
    case 2: {
      const Name kept = fresh('r', words_);
      line("mov.b32 %s, %s;", kept.c_str(), wordRegister().c_str());
      line("@%s mov.b32 %s, %s;", known.c_str(), kept.c_str(), u.name.c_str());
      return scope_.words.push_back(kept);
    }
    case 3:  // whatever it is
      return line("%s %s, %s, %s;", chance(50) ? "xor.b32" : "sub.u32", newWord().c_str(), u.name.c_str(),
                  u.name.c_str());
    default:
      return line("selp.b32 %s, %s, %s, %s;", newWord().c_str(), u.name.c_str(), instead.c_str(), known.c_str());
  }
}

// In one of its rounds, which lanes often have in common: what sums before a warp's own are kept by.
void Statements::writtenInALoop() {
  const uint32_t id = labels_++;
  const Unwritten u{fresh('r', words_), fresh('r', words_)};
  const Name counter = fresh('r', words_), bound = fresh('r', words_), again = fresh('p', tests_);
  const Name now = fresh('p', tests_), value = wordRegister(), when = chance(60) ? "1" : wordRegister();
  line("mov.u32 %s, 0;", u.written.c_str());
  line("mov.u32 %s, 0;", counter.c_str());
  line("and.b32 %s, %s, 3;", bound.c_str(), wordRegister().c_str());
  if (chance(50)) line("mov.u32 %s, %u;", bound.c_str(), 1 + below(4));
  label("Loop", id);
  line("setp.%s.u32 %s, %s, %s;", chance(70) ? "eq" : "lt", now.c_str(), counter.c_str(), when.c_str());
  line("selp.b32 %s, %s, %s, %s;", u.name.c_str(), value.c_str(), u.name.c_str(), now.c_str());
  line("selp.b32 %s, 1, %s, %s;", u.written.c_str(), u.written.c_str(), now.c_str());
  if (chance(30)) changeUnwritten(u);
  endLoop(id, counter, bound, again);
  readUnwritten(u);
}

void Statements::unwrittenTest() {
  const uint32_t n = below(2);
  const Name q = numbered("%q", n), written = numbered("%qw", n), known = fresh('p', tests_);
  const Name a = wordRegister(), b = word();
  if (chance(50)) line("xor.pred %s, %s, %s;", q.c_str(), q.c_str(), pick(scope_.tests).c_str());
  if (chance(50)) {
    const Name who = guard();
    line("%s setp.gt.s32 %s, %s, %s;", who.c_str(), q.c_str(), a.c_str(), b.c_str());
    line("%s mov.u32 %s, 1;", who.c_str(), written.c_str());
  }
  line("setp.eq.u32 %s, %s, 1;", known.c_str(), written.c_str());
  switch (below(4)) {
    case 0:
      return line("and.pred %s, %s, %s;", newTest().c_str(), q.c_str(), known.c_str());
    case 1:
      line("not.pred %s, %s;", known.c_str(), known.c_str());
      return line("or.pred %s, %s, %s;", newTest().c_str(), known.c_str(), q.c_str());
    case 2: {
      const Name chosen = fresh('r', words_);
      line("selp.b32 %s, %s, %s, %s;", chosen.c_str(), a.c_str(), b.c_str(), q.c_str());
      return line("selp.b32 %s, %s, %s, %s;", newWord().c_str(), chosen.c_str(), a.c_str(), known.c_str());
    }
    default: {
      const Name kept = fresh('r', words_), old = wordRegister();
      line("mov.b32 %s, %s;", kept.c_str(), old.c_str());
      line("@%s add.u32 %s, %s, 3;", q.c_str(), kept.c_str(), kept.c_str());
      return line("selp.b32 %s, %s, %s, %s;", newWord().c_str(), kept.c_str(), old.c_str(), known.c_str());
    }
  }
}

void Statements::unwrittenFloat() {
  const Name known = fresh('p', tests_), bits = fresh('r', words_), value = wordRegister();
  if (chance(50)) line("add.rn.f32 %%e, %%e, 0f3fc00000;");
  if (chance(60)) {
    const Name who = guard();
    line("%s cvt.rn.f32.s32 %%e, %s;", who.c_str(), value.c_str());
    line("%s mov.u32 %%ew, 1;", who.c_str());
  }
  line("setp.ne.u32 %s, %%ew, 0;", known.c_str());
  line("mov.b32 %s, %%e;", bits.c_str());
  line("selp.b32 %s, %s, %s, %s;", newWord().c_str(), bits.c_str(), value.c_str(), known.c_str());
}

// Vectors in registers and in memory of which one half is read for itself.
void Statements::partlyWritten() {
  const Unwritten u = pickUnwritten();
  const Name value = wordRegister(), low = fresh('r', words_), high = newWord(), both = fresh('d', wides_);
  switch (below(4)) {
    case 0:  // for a moment, in words of the thread's own
      line("st.global.v2.u32 [%%out+24], {%s, %s};", u.name.c_str(), value.c_str());
      line("ld.global.v2.u32 {%s, %s}, [%%out+24];", low.c_str(), high.c_str());
      line("st.global.u32 [%%out+24], %s;", high.c_str());
      break;
    case 1:
      line("mov.b64 %s, {%s, %s};", both.c_str(), u.name.c_str(), value.c_str());
      line("and.b64 %s, %s, -4294967296;", both.c_str(), both.c_str());
      line("shr.u64 %s, %s, 32;", both.c_str(), both.c_str());
      line("cvt.u32.u64 %s, %s;", high.c_str(), both.c_str());
      return;
    case 2:  // round loops, one half at a time
      line("mov.b64 {%s, %s}, %%w0;", low.c_str(), high.c_str());
      line("mov.b64 %%w0, {%s, %s};", low.c_str(), value.c_str());
      line("mov.b64 {%s, %s}, %%w0;", low.c_str(), high.c_str());
      return;
    default:
      line("mov.b64 %s, {%s, %s};", both.c_str(), u.name.c_str(), value.c_str());
      line("mov.b64 {%s, %s}, %s;", low.c_str(), high.c_str(), both.c_str());
  }
  const Name known = fresh('p', tests_);
  line("setp.ne.u32 %s, %s, 0;", known.c_str(), u.written.c_str());
  line("selp.b32 %s, %s, %s, %s;", newWord().c_str(), low.c_str(), value.c_str(), known.c_str());
}

}  // namespace vg::ptx::test
