// Single instructions with expected bits: corner cases from the rules of the PTX ISA, and random operands against
// arithmetic done another way.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <random>

#include "ptx/operations/half.h"
#include "unit/ptx/harness.h"
#include "unit/ptx/opcode_matrix.h"

namespace vg::ptx {
namespace {

using matrix::Case;
using matrix::Domain;
using matrix::Match;

// Results x and y of `c` for each row of operands a, b, c, d.
std::vector<std::array<uint64_t, 2>> evaluate(const Case& c, const std::vector<std::array<uint64_t, 4>>& rows) {
  const size_t threads = (rows.size() + 31) / 32 * 32;
  std::vector<uint64_t> in(threads * matrix::kOperands), out(threads * matrix::kResults);
  for (size_t t = 0; t < rows.size(); ++t)
    for (size_t k = 0; k < 4; ++k) in[t * matrix::kOperands + k] = rows[t][k];
  harness::Interpreted kernel(matrix::kHeader + matrix::kernelText(c, "k"));
  EXPECT_TRUE(kernel.ok()) << c.text << "\n" << kernel.log;
  std::vector<std::array<uint64_t, 2>> results(rows.size());
  if (!kernel.ok()) return results;
  harness::Launch launch;
  launch.grid[0] = static_cast<uint32_t>(threads / 32);
  launch.add(reinterpret_cast<uint64_t>(in.data()));
  launch.add(reinterpret_cast<uint64_t>(out.data()));
  EXPECT_FALSE(kernel.run("k", launch).trapped) << c.text;
  for (size_t t = 0; t < rows.size(); ++t) results[t] = {out[t * 2], out[t * 2 + 1]};
  return results;
}

constexpr Domain I8 = Domain::Int8, I16 = Domain::Int16, I32 = Domain::Int32, I64 = Domain::Int64, P = Domain::Pred;

struct Row {
  const char* text;  // reads a, b, c, d; writes x
  std::vector<Domain> operands;
  int bits;
  std::array<uint64_t, 4> in;
  uint64_t expected;
};

const Row kRows[] = {
    // Integers: saturation, wrap, division by zero, shifts beyond the width.
    {"add.sat.s32 x, a, b;", {I32, I32}, 32, {0x7fffffff, 1}, 0x7fffffff},
    {"sub.sat.s32 x, a, b;", {I32, I32}, 32, {0x80000000, 1}, 0x80000000},
    {"add.s32 x, a, b;", {I32, I32}, 32, {0x7fffffff, 1}, 0x80000000},
    {"mul.hi.s64 x, a, b;", {I64, I64}, 64, {0x8000000000000000, 0x8000000000000000}, 0x4000000000000000},
    {"mul.hi.u64 x, a, b;", {I64, I64}, 64, {~0ull, ~0ull}, ~0ull - 1},
    {"mul.wide.s32 x, a, b;", {I32, I32}, 64, {0xffffffff, 2}, static_cast<uint64_t>(-2)},
    {"mad.hi.sat.s32 x, a, b, c;", {I32, I32, I32}, 32, {0x40000000, 8, 0x7fffffff}, 0x7fffffff},
    {"div.s32 x, a, b;", {I32, I32}, 32, {7, 0}, 0xffffffff},
    {"div.s32 x, a, b;", {I32, I32}, 32, {0x80000000, 0xffffffff}, 0x80000000},
    {"rem.s32 x, a, b;", {I32, I32}, 32, {0x80000000, 0xffffffff}, 0},
    {"rem.u32 x, a, b;", {I32, I32}, 32, {7, 0}, 0xffffffff},
    {"div.s32 x, a, b;", {I32, I32}, 32, {static_cast<uint32_t>(-7), 2}, static_cast<uint32_t>(-3)},
    {"rem.s32 x, a, b;", {I32, I32}, 32, {static_cast<uint32_t>(-7), 2}, static_cast<uint32_t>(-1)},
    {"shl.b32 x, a, b;", {I32, I32}, 32, {1, 32}, 0},
    {"shr.u32 x, a, b;", {I32, I32}, 32, {0x80000000, 33}, 0},
    {"shr.s32 x, a, b;", {I32, I32}, 32, {0x80000000, 99}, 0xffffffff},
    {"shr.s16 x, a, b;", {I16, I32}, 16, {0x8000, 16}, 0xffff},
    {"shl.b64 x, a, b;", {I64, I32}, 64, {1, 63}, 1ull << 63},
    {"abs.s32 x, a;", {I32}, 32, {0x80000000}, 0x80000000},
    {"mul24.hi.u32 x, a, b;", {I32, I32}, 32, {0xffffffff, 0xffffffff}, 0xfffffe00},
    {"sad.u32 x, a, b, c;", {I32, I32, I32}, 32, {1, 5, 10}, 14},
    // Bit fields.
    {"bfe.u32 x, a, b, c;", {I32, I32, I32}, 32, {0x12345678, 8, 12}, 0x456},
    {"bfe.s32 x, a, b, c;", {I32, I32, I32}, 32, {0x00000800, 4, 8}, 0xffffff80},
    {"bfe.s32 x, a, b, c;", {I32, I32, I32}, 32, {0x80000000, 28, 20}, 0xfffffff8},
    {"bfe.s32 x, a, b, c;", {I32, I32, I32}, 32, {0x80000000, 40, 4}, 0xffffffff},
    {"bfe.u32 x, a, b, c;", {I32, I32, I32}, 32, {0xffffffff, 0, 0}, 0},
    {"bfi.b32 x, a, b, c, d;", {I32, I32, I32, I32}, 32, {0xff, 0, 28, 8}, 0xf0000000},
    {"bfi.b32 x, a, b, c, d;", {I32, I32, I32, I32}, 32, {0xff, 0x1234, 32, 8}, 0x1234},
    {"bfind.u32 x, a;", {I32}, 32, {0}, 0xffffffff},
    {"bfind.s32 x, a;", {I32}, 32, {0xfffffffe}, 0},
    {"bfind.shiftamt.u32 x, a;", {I32}, 32, {0x00010000}, 15},
    {"clz.b64 x, a;", {I64}, 32, {0}, 64},
    {"fns.b32 x, a, b, c;", {I32, I32, I32}, 32, {0b101101, 0, 3}, 3},
    {"fns.b32 x, a, b, c;", {I32, I32, I32}, 32, {0b101101, 5, static_cast<uint32_t>(-2)}, 3},
    {"fns.b32 x, a, b, c;", {I32, I32, I32}, 32, {0b101101, 1, 0}, 0xffffffff},
    {"prmt.b32 x, a, b, c;", {I32, I32, I32}, 32, {0x44332211, 0x88776655, 0x7531}, 0x88664422},
    {"prmt.b32 x, a, b, c;", {I32, I32, I32}, 32, {0x44338011, 0, 0x0098}, 0x1111ff00},
    {"prmt.b32.f4e x, a, b, c;", {I32, I32, I32}, 32, {0x44332211, 0x88776655, 1}, 0x55443322},
    {"prmt.b32.b4e x, a, b, c;", {I32, I32, I32}, 32, {0x44332211, 0x88776655, 1}, 0x77881122},
    {"shf.l.wrap.b32 x, a, b, c;", {I32, I32, I32}, 32, {0x80000000, 0x1, 33}, 0x3},
    {"shf.l.clamp.b32 x, a, b, c;", {I32, I32, I32}, 32, {0x80000001, 0x1, 40}, 0x80000001},
    {"shf.r.clamp.b32 x, a, b, c;", {I32, I32, I32}, 32, {0x80000001, 0x7, 40}, 0x7},
    {"szext.clamp.s32 x, a, b;", {I32, I32}, 32, {0x80, 8}, 0xffffff80},
    {"bmsk.clamp.b32 x, a, b;", {I32, I32}, 32, {4, 40}, 0xfffffff0},
    {"dp4a.s32.u32 x, a, b, c;", {I32, I32, I32}, 32, {0xff01ff01, 0x01020304, 5}, 5 - 1 + 2 - 3 + 4},
    {"dp2a.hi.u32.u32 x, a, b, c;", {I32, I32, I32}, 32, {0x00020003, 0x05060000, 1}, 3 * 6 + 2 * 5 + 1},
    {"lop3.b32 x, a, b, c, 0xE8;", {I32, I32, I32}, 32, {0xff00ff00, 0xf0f0f0f0, 0xcccccccc}, 0xfcc0fcc0},
    {"cnot.b32 x, a;", {I32}, 32, {0}, 1},
    // Floats: NaN, signed zeros, flushing, saturation.
    {"add.f32 x, a, b;", {I32, I32}, 32, {0x7f800000, 0xff800000}, 0x7fffffff},
    {"add.rm.f32 x, a, b;", {I32, I32}, 32, {0x3f800000, 0xbf800000}, 0x80000000},
    {"add.f32 x, a, b;", {I32, I32}, 32, {0x00000001, 0}, 1},
    {"add.ftz.f32 x, a, b;", {I32, I32}, 32, {0x80000001, 0x80000001}, 0x80000000},
    {"mul.ftz.f32 x, a, b;", {I32, I32}, 32, {0x00800000, 0x3f000000}, 0},
    {"add.sat.f32 x, a, b;", {I32, I32}, 32, {0x7fc00000, 0}, 0},
    {"add.sat.f32 x, a, b;", {I32, I32}, 32, {0x40000000, 0}, 0x3f800000},
    {"add.sat.f32 x, a, b;", {I32, I32}, 32, {0xc0000000, 0}, 0},
    {"add.rp.f32 x, a, b;", {I32, I32}, 32, {0x3f800000, 0x00000001}, 0x3f800001},
    {"add.rz.f32 x, a, b;", {I32, I32}, 32, {0x3f800000, 0x80000001}, 0x3f7fffff},
    {"fma.rn.f32 x, a, b, c;", {I32, I32, I32}, 32, {0x3f800001, 0x3f800001, 0xbf800002}, 0x28800000},
    {"mul.rz.f32 x, a, b;", {I32, I32}, 32, {0x7f7fffff, 0x40000000}, 0x7f7fffff},
    {"min.f32 x, a, b;", {I32, I32}, 32, {0x7fc00000, 0x3f800000}, 0x3f800000},
    {"min.NaN.f32 x, a, b;", {I32, I32}, 32, {0x7fc00000, 0x3f800000}, 0x7fffffff},
    {"min.f32 x, a, b;", {I32, I32}, 32, {0, 0x80000000}, 0x80000000},
    {"max.f32 x, a, b;", {I32, I32}, 32, {0x80000000, 0}, 0},
    {"max.xorsign.abs.f32 x, a, b;", {I32, I32}, 32, {0xc0000000, 0x3f800000}, 0xc0000000},
    {"rcp.rn.f32 x, a;", {I32}, 32, {0x80000000}, 0xff800000},
    {"sqrt.rn.f32 x, a;", {I32}, 32, {0x80000000}, 0x80000000},
    {"sqrt.rn.f32 x, a;", {I32}, 32, {0xbf800000}, 0x7fffffff},
    {"rcp.approx.ftz.f64 x, a;", {I64}, 64, {0x7ff8000000000001}, 0x7fffffff00000000},
    {"copysign.f32 x, a, b;", {I32, I32}, 32, {0x80000000, 0x3f800000}, 0xbf800000},
    {"testp.subnormal.f32 x, a;", {I32}, 1, {1}, 1},
    {"testp.normal.f32 x, a;", {I32}, 1, {0}, 1},
    {"setp.ne.f32 x, a, b;", {I32, I32}, 1, {0x7fc00000, 0}, 0},
    {"setp.neu.f32 x, a, b;", {I32, I32}, 1, {0x7fc00000, 0}, 1},
    {"setp.lt.ftz.f32 x, a, b;", {I32, I32}, 1, {0, 1}, 0},
    {"setp.lo.u32 x, a, b;", {I32, I32}, 1, {1, 0xffffffff}, 1},
    {"set.gt.f32.s32 x, a, b;", {I32, I32}, 32, {1, 0xffffffff}, 0x3f800000},
    {"slct.u32.f32 x, a, b, c;", {I32, I32, I32}, 32, {1, 2, 0x80000000}, 1},
    {"slct.u32.f32 x, a, b, c;", {I32, I32, I32}, 32, {1, 2, 0x7fc00000}, 2},
    {"selp.b32 x, a, b, c;", {I32, I32, P}, 32, {1, 2, 0}, 2},
    // Conversions.
    {"cvt.s8.s32 x, a;", {I32}, 32, {0x180}, 0xffffff80},
    {"cvt.sat.u8.s32 x, a;", {I32}, 32, {0xffffffff}, 0},
    {"cvt.sat.s8.s32 x, a;", {I32}, 32, {300}, 127},
    {"cvt.u64.s8 x, a;", {I8}, 64, {0x80}, ~uint64_t{0x7f}},
    {"cvt.rzi.s32.f32 x, a;", {I32}, 32, {0x7fc00000}, 0},
    {"cvt.rzi.s32.f32 x, a;", {I32}, 32, {0x4f800000}, 0x7fffffff},
    {"cvt.rzi.u32.f32 x, a;", {I32}, 32, {0xbf800000}, 0},
    {"cvt.rni.s32.f32 x, a;", {I32}, 32, {0x40200000}, 2},
    {"cvt.rni.s32.f32 x, a;", {I32}, 32, {0x40600000}, 4},
    {"cvt.rmi.s32.f32 x, a;", {I32}, 32, {0xbdcccccd}, 0xffffffff},
    {"cvt.rpi.f32.f32 x, a;", {I32}, 32, {0xbe800000}, 0x80000000},
    {"cvt.rn.f32.u64 x, a;", {I64}, 32, {0xffffffffffffffff}, 0x5f800000},
    {"cvt.rz.f32.u64 x, a;", {I64}, 32, {0xffffffffffffffff}, 0x5f7fffff},
    {"cvt.rn.f64.u64 x, a;", {I64}, 64, {0x8000000000000401}, 0x43e0000000000001},
    {"cvt.rm.f64.s64 x, a;", {I64}, 64, {0x7fffffffffffffff}, 0x43dfffffffffffff},
    {"cvt.rn.f16.f32 x, a;", {I32}, 16, {0x477fefff}, 0x7bff},
    {"cvt.rn.f16.f32 x, a;", {I32}, 16, {0x477ff000}, 0x7c00},
    {"cvt.rn.f16.f32 x, a;", {I32}, 16, {0x33000000}, 0},
    {"cvt.rn.f16.f32 x, a;", {I32}, 16, {0x33000001}, 1},
    {"cvt.rn.bf16.f32 x, a;", {I32}, 16, {0x3f808000}, 0x3f80},
    {"cvt.rn.relu.bf16.f32 x, a;", {I32}, 16, {0xbf800000}, 0},
    {"cvt.rn.bf16x2.f32 x, a, b;", {I32, I32}, 32, {0x3f800000, 0x40000000}, 0x3f804000},
    {"cvt.rn.satfinite.e4m3x2.f32 x, a, b;", {I32, I32}, 16, {0x44800000, 0x3f800000}, 0x7e38},
    {"cvt.rn.satfinite.e5m2x2.f32 x, a, b;", {I32, I32}, 16, {0x7fc00000, 0xc7700000}, 0x7ffb},
    {"cvt.rna.tf32.f32 x, a;", {I32}, 32, {0x3f801000}, 0x3f802000},
    {"cvt.pack.sat.u8.s32.b32 x, a, b, c;", {I32, I32, I32}, 32, {300, 0xffffffff, 0x1234}, 0x1234ff00},
    {"cvt.pack.sat.s4.s32.b32 x, a, b, c;", {I32, I32, I32}, 32, {100, static_cast<uint32_t>(-100), 0x12}, 0x1278},
    // Halves.
    {"fma.rn.f16 x, a, b, c;", {I16, I16, I16}, 16, {0x3c01, 0x3c01, 0x0001}, 0x3c02},
    {"add.f16x2 x, a, b;", {I32, I32}, 32, {0x7bff3c00, 0x7bff3c00}, 0x7c004000},
    {"mul.ftz.f16 x, a, b;", {I16, I16}, 16, {0x0400, 0x3800}, 0},
    {"max.bf16 x, a, b;", {I16, I16}, 16, {0x7fc0, 0xbf80}, 0xbf80},
    {"neg.f16x2 x, a;", {I32}, 32, {0x3c008000}, 0xbc000000},
    // Video.
    {"vadd.s32.s32.s32.sat x, a, b;", {I32, I32}, 32, {0x7fffffff, 1}, 0x7fffffff},
    {"vabsdiff4.u32.u32.u32.add x, a, b, c;", {I32, I32, I32}, 32, {0x01020304, 0x04030201, 10}, 10 + 3 + 1 + 1 + 3},
    {"vavrg2.s32.s32.s32 x, a, b, c;", {I32, I32, I32}, 32, {0xffff0001, 0xfffe0002, 0}, 0xfffe0002},
};

TEST(Opcodes, CornerCasesHaveTheirBits) {
  for (const Row& row : kRows) {
    Case c;
    c.text = row.text;
    c.operands = row.operands;
    c.results = {{row.bits, Match::Bits}};
    EXPECT_EQ(evaluate(c, {row.in})[0][0], row.expected)
        << row.text << std::hex << " " << row.in[0] << " " << row.in[1];
  }
}

struct Mode {
  const char* word;
  int mode;
  Rounding rounding;
};
const Mode kModes[] = {{"rn", FE_TONEAREST, Rounding::NearestEven},
                       {"rz", FE_TOWARDZERO, Rounding::Zero},
                       {"rm", FE_DOWNWARD, Rounding::Down},
                       {"rp", FE_UPWARD, Rounding::Up}};

template <class Operation>
float inMode(int mode, float a, float b, float c, Operation operation) {
  volatile float x = a, y = b, z = c;
  std::fesetround(mode);
  volatile float result = operation(x, y, z);
  std::fesetround(FE_TONEAREST);
  return result;
}

// The machine's own rounding modes as the other way.
TEST(Opcodes, DirectedRoundingOfSinglesIsExact) {
  std::mt19937_64 random(1);
  std::vector<std::array<uint64_t, 4>> rows(2048);
  for (auto& row : rows)
    for (uint64_t& word : row) word = matrix::randomOf(Domain::F32, random());
  struct Operation {
    const char* name;
    int operands;
    float (*run)(float, float, float);
  };
  const Operation operations[] = {{"add", 2, [](float a, float b, float) { return a + b; }},
                                  {"sub", 2, [](float a, float b, float) { return a - b; }},
                                  {"mul", 2, [](float a, float b, float) { return a * b; }},
                                  {"div", 2, [](float a, float b, float) { return a / b; }},
                                  {"fma", 3, [](float a, float b, float c) { return std::fma(a, b, c); }},
                                  {"sqrt", 1, [](float a, float, float) { return std::sqrt(a); }},
                                  {"rcp", 1, [](float a, float, float) { return 1.0f / a; }}};
  for (const Operation& operation : operations)
    for (const Mode& mode : kModes) {
      Case c;
      c.text = std::string(operation.name) + "." + mode.word + ".f32 x";
      for (int k = 0; k < operation.operands; ++k) c.text += std::string(", ") + static_cast<char>('a' + k);
      c.text += ";";
      c.operands.assign(static_cast<size_t>(operation.operands), Domain::F32);
      c.results = {{32, Match::F32}};
      const auto results = evaluate(c, rows);
      for (size_t t = 0; t < rows.size(); ++t) {
        const auto value = [&](size_t k) { return std::bit_cast<float>(static_cast<uint32_t>(rows[t][k])); };
        const float expected = inMode(mode.mode, value(0), value(1), value(2), operation.run);
        const uint64_t bits = expected != expected ? 0x7fffffff : std::bit_cast<uint32_t>(expected);
        ASSERT_EQ(results[t][0], bits) << c.text << std::hex << " " << rows[t][0] << " " << rows[t][1] << " "
                                       << rows[t][2];
      }
    }
}

TEST(Opcodes, NarrowingOfDoublesIsExact) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 200000; ++round) {
    const uint64_t bits = round & 1 ? random() : (random() & 0x800fffffffffffffull) | (870 + random() % 300) << 52;
    volatile double value = std::bit_cast<double>(bits);
    if (std::isnan(value)) continue;
    for (const Mode& mode : kModes) {
      std::fesetround(mode.mode);
      volatile float expected = static_cast<float>(value);
      std::fesetround(FE_TONEAREST);
      ASSERT_EQ(roundTo(value, kSingle, mode.rounding), std::bit_cast<uint32_t>(static_cast<float>(expected)))
          << std::hex << bits << " " << mode.word;
    }
  }
}

