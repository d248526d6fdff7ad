// Approximate functions of compiled kernels against those of special_functions.h, which an H200's answers have settled:
// arguments of every exponent and segment, of both signs, at the borders and at random.
#include "ptx/operations/special_functions.h"

#include <gtest/gtest.h>

#include <random>

#include "ptx_compiler/harness.h"

namespace vg::ptx::test {
namespace {

constexpr uint32_t kThreads = 256;

struct Case {
  const char* name;
  const char* operation;  // without .ftz and .f32
  uint32_t (*expected)(uint32_t a, uint32_t b, bool ftz);
  uint32_t operands;
};

template <uint32_t (*Function)(uint32_t, bool)>
uint32_t ofOne(uint32_t a, uint32_t, bool ftz) {
  return Function(a, ftz);
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
};

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
         (ftz ? ".ftz" : "") + ".f32 %f3, %f1" + (c.operands == 2 ? ", %f2" : "") + R"(;
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
    while (made.size() < 48 * kThreads - 77) made.push_back({random(), random()});
    return made;
  }();
  return all;
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
      CompiledKernel kernel;
      std::string log;
      ASSERT_EQ(kernel.compile(kernelOf(c, ftz, uniform), "k", target, {threads}, &log, nullptr, kApproximatesExactly),
                CUDA_SUCCESS)
          << log;
      std::vector<uint32_t> out(n);
      LaunchSpec spec;
      spec.grid = {uniform ? n : (n + threads - 1) / threads};
      spec.block = {threads};
      spec.parameters.resize(20);
      const uint64_t pointers[2] = {reinterpret_cast<uint64_t>(in.data()), reinterpret_cast<uint64_t>(out.data())};
      std::memcpy(spec.parameters.data(), pointers, 16);
      std::memcpy(spec.parameters.data() + 16, &n, 4);
      ASSERT_TRUE(runGrid(kernel.entry(), nullptr, kernel.blob.traits, spec));
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

}  // namespace
}  // namespace vg::ptx::test
