// cvt.rs: floats rounded by random bits, against the two neighbours that each format has. The upper one is taken for
// as many of all random numbers as the distance from the lower one says.
#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/fixture.h"

namespace kernels {
namespace {

struct Format {
  const char* type;
  int exponentBits, fractionBits;
  bool hasInfinity, hasNaN;
  uint32_t count, elementBits, randomBits;
};
constexpr Format kFormats[] = {{"f16x2", 5, 10, true, true, 2, 16, 13}, {"bf16x2", 8, 7, true, true, 2, 16, 16},
                               {"e4m3x4", 4, 3, false, true, 4, 8, 8},  {"e5m2x4", 5, 2, true, true, 4, 8, 8},
                               {"e2m3x4", 2, 3, false, false, 4, 8, 8}, {"e3m2x4", 3, 2, false, false, 4, 8, 8},
                               {"e2m1x4", 2, 1, false, false, 4, 4, 8}};

// Of a number without sign; one beyond the largest number continues them.
double valueOf(const Format& f, uint32_t bits) {
  const int bias = (1 << (f.exponentBits - 1)) - 1, exponent = static_cast<int>(bits >> f.fractionBits);
  const int fraction = static_cast<int>(bits) & ((1 << f.fractionBits) - 1);
  return std::ldexp(exponent ? fraction | 1 << f.fractionBits : fraction,
                    std::max(exponent, 1) - bias - f.fractionBits);
}
uint32_t signOf(const Format& f) { return 1u << (f.exponentBits + f.fractionBits); }
uint32_t largest(const Format& f) {
  return f.hasInfinity ? (((1u << f.exponentBits) - 1) << f.fractionBits) - 1 : signOf(f) - (f.hasNaN ? 2 : 1);
}

uint32_t expected(const Format& f, float value, uint32_t random, bool finite, bool relu) {
  if (std::isnan(value)) return f.hasNaN ? signOf(f) - 1 : largest(f);
  if (relu && value <= 0) return 0;
  const uint32_t sign = std::signbit(value) ? signOf(f) : 0, most = largest(f), beyond = finite ? most : most + 1;
  const double size = std::fabs(static_cast<double>(value));
  if (size >= valueOf(f, most + 1)) return sign | beyond;
  uint32_t low = 0, high = most + 1;  // the last number that is not above
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (valueOf(f, middle) <= size ? low : high) = middle;
  }
  const double below = valueOf(f, low), part = (size - below) / (valueOf(f, low + 1) - below);
  const auto cut = static_cast<uint32_t>(std::floor(std::ldexp(part, static_cast<int>(f.randomBits))));
  return sign | std::min(cut + random >= 1u << f.randomBits ? low + 1 : low, beyond);
}

// Numbers around those of the format, of every size, and what is special.
std::vector<float> valuesFor(const Format& f) {
  std::vector<float> values = {0.0f, -0.0f, HUGE_VALF, -HUGE_VALF, std::nanf(""), 1e-42f, -1e-42f, 3e38f, 1e-30f};
  const uint32_t step = std::max(1u, largest(f) / 24);
  for (uint32_t bits = 0; bits <= largest(f); bits += step)
    for (const double part : {0.0, 0.001, 0.25, 0.5, 0.77, 0.999}) {
      const double value = valueOf(f, bits) + part * (valueOf(f, bits + 1) - valueOf(f, bits));
      values.push_back(static_cast<float>(bits % 3 ? value : -value));
    }
  for (const double factor : {0.999, 1.0, 1.001, 1.2, 40.0})
    values.push_back(static_cast<float>(valueOf(f, largest(f) + 1) * factor));
  return values;
}

class RandomRoundingTest : public KernelTest {
 protected:
  void expectAll(const Format& f, bool finite, bool relu) {
    const std::string words =
        std::string("cvt.rs") + (relu ? ".relu" : "") + (finite ? ".satfinite" : "") + "." + f.type + ".f32 ";
    SCOPED_TRACE(words);
    const std::vector<float> values = valuesFor(f);
    constexpr uint32_t kRandoms[] = {0, 0xffffffff, 0x80008000, 0x7fff7fff, 0x40ff0180, 0x12345678, 0xdeadbeef};
    const auto count = static_cast<uint32_t>(values.size() * std::size(kRandoms));
    // Elements of a word: this value and those that follow it.
    std::vector<uint32_t> in;
    for (uint32_t n = 0; n < count; ++n) {
      for (uint32_t k = 0; k < 4; ++k)
        in.push_back(std::bit_cast<uint32_t>(values[(n / std::size(kRandoms) + k) % values.size()]));
      in.push_back(kRandoms[n % std::size(kRandoms)]);
    }
    const std::string sources = f.count == 2 ? "%f1, %f2" : "{%f1, %f2, %f3, %f4}";
    const CUfunction kernel =
        function(module(entry("kernel", {".u64", ".u64", ".u32"},
                              std::string(kIndices) + R"(
.reg .b16 %h;
ld.param.u32 %r6, [p2];
setp.ge.u32 %p1, %r2, %r6;
@%p1 bra END;
ld.param.u64 %rd4, [p1];
mul.wide.u32 %rd5, %r2, 20;
add.u64 %rd4, %rd4, %rd5;
ld.global.f32 %f1, [%rd4];
ld.global.f32 %f2, [%rd4+4];
ld.global.f32 %f3, [%rd4+8];
ld.global.f32 %f4, [%rd4+12];
ld.global.b32 %r7, [%rd4+16];
)" + words +
                                  (f.elementBits == 4 ? "%h, " + sources + ", %r7;\ncvt.u32.u16 %r5, %h;\n"
                                                      : "%r5, " + sources + ", %r7;\n") +
                                  kStore + "END:\n"),
                        "sm_100a", "8.7"));
    const CUdeviceptr from = allocate(in.size() * 4), out = allocate(size_t{count} * 4);
    ASSERT_EQ(cuMemcpyHtoD(from, in.data(), in.size() * 4), CUDA_SUCCESS);
    ASSERT_EQ(run(kernel, (count + 127) / 128, 128, out, from, count), CUDA_SUCCESS);
    const std::vector<uint32_t> made = read(out, count);
    for (uint32_t n = 0; n < count; ++n)
      for (uint32_t k = 0; k < f.count; ++k) {
        const uint32_t at = f.count - 1 - k;  // the first source is the upper part
        const float value = std::bit_cast<float>(in[n * 5 + k]);
        const uint32_t random = in[n * 5 + 4] >> at * (32 / f.count) & ((1u << f.randomBits) - 1);
        ASSERT_EQ(made[n] >> at * f.elementBits & ((1u << f.elementBits) - 1), expected(f, value, random, finite, relu))
            << value << " with " << random;
      }
    EXPECT_EQ(cuMemFree(from), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(out), CUDA_SUCCESS);
  }
};

TEST_F(RandomRoundingTest, OfEachFormat) {
  for (const Format& f : kFormats)
    for (const bool relu : {false, true}) {
      expectAll(f, true, relu);
      if (f.count == 2) expectAll(f, false, relu);
    }
}

TEST_F(RandomRoundingTest, FormsThatDoNotExistAreRefused) {
  for (const char* text : {"cvt.rs.e4m3x4.f32 %r5, {%f1, %f2, %f3, %f4}, %r7;", "cvt.rs.f16x2.f32 %r5, %f1, %f2;",
                           "cvt.rs.satfinite.e4m3x4.f32 %r5, {%f1, %f2}, %r7;", "cvt.rs.f32.f64 %f1, %rd1, %r7;"}) {
    CUmodule loaded = nullptr;
    EXPECT_EQ(cuModuleLoadData(&loaded, module(entry("kernel", {".u64"}, text), "sm_100a", "8.7").c_str()),
              CUDA_ERROR_INVALID_PTX)
        << text;
  }
}

}  // namespace
}  // namespace kernels