// Every value of a small format comes back, and what lies between two goes the right way.
TEST(Opcodes, SmallFormatsRoundToTheirNeighbours) {
  for (const FloatFormat* format : {&kHalf, &kBfloat, &kE5M2, &kE4M3, &kE2M3, &kE3M2, &kE2M1, &kTf32}) {
    const uint32_t count = 1u << (format->exponentBits + format->fractionBits);
    double before = 0;
    for (uint32_t bits = 0; bits < count; ++bits) {
      const double value = widen(bits, *format);
      if (!std::isfinite(value)) break;
      ASSERT_EQ(roundTo(value, *format), bits);
      ASSERT_EQ(roundTo(-value, *format), bits | count);
      if (bits) {
        const double middle = (before + value) / 2;
        ASSERT_EQ(roundTo(middle, *format), bits & 1 ? bits - 1 : bits);
        ASSERT_EQ(roundTo(middle, *format, Rounding::NearestAway), bits);
        ASSERT_EQ(roundTo(middle, 1, *format, Rounding::NearestEven, false), bits);
        ASSERT_EQ(roundTo(middle, -1, *format, Rounding::NearestEven, false), bits - 1);
        ASSERT_EQ(roundTo(middle, *format, Rounding::Zero), bits - 1);
        ASSERT_EQ(roundTo(middle, *format, Rounding::Up), bits);
        ASSERT_EQ(roundTo(-middle, *format, Rounding::Down), bits | count);
        ASSERT_EQ(roundTo(value, -1, *format, Rounding::Zero, false), bits - 1);
      }
      before = value;
    }
  }
}

