// Products and sums that become one operation: which ones, and that values follow. As measured with ptxas 13.0 on an
// H200.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "ptx/operations/special_functions.h"
#include "ptx/text/op.h"
#include "ptx/text/parser.h"
#include "unit/ptx/harness.h"

namespace vg::ptx {
namespace {

std::string kernel(const std::string& body, const char* target = "sm_90") {
  return std::string(".version 8.3\n.target ") + target +
         "\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {\n.reg .b64 %in, %out; .reg .pred "
         "p;\n"
         ".reg .f32 a, b, c, d, t, u, x, y; .reg .f64 e, f, g, v, z; .reg .b16 h, i, j, w, s; .reg .b32 q, r, m, n, "
         "o;\n"
         "ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n" +
         body + "\nret;\n}\n";
}

// How many fma a kernel has.
int fused(const std::string& body, const char* target = "sm_90") {
  std::string log;
  auto module = parse(kernel(body, target), &log);
  EXPECT_TRUE(module.ok()) << log;
  if (!module.ok()) return -1;
  int count = 0;
  for (const Instruction& i : module->functions[0].body) count += i.op == Op::Fma;
  return count;
}

TEST(Contraction, TakesProductsOfEveryTypeWithoutRoundings) {
  EXPECT_EQ(fused("mul.f32 t, a, b; add.f32 x, t, c;"), 1);
  EXPECT_EQ(fused("mul.f32 t, a, b; add.f32 x, c, t;"), 1);
  EXPECT_EQ(fused("mul.f32 t, a, b; sub.f32 x, t, c;"), 1);
  EXPECT_EQ(fused("mul.f32 t, a, b; sub.f32 x, c, t;"), 1);
  EXPECT_EQ(fused("mul.f64 v, e, f; add.f64 z, v, g;"), 1);
  EXPECT_EQ(fused("mul.f16 w, h, i; add.f16 s, w, j;"), 1);
  EXPECT_EQ(fused("mul.bf16 w, h, i; sub.bf16 s, j, w;"), 1);
  EXPECT_EQ(fused("mul.f16x2 q, r, m; add.f16x2 o, q, n;"), 1);
  EXPECT_EQ(fused("mul.bf16x2 q, r, m; add.bf16x2 o, q, n;"), 1);
  EXPECT_EQ(fused("mul.f32 t, a, 0f40000000; add.f32 x, t, 0f3F800000;"), 1);
  EXPECT_EQ(fused("mul.lo.s32 q, r, m; add.s32 o, q, n;"), 0);
}

TEST(Contraction, KeepsRoundingsThatAreNamed) {
  EXPECT_EQ(fused("mul.rn.f32 t, a, b; add.f32 x, t, c;"), 0);
  EXPECT_EQ(fused("mul.f32 t, a, b; add.rn.f32 x, t, c;"), 0);
  EXPECT_EQ(fused("mul.rn.f64 v, e, f; add.rn.f64 z, v, g;"), 0);
}

TEST(Contraction, WantsTheSameFlushingAndNoSaturatedProduct) {
  EXPECT_EQ(fused("mul.ftz.f32 t, a, b; add.ftz.f32 x, t, c;"), 1);
  EXPECT_EQ(fused("mul.ftz.f32 t, a, b; add.f32 x, t, c;"), 0);
  EXPECT_EQ(fused("mul.f32 t, a, b; add.ftz.f32 x, t, c;"), 0);
  EXPECT_EQ(fused("mul.f32 t, a, b; add.sat.f32 x, t, c;"), 1);
  EXPECT_EQ(fused("mul.sat.f32 t, a, b; add.f32 x, t, c;"), 0);
}

TEST(Contraction, WantsEveryUseOfTheProductToBeASumInItsBlock) {
  EXPECT_EQ(fused("mul.f32 t, a, b; add.f32 x, t, c; sub.f32 y, d, t;"), 2);
  EXPECT_EQ(fused("mul.f32 t, a, b; add.f32 x, t, c; st.global.f32 [%out], t;"), 0);
  EXPECT_EQ(fused("mul.f32 t, a, b; add.f32 x, t, t;"), 0);
  EXPECT_EQ(fused("mul.f32 t, a, b; @p bra over; add.f32 x, t, c; over: st.global.f32 [%out], x;"), 0);
  EXPECT_EQ(fused("mul.f32 t, a, b; again: add.f32 x, t, c; @p bra again;"), 0);
  // The product of the round before.
  EXPECT_EQ(fused("again: add.f32 x, t, c; mul.f32 t, a, b; @p bra again;"), 0);
  EXPECT_EQ(fused("again: add.f32 x, t, c; mul.f32 t, a, b; add.f32 y, t, d; @p bra again;"), 0);
  // A sum may be guarded, its product not.
  EXPECT_EQ(fused("mul.f32 t, a, b; @p add.f32 x, t, c; @!p sub.f32 x, c, t;"), 2);
  EXPECT_EQ(fused("@p mul.f32 t, a, b; @p add.f32 x, t, c;"), 0);
  // Labels that nobody goes to, as those of line tables, begin no block.
  EXPECT_EQ(fused("mul.f32 t, a, b; nobody: add.f32 x, t, c;"), 1);
}

TEST(Contraction, KeepsProductsOfRegistersThatChange) {
  EXPECT_EQ(fused("mul.f32 t, a, b; mov.f32 a, c; add.f32 x, t, c;"), 0);
  EXPECT_EQ(fused("mul.f32 t, a, b; ld.global.v2.f32 {u, b}, [%in]; add.f32 x, t, c;"), 0);
  EXPECT_EQ(fused("mul.f32 t, a, b; add.f32 a, t, c;"), 1);
  EXPECT_EQ(fused("mul.f32 t, a, b; @p mul.f32 t, c, d; add.f32 x, t, c;"), 0);
}

TEST(Contraction, LeavesDebugCodeAlone) { EXPECT_EQ(fused("mul.f32 t, a, b; add.f32 x, t, c;", "sm_90, debug"), 0); }

TEST(Contraction, KeepsWhereBranchesGo) {
  auto module =
      parse(kernel("mul.f32 t, a, b; sub.f32 x, t, c; @p bra end; mul.f32 u, a, c; sub.f32 y, u, d;\n"
                   "end: st.global.f32 [%out], x;"));
  ASSERT_TRUE(module.ok());
  const Function& f = module->functions[0];
  ASSERT_EQ(f.labels.size(), 1u);
  EXPECT_EQ(f.body[f.labels[0].instruction].op, Op::St);
}

float run(const std::string& body, std::array<float, 4> in) {
  float out = 0;
  harness::Interpreted made(kernel("ld.global.v4.f32 {a, b, c, d}, [%in];\n" + body + "\nst.global.f32 [%out], x;"));
  EXPECT_TRUE(made.ok()) << made.log;
  harness::Launch launch;
  launch.block[0] = 1;
  launch.add(reinterpret_cast<uint64_t>(in.data()));
  launch.add(reinterpret_cast<uint64_t>(&out));
  if (!made.ok()) return out;
  EXPECT_FALSE(made.run("k", launch).trapped);
  return out;
}

TEST(Contraction, ComputesWithOneRounding) {
  const float a = 1.0f + 0x1p-13f, b = 1.0f - 0x1p-12f, c = 0.37f, d = 3.0f;
  const std::array<float, 4> in{a, b, c, d};
  EXPECT_EQ(run("mul.f32 t, a, b; add.f32 x, t, c;", in), std::fma(a, b, c));
  EXPECT_EQ(run("mul.f32 t, a, b; sub.f32 x, t, c;", in), std::fma(a, b, -c));
  EXPECT_EQ(run("mul.f32 t, a, b; sub.f32 x, c, t;", in), std::fma(-a, b, c));
  // Of two products the first.
  const volatile float second = c * d, first = a * b;
  EXPECT_EQ(run("mul.f32 t, a, b; mul.f32 u, c, d; add.f32 x, t, u;", in), std::fma(a, b, second));
  EXPECT_EQ(run("mul.f32 t, a, b; mul.f32 u, c, d; sub.f32 x, u, t;", in), std::fma(c, d, -first));
}

// As an H200's answers say: the dividend times the approximate reciprocal of the divisor goes into the sum.
TEST(Contraction, TakesApproximateQuotientsForProducts) {
  EXPECT_EQ(fused("div.approx.f32 t, a, b; add.f32 x, t, c;"), 1);
  EXPECT_EQ(fused("div.full.f32 t, a, b; sub.f32 x, c, t;"), 1);
  EXPECT_EQ(fused("div.approx.ftz.f32 t, a, b; add.ftz.f32 x, t, c; sub.ftz.f32 y, t, d;"), 2);
  EXPECT_EQ(fused("div.approx.ftz.f32 t, a, b; add.f32 x, t, c;"), 0);
  EXPECT_EQ(fused("div.approx.f32 t, a, b; add.rn.f32 x, t, c;"), 0);
  EXPECT_EQ(fused("div.approx.f32 t, a, b; add.f32 x, t, c; st.global.f32 [%out], t;"), 0);
  EXPECT_EQ(fused("div.rn.f32 t, a, b; add.f32 x, t, c;"), 0);
  const std::array<float, 4> in{1.0f + 0x1p-13f, 3.0f, 0.37f, 2.7f};
  const auto inverse = [](float of) {
    return std::bit_cast<float>(special::reciprocal(std::bit_cast<uint32_t>(of), true));
  };
  const float term = std::fma(in[0], inverse(in[1]), in[2]);
  for (const char* op : {"div.approx", "div.full"}) {
    EXPECT_EQ(run(std::string(op) + ".f32 t, a, b; add.f32 x, t, c;", in), term);
    EXPECT_EQ(run(std::string(op) + ".ftz.f32 t, a, b; add.ftz.f32 x, c, t;", in), term);
  }
  // Changed factors do not matter, and of two products the first is taken.
  EXPECT_EQ(run("div.approx.f32 t, a, b; mov.f32 a, d; mov.f32 b, d; add.f32 x, t, c;", in), term);
  const volatile float second = in[2] * in[3];
  EXPECT_EQ(run("div.approx.f32 t, a, b; mul.f32 u, c, d; add.f32 x, t, u;", in),
            std::fma(in[0], inverse(in[1]), second));
  // Divisors without a normal reciprocal.
  const std::array<float, 4> tiny{0x1.3p-140f, 0x1.9p-139f, 0.37f, 0}, huge{0x1.3p126f, 0x1.9p127f, 0.37f, 0};
  EXPECT_EQ(run("div.approx.f32 t, a, b; add.f32 x, t, c;", tiny),
            std::fma(tiny[0] * 0x1p24f, inverse(tiny[1] * 0x1p24f), tiny[2]));
  EXPECT_EQ(run("div.approx.f32 t, a, b; add.f32 x, t, c;", huge), huge[2]);
  EXPECT_EQ(run("div.full.f32 t, a, b; add.f32 x, t, c;", huge),
            std::fma(huge[0] * 0.25f, inverse(huge[1] * 0.25f), huge[2]));
}

// Which is scaled behind the function, without any effect on a sum but that another product stays one.
TEST(Contraction, TakesReciprocalsThatKeepSubnormalsForProducts) {
  EXPECT_EQ(fused("rcp.approx.f32 t, a; mul.f32 u, c, d; add.f32 x, t, u;"), 0);
  EXPECT_EQ(fused("rcp.approx.f32 t, a; mul.f32 u, c, d; add.f32 x, u, t;"), 1);
  EXPECT_EQ(fused("rcp.approx.ftz.f32 t, a; mul.ftz.f32 u, c, d; add.ftz.f32 x, t, u;"), 1);
}

}  // namespace
}  // namespace vg::ptx
