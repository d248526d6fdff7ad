// Products of matrices of floats of 8, 6 and 4 bits by kinds, plain and scaled by blocks, of whole and of sparse ones,
// as the manual of PTX lays out their elements, metadata and scales; against sums of the host.
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "kernels/fixture.h"

namespace kernels {
namespace {

constexpr uint32_t kLanes = 32, kRows = 16, kColumns = 8;
// Words of a lane, one row of 32 each: A, B, C, the scales of A and of B, metadata.
constexpr uint32_t kA = 0, kB = 4, kC = 8, kScalesA = 12, kScalesB = 13, kMetadata = 14, kWords = 15;

struct Format {
  const char* name;
  int exponentBits, fractionBits;
};
constexpr Format kE4M3{"e4m3", 4, 3}, kE5M2{"e5m2", 5, 2}, kE3M2{"e3m2", 3, 2}, kE2M3{"e2m3", 2, 3},
    kE2M1{"e2m1", 2, 1};

// Of a finite number.
double valueOf(uint32_t bits, const Format& f) {
  const int exponent = static_cast<int>(bits >> f.fractionBits) & ((1 << f.exponentBits) - 1);
  const int fraction = static_cast<int>(bits) & ((1 << f.fractionBits) - 1), bias = (1 << (f.exponentBits - 1)) - 1;
  const int whole = exponent ? fraction | 1 << f.fractionBits : fraction;
  const double size = std::ldexp(whole, std::max(exponent, 1) - bias - f.fractionBits);
  return bits >> (f.exponentBits + f.fractionBits) & 1 ? -size : size;
}

struct Product {
  const char* kind;
  uint32_t k;
  Format a, b;
  uint32_t blocks = 0;  // 0: not scaled
  const char* scaleVector = "";
  const char* scaleType = "";

  bool isSparse = false;

  bool isPacked() const { return !std::strncmp(kind, "mxf4", 4); }
  // Elements of A that are there, and elements in a word.
  uint32_t storedK() const { return isSparse ? k / 2 : k; }
  uint32_t inWord() const { return isPacked() ? 8 : 4; }
  bool hasScalesE4M3() const { return !std::strcmp(scaleType, ".ue4m3"); }
};

class SmallFloatsTest : public KernelTest {
 protected:
  struct Selectors {
    uint32_t byteA = 0, lanesA = 0, byteB = 0, laneB = 0;
    bool inRegisters = false;
  };

  void fill(const Product& p) {
    std::mt19937 random(7);
    words_.assign(kWords * kLanes, 0);
    for (uint32_t at = 0; at < words_.size(); ++at) {
      const uint32_t row = at / kLanes;
      if (row < kC)
        words_[at] =
            static_cast<uint32_t>(random()) & (p.isPacked() ? 0xffffffff : 0xbfbfbfbf);  // no NaN, nothing huge
      else if (row == kMetadata)
        words_[at] = metadata(random);
      else if (row < kScalesA)
        words_[at] = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int>(random() % 64) - 32));
      else
        words_[at] = p.hasScalesE4M3() ? (static_cast<uint32_t>(random()) & 0x3f3f3f3f) | 0x08080808
                                       : (static_cast<uint32_t>(random()) & 0x03030303) + 0x7e7e7e7e;
    }
  }

