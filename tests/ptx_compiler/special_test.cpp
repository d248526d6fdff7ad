// Approximate functions of compiled kernels against those of special_functions.h, which an H200's answers have settled:
// arguments of every exponent and segment, of both signs, at the borders and at random.
#include "ptx/operations/special_functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "ptx/operations/half.h"
#include "ptx_compiler/harness.h"

namespace vg::ptx::test {
namespace {

constexpr uint32_t kThreads = 256;

struct Case {
  const char* name;
  const char* operation;  // without .ftz and .f32
  uint32_t (*expected)(uint32_t a, uint32_t b, bool ftz);
  uint32_t operands;
  const char* sum = "";  // add or sub of the result in %f0 and the first operand
};

template <uint32_t (*Function)(uint32_t, bool)>
uint32_t ofOne(uint32_t a, uint32_t, bool ftz) {
  return Function(a, ftz);
}

uint32_t ofOneOnly(uint32_t a, uint32_t, bool) { return special::tangent(a); }

// A sum of a quotient is one operation on a GPU: the dividend times the divisor's reciprocal, and the other term.
template <bool full, bool minus>
uint32_t sumOfQuotient(uint32_t a, uint32_t b, bool ftz) {
  const auto flushed = [&](float x) { return ftz && std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; };
  const float dividend = flushed(std::bit_cast<float>(a)), divisor = flushed(std::bit_cast<float>(b));
  const float magnitude = std::fabs(divisor);
  const float scale = !ftz && magnitude < 0x1p-126f ? 0x1p24f : full && magnitude > 0x1p126f ? 0.25f : 1.0f;
  const auto inverse = std::bit_cast<float>(special::reciprocal(std::bit_cast<uint32_t>(divisor * scale), true));
  const float factor = flushed(dividend * scale);
  const float sum = flushed(std::fma(minus ? -factor : factor, inverse, dividend));
  return std::isnan(sum) ? 0x7fffffff : std::bit_cast<uint32_t>(sum);
}

const Case kCases[] = {
    {"Reciprocal", "rcp.approx", ofOne<special::reciprocal>, 1},
    {"ReciprocalRoot", "rsqrt.approx", ofOne<special::reciprocalRoot>, 1},
    {"Root", "sqrt.approx", ofOne<special::root>, 1},
    {"Power", "ex2.approx", ofOne<special::power>, 1},
    {"Logarithm", "lg2.approx", ofOne<special::logarithm>, 1},
    {"Sine", "sin.approx", ofOne<special::sine>, 1},
    {"Cosine", "cos.approx", ofOne<special::cosine>, 1},
    {"Quotient", "div.approx", special::quotient, 2},
    {"FullQuotient", "div.full", special::fullQuotient, 2},
    {"Tangent", "tanh.approx", ofOneOnly, 1},
    {"SumOfQuotient", "div.approx", sumOfQuotient<false, false>, 2, "add@.f32 %f3, %f0, %f1;"},
    {"DifferenceOfQuotient", "div.approx", sumOfQuotient<false, true>, 2, "sub@.f32 %f3, %f1, %f0;"},
    {"SumOfFullQuotient", "div.full", sumOfQuotient<true, false>, 2, "add@.f32 %f3, %f1, %f0;"},
};
bool hasFtz(const Case& c) { return c.expected != ofOneOnly; }

// With each '@' replaced.
std::string str(std::string text, const char* by) {
  for (size_t at; (at = text.find('@')) != std::string::npos;) text.replace(at, 1, by);
  return text;
}

// `uniform`: one argument for each block, so that lanes need not compute it each for itself.
std::string kernelOf(const Case& c, bool ftz, bool uniform) {
  return std::string(R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
{
  .reg .b32 %r<8>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<8>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  )") + (uniform ? "mov.u32 %r5, %r2;" : "mad.lo.s32 %r5, %r2, %r3, %r4;") +
         R"(
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra DONE;
  mul.wide.u32 %rd3, %r5, 8;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.f32 %f1, [%rd4];
  ld.global.f32 %f2, [%rd4+4];
  )" + c.operation +
         (ftz ? ".ftz" : "") + (*c.sum ? ".f32 %f0, %f1" : ".f32 %f3, %f1") + (c.operands == 2 ? ", %f2;\n" : ";\n") +
         str(c.sum, ftz ? ".ftz" : "") + R"(
  mul.wide.u32 %rd5, %r5, 4;
  add.s64 %rd6, %rd2, %rd5;
  st.global.f32 [%rd6], %f3;
DONE:
  ret;
}
)";
}

struct Pair {
  uint32_t a, b;
};