// Integer instructions against the wording of the manual, bit by bit.
TEST(Opcodes, BitInstructionsFollowTheirDefinition) {
  std::mt19937_64 random(3);
  std::vector<std::array<uint64_t, 4>> rows(4096);
  for (auto& row : rows) row = {random() & 0xffffffff, random() & 0xffffffff, random() % 80, random() % 80};
  const auto check = [&](const char* text, std::vector<Domain> operands, auto expected) {
    Case c;
    c.text = text;
    c.operands = std::move(operands);
    c.results = {{32, Match::Bits}};
    const auto results = evaluate(c, rows);
    for (size_t t = 0; t < rows.size(); ++t)
      ASSERT_EQ(results[t][0], expected(rows[t]))
          << text << std::hex << " " << rows[t][0] << " " << rows[t][1] << " " << rows[t][2] << " " << rows[t][3];
  };
  using Words = std::array<uint64_t, 4>;
  check("bfi.b32 x, a, b, c, d;", {I32, I32, I32, I32}, [](const Words& w) {
    uint64_t f = w[1];
    for (uint64_t i = 0; i < w[3] && w[2] + i <= 31; ++i) {
      f &= ~(1ull << (w[2] + i));
      f |= (i < 32 ? w[0] >> i & 1 : 0) << (w[2] + i);
    }
    return f;
  });
  for (bool isSigned : {false, true})
    check(isSigned ? "bfe.s32 x, a, c, d;" : "bfe.u32 x, a, c, d;", {I32, I32, I32, I32}, [&](const Words& w) {
      const uint64_t sign = isSigned && w[3] ? w[0] >> std::min<uint64_t>(w[2] + w[3] - 1, 31) & 1 : 0;
      uint64_t d = 0;
      for (uint64_t i = 0; i <= 31; ++i) d |= (i < w[3] && w[2] + i <= 31 ? w[0] >> (w[2] + i) & 1 : sign) << i;
      return d;
    });
  check("brev.b32 x, a;", {I32, I32, I32, I32}, [](const Words& w) {
    uint64_t d = 0;
    for (int i = 0; i < 32; ++i) d = d << 1 | (w[0] >> i & 1);
    return d;
  });
  check("lop3.b32 x, a, b, c, 0x1B;", {I32, I32, I32, I32}, [](const Words& w) {
    uint64_t d = 0;
    for (int i = 0; i < 32; ++i) {
      const uint64_t index = (w[0] >> i & 1) << 2 | (w[1] >> i & 1) << 1 | (w[2] >> i & 1);
      d |= (0x1Bull >> index & 1) << i;
    }
    return d;
  });
}