  // Eight times the places of two of four, the lower one first.
  static uint32_t metadata(std::mt19937& random) {
    constexpr uint32_t kPairs[] = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};
    uint32_t word = 0;
    for (uint32_t group = 0; group < 8; ++group) word |= kPairs[random() % std::size(kPairs)] << 4 * group;
    return word;
  }

  std::string textOf(const Product& p, const Selectors& s) const {
    std::string body =
        ".reg .b16 %h<4>;\nmov.u32 %r0, %laneid;\nld.param.u64 %rd0, [p0];\nld.param.u64 %rd1, [p1];\n"
        "mul.wide.u32 %rd2, %r0, 4;\nadd.u64 %rd0, %rd0, %rd2;\nadd.u64 %rd1, %rd1, %rd2;\n";
    for (uint32_t row = 0; row < kWords; ++row) {
      const bool isFloat = row >= kC && row < kScalesA;
      const uint32_t number = isFloat ? 10 + row - kC : row >= kScalesA ? 18 + row - kScalesA : 10 + row;
      body += (isFloat ? "ld.global.f32 %f" : "ld.global.b32 %r") + std::to_string(number) + ", [%rd1+" +
              std::to_string(row * kLanes * 4) + "];\n";
    }
    std::string pairs[2] = {std::to_string(s.byteA) + ", " + std::to_string(s.lanesA),
                            std::to_string(s.byteB) + ", " + std::to_string(s.laneB)};
    if (s.inRegisters) {
      const uint32_t values[] = {s.byteA, s.lanesA, s.byteB, s.laneB};
      for (int n = 0; n < 4; ++n) body += "mov.b16 %h" + std::to_string(n) + ", " + std::to_string(values[n]) + ";\n";
      pairs[0] = "%h0, %h1";
      pairs[1] = "%h2, %h3";
    }
    body += std::string("mma") + (p.isSparse ? ".sp::ordered_metadata" : "") + ".sync.aligned.m16n8k" +
            std::to_string(p.k) + ".row.col.kind::" + p.kind +
            (p.blocks ? std::string(".block_scale") + p.scaleVector : "") + ".f32." + p.a.name + "." + p.b.name +
            ".f32" + p.scaleType + " {%f0, %f1, %f2, %f3}, {%r10, %r11, %r12, %r13}, " +
            (p.isSparse ? "{%r14, %r15, %r16, %r17}" : "{%r14, %r15}") + ", {%f10, %f11, %f12, %f13}" +
            (p.isSparse ? ", %r20, 0" : "") +
            (p.blocks ? ", {%r18}, {" + pairs[0] + "}, {%r19}, {" + pairs[1] + "}" : "") + ";\n";
    for (int row = 0; row < 4; ++row)
      body += "st.global.f32 [%rd0+" + std::to_string(row * 128) + "], %f" + std::to_string(row) + ";\n";
    return module(entry("kernel", {".u64", ".u64"}, body), "sm_120f", "8.8");
  }

  uint32_t word(uint32_t row, uint32_t lane) const { return words_[row * kLanes + lane]; }
  uint32_t elementBits(const Product& p, const Format& format, uint32_t value, uint32_t at) const {
    if (p.isPacked()) return value >> 4 * at & 15;
    const uint32_t byte = value >> 8 * at & 255;
    return format.exponentBits == 2 && format.fractionBits == 1 ? byte >> 2 : byte;  // in the middle of its byte
  }
  // Of what is stored of a row of A, and of B.
  double a(const Product& p, uint32_t row, uint32_t k) const {
    const uint32_t each = p.inWord(), half = k / (4 * each), lane = row % 8 * 4 + k % (4 * each) / each;
    return valueOf(elementBits(p, p.a, word(kA + 2 * half + row / 8, lane), k % each), p.a);
  }
  double b(const Product& p, uint32_t k, uint32_t column) const {
    const uint32_t each = p.inWord(), lane = column * 4 + k % (4 * each) / each;
    return valueOf(elementBits(p, p.b, word(kB + k / (4 * each), lane), k % each), p.b);
  }
  // Where in its row the k-th stored element of A stands: of four elements two are there, and of 4-bit ones two pairs.
  uint32_t columnOf(const Product& p, uint32_t row, uint32_t k) const {
    if (!p.isSparse) return k;
    const uint32_t run = p.isPacked() ? 2 : 1, n = k / run, bit = n * 2;
    const uint32_t lane = row % 8 * 4 + bit / 32 * 2 + row / 8;
    return (n / 2 * 4 + (word(kMetadata, lane) >> bit % 32 & 3)) * run + k % run;
  }
  double scale(const Product& p, uint32_t words, uint32_t lane, uint32_t byte) const {
    const uint32_t bits = word(words, lane) >> 8 * byte & 255;
    return p.hasScalesE4M3() ? valueOf(bits, kE4M3) : std::ldexp(1.0, static_cast<int>(bits) - 127);
  }

  void expect(const Product& p, const Selectors& s) {
    fill(p);
    const std::string text = textOf(p, s);
    SCOPED_TRACE(text);
    const CUfunction kernel = function(text);
    ASSERT_NE(kernel, nullptr);
    const CUdeviceptr in = allocate(words_.size() * 4), out = allocate(4 * kLanes * 4);
    ASSERT_EQ(cuMemcpyHtoD(in, words_.data(), words_.size() * 4), CUDA_SUCCESS);
    ASSERT_EQ(run(kernel, 1, kLanes, out, in), CUDA_SUCCESS);
    const std::vector<uint32_t> made = read(out, 4 * kLanes);
    for (uint32_t row = 0; row < kRows; ++row)
      for (uint32_t column = 0; column < kColumns; ++column) {
        const uint32_t place = (row / 8 * 2 + column % 2) * kLanes + row % 8 * 4 + column / 2;
        double sum = std::bit_cast<float>(words_[kC * kLanes + place]), size = std::abs(sum);
        for (uint32_t stored = 0; stored < p.storedK(); ++stored) {
          const uint32_t k = columnOf(p, row, stored);
          double product = a(p, row, stored) * b(p, k, column);
          if (p.blocks) {
            const uint32_t block = k / (p.k / p.blocks);
            product *= scale(p, kScalesA, row % 8 * 4 + 2 * s.lanesA + row / 8, s.byteA + block) *
                       scale(p, kScalesB, column * 4 + s.laneB, s.byteB + block);
          }
          sum += product;
          size += std::abs(product);
        }
        EXPECT_NEAR(std::bit_cast<float>(made[place]), sum, size * 1e-6) << row << " " << column;
      }
    EXPECT_EQ(cuMemFree(in), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(out), CUDA_SUCCESS);
  }

  std::vector<uint32_t> words_;
};