// Of each exponent and sign the first, the last and some within segments; then any bits at all.
const std::vector<Pair>& arguments() {
  static const std::vector<Pair> all = [] {
    std::mt19937 generator(1);
    const auto random = [&] { return static_cast<uint32_t>(generator()); };
    std::vector<Pair> made;
    for (uint32_t upper = 0; upper < 512; ++upper)
      for (uint32_t fraction : {0u, 1u, 0x7fffffu, 0x400000u, 0x3fffffu})
        made.push_back({upper << 23 | fraction, random()});
    for (uint32_t segment = 0; segment < 128; ++segment)
      for (uint32_t exponent : {60u, 111u, 125u, 126u, 127u, 128u, 131u, 134u, 200u})
        made.push_back({exponent << 23 | segment << 16 | (random() & 0xffff),
                        exponent << 23 | (127 - segment) << 16 | (random() & 0xffff)});
    // Quotients at the smallest normal number.
    for (uint32_t a : {0x3effffffu, 0xbeffffffu, 0x3f000000u, 0x3efffffeu}) made.push_back({a, 0x7e000000});
    while (made.size() < 48 * kThreads - 77) made.push_back({random(), random()});
    return made;
  }();
  return all;
}

// Runs a kernel of arguments, results and their number.
bool runOver(const CompiledKernel& kernel, const void* in, void* out, uint32_t n, uint32_t grid, uint32_t block) {
  LaunchSpec spec;
  spec.grid = {grid};
  spec.block = {block};
  spec.parameters.resize(20);
  std::memcpy(spec.parameters.data(), &in, 8);
  std::memcpy(spec.parameters.data() + 8, &out, 8);
  std::memcpy(spec.parameters.data() + 16, &n, 4);
  return runGrid(kernel.entry(), nullptr, kernel.blob.traits, spec);
}

class Special : public testing::TestWithParam<Case> {
 protected:
  void compare(bool uniform, uint32_t n, uint32_t threads);
};

void Special::compare(bool uniform, uint32_t n, uint32_t threads) {
  const Case& c = GetParam();
  const std::vector<Pair>& in = arguments();
  for (const Target& target : targets()) {
    for (const bool ftz : {false, true}) {
      if (ftz && !hasFtz(c)) continue;
      CompiledKernel kernel;
      std::string log;
      ASSERT_EQ(kernel.compile(kernelOf(c, ftz, uniform), "k", target, {threads}, &log, nullptr, kApproximatesExactly),
                CUDA_SUCCESS)
          << log;
      std::vector<uint32_t> out(n);
      ASSERT_TRUE(runOver(kernel, in.data(), out.data(), n, uniform ? n : (n + threads - 1) / threads, threads));
      size_t wrong = 0;
      for (uint32_t i = 0; i < n && wrong < 5; ++i) {
        const uint32_t expected = c.expected(in[i].a, in[i].b, ftz);
        if (out[i] == expected) continue;
        ++wrong;
        ADD_FAILURE() << target.name << (ftz ? " ftz" : "") << std::hex << " of " << in[i].a << " " << in[i].b << ": "
                      << out[i] << ", not " << expected;
      }
    }
  }
}

TEST_P(Special, FunctionsHaveAGpusBits) { compare(false, static_cast<uint32_t>(arguments().size()), kThreads); }
TEST_P(Special, FunctionsOfAWholeBlockDoToo) { compare(true, 4000, 32); }

INSTANTIATE_TEST_SUITE_P(Approximate, Special, testing::ValuesIn(kCases),
                         [](const auto& tested) { return tested.param.name; });

// --- Halves and f64: one operand, of so many bytes as the result

struct OtherCase {
  const char* name;
  const char* instruction;  // with its type
  uint32_t bytes;
  uint64_t (*expected)(uint64_t);
};
template <uint16_t (*Function)(uint16_t, bool), bool f16>
uint64_t ofHalf(uint64_t x) {
  return Function(static_cast<uint16_t>(x), f16);
}
template <uint16_t (*Function)(uint16_t, bool), bool f16>
uint64_t ofPair(uint64_t x) {
  return ofHalf<Function, f16>(x & 0xffff) | ofHalf<Function, f16>(x >> 16) << 16;
}
template <uint32_t (*Function)(uint32_t)>
uint64_t ofUpper(uint64_t x) {
  return uint64_t{Function(static_cast<uint32_t>(x >> 32))} << 32;
}
uint64_t ofDouble(uint64_t x) {
  return std::bit_cast<uint64_t>(special::nearReciprocalRoot64(std::bit_cast<double>(x)));
}

