// What the parser makes of PTX, and what it says about text that is not PTX.
#include "ptx/text/parser.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ptx/facts/layout.h"
#include "ptx/text/op.h"

namespace vg::ptx {
namespace {

constexpr const char* kTop = ".version 8.0\n.target sm_90\n.address_size 64\n";

Module parsed(const std::string& text) {
  std::string log;
  auto result = parse(kTop + text, &log);
  EXPECT_TRUE(result.ok()) << log;
  return result.ok() ? std::move(result).value() : Module{};
}

// A kernel with the usual registers around a body; its first line is line 5.
std::string kernel(const std::string& body) {
  return std::string(
             ".visible .entry k(.param .u64 p)\n{ .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .b16 "
             "%rs<4>;\n") +
         body + "\n}\n";
}

std::string problem(const std::string& text, CUresult expected = CUDA_ERROR_INVALID_PTX) {
  std::string log;
  auto result = parse(text, &log);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.error(), expected);
  return log;
}

const Operand& operandOf(const Function& f, size_t instruction, uint32_t k) {
  return f.operands[f.body[instruction].first + k];
}

TEST(Parser, ReadsTheHeader) {
  const Module m = parsed("");
  EXPECT_EQ(m.version, 80u);
  EXPECT_EQ(m.target, 90u);
  EXPECT_EQ(m.targetSuffix, 0);
  auto suffixed = parse(".version 9.0\n.target sm_121a, debug\n");
  ASSERT_TRUE(suffixed.ok());
  EXPECT_EQ(suffixed.value().target, 121u);
  EXPECT_EQ(suffixed.value().targetSuffix, 'a');
  EXPECT_TRUE(suffixed.value().debug);
}

TEST(Parser, AcceptsATerminatingNul) {
  const std::string text = std::string(kTop) + kernel("ret;") + '\0' + "rubbish";
  EXPECT_TRUE(parse(text).ok());
}

TEST(Parser, SplitsMnemonics) {
  const Module m =
      parsed(kernel("ld.global.nc.L1::evict_last.v2.b32 {%r0, %r1}, [%rd1+-8];\n"
                    "setp.lt.and.s32 %p0|%p1, %r0, 7, !%p2;\ncvt.rn.satfinite.f16.f32 %rs0, %r1;\n"
                    "atom.acq_rel.gpu.global.add.u32 %r2, [%rd1], 1;\n"));
  const Function& f = m.functions.at(0);
  ASSERT_EQ(f.body.size(), 4u);
  const Instruction& load = f.body[0];
  EXPECT_EQ(load.op, Op::Ld);
  EXPECT_EQ(load.space, Space::Global);
  EXPECT_EQ(load.vectorWidth, 2);
  EXPECT_EQ(load.type(), Type::B32);
  EXPECT_TRUE(load.has(Mod::Nc));
  EXPECT_TRUE(load.has(Mod::L1EvictLast));
  const Operand& address = operandOf(f, 0, 1);
  EXPECT_EQ(address.kind, Operand::Kind::Address);
  EXPECT_TRUE(address.isBaseRegister);
  EXPECT_EQ(address.offset, -8);
  const Instruction& compare = f.body[1];
  EXPECT_TRUE(compare.pair);
  EXPECT_EQ(compare.count, 5u);
  EXPECT_TRUE(compare.has(Mod::Lt));
  EXPECT_TRUE(compare.has(Mod::And));
  EXPECT_TRUE(operandOf(f, 1, 4).negated);
  EXPECT_EQ(f.body[2].types[0], Type::F16);
  EXPECT_EQ(f.body[2].types[1], Type::F32);
  EXPECT_TRUE(f.body[3].has(Mod::AcqRel));
  EXPECT_TRUE(f.body[3].has(Mod::Gpu));
}

// A driver reads tokens: where space may stand, so may lines and comments. TileLang writes its stores of tensors so.
TEST(Parser, SpaceMayStandBeforeEachWord) {
  std::string text = kernel(
      ".reg .v4 .b32 v;\nld~.global~.nc~.v2~.b32~ {~%r0~,~%r1~}~,~ [~%rd1~+~8~]~;\n~@~!~%p1~ setp~.lt~.and~.s32~ "
      "%p0~|~%p1~,~ %r0~,~ 7~,~ !~%p2~;\nmov~.b32~ %r0~,~ %tid~.x~;\nmov~.b32~ %r1~,~ v~.y~;\n"
      "cp~.async~.bulk~.tensor~.2d~.global~.shared::cta~.bulk_group~.L2::cache_hint~ "
      "[~%rd0~,~ {~%r0~,~ %r1~}~]~,~ [~%rd1~]~,~ %rd2~;\nvadd4~.u32~.u32~.u32~ %r0~,~ %r1~.b3210~,~ %r2~,~ %r3~;");
  const auto with = [&text](const std::string& between) {
    std::string all;
    for (const char c : text) c == '~' ? all += between : all += c;
    return parsed(all);
  };
  const Module plain = with("");
  const Function& f = plain.functions.at(0);
  ASSERT_EQ(f.body.size(), 6u);
  EXPECT_TRUE(f.body[4].has(Mod::L2CacheHint));
  EXPECT_EQ(operandOf(f, 2, 1).special, Special::TidX);
  EXPECT_TRUE(plain.unknowns.empty());
  for (const char* between : {" ", "\t\r\n ", "/* .word */", " // .word\n"}) {
    const Module spaced = with(between);
    EXPECT_TRUE(spaced.unknowns.empty());
    const Function& g = spaced.functions.at(0);
    ASSERT_EQ(g.body.size(), f.body.size()) << between;
    for (size_t k = 0; k < f.body.size(); ++k) {
      EXPECT_EQ(g.body[k].op, f.body[k].op) << k << between;
      EXPECT_EQ(g.body[k].mods, f.body[k].mods) << k << between;
      EXPECT_EQ(g.body[k].type(), f.body[k].type()) << k << between;
      EXPECT_EQ(g.body[k].space, f.body[k].space) << k << between;
      EXPECT_EQ(g.body[k].guard, f.body[k].guard) << k << between;
      ASSERT_EQ(g.body[k].count, f.body[k].count) << k << between;
      for (uint32_t i = 0; i < f.body[k].count; ++i) {
        const Operand &is = operandOf(g, k, i), &was = operandOf(f, k, i);
        EXPECT_EQ(is.kind, was.kind) << k << between;
        EXPECT_EQ(is.bits, was.bits) << k << between;
        EXPECT_EQ(is.reg, was.reg) << k << between;
        EXPECT_EQ(is.offset, was.offset) << k << between;
        EXPECT_EQ(is.special, was.special) << k << between;
        EXPECT_EQ(is.selector, was.selector) << k << between;
      }
    }
  }
}

TEST(Parser, VectorRegistersHaveComponents) {
  const Module m =
      parsed(kernel(".reg .v4 .b32 v, w;\n.reg .v2 .b64 u;\nmov.b32 w.x, v.x;\nmov.b32 w.g, v.w;\n"
                    "mov.b64 u.y, u.r;\nmov.b32 v.b, v.a;\nld.global.v4.b32 v, [%rd1];\nret;"));
  const Function& f = m.functions.at(0);
  const auto name = [&](size_t k, uint32_t i) { return f.registers[operandOf(f, k, i).reg].name; };
  const char* const expected[][2] = {{"w.x", "v.x"}, {"w.y", "v.w"}, {"u.y", "u.x"}, {"v.z", "v.w"}};
  for (size_t k = 0; k < std::size(expected); ++k) {
    EXPECT_EQ(name(k, 0), expected[k][0]);
    EXPECT_EQ(name(k, 1), expected[k][1]);
  }
  for (const char* wrong : {"u.z", "v.q", "v.xy", "v.", "%r0.x"})
    EXPECT_NE(problem(std::string(kTop) +
                      kernel(std::string(".reg .v4 .b32 v;\n.reg .v2 .b32 u;\nmov.b32 %r0, ") + wrong + ";\nret;")),
              "")
        << wrong;
}

TEST(Parser, TellsTheLayoutsOfMatricesApart) {
  const Module m = parsed(kernel("mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32 {%r0}, {%r1}, {%r2}, {%r3};"));
  const Instruction& i = m.functions[0].body.at(0);
  EXPECT_TRUE(i.has(Mod::Col));
  EXPECT_TRUE(i.has(Mod::RowB));
  EXPECT_FALSE(i.has(Mod::Row));
  EXPECT_EQ(i.typeCount, 4);
}

TEST(Parser, ReadsNumbersInEveryForm) {
  const Module m = parsed(kernel(
      "mov.b32 %r0, 0x1F;\nmov.b32 %r0, 017;\nmov.b32 %r0, 0b101;\nmov.b32 %r0, -5;\nmov.b32 %r0, 0f3F800000;\n"
      "mov.b64 %rd0, 0d3FF0000000000000;\nmov.b64 %rd0, 1.5;\nmov.b32 %r0, (2 + 3) * 4 - 1;\nmov.b32 %r0, ~0U >> 28;\n"
      "mov.b32 %r0, 1 ? WARP_SZ : 2;\nmov.b64 %rd0, 0xFFFFFFFFFFFFFFFF;\nmov.b32 %r0, 7 % 4 << 1 | 1;\n"
      "mov.b64 %rd0, .5;\nmov.b64 %rd0, -.25e1;"));
  const Function& f = m.functions[0];
  const uint64_t expected[] = {0x1f,
                               15,
                               5,
                               static_cast<uint64_t>(-5),
                               0x3f800000,
                               0x3ff0000000000000,
                               0x3ff8000000000000,
                               19,
                               0xfffffffff,
                               32,
                               ~uint64_t{0},
                               7,
                               0x3fe0000000000000,
                               0xc004000000000000};
  for (size_t k = 0; k < std::size(expected); ++k) EXPECT_EQ(operandOf(f, k, 1).bits, expected[k]) << k;
  EXPECT_EQ(operandOf(f, 4, 1).literal, Operand::Literal::F32);
  EXPECT_EQ(operandOf(f, 5, 1).literal, Operand::Literal::F64);
  EXPECT_EQ(operandOf(f, 6, 1).literal, Operand::Literal::F64);
}

TEST(Parser, MakesRegistersOfRangesWhenTheyAreUsed) {
  const Module m = parsed(".entry k() { .reg .b32 %r<1000000>; mov.b32 %r999999, %r3; mov.b32 %r3, 1; }");
  const Function& f = m.functions[0];
  ASSERT_EQ(f.registers.size(), 2u);
  EXPECT_EQ(f.registers[0].name, "%r999999");
  EXPECT_EQ(operandOf(f, 0, 1).reg, operandOf(f, 1, 0).reg);
  EXPECT_NE(problem(std::string(kTop) + ".entry k() { .reg .b32 %r<4>; mov.b32 %r4, 1; }").find("'%r4' is not defined"),
            std::string::npos);
}

TEST(Parser, ResolvesNamesByScope) {
  const Module m = parsed(
      kernel("mov.b32 %r1, 1;\n{ .reg .b64 %r1; .reg .b32 t; mov.b64 %r1, 2; mov.b32 t, 3;\n"
             "  { .reg .b16 t; mov.b16 t, 4; }\n mov.b32 t, 5; }\n{ .reg .b32 t; mov.b32 t, 6; }\nmov.b32 %r1, 7;"));
  const Function& f = m.functions[0];
  const auto reg = [&](size_t k) { return operandOf(f, k, 0).reg; };
  EXPECT_EQ(f.registers[reg(1)].type, Type::B64);
  EXPECT_EQ(f.registers[reg(3)].type, Type::B16);
  EXPECT_EQ(reg(2), reg(4));
  EXPECT_NE(reg(2), reg(5));
  EXPECT_EQ(reg(0), reg(6));
}

// Triton's products of scaled floats have `.reg .b32 a; .reg .f16 a<2>;`.
TEST(Parser, TellsARangeFromWhatHasItsNameOtherwise) {
  for (const char* const declared : {".reg .b32 a; .reg .b16 a<2>;", ".reg .b16 a<2>; .reg .b32 a;"}) {
    const Module m = parsed(kernel(std::string("{ ") + declared +
                                   " mov.b32 a, 1;\nmov.b16 a1, 2;\nmov.b32 %r0, a;\n{ .reg .b64 a; mov.b16 a1, 3;\n"
                                   "mov.b64 a, 4; }\nmov.b16 a0, 5; }"));
    const Function& f = m.functions[0];
    const auto reg = [&](size_t k, size_t operand) { return operandOf(f, k, operand).reg; };
    EXPECT_EQ(f.registers[reg(0, 0)].type, Type::B32);
    EXPECT_EQ(f.registers[reg(1, 0)].type, Type::B16);
    EXPECT_EQ(reg(2, 1), reg(0, 0));
    EXPECT_EQ(reg(3, 0), reg(1, 0));
    EXPECT_EQ(f.registers[reg(4, 0)].type, Type::B64);
    EXPECT_NE(reg(5, 0), reg(1, 0));
  }
}

TEST(Parser, ResolvesLabelsByScope) {
  const Module m = parsed(kernel("{ bra L;\nL: mov.b32 %r0, 1; }\n{ L: bra L; @%p0 bra OUT; }\nOUT: ret;"));
  const Function& f = m.functions[0];
  const auto target = [&](size_t k) { return f.labels[operandOf(f, k, 0).symbol].instruction; };
  EXPECT_EQ(target(0), 1u);
  EXPECT_EQ(target(2), 2u);
  EXPECT_EQ(target(3), 4u);
  EXPECT_EQ(f.registers[static_cast<size_t>(f.body[3].guard)].name, "%p0");
}

TEST(Parser, ReadsCallsPrototypesAndBranchTables) {
  const Module m = parsed(
      ".func (.param .b32 r) f(.param .b64 a, .param .b32 b);\n" +
      kernel("{ .param .b64 p0; .param .b32 p1; .param .b32 q;\nst.param.b64 [p0], %rd0; st.param.b32 [p1+0], %r0;\n"
             "call.uni (q), f, (p0, p1);\nproto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _);\n"
             "call (q), %rd1, (p0, p1), proto;\nld.param.b32 %r1, [q]; }\n"
             "T: .branchtargets A, B;\nbrx.idx %r1, T;\nA: ret;\nB: ret;"));
  const Function& k = *m.findFunction("k");
  const Instruction& direct = k.body[2];
  ASSERT_EQ(direct.count, 3u);
  EXPECT_EQ(operandOf(k, 2, 0).count, 1u);
  EXPECT_EQ(operandOf(k, 2, 1).symbolKind, SymbolKind::Function);
  EXPECT_EQ(operandOf(k, 2, 2).count, 2u);
  ASSERT_EQ(k.body[3].count, 4u);
  EXPECT_EQ(operandOf(k, 3, 1).kind, Operand::Kind::Register);
  EXPECT_EQ(operandOf(k, 3, 3).symbolKind, SymbolKind::Prototype);
  ASSERT_EQ(k.branchTables.size(), 1u);
  EXPECT_EQ(k.labels[k.branchTables[0].labels[1]].name, "B");
  EXPECT_EQ(operandOf(k, 5, 1).symbolKind, SymbolKind::BranchTable);
}

TEST(Parser, ReadsInitialisers) {
  const Module m = parsed(
      ".global .align 4 .b8 bytes[8] = {1, 2, 0xFF, -1};\n.const .f32 f[2] = {0f3F800000, 2.5};\n"
      ".global .u64 pointers[3] = {bytes, generic(bytes)+4, 0};\n.global .b8 split[2] = {0xFF(bytes), 0xFF00(bytes)};\n"
      ".visible .global .b32 grid[2][3] = {{1}, {4, 5, 6}};\n.global .b16 open[] = {7, 8, 9};\n"
      ".global .b8 text[] = \"ab\";\n.global .v4 .f32 vectors[2];\n");
  EXPECT_EQ(m.variables[0].initial.size(), 4u);
  EXPECT_EQ(m.variables[0].initial[3], std::byte{0xff});
  uint32_t bits = 0;
  std::memcpy(&bits, &m.variables[1].initial[4], 4);
  EXPECT_EQ(bits, 0x40200000u);
  const auto& references = m.variables[2].references;
  ASSERT_EQ(references.size(), 2u);
  EXPECT_EQ(references[0].width, 8);
  EXPECT_FALSE(references[0].generic);
  EXPECT_TRUE(references[1].generic);
  EXPECT_EQ(references[1].addend, 4);
  EXPECT_EQ(references[1].offset, 8u);
  EXPECT_EQ(m.variables[3].references[1].shift, 8);
  EXPECT_EQ(m.variables[3].references[1].width, 1);
  std::memcpy(&bits, &m.variables[4].initial[12], 4);
  EXPECT_EQ(bits, 4u);
  EXPECT_EQ(m.variables[4].size, 24u);
  EXPECT_EQ(m.variables[5].size, 6u);
  EXPECT_EQ(m.variables[6].size, 3u);
  EXPECT_EQ(m.variables[7].size, 32u);
  EXPECT_EQ(m.variables[7].alignment, 16u);
}

TEST(Parser, ReadsDirectives) {
  const Module m = parsed(
      ".file 1 \"a.cu\", 123, 456\n.section .debug_str { .b8 1,2,3 }\n.pragma \"nounroll\";\n.novelty 3, { 4 }\n"
      ".extern .shared .align 16 .b8 dynamic[];\n.global .attribute(.managed) .b32 shared_with_host;\n.common .global "
      ".b32 c;\n"
      ".visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 s[12])\n.maxntid 64, 2\n"
      ".minnctapersm 2\n"
      ".maxnreg 40\n.reqnctapercluster 2, 1, 1\n.surprise 7\n{ .loc 1 17 3, function_name $L, inlined_at 1 2 "
      "3\nret;\n.loc 1 18 0\nexit; }");
  EXPECT_TRUE(m.variables[0].unsizedArray);
  EXPECT_TRUE(m.variables[1].managed);
  EXPECT_EQ(m.variables[2].linkage, Linkage::Common);
  const Function& f = m.functions[0];
  EXPECT_EQ(f.maxThreads[0], 64u);
  EXPECT_EQ(f.maxThreads[1], 2u);
  EXPECT_EQ(f.maxThreads[2], 1u);
  EXPECT_EQ(f.minBlocks, 2u);
  EXPECT_EQ(f.maxRegisters, 40u);
  EXPECT_EQ(f.clusterSize[0], 2u);
  EXPECT_TRUE(f.parameters[0].isPointer);
  EXPECT_EQ(f.parameters[0].alignment, 8u);
  EXPECT_EQ(f.parameters[1].size, 12u);
  EXPECT_EQ(m.locations[f.body[0].location - 1].line, 17u);
  EXPECT_EQ(m.locations[f.body[1].location - 1].line, 18u);
  EXPECT_EQ(m.files[1], "a.cu");
}

TEST(Parser, BlocksHaveABoundOrASize) {
  const Module m = parsed(".visible .entry k()\n.reqntid 32, 4\n{ ret; }");
  EXPECT_EQ(m.functions[0].requiredThreads[0], 32u);
  EXPECT_EQ(m.functions[0].requiredThreads[1], 4u);
  std::string log;
  EXPECT_EQ(parse(std::string(kTop) + ".visible .entry k()\n.maxntid 64\n.reqntid 32\n{ ret; }", &log).error(),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(log.find(".reqntid"), std::string::npos) << log;
}

TEST(Parser, KeepsUnknownInstructionsForTheKernelThatHasThem) {
  std::string log;
  auto m = parse(kTop + kernel("frobnicate.v9.u32 %r0, %r1;\nadd.wibble.s32 %r0, %r0, 1;\nret;"), &log);
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m.value().functions[0].body[0].op, Op::Invalid);
  EXPECT_EQ(m.value().functions[0].body[1].op, Op::Invalid);
  EXPECT_EQ(m.value().functions[0].body[2].op, Op::Ret);
  ASSERT_EQ(m.value().unknowns.size(), 2u);
  EXPECT_EQ(m.value().unknowns[0].line, 6u);
  EXPECT_NE(log.find("line 6: unknown instruction 'frobnicate.v9.u32'"), std::string::npos) << log;
}

TEST(Parser, FlattensBracketsOfSeveralItems) {
  const Module m = parsed(".global .texref t;\n" + kernel("tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [t, {%r4, %r5}];"));
  const Function& f = m.functions[0];
  ASSERT_EQ(f.body[0].count, 3u);
  EXPECT_EQ(operandOf(f, 0, 1).kind, Operand::Kind::Address);
  EXPECT_EQ(operandOf(f, 0, 1).symbolKind, SymbolKind::ModuleVariable);
  EXPECT_EQ(operandOf(f, 0, 2).count, 2u);
}

TEST(Parser, ElementsOfArraysAreAddressesWhateverTheirIndex) {
  const Module m =
      parsed(".global .b32 table[4];\n" +
             kernel(".local .v2 .b32 pairs[4];\nld.global.b32 %r1, table[2];\nld.global.b32 %r1, [table[2]];\n"
                    "mov.b64 %rd1, table[1];\nld.b32 %r1, table[%r2+3];\nst.local.b32 pairs[%rd2], %r1;\n"
                    "mov.b64 %rd1, table[%rs1 - 1];"));
  const Function& f = m.functions[0];
  ASSERT_EQ(f.body.size(), 14u);
  for (size_t k : {0, 1}) {
    EXPECT_EQ(operandOf(f, k, 1).kind, Operand::Kind::Address);
    EXPECT_EQ(operandOf(f, k, 1).symbolKind, SymbolKind::ModuleVariable);
    EXPECT_EQ(operandOf(f, k, 1).offset, 8);
  }
  EXPECT_EQ(operandOf(f, 2, 1).kind, Operand::Kind::Symbol);
  EXPECT_EQ(operandOf(f, 3, 1).offset, 12);  // mov base, table+12
  EXPECT_EQ(f.body[4].types[1], Type::S32);  // cvt
  EXPECT_EQ(operandOf(f, 5, 2).bits, 4u);    // mad: bytes of an element
  EXPECT_TRUE(operandOf(f, 6, 1).isBaseRegister);
  EXPECT_EQ(f.body[6].space, Space::Global);  // where the array is
  EXPECT_EQ(operandOf(f, 8, 2).bits, 8u);     // no cvt of 64 bits
  EXPECT_EQ(f.body[9].op, Op::St);
  EXPECT_EQ(operandOf(f, 10, 1).offset, -4);
  EXPECT_EQ(f.body[11].types[1], Type::S16);
  EXPECT_EQ(operandOf(f, 13, 1).kind, Operand::Kind::Register);
}

TEST(Parser, CopiesAliases) {
  const Module m = parsed(".weak .func f();\n.visible .func g() { ret; }\n.alias f, g;\n");
  const Function* f = m.findFunction("f");
  ASSERT_NE(f, nullptr);
  EXPECT_FALSE(f->isDeclaration);
  EXPECT_EQ(f->body.size(), 1u);
}

TEST(Parser, NamesTheLineOfAnError) {
  struct Row {
    const char* body;
    const char* message;
  };
  const Row rows[] = {
      {"add.s32 %r0, %r1;", "line 6: add.s32: too few operands"},
      {"\nadd.s32 %r0, %r1, %r2, %r3;", "line 7: add.s32: too many operands"},
      {"add.s32 %r0, %r1, %nothing;", "line 6: '%nothing' is not defined"},
      {"add.s32 %rd0, %r1, %r2;", "register of another size"},
      {"add.s32 %p0, %r1, %r2;", "a predicate register is not a number"},
      {"mov.b32 5, %r1;", "register expected"},
      {"ld.global.u32 %r0, %r1;", "address expected"},
      {"ld.global.u64 %r0, [%rd0];", "register is smaller than the type"},
      {"ld.global.v2.u32 {%r0}, [%rd0];", "vector of another width"},
      {"bra NOWHERE;", "line 6: 'NOWHERE' is not defined"},
      {"L: L: ret;", "'L' is already defined"},
      {".reg .b32 a, a;", "'a' is already defined"},
      {".reg .b32 a<2>; .reg .b16 a<3>;", "'a' is already defined"},
      {"@%r0 ret;", "a guard is a predicate register"},
      {"call missing, (%r0);", "not a declared function"},
      {"mov.b32 %r0, 1 / 0;", "division by zero"},
      {"mov.b32 %r0, 0f3F80;", "float literal with too few digits"},
      {"mov.b32 %r0, 0x1FFFFFFFFFFFFFFFF;", "integer does not fit 64 bits"},
      {"add %r0, %r0, %r1;", "type missing"},
      {"cvt.u32 %r0, %r1;", "two types needed"},
      {"ret", "line 7: operand expected"},
      {"setp.eq.s32 %r0, %r1, %r2;", "predicate register expected"},
  };
  for (const Row& row : rows) {
    const std::string log = problem(kTop + kernel(row.body));
    EXPECT_NE(log.find(row.message), std::string::npos) << row.body << "\n" << log;
  }
}

// What ptxas takes of textures and surfaces, and what it does not.
TEST(Parser, KnowsTheFormsOfTextures) {
  const std::string top =
      std::string(kTop) + ".entry k() { .reg .b64 %h; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b16 %q<4>; ";
  for (const char* good : {
           "tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%h, {%f4}];",
           "tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%h, {%f4, %f5, %f6, %f7}];",
           "tex.3d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%h, {%f4, %f5, %f6, %f7}], {%r0, %r1, %r2, %r3};",
           "tex.a1d.v2.f16x2.s32 {%r0, %r1}, [%h, {%r2, %r3}];",
           "tex.grad.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%h, {%f4, %f5}], {%f6, %f7}, {%f6, %f7};",
           "tld4.r.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%h, {%f4, %f5}];",
           "suld.b.2d.v2.b16.zero {%q0, %q1}, [%h, {%r0, %r1}];",
           "sured.p.min.3d.b64.trap [%h, {%r0, %r1, %r2, %r3}], %h;",
           "txq.level.width.b32 %r0, [%h], %r1;",
       })
    EXPECT_TRUE(parse(top + good + " ret; }").ok()) << good;
  for (const char* bad : {
           "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%h, {%f4}];",
           "tex.3d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%h, {%f4, %f5, %f6}];",
           "tex.2d.v2.f32.f32 {%f0, %f1}, [%h, {%f4, %f5}];",
           "tex.2d.f32.f32 %f0, [%h, {%f4, %f5}];",
           "tex.cube.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%h, {%r4, %r5, %r6, %r7}];",
           "tex.cube.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%h, {%f4, %f5, %f6, %f7}], {%r0, %r1, %r2, %r3};",
           "tex.grad.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%h, {%f4, %f5}], {%f6}, {%f6};",
           "tld4.r.3d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%h, {%f4, %f5, %f6, %f7}];",
           "tld4.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%h, {%f4, %f5}];",
           "suld.b.2d.b32 %r2, [%h, {%r0, %r1}];",
           "suld.b.2d.u32.trap %r2, [%h, {%r0, %r1}];",
           "sust.p.2d.b16.trap [%h, {%r0, %r1}], %q0;",
           "sust.b.cube.b32.trap [%h, {%r0, %r1, %r2, %r3}], %r4;",
           "sured.b.add.2d.b32.trap [%h, {%r0, %r1}], %r2;",
           "sured.b.add.a1d.u32.trap [%h, {%r0, %r1}], %r2;",
           "txq.level.filter_mode.b32 %r0, [%h], %r1;",
           "suq.addr_mode_0.b32 %r0, [%h];",
       })
    EXPECT_NE(problem(top + bad + " ret; }").find("there is no such form"), std::string::npos) << bad;
}

TEST(Parser, RefusesWhatIsNotPtx) {
  EXPECT_NE(problem("").find(".version expected"), std::string::npos);
  EXPECT_NE(problem("hello").find("line 1"), std::string::npos);
  EXPECT_NE(problem(".version 8.0\n").find(".target expected"), std::string::npos);
  problem(".version 99.0\n.target sm_90\n", CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  problem(std::string(kTop) + ".address_size 32\n");
  problem(std::string(kTop) + ".entry k() {");
  problem(std::string(kTop) + ".entry k() { ret; } .entry k() { ret; }");
  problem(std::string(kTop) + ".global .b32 x; .global .b32 x;");
  problem(std::string(kTop) + ".global .b32 x[2] = {1, 2, 3};");
  problem(std::string(kTop) + ".global .b32 x = y;");
  problem(std::string(kTop) + ".global .b8 x[4]; .global .b8 y = 0(x);");
  problem(std::string(kTop) + ".global .b32 x[];");
  problem(std::string(kTop) + ".global .b32 x[0x7fffffffffffffff][16];");
  std::string log;
  EXPECT_FALSE(parse(".version 9.0\n.target sm_130\n", &log, {121}).ok());
  EXPECT_NE(log.find("above the device's sm_121"), std::string::npos);
}

TEST(Parser, AnIndexIsNoElement) {
  const std::string table = std::string(kTop) + ".global .b32 table[4];\n";
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "table[";
  for (const std::string& index : {std::string("table[%r1]"), std::string("table"), deep + "%r1"})
    problem(table + kernel("ld.global.b32 %r1, table[" + index + "];"));
}

TEST(Parser, BoundsRecursion) {
  problem(kTop + kernel("mov.b32 %r0, " + std::string(100000, '(') + "1;"));
  problem(kTop + kernel("mov.b32 %r0, " + std::string(100000, '-') + "1;"));
  problem(kTop + kernel(std::string(100000, '{')));
  problem(std::string(kTop) + ".global .b32 x[4] = " + std::string(100000, '{'));
}

TEST(Parser, TakesTimeInProportionToTheText) {
  // Each of these is quadratic in a careless parser.
  std::string scopes, labels, ranges;
  for (int k = 0; k < 20000; ++k) {
    scopes += "{ bra END; }\n";
    labels += "L" + std::to_string(k) + ": bra L" + std::to_string(19999 - k) + ";\n";
    ranges += ".reg .b32 %q" + std::to_string(k) + "_<1000000000>;\n";
  }
  parsed(kernel(scopes + "END: ret;"));
  parsed(kernel(labels));
  parsed(kernel(ranges));
  std::string functions;
  for (int k = 0; k < 20000; ++k) functions += ".func f" + std::to_string(k) + "() { .reg .b32 a; ret; }\n";
  EXPECT_EQ(parsed(kernel(labels) + functions).functions.size(), 20001u);
}

TEST(Layout, ParametersHaveTheLayoutOfC) {
  const Module m =
      parsed(".entry k(.param .u8 a, .param .u64 b, .param .u16 c, .param .align 4 .b8 d[6], .param .u32 e) { ret; }");
  const auto slots = parameterLayout(m.functions[0]);
  const uint32_t offsets[] = {0, 8, 16, 20, 28};
  for (size_t k = 0; k < 5; ++k) EXPECT_EQ(slots[k].offset, offsets[k]);
  EXPECT_EQ(slots[4].size, 4u);
}

TEST(Layout, SharedMemoryHoldsWhatTheEntryCanReach) {
  const Module m = parsed(
      ".shared .align 4 .b8 used[6];\n.shared .b32 unused;\n.extern .shared .align 32 .b8 dynamic[];\n"
      ".func g() { .shared .align 8 .b8 inner[8]; .reg .b64 r; mov.u64 r, inner; ret; }\n.func h() { .shared .b8 "
      "other[100]; ret; }\n"
      ".entry k() { .reg .b32 r; .shared .b16 own; ld.shared.u32 r, [used]; ld.shared.u32 r, [dynamic]; call g; ret; "
      "}\n");
  const uint32_t entry = 2;
  ASSERT_EQ(m.functions[entry].name, "k");
  const SharedLayout layout = sharedLayout(m, entry);
  EXPECT_EQ(layout.offsetOf(true, 0, 0), 0u);
  EXPECT_EQ(layout.offsetOf(false, entry, 0), 6u);
  EXPECT_EQ(layout.offsetOf(false, 0, 0), 8u);
  EXPECT_EQ(layout.staticSize, 16u);
  EXPECT_EQ(layout.dynamicOffset, 32u);
  EXPECT_EQ(layout.offsetOf(true, 0, 2), 32u);
}

TEST(Layout, ReservedSharedMemoryLiesInFrontWhereAKernelAsksForIt) {
  const Module m = parsed(
      ".func g() { .reg .b32 r; mov.u32 r, %reserved_smem_offset_1; ret; }\n"
      ".entry asks() { .shared .b32 own; .reg .b32 r; ld.shared.u32 r, [own]; call g; ret; }\n"
      ".entry other() { .shared .b32 own; .reg .b32 r; ld.shared.u32 r, [own]; ret; }\n");
  const SharedLayout asks = sharedLayout(m, 1);
  EXPECT_EQ(asks.reserved, kReservedShared);
  EXPECT_EQ(asks.offsetOf(false, 1, 0), kReservedShared);
  EXPECT_EQ(asks.staticSize, kReservedShared + 4);
  EXPECT_EQ(sharedLayout(m, 2).reserved, 0u);
  EXPECT_EQ(sharedLayout(m, 2).staticSize, 4u);
}

TEST(Layout, ReferencesFollowCallsAddressesAndInitialisers) {
  const Module m = parsed(
      ".func a() { ret; }\n.func b() { ret; }\n.func c() { ret; }\n.global .u64 table[1] = {b};\n.global .u64 chain[1] "
      "= {table};\n"
      ".global .b32 far;\n.const .b32 near;\n"
      ".entry k() { .reg .b64 r; .reg .b32 v; mov.u64 r, chain; ld.const.b32 v, [near]; call a; ret; }\n"
      ".entry indirect() { .reg .b64 r; mov.u64 r, 0; P: .callprototype _ (); call r, P; ret; }\n");
  const KernelReferences k = references(m, 3);
  EXPECT_EQ(k.functions.front(), 3u);
  EXPECT_EQ(std::vector<uint32_t>(k.globals), (std::vector<uint32_t>{0, 1, 3}));
  EXPECT_EQ(k.functions.size(), 3u);  // k, b through the table, a
  EXPECT_TRUE(k.addressTaken);
  const KernelReferences indirect = references(m, 4);
  EXPECT_EQ(indirect.functions, (std::vector<uint32_t>{4, 1}));
}

Result<Module> linked(std::vector<std::string> texts, std::string* log) {
  std::vector<Module> modules;
  for (const std::string& text : texts) modules.push_back(parsed(text));
  return link(std::move(modules), log);
}

TEST(Link, BindsExternsToDefinitions) {
  std::string log;
  auto m = linked(
      {".extern .func f();\n.extern .global .b32 v;\n.entry k() { .reg .b32 r; ld.global.b32 r, [v]; call f; ret; }\n",
       ".visible .global .b32 v = 7;\n.global .b32 w = 8;\n.visible .func f() { .reg .b32 r; ld.global.b32 r, [w]; "
       "ret; }\n"},
      &log);
  ASSERT_TRUE(m.ok()) << log;
  const Module& module = m.value();
  ASSERT_EQ(module.functions.size(), 2u);
  const Function* f = module.findFunction("f");
  EXPECT_FALSE(f->isDeclaration);
  EXPECT_EQ(module.variables[operandOf(*f, 0, 1).symbol].name, "w");
  const Function* k = module.findFunction("k");
  EXPECT_EQ(module.functions[operandOf(*k, 1, 1).symbol].name, "f");
  EXPECT_EQ(module.findVariable("v")->initial[0], std::byte{7});
}

TEST(Link, KeepsInternalNamesApart) {
  std::string log;
  auto m = linked({".global .b32 x = 1;\n.entry a() { .reg .b32 r; ld.global.b32 r, [x]; ret; }\n",
                   ".global .b32 x = 2;\n.entry b() { .reg .b32 r; ld.global.b32 r, [x]; ret; }\n",
                   ".visible .global .b32 x = 3;\n.entry c() { .reg .b32 r; ld.global.b32 r, [x]; ret; }\n"},
                  &log);
  ASSERT_TRUE(m.ok()) << log;
  const Module& module = m.value();
  const char* entries[] = {"a", "b", "c"};
  for (uint8_t k = 0; k < 3; ++k) {
    const Function* f = module.findFunction(entries[k]);
    EXPECT_EQ(module.variables[operandOf(*f, 0, 1).symbol].initial[0], std::byte(k + 1));
  }
  EXPECT_EQ(module.findVariable("x")->initial[0], std::byte{3});
}

TEST(Link, MergesWeakAndCommon) {
  std::string log;
  auto m = linked({".weak .global .b32 w = 1;\n.common .global .b8 c[4];\n",
                   ".visible .global .b32 w = 2;\n.common .global .b8 c[16];\n", ".weak .global .b32 w = 3;\n"},
                  &log);
  ASSERT_TRUE(m.ok()) << log;
  EXPECT_EQ(m.value().findVariable("w")->initial[0], std::byte{2});
  EXPECT_EQ(m.value().findVariable("c")->size, 16u);
}

TEST(Link, RefusesDuplicatesAndUnresolvedSymbols) {
  std::string log;
  EXPECT_FALSE(linked({".visible .func f() { ret; }", ".visible .func f() { ret; }"}, &log).ok());
  EXPECT_NE(log.find("'f' is defined more than once"), std::string::npos);
  auto unresolved = linked(
      {".extern .func g();\n.extern .global .b32 v;\n.entry k() { .reg .b32 r; ld.global.b32 r, [v]; call g; ret; }"},
      &log);
  EXPECT_EQ(unresolved.error(), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(log.find("unresolved function 'g'"), std::string::npos);
  EXPECT_NE(log.find("unresolved variable 'v'"), std::string::npos);
  EXPECT_TRUE(linked({".extern .func unused();\n.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
                      ".entry k() { .param .b32 r; .param .b64 a; call (r), vprintf, (a, a); ret; }"},
                     &log)
                  .ok())
      << log;
}

}  // namespace
}  // namespace vg::ptx
