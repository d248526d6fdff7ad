// PTX text from strangers: parsing, linking, laying out and preparing it never fails but in an orderly way.
#include "fuzz/fuzz.h"
#include "ptx/facts/layout.h"
#include "ptx/interpreter/interpreter.h"
#include "ptx/text/parser.h"

namespace vg::fuzz {

std::vector<std::string> seeds() {
  const std::string top = ".version 8.2\n.target sm_90\n.address_size 64\n";
  return {
      top +
          ".visible .entry k(.param .u64 p, .param .align 8 .b8 s[24])\n.maxntid 128, 1, 1\n{\n.reg .pred %p<4>;\n.reg "
          ".b32 %r<9>;\n"
          ".reg .b64 %rd<9>;\n.reg .f32 %f<5>;\n.loc 1 7 3\nld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, "
          "%rd1;\nmov.u32 %r1, %tid.x;\n"
          "setp.ge.s32 %p1, %r1, 100;\n@%p1 bra $L__BB0_2;\nmul.wide.s32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd2, %rd3;\n"
          "ld.global.v2.f32 {%f1, %f2}, [%rd4+8];\nfma.rn.f32 %f3, %f1, %f2, 0f3F800000;\nst.global.f32 [%rd4], "
          "%f3;\n$L__BB0_2:\nret;\n}\n",
      top +
          ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n.global .align 1 .b8 text[4] = {37, "
          "100, 10};\n"
          ".func (.param .b32 q) f(.param .b32 x, .reg .b32 y) { .reg .b32 a; ld.param.b32 a, [x]; add.s32 a, a, y; "
          "st.param.b32 [q], a; ret; }\n"
          ".entry k() { .reg .b64 %rd<5>; .reg .b32 %r<5>; .local .align 8 .b8 d[16]; mov.u64 %rd1, d; cvta.local.u64 "
          "%rd1, %rd1;\n"
          "{ .param .b64 p0; .param .b64 p1; .param .b32 q; st.param.b64 [p0], %rd1; st.param.b64 [p1], %rd1;\n"
          "call.uni (q), vprintf, (p0, p1); ld.param.b32 %r1, [q]; }\nproto: .callprototype (.param .b32 _) _ (.param "
          ".b32 _);\n"
          "{ .param .b32 p0; .param .b32 q; st.param.b32 [p0], 3; call (q), %rd2, (p0), proto; }\nT: .branchtargets A, "
          "B;\nbrx.idx %r1, T;\n"
          "A: trap;\nB: ret; }\n",
      top +
          ".global .u64 table[2] = {generic(x)+4, f};\n.visible .global .align 16 .v4 .f32 x[2] = {{1.5, 2.0}, "
          "0f3F800000};\n"
          ".const .b8 bytes[] = {0xFF(x), 0xFF00(x)};\n.shared .b32 s;\n.extern .shared .align 16 .b8 dyn[];\n.weak "
          ".func f() { ret; }\n"
          ".entry k() { .reg .b32 a, b; .reg .pred p, q; shfl.sync.bfly.b32 a|p, b, 16, 31, -1; vote.sync.ballot.b32 "
          "a, !p, -1;\n"
          "atom.global.cas.b32 a, [x], 0, 1; bar.red.popc.u32 a, 0, p; prmt.b32 a, b, a, 0x5410; lop3.b32 a, a, b, b, "
          "0xE8;\n"
          "cp.async.ca.shared.global [dyn], [x], 16; setp.lt.and.s32 p|q, a, (1 + 2) * -3, !p; st.shared.b32 [s], a; "
          "ret; }\n"
          ".alias g, f;\n.section .debug_info { .b8 1, 2 }\n",
  };
}

std::vector<std::string> dictionary() {
  return {"{",
          "}",
          "(",
          ")",
          "[",
          "]",
          ";",
          ",",
          "|",
          "!",
          "@",
          "%r1",
          "%p1",
          ".reg .b32 %r<1000000000>;",
          ".b64",
          ".v4",
          ".entry k2() {",
          "ret;",
          "bra A;",
          "A:",
          ".shared .b8 x[1000000000000];",
          ".align 0",
          "0x7fffffffffffffff",
          "-1",
          "0f7F800000",
          "1.0e400",
          "call f;",
          ".param .b32 z;",
          "mov.u64 %rd1, s;",
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
          "ld.global.b128 a, [x];",
          "atom.global.v4.f32.add a, [x], b;",
          ".alias h, k;",
          "// ",
          "/*",
          "\"",
          "?:",
          "<<",
          "%tid.x"};
}

}  // namespace vg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vg::ptx;
  std::string log;
  auto parsed = parse({reinterpret_cast<const char*>(data), size}, &log, {121});
  if (!parsed.ok()) return 0;
  std::vector<Module> modules;
  modules.push_back(parsed.value());
  modules.push_back(std::move(parsed).value());
  modules[1].functions.clear();  // internal names twice, functions once
  for (Variable& v : modules[1].variables) v.references.clear();
  auto linked = link(std::move(modules), &log);
  if (!linked.ok()) return 0;
  const Module& module = linked.value();
  for (uint32_t k = 0; k < module.functions.size(); ++k) {
    parameterLayout(module.functions[k]);
    sharedLayout(module, k);
    if (module.functions[k].isEntry && !module.functions[k].isDeclaration) (void)prepare(module, k);
  }
  return 0;
}
