// Where registers are kept for debuggers and core dumps, and the instructions that keep them.
#include "ptx/facts/kept_registers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "ptx/text/op.h"
#include "ptx/text/parser.h"

namespace vg::ptx::kept {
namespace {

const char kText[] = R"(.version 7.0
.target sm_70
.address_size 64
.func (.param .b32 result) twice(.param .b32 value) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [value];
  add.u32 %r2, %r1, %r1;
  st.param.b32 [result], %r2;
  ret;
}
.visible .entry other() { .reg .b64 %unused<9>; ret; }
.visible .entry kernel(.param .u64 out) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<4>;
  .reg .b16 %h<2>;
  .reg .pred %p<3>;
  ld.param.u64 %rd1, [out];
AGAIN:
  { .param .b32 value; .param .b32 result;
    st.param.b32 [value], %r1;
    call (result), twice, (value);
    ld.param.b32 %r1, [result]; }
  setp.lt.u32 %p1|%p2, %r1, 9;
  @%p1 bra AGAIN;
  ld.global.v2.u32 {%r2, %r3}, [%rd1];
  @%p2 exit;
  bar.sync 0;
  ret;
}
)";

Module parsed() {
  std::string log;
  Result<Module> module = parse(kText, &log);
  EXPECT_TRUE(module.ok()) << log;
  return std::move(module).value();
}

uint32_t indexOf(const Module& module, const char* name) {
  return static_cast<uint32_t>(module.findFunction(name) - module.functions.data());
}

TEST(KeptRegisters, EachHasMemoryOfItsOwnInFunctionsThatTheKernelReaches) {
  const Module module = parsed();
  const Layout layout = layoutOf(module, indexOf(module, "kernel"));
  EXPECT_EQ(layout.functions, (std::vector<uint32_t>{indexOf(module, "kernel"), indexOf(module, "twice")}));
  EXPECT_EQ(layout.of(indexOf(module, "other")), nullptr);
  std::set<uint32_t> taken;
  for (size_t n = 0; n < layout.functions.size(); ++n) {
    const std::vector<Register>& registers = module.functions[layout.functions[n]].registers;
    ASSERT_EQ(layout.offsets[n].size(), registers.size());
    for (size_t r = 0; r < registers.size(); ++r) {
      const uint32_t offset = layout.offsets[n][r];
      EXPECT_GE(offset, sizeof(Head));
      const uint32_t bytes = registers[r].type == Type::Pred ? 4 : 4 * bitsOf(registers[r].type);
      EXPECT_LE(offset + bytes, layout.bytes);
      for (uint32_t at = offset; at < offset + bytes; ++at) EXPECT_TRUE(taken.insert(at).second) << registers[r].name;
    }
  }
}

TEST(KeptRegisters, WhateverWritesOneIsFollowedByWhatKeepsIt) {
  Module module = parsed();
  const uint32_t entry = indexOf(module, "kernel");
  instrument(module, layoutOf(module, entry));
  const Function& f = module.functions[entry];
  std::vector<std::string> kept;
  for (const Instruction& i : f.body)
    if (keeps(i) && !notes(i, f)) kept.push_back(f.registers[f.operands[i.first].reg].name);
  EXPECT_EQ(kept, (std::vector<std::string>{"%rd1", "%r1", "%p1", "%p2", "%r2", "%r3"}));
  for (const Instruction& i : f.body)
    if (keeps(i) && !notes(i, f)) {
      EXPECT_EQ(i.guard, -1);
    }
  EXPECT_EQ(module.functions[indexOf(module, "other")].body.size(), 1u);
}

TEST(KeptRegisters, LanesAreNotedWhereBlocksBeginAndWhereTheyEnd) {
  Module module = parsed();
  const uint32_t entry = indexOf(module, "kernel");
  instrument(module, layoutOf(module, entry));
  const Function& f = module.functions[entry];
  ASSERT_EQ(f.labels.size(), 1u);
  EXPECT_TRUE(notes(f.body[f.labels[0].instruction], f));  // whoever branches there is noted
  for (size_t n = 0; n < f.body.size(); ++n) {
    const bool leaves = f.body[n].op == Op::Exit || f.body[n].op == Op::Ret;
    if (f.body[n].op == Op::Bar) {
      EXPECT_TRUE(notes(f.body[n - 1], f));
    }
    if (!leaves) continue;
    EXPECT_TRUE(notes(f.body[n - 1], f));
    EXPECT_EQ(f.operands[f.body[n - 1].first].bits, kEnded);
    EXPECT_EQ(f.body[n - 1].guard, f.body[n].guard);
    EXPECT_EQ(f.body[n - 1].guardNegated, f.body[n].guardNegated);
  }
  // A return from a function is no end.
  const Function& twice = module.functions[indexOf(module, "twice")];
  for (const Instruction& i : twice.body)
    if (notes(i, twice)) {
      EXPECT_NE(twice.operands[i.first].bits, kEnded);
    }
}

TEST(KeptRegisters, ValuesAreReadByTheirWidth) {
  alignas(64) std::byte memory[1024] = {};
  const uint32_t bits = 1u << 5;
  std::memcpy(memory, &bits, sizeof bits);
  EXPECT_EQ(valueOf(memory, {"%p", Type::Pred}, 0, 5), 1u);
  EXPECT_EQ(valueOf(memory, {"%p", Type::Pred}, 0, 4), 0u);
  const uint16_t half = 0xabcd;
  std::memcpy(memory + 64 + 2 * 31, &half, sizeof half);
  EXPECT_EQ(valueOf(memory, {"%h", Type::B16}, 64, 31), half);
  const uint64_t wide[] = {1, 2};
  std::memcpy(memory + 128 + 16 * 3, wide, sizeof wide);
  EXPECT_EQ(valueOf(memory, {"%q", Type::B128}, 128, 3), 1u);
  EXPECT_EQ(valueOf(memory, {"%q", Type::B128}, 128, 3, true), 2u);
}

TEST(KeptRegisters, KernelsWithTooManyKeepNone) {
  Module module = parsed();
  const uint32_t entry = indexOf(module, "kernel");
  module.functions[entry].registers.resize(100'000, {"%many", Type::B64});
  EXPECT_EQ(layoutOf(module, entry).bytes, 0u);
}

}  // namespace
}  // namespace vg::ptx::kept