constexpr Format kFormats[] = {kE4M3, kE5M2, kE3M2, kE2M3, kE2M1};

TEST_F(SmallFloatsTest, OfBytesOfTwoTypes) {
  for (size_t n = 0; n < std::size(kFormats); ++n)
    expect({"f8f6f4", 32, kFormats[n], kFormats[(n + 2) % std::size(kFormats)]}, {});
}

TEST_F(SmallFloatsTest, OfBytesWithAScaleForEachRow) {
  for (uint32_t n = 0; n < 4; ++n)
    expect({"mxf8f6f4", 32, kE4M3, kE2M1, 1, ".scale_vec::1X", ".ue8m0"}, {n, n % 2, 3 - n, (n + 1) % 4, n > 1});
  expect({"mxf8f6f4", 32, kE3M2, kE5M2, 1, "", ".ue8m0"}, {1, 1, 2, 3, false});
}

TEST_F(SmallFloatsTest, OfPairsWithScalesForBlocks) {
  for (const bool inRegisters : {false, true}) {
    expect({"mxf4", 64, kE2M1, kE2M1, 2, "", ".ue8m0"}, {2, 1, 0, 2, inRegisters});
    expect({"mxf4nvf4", 64, kE2M1, kE2M1, 2, ".scale_vec::2X", ".ue8m0"}, {0, 0, 2, 1, inRegisters});
    expect({"mxf4nvf4", 64, kE2M1, kE2M1, 4, ".scale_vec::4X", ".ue4m3"}, {0, 1, 0, 3, inRegisters});
  }
}

// All 25 pairs of types, plain and scaled.
TEST_F(SmallFloatsTest, OfSparseBytes) {
  for (const Format& one : kFormats)
    for (const Format& two : kFormats) {
      expect({"f8f6f4", 64, one, two, 0, "", "", true}, {});
      expect({"mxf8f6f4", 64, one, two, 1, ".scale_vec::1X", ".ue8m0", true}, {2, 1, 1, 3, false});
    }
}

TEST_F(SmallFloatsTest, OfSparsePairs) {
  for (const bool inRegisters : {false, true}) {
    expect({"mxf4", 128, kE2M1, kE2M1, 2, "", ".ue8m0", true}, {2, 1, 0, 2, inRegisters});
    expect({"mxf4nvf4", 128, kE2M1, kE2M1, 2, ".scale_vec::2X", ".ue8m0", true}, {0, 0, 2, 1, inRegisters});
    expect({"mxf4nvf4", 128, kE2M1, kE2M1, 4, ".scale_vec::4X", ".ue4m3", true}, {0, 1, 0, 3, inRegisters});
  }
}

}  // namespace
}  // namespace kernels