TEST(Opcodes, CarriesRunThroughWords) {
  std::mt19937_64 random(4);
  std::vector<std::array<uint64_t, 4>> rows(2048);
  for (auto& row : rows)
    for (uint64_t& word : row) word = matrix::randomOf(Domain::Int64, random());
  Case add, sub, mad;
  add.text = "add.cc.u64 x, a, b; addc.u64 y, c, d;";
  sub.text = "sub.cc.u64 x, a, b; subc.u64 y, c, d;";
  mad.text = "mad.lo.cc.u64 x, a, b, c; madc.hi.u64 y, a, b, d;";
  for (Case* c : {&add, &sub, &mad}) {
    c->operands.assign(4, Domain::Int64);
    c->results = {{64, Match::Bits}, {64, Match::Bits}};
  }
  const auto sums = evaluate(add, rows), differences = evaluate(sub, rows), products = evaluate(mad, rows);
  using Wide = unsigned __int128;
  const auto wide = [](uint64_t high, uint64_t low) { return static_cast<Wide>(high) << 64 | low; };
  for (size_t t = 0; t < rows.size(); ++t) {
    const auto& w = rows[t];
    ASSERT_TRUE(wide(sums[t][1], sums[t][0]) == wide(w[2], w[0]) + wide(w[3], w[1]));
    ASSERT_TRUE(wide(differences[t][1], differences[t][0]) == wide(w[2], w[0]) - wide(w[3], w[1]));
    ASSERT_TRUE(wide(products[t][1], products[t][0]) == static_cast<Wide>(w[0]) * w[1] + wide(w[3], w[2]));
  }
}