const OtherCase kOtherCases[] = {
    {"PowerOfHalf", "ex2.approx.f16", 2, ofHalf<special::powerOfHalf, true>},
    {"PowersOfHalves", "ex2.approx.f16x2", 4, ofPair<special::powerOfHalf, true>},
    {"PowerOfBrain", "ex2.approx.ftz.bf16", 2, ofHalf<special::powerOfHalf, false>},
    {"PowersOfBrains", "ex2.approx.ftz.bf16x2", 4, ofPair<special::powerOfHalf, false>},
    {"TangentOfHalf", "tanh.approx.f16", 2, ofHalf<special::tangentOfHalf, true>},
    {"TangentsOfHalves", "tanh.approx.f16x2", 4, ofPair<special::tangentOfHalf, true>},
    {"TangentOfBrain", "tanh.approx.bf16", 2, ofHalf<special::tangentOfHalf, false>},
    {"TangentsOfBrains", "tanh.approx.bf16x2", 4, ofPair<special::tangentOfHalf, false>},
    {"ReciprocalOfDouble", "rcp.approx.ftz.f64", 8, ofUpper<special::reciprocal64>},
    {"RootReciprocalOfDouble", "rsqrt.approx.ftz.f64", 8, ofUpper<special::reciprocalRoot64>},
    {"NearRootReciprocalOfDouble", "rsqrt.approx.f64", 8, ofDouble},
};

// `masked`: of every third thread only; the others keep what is there.
std::string kernelOf(const OtherCase& c, bool masked) {
  const std::string bits = ".b" + std::to_string(8 * c.bytes), size = std::to_string(c.bytes);
  return ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out, .param "
         ".u32 n)"
         "\n{\n.reg .b32 %r<8>;\n.reg " +
         bits +
         " %x<4>;\n.reg .b64 %rd<8>;\n.reg .pred %p<4>;\nld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n"
         "ld.param.u32 %r1, [n];\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"
         "mad.lo.s32 %r5, %r2, %r3, %r4;\nsetp.ge.u32 %p1, %r5, %r1;\n@%p1 bra DONE;\n"
         "mul.wide.u32 %rd3, %r5, " +
         size + ";\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nld.global" + bits +
         " %x1, [%rd4];\nld.global" + bits + " %x2, [%rd5];\n" +
         (masked ? "rem.u32 %r6, %r5, 3;\nsetp.ne.u32 %p2, %r6, 0;\n@%p2 bra OVER;\n" : "") + c.instruction +
         " %x2, %x1;\nOVER:\nst.global" + bits + " [%rd5], %x2;\nDONE:\nret;\n}\n";
}

// Of halves all; of f64 every exponent, then any bits.
std::vector<uint64_t> argumentsOf(const OtherCase& c) {
  std::mt19937_64 generator(2);
  std::vector<uint64_t> made;
  if (c.bytes < 8) {
    for (uint64_t half = 0; half < 65536; ++half)
      made.push_back(c.bytes == 2 ? half : half | (generator() & 0xffff) << 16);
  } else {
    for (uint64_t upper = 0; upper < 4096; ++upper)
      for (const uint64_t fraction : {uint64_t{0}, uint64_t{1}, uint64_t{0xfffffffffffff}, uint64_t{generator() >> 12}})
        made.push_back(upper << 52 | fraction);
    while (made.size() < 40000) made.push_back(generator());
  }
  return made;
}

class OtherSpecial : public testing::TestWithParam<OtherCase> {
 protected:
  void compare(const Target& target, bool masked);
};

void OtherSpecial::compare(const Target& target, bool masked) {
  const OtherCase& c = GetParam();
  if (c.expected == ofDouble && !target.hasFma()) return;
  const std::vector<uint64_t> arguments = argumentsOf(c);
  const auto n = static_cast<uint32_t>(arguments.size());
  std::vector<std::byte> in(n * c.bytes), out(n * c.bytes);
  for (uint32_t i = 0; i < n; ++i) std::memcpy(&in[i * c.bytes], &arguments[i], c.bytes);
  CompiledKernel kernel;
  std::string log;
  ASSERT_EQ(kernel.compile(kernelOf(c, masked), "k", target, {kThreads}, &log, nullptr, kApproximatesExactly),
            CUDA_SUCCESS)
      << log;
  ASSERT_TRUE(runOver(kernel, in.data(), out.data(), n, (n + kThreads - 1) / kThreads, kThreads));
  size_t wrong = 0;
  for (uint32_t i = 0; i < n && wrong < 5; ++i) {
    uint64_t got = 0, expected = masked && i % 3 ? 0 : c.expected(arguments[i]);
    std::memcpy(&got, &out[i * c.bytes], c.bytes);
    if (got == expected) continue;
    ++wrong;
    ADD_FAILURE() << target.name << std::hex << " of " << arguments[i] << ": " << got << ", not " << expected;
  }
}

TEST_P(OtherSpecial, FunctionsHaveAGpusBits) {
  for (const Target& target : targets()) compare(target, false);
}
TEST_P(OtherSpecial, FunctionsOfSomeLanesDoToo) {
  for (const Target& target : targets()) compare(target, true);
}

INSTANTIATE_TEST_SUITE_P(Approximate, OtherSpecial, testing::ValuesIn(kOtherCases),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace vg::ptx::test
