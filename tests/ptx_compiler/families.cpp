#include "ptx_compiler/families.h"

#include <cstdarg>
#include <cstdio>

namespace vg::ptx::test {
namespace {

class Text {
 public:
  void line(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    char buffer[512];
    va_list list;
    va_start(list, format);
    std::vsnprintf(buffer, sizeof buffer, format, list);
    va_end(list);
    text_ += buffer;
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// --- Straight lines --------------------------------------------------------------------------------------------------

std::string arithmetic(uint32_t size) {
  Text t;
  for (uint32_t n = 0; n < 8; ++n) t.line("cvt.rn.f32.u32 %%f%u, %%x;", n);
  for (uint32_t n = 0; n < size; ++n) switch (n % 4) {
      case 0:
        t.line("fma.rn.f32 %%f%u, %%f%u, 0f3E800000, %%f%u;", n % 8, (n + 3) % 8, (n + 5) % 8);
        break;
      case 1:
        t.line("mul.f32 %%f%u, %%f%u, 0f3F000000;", n % 8, (n + 2) % 8);
        break;
      case 2:
        t.line("sub.f32 %%f%u, %%f%u, %%f%u;", n % 8, (n + 1) % 8, (n + 6) % 8);
        break;
      default:
        t.line("min.f32 %%f%u, %%f%u, 0f4B000000;", n % 8, (n + 7) % 8);
    }
  for (uint32_t n = 1; n < 8; ++n) t.line("add.f32 %%f0, %%f0, %%f%u;", n);
  t.line("mov.b32 %%x, %%f0;");
  return t.take();
}

// As nvcc writes exp() and the like for doubles: long polynomials.
std::string polynomials(uint32_t size) {
  Text t;
  t.line("cvt.rn.f64.u32 %%d0, %%x; mul.f64 %%d0, %%d0, 0d3DF0000000000000; mov.f64 %%d2, %%d0;");
  for (uint32_t n = 0; n < size; ++n) {
    t.line("fma.rn.f64 %%d1, %%d0, 0d3FE0000000000000, 0d3FC5555555555555;");
    for (int k = 0; k < 6; ++k) t.line("fma.rn.f64 %%d1, %%d1, %%d0, 0d3F%u1C71C71C71C;", 811 + k);
    t.line("add.f64 %%d2, %%d2, %%d1; mul.f64 %%d0, %%d1, 0d3FE8000000000000;");
    t.line("div.rn.f64 %%d0, %%d0, %%d2; cvt.rn.f32.f64 %%f0, %%d0; sqrt.rn.f32 %%f0, %%f0; cvt.f64.f32 %%d3, %%f0;");
    t.line("add.f64 %%d0, %%d0, %%d3;");
  }
  t.line("mov.b64 {%%x, %%y}, %%d2;");
  return t.take();
}

std::string liveValues(uint32_t size) {
  Text t;
  for (uint32_t n = 0; n < size; ++n) t.line("ld.global.u32 %%v%u, [%%in+%u];", n, n % 16 * 4);
  for (uint32_t n = 0; n < size; ++n) t.line("add.u32 %%v%u, %%v%u, %u;", n, n, n * 77);
  for (uint32_t n = 0; n < size; ++n) t.line("xor.b32 %%x, %%x, %%v%u; mad.lo.u32 %%x, %%x, 5, 1;", size - 1 - n);
  return t.take();
}

std::string memory(uint32_t size) {
  Text t;
  for (uint32_t n = 0; n < size; ++n) {
    t.line("and.b32 %%y, %%x, 15; mul.wide.u32 %%a0, %%y, 4; add.u64 %%a0, %%a0, %%in;");
    t.line("ld.global.u8 %%z, [%%a0+%u]; st.global.u32 [%%out+%u], %%x; add.u32 %%x, %%x, %%z;", n % 4,
           4 * (n % 7) + 4);
  }
  return t.take();
}

std::string guarded(uint32_t size) {
  Text t;
  for (uint32_t n = 0; n < size; ++n)
    t.line("setp.lt.u32 %%p%u, %%x, %u; @%%p%u mad.lo.u32 %%x, %%x, 3, %u; @!%%p%u add.u32 %%x, %%x, %%t;", n % 8,
           n << 20, (n + 7) % 8, n, n % 8);
  return t.take();
}

std::string predicates(uint32_t size) {
  Text t;
  for (uint32_t n = 0; n < size; ++n) t.line("setp.gt.u32 %%q%u, %%x, %u;", n, n * 2654435761u);
  for (uint32_t n = 1; n < size; ++n)
    t.line("%s.pred %%q%u, %%q%u, %%q%u; selp.u32 %%y, %u, %%x, %%q%u; add.u32 %%x, %%x, %%y;", n % 2 ? "and" : "xor",
           n, n, n - 1, n, n);
  return t.take();
}

std::string parameters(uint32_t size) {
  Text t;
  for (uint32_t n = 0; n < size; ++n) t.line("ld.param.u32 %%y, [k%u]; mad.lo.u32 %%x, %%x, 7, %%y;", n);
  return t.take();
}

std::string arrays(uint32_t size) {
  Text t;
  for (uint32_t n = 0; n < size; ++n) t.line(".local .align 4 .b8 array%u[256];", n);
  t.line("and.b32 %%y, %%x, 60; cvt.u64.u32 %%a0, %%y;");
  for (uint32_t n = 0; n < size; ++n)
    t.line("mov.u64 %%a1, array%u; add.u64 %%a1, %%a1, %%a0; st.local.u32 [%%a1], %%x; mad.lo.u32 %%x, %%x, 9, 1;", n);
  for (uint32_t n = 0; n < size; ++n)
    t.line("mov.u64 %%a1, array%u; add.u64 %%a1, %%a1, %%a0; ld.local.u32 %%y, [%%a1]; xor.b32 %%x, %%x, %%y;", n);
  return t.take();
}

std::string barriers(uint32_t size) {
  Text t;
  t.line(".shared .align 4 .b8 words[4096];");
  t.line("mov.u32 %%y, %%tid.x; shl.b32 %%y, %%y, 2; mov.u32 %%z, words; add.u32 %%y, %%y, %%z;");
  for (uint32_t n = 0; n < size; ++n)
    t.line(
        "st.shared.u32 [%%y], %%x; bar.sync 0; ld.shared.u32 %%v0, [words+%u]; bar.sync 0; mad.lo.u32 %%x, %%v0, 3, "
        "%%x;",
        n % 8 * 4);
  return t.take();
}

// --- Ways that part
// ----------------------------------------------------------------------------------------------------

std::string diamonds(uint32_t size) {
  Text t;
  for (uint32_t n = 0; n < size; ++n) {
    t.line("and.b32 %%y, %%x, %u; setp.eq.u32 %%p0, %%y, 0; @%%p0 bra T%u;", 1u << n % 16, n);
    t.line("mad.lo.u32 %%x, %%x, 5, %u; bra E%u; T%u: xor.b32 %%x, %%x, %u; E%u:", n, n, n, n * 40503, n);
  }
  return t.take();
}

// Lanes vote in a branch, and exchange behind it.
std::string votes(uint32_t size) {
  Text t;
  for (uint32_t n = 0; n < size; ++n) {
    t.line("and.b32 %%y, %%x, %u; setp.ne.u32 %%p0, %%y, 0;", 1u << n % 16);
    t.line("vote.sync.ballot.b32 %%z, %%p0, -1; @!%%p0 bra V%u;", n);
    t.line("vote.sync.ballot.b32 %%v0, %%p1, %%z; xor.b32 %%x, %%x, %%v0;");
    t.line("V%u: shfl.sync.idx.b32 %%v1, %%x, 0, 31, -1; add.u32 %%x, %%x, %%v1;", n);
  }
  return t.take();
}

// As diamonds, each inside the one before.
std::string nestedTests(uint32_t size) {
  Text t;
  for (uint32_t n = 0; n < size; ++n)
    t.line("add.u32 %%y, %%x, %u; and.b32 %%y, %%y, 7; setp.eq.u32 %%p0, %%y, 0; @%%p0 bra E%u; add.u32 %%x, %%x, %u;",
           n, n, n);
  for (uint32_t n = size; n-- > 0;) t.line("E%u: xor.b32 %%x, %%x, %u;", n, n);
  return t.take();
}

std::string farExits(uint32_t size) {
  Text t;
  for (uint32_t n = 0; n < size; ++n)
    t.line("mad.lo.u32 %%x, %%x, 5, %u; and.b32 %%y, %%x, 1023; setp.eq.u32 %%p0, %%y, %u; @%%p0 bra FAR%u;", n,
           n % 1024, n % 3);
  t.line("add.u32 %%x, %%x, 1; FAR0: add.u32 %%x, %%x, 2; FAR1: add.u32 %%x, %%x, 3; FAR2:");
  return t.take();
}

std::string choices(uint32_t size) {
  Text t;
  t.line("ts: .branchtargets");
  for (uint32_t n = 0; n < size; ++n) t.line("C%u%s", n, n + 1 < size ? "," : ";");
  t.line("rem.u32 %%y, %%x, %u; brx.idx %%y, ts;", size);
  for (uint32_t n = 0; n < size; ++n) t.line("C%u: mad.lo.u32 %%x, %%x, %u, 1; bra END;", n, n * 2 + 3);
  t.line("END:");
  return t.take();
}

// --- Loops -----------------------------------------------------------------------------------------------------------

std::string nestOf(uint32_t size, const char* limit) {
  Text t;
  for (uint32_t n = 0; n < size; ++n) t.line("mov.u32 %%v%u, 0; N%u:", n, n);
  t.line("add.u32 %%x, %%x, 1; and.b32 %%z, %%x, 1;");
  for (uint32_t n = size; n-- > 0;)
    t.line("add.u32 %%v%u, %%v%u, 1; setp.le.u32 %%p0, %%v%u, %s; @%%p0 bra N%u;", n, n, n, n < 2 ? limit : "0", n);
  return t.take();
}
std::string nest(uint32_t size) { return nestOf(size, "1"); }

// Lanes leave each loop at their own time.
std::string nestOfLanes(uint32_t size) {
  Text t;
  t.line("and.b32 %%z, %%x, 3;");
  for (uint32_t n = 0; n < size; ++n) t.line("mov.u32 %%v%u, %%z; N%u:", n, n);
  t.line("add.u32 %%x, %%x, 1;");
  for (uint32_t n = size; n-- > 0;)
    t.line("add.u32 %%v%u, %%v%u, 1; setp.lt.u32 %%p0, %%v%u, %s; @%%p0 bra N%u;", n, n, n, n < 2 ? "3" : "%z", n);
  return t.take();
}

std::string sequence(uint32_t size) {
  Text t;
  for (uint32_t n = 0; n < size; ++n) {
    t.line("and.b32 %%y, %%x, 3; S%u: mad.lo.u32 %%x, %%x, 5, %u;", n, n);
    t.line("sub.u32 %%y, %%y, 1; setp.gt.s32 %%p0, %%y, 0; @%%p0 bra S%u;", n);
  }
  return t.take();
}

// Lanes vote who goes another round.
std::string votedRounds(uint32_t size) {
  Text t;
  for (uint32_t n = 0; n < size; ++n) {
    t.line("and.b32 %%y, %%x, 7; mov.u32 %%z, -1; mov.u32 %%v0, 0; R%u: setp.lt.u32 %%p0, %%v0, %%y;", n);
    t.line("vote.sync.ballot.b32 %%z, %%p0, %%z; mad.lo.u32 %%x, %%x, 33, %%z; add.u32 %%v0, %%v0, 1; @%%p0 bra R%u;",
           n);
  }
  return t.take();
}

std::string backward(uint32_t size) {
  Text t;
  t.line("and.b32 %%x, %%x, 3;");
  for (uint32_t n = 0; n < size; ++n)
    t.line("L%u: add.u32 %%x, %%x, 1; setp.lt.u32 %%p0, %%x, %u; @%%p0 bra L%u;", n, n / 2, n / 2);
  return t.take();
}

std::string tangled(uint32_t size) {
  Text t;
  t.line("and.b32 %%x, %%x, 255; mov.u32 %%y, 0;");
  for (uint32_t n = 0; n < size; ++n) {
    t.line("L%u: mad.lo.u32 %%x, %%x, 5, 1; add.u32 %%y, %%y, 1; and.b32 %%z, %%x, 31; setp.eq.u32 %%p0, %%z, %u;", n,
           n % 32);
    t.line("setp.lt.and.u32 %%p0, %%y, %u, %%p0; @%%p0 bra L%u;", 2 * size, n * 7919 % size);
  }
  return t.take();
}

// --- Calls -----------------------------------------------------------------------------------------------------------

std::string callOf(const char* name, uint32_t n) {
  Text t;
  t.line("{ .param .b32 a; .param .b32 r; st.param.b32 [a], %%x; call (r), %s%u, (a); ld.param.b32 %%x, [r]; }", name,
         n);
  return t.take();
}

std::string callee(const char* name, uint32_t n, const std::string& body) {
  Text t;
  t.line(".func (.param .b32 r) %s%u(.param .b32 a) { .reg .b32 %%x, %%y; .reg .pred %%p;", name, n);
  t.line("ld.param.b32 %%x, [a]; mov.u32 %%y, %%x;");
  return t.take() + body + "xor.b32 %x, %x, %y; st.param.b32 [r], %x; ret; }\n";
}

std::string call(uint32_t) { return callOf("f", 0); }

// Each calls the next once.
std::string chainOfCallees(uint32_t size) {
  std::string all;
  for (uint32_t n = size; n-- > 0;)
    all += callee("f", n, "mad.lo.u32 %x, %x, 5, 1;\n" + (n + 1 < size ? callOf("f", n + 1) : std::string()));
  return all;
}

// Each calls the next twice: 2^size calls of the last one, if none is skipped.
std::string treeOfCallees(uint32_t size) {
  std::string all;
  for (uint32_t n = size; n-- > 0;)
    all += callee("f", n,
                  n + 1 < size ? callOf("f", n + 1) + "mad.lo.u32 %x, %x, 5, 1;\n" + callOf("f", n + 1)
                               : std::string("mad.lo.u32 %x, %x, 3, 7;\n"));
  return all;
}

// The same, but only some lanes call, and not for ever.
std::string thinTreeOfCallees(uint32_t size) {
  std::string all;
  for (uint32_t n = size; n-- > 0;) {
    const std::string next = n + 1 < size ? callOf("f", n + 1) : std::string("mad.lo.u32 %x, %x, 3, 7;\n");
    const std::string label = "S" + std::to_string(n);
    all += callee("f", n,
                  next + "and.b32 %y, %x, 7; setp.ne.u32 %p, %y, " + std::to_string(n % 8) + "; @%p bra " + label +
                      ";\n" + next + label + ":\n");
  }
  return all;
}

// A tree again, of which all threads go one way down. Lanes and warps meet on each level, in the branch that calls
// and behind it; in between some lanes call a function without meetings.
std::string treeOfMeetings(uint32_t size) {
  Text leaf;
  for (uint32_t n = 0; n < 120; ++n) leaf.line("mad.lo.u32 %%x, %%x, 5, %u;", n);
  std::string all = callee("g", 0, leaf.take());
  for (uint32_t n = size; n-- > 0;) {
    Text t;
    t.line("{ .reg .b32 %%v; .reg .pred %%q; setp.gt.s32 %%p, %%x, 0; @%%p bra SKIP;");
    t.line("%s", callOf("g", 0).c_str());
    t.line("SKIP: bar.red.popc.u32 %%v, 0, %%p; and.b32 %%v, %%v, 1; setp.ne.u32 %%q, %%v, 0; @%%q bra OTHER;");
    t.line("shfl.sync.idx.b32 %%v, %%x, 0, 31, -1; add.u32 %%x, %%x, %%v;");
    if (n + 1 < size) t.line("%s", callOf("f", n + 1).c_str());
    t.line("bra JOIN;\nOTHER:");
    if (n + 1 < size) t.line("%s", callOf("f", n + 1).c_str());
    t.line("JOIN: vote.sync.ballot.b32 %%v, %%p, -1; mad.lo.u32 %%x, %%x, 3, %%v; bar.sync 0; }");
    all += callee("f", n, t.take());
  }
  return all;
}

std::string manyCalls(uint32_t size) {
  std::string all;
  for (uint32_t n = 0; n < size; ++n) all += callOf("f", 0);
  return all;
}
std::string oneCallee(uint32_t size) {
  Text t;
  for (uint32_t n = 0; n < size; ++n) t.line("mad.lo.u32 %%x, %%x, 5, %u;", n);
  return callee("f", 0, t.take());
}

// A loop in which each lane takes one of many ways, as a switch over types and operations has it. On each it decides
// something and then waits for a lock, with values of before that it needs then.
std::string waysOfLoop(uint32_t size) {
  Text t;
  t.line("ROUND: rem.u32 %%z, %%x, %u;", size);
  for (uint32_t n = 0; n < size; ++n) t.line("setp.eq.u32 %%q%u, %%z, %u; @%%q%u bra WAY%u;", n, n, n, n);
  for (uint32_t n = 0; n < size; ++n) {
    t.line("WAY%u: ld.global.u32 %%v%u, [%%out+%u]; mul.lo.u32 %%t, %%v%u, %u;", n, n, n % 6 * 4 + 4, n, n + 7);
    t.line("setp.gt.u32 %%p1, %%t, %%x; @%%p1 bra ELSE%u; add.u32 %%v%u, %%v%u, 1; bra JOIN%u;", n, n, n, n);
    t.line("ELSE%u: st.global.u32 [%%out+%u], %%t; xor.b32 %%v%u, %%v%u, %%t;\nJOIN%u:", n, n % 6 * 4 + 4, n, n, n);
    t.line("TRY%u: atom.global.acquire.gpu.cas.b32 %%z, [%%out+28], 0xdeadbeef, 1;", n);
    t.line("setp.ne.u32 %%q%u, %%z, 0xdeadbeef; @%%q%u bra TRY%u;", n, n, n);
    t.line("xor.b32 %%t, %%t, %%x; add.u32 %%v%u, %%v%u, %%t; st.global.u32 [%%out+%u], %%v%u;", n, n, n % 6 * 4 + 4,
           n);
    t.line("atom.global.release.gpu.exch.b32 %%z, [%%out+28], 0xdeadbeef; add.u32 %%x, %%x, %%v%u; bra NEXT;", n);
  }
  t.line("NEXT: mad.lo.u32 %%x, %%x, 5, 1; add.u32 %%y, %%y, 1; setp.lt.u32 %%p0, %%y, 4; @%%p0 bra ROUND;");
  return t.take();
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"arithmetic", arithmetic, 600},
      {"polynomials", polynomials, 40},
      {"liveValues", liveValues, 200},
      {"memory", memory, 130},
      {"guarded", guarded, 200},
      {"predicates", predicates, 200},
      {"parameters", parameters, 400},
      {"arrays", arrays, 110},
      {"barriers", barriers, 200},
      {"diamonds", diamonds, 170},
      {"votes", votes, 130},
      {"nestedTests", nestedTests, 200},
      {"farExits", farExits, 200},
      {"choices", choices, 400},
      {"nest", nest, 300},
      {"nestOfLanes", nestOfLanes, 300},
      {"sequence", sequence, 200},
      {"votedRounds", votedRounds, 140},
      {"backward", backward, 400},
      {"tangled", tangled, 150},
      {"waysOfLoop", waysOfLoop, 200},
      {"callChain", call, 100, chainOfCallees},
      {"callTree", call, 12, treeOfCallees},
      {"thinCallTree", call, 30, thinTreeOfCallees},
      {"meetingTree", call, 22, treeOfMeetings},
      {"manyCalls", manyCalls, 150, oneCallee},
  };
  return all;
}

const Family* familyNamed(const std::string& name) {
  for (const Family& family : families())
    if (name == family.name) return &family;
  return nullptr;
}

std::string familyText(const Family& family, uint32_t size) {
  Text t;
  t.line("// Kernel family");
  t.line(".version 8.3\n.target sm_90\n.address_size 64");
  if (family.functions) t.line("%s", "");
  std::string text = t.take();
  if (family.functions) text += family.functions(size);
  text += ".visible .entry family(.param .u64 in, .param .u64 out, .param .u32 n";
  const bool many = family.body == parameters;
  for (uint32_t n = 0; many && n < size; ++n) text += ", .param .u32 k" + std::to_string(n);
  t.line(") {\n.reg .u64 %%in, %%out, %%a<4>; .reg .b32 %%x, %%y, %%z, %%t, %%v<%u>; .reg .f32 %%f<8>;", size + 1);
  t.line(".reg .f64 %%d<4>; .reg .pred %%p<8>, %%q<%u>;", size + 1);
  t.line("mov.u32 %%t, %%ctaid.x; mov.u32 %%x, %%ntid.x; mov.u32 %%y, %%tid.x; mad.lo.u32 %%t, %%t, %%x, %%y;");
  t.line("ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out];");
  t.line(
      "mul.wide.u32 %%a0, %%t, 4; add.u64 %%in, %%in, %%a0; mul.wide.u32 %%a0, %%t, 32; add.u64 %%out, %%out, %%a0;");
  t.line("ld.global.u32 %%x, [%%in]; mov.u32 %%y, 0; mov.u32 %%z, 0;");
  for (uint32_t n = 0; n < 8; ++n) t.line("setp.eq.u32 %%p%u, %%x, %u;", n, n);
  text += t.take() + family.body(size);
  t.line("st.global.u32 [%%out], %%x;\nret;\n}");
  return text + t.take();
}

}  // namespace vg::ptx::test