// Sums behind differences and the other way round, as NVIDIA's compiler divides 128-bit numbers: a difference is a sum
// with the complement, so its carry says that nothing was borrowed. An H100 answers so.
TEST(Opcodes, CarriesOfSumsAndDifferencesAreOne) {
  std::mt19937_64 random(5);
  std::vector<std::array<uint64_t, 4>> rows(2048);
  for (auto& row : rows)
    for (uint64_t& word : row) word = matrix::randomOf(Domain::Int32, random()) & 0xffffffff;
  struct Chain {
    const char* text;
    bool firstSubtracts, secondSubtracts;
  };
  for (const Chain& chain : {Chain{"sub.cc.u32 x, a, b; addc.u32 y, c, d;", true, false},
                             Chain{"add.cc.u32 x, a, b; subc.u32 y, c, d;", false, true},
                             Chain{"sub.cc.u32 x, a, b; subc.u32 y, c, d;", true, true},
                             Chain{"sub.cc.u32 x, a, a; subc.cc.u32 x, a, b; addc.u32 y, c, d;", true, false},
                             Chain{"add.cc.u32 x, a, 0; addc.cc.u32 x, a, b; subc.u32 y, c, d;", false, true}}) {
    Case c;
    c.text = chain.text;
    c.operands.assign(4, Domain::Int32);
    c.results = {{32, Match::Bits}, {32, Match::Bits}};
    const auto found = evaluate(c, rows);
    for (size_t t = 0; t < rows.size(); ++t) {
      const auto& w = rows[t];
      const uint64_t first = w[0] + (chain.firstSubtracts ? (~w[1] & 0xffffffff) + 1 : w[1]);
      const uint64_t second = w[2] + (chain.secondSubtracts ? ~w[3] & 0xffffffff : w[3]) + (first >> 32 & 1);
      ASSERT_EQ(found[t][0], first & 0xffffffff) << chain.text;
      ASSERT_EQ(found[t][1], second & 0xffffffff) << chain.text;
    }
  }
}

}  // namespace
}  // namespace vg::ptx
