// Products by vectors of eight. Operands are spread to plain rows: A by rows of k, B by rows of columns, so that an
// element of A times a row of B is one step for eight accumulators. The order of sums is that of the plain loops.
#include <immintrin.h>

#include "base/system/processor.h"
#include "ptx/operations/matrix.h"

namespace vg::ptx {
namespace {

constexpr uint32_t kLanes = 32, kRows = 8, kRowBytes = 16, kTileBytes = kRows * kRowBytes;

__m128i loadRow(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
__m256i loadWords(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
void storeWords(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }

// --- Rows of tiles as floats -----------------------------------------------------------------------------------------

// Eight bytes of e4m3 as floats: the fields of f16, whose exponents count from eight more.
__m256 eighthsToFloats(__m128i bytes) {
  const __m128i wide = _mm_cvtepu8_epi16(bytes);
  const __m128i sign = _mm_slli_epi16(_mm_and_si128(wide, _mm_set1_epi16(0x80)), 8);
  const __m128i magnitude = _mm_slli_epi16(_mm_and_si128(wide, _mm_set1_epi16(0x7f)), 7);
  const __m256 scaled = _mm256_mul_ps(_mm256_cvtph_ps(_mm_or_si128(sign, magnitude)), _mm256_set1_ps(256.0f));
  const __m256 absolute = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), scaled);
  const __m256 isNaN = _mm256_cmp_ps(absolute, _mm256_set1_ps(480.0f), _CMP_EQ_OQ);  // what no number reaches
  return _mm256_or_ps(scaled, isNaN);
}

template <MatrixType kType>
void rowToFloats(const std::byte* from, float* to) {
  const __m128i row = loadRow(from);
  if constexpr (kType == MatrixType::F16) {
    _mm256_storeu_ps(to, _mm256_cvtph_ps(row));
  } else if constexpr (kType == MatrixType::BF16) {
    storeWords(to, _mm256_slli_epi32(_mm256_cvtepu16_epi32(row), 16));
  } else if constexpr (kType == MatrixType::TF32) {
    _mm_storeu_ps(to, _mm_castsi128_ps(_mm_and_si128(row, _mm_set1_epi32(~0x1fff))));
  } else if constexpr (kType == MatrixType::E4M3) {
    _mm256_storeu_ps(to, eighthsToFloats(row));
    _mm256_storeu_ps(to + 8, eighthsToFloats(_mm_srli_si128(row, 8)));
  } else {  // e5m2 is the upper half of f16
    const __m128i zero = _mm_setzero_si128();
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_unpacklo_epi8(zero, row)));
    _mm256_storeu_ps(to + 8, _mm256_cvtph_ps(_mm_unpackhi_epi8(zero, row)));
  }
}

// The rows of a tile; those of `to` are `stride` apart.
template <MatrixType kType>
void tileToFloats(const std::byte* tile, float* to, uint32_t stride) {
  for (uint32_t row = 0; row < kRows; ++row) rowToFloats<kType>(tile + row * kRowBytes, to + row * stride);
}

using TileToFloats = void (*)(const std::byte* tile, float* to, uint32_t stride);
TileToFloats floatsOf(MatrixType type) {
  switch (type) {
    case MatrixType::F16:
      return tileToFloats<MatrixType::F16>;
    case MatrixType::BF16:
      return tileToFloats<MatrixType::BF16>;
    case MatrixType::TF32:
      return tileToFloats<MatrixType::TF32>;
    case MatrixType::E4M3:
      return tileToFloats<MatrixType::E4M3>;
    default:
      return tileToFloats<MatrixType::E5M2>;
  }
}

// The same as 16-bit whole numbers.
template <MatrixType kType>
void rowToWords(const std::byte* from, int16_t* to) {
  const __m128i row = loadRow(from);
  if constexpr (kType == MatrixType::S8) {
    storeWords(to, _mm256_cvtepi8_epi16(row));
  } else if constexpr (kType == MatrixType::U8) {
    storeWords(to, _mm256_cvtepu8_epi16(row));
  } else {
    const __m128i nibble = _mm_set1_epi8(15), sign = _mm_set1_epi8(kType == MatrixType::S4 ? 8 : 0);
    const __m128i low = _mm_and_si128(row, nibble), high = _mm_and_si128(_mm_srli_epi16(row, 4), nibble);
    const auto extended = [&](__m128i v) { return _mm_sub_epi8(_mm_xor_si128(v, sign), sign); };
    storeWords(to, _mm256_cvtepi8_epi16(extended(_mm_unpacklo_epi8(low, high))));
    storeWords(to + 16, _mm256_cvtepi8_epi16(extended(_mm_unpackhi_epi8(low, high))));
  }
}

template <MatrixType kType>
void tileToWords(const std::byte* tile, int16_t* to, uint32_t stride) {
  for (uint32_t row = 0; row < kRows; ++row) rowToWords<kType>(tile + row * kRowBytes, to + row * stride);
}

using TileToWords = void (*)(const std::byte* tile, int16_t* to, uint32_t stride);
TileToWords wordsOf(MatrixType type) {
  switch (type) {
    case MatrixType::S8:
      return tileToWords<MatrixType::S8>;
    case MatrixType::U8:
      return tileToWords<MatrixType::U8>;
    case MatrixType::S4:
      return tileToWords<MatrixType::S4>;
    default:
      return tileToWords<MatrixType::U4>;
  }
}

// Eight rows of eight words turned; distances in words.
void turn(const float* from, uint32_t fromStride, float* to, uint32_t toStride) {
  __m256 r[8], s[8];
  for (uint32_t k = 0; k < 8; ++k) r[k] = _mm256_loadu_ps(from + k * fromStride);
  for (uint32_t k = 0; k < 8; k += 2) {
    s[k] = _mm256_unpacklo_ps(r[k], r[k + 1]);
    s[k + 1] = _mm256_unpackhi_ps(r[k], r[k + 1]);
  }
  for (uint32_t k = 0; k < 8; k += 4) {
    r[k] = _mm256_shuffle_ps(s[k], s[k + 2], 0x44);
    r[k + 1] = _mm256_shuffle_ps(s[k], s[k + 2], 0xee);
    r[k + 2] = _mm256_shuffle_ps(s[k + 1], s[k + 3], 0x44);
    r[k + 3] = _mm256_shuffle_ps(s[k + 1], s[k + 3], 0xee);
  }
  for (uint32_t k = 0; k < 4; ++k) {
    _mm256_storeu_ps(to + k * toStride, _mm256_permute2f128_ps(r[k], r[k + 4], 0x20));
    _mm256_storeu_ps(to + (k + 4) * toStride, _mm256_permute2f128_ps(r[k], r[k + 4], 0x31));
  }
}

// --- Where operands are ----------------------------------------------------------------------------------------------

struct Operands {
  Operands(const MatrixForm& form, const std::byte* operands) {
    const uint32_t bytes = registerBytes(form.c()) * kLanes;
    a = operands;
    b = a + registerCount(form, MatrixRole::A, form.a) * bytes;
    c = b + registerCount(form, MatrixRole::B, form.b) * bytes;
    metadata = reinterpret_cast<const uint32_t*>(c + registerCount(form, MatrixRole::C, form.c()) * bytes);
  }
  const std::byte *a, *b, *c;
  const uint32_t* metadata;
};

// Calls visit(first row, first k, address) for each tile of A, and of B turned.
template <class Visit>
void eachTileOfA(const MatrixForm& form, const std::byte* a, Visit visit) {
  const uint32_t width = tileWidth(form.a), depth = storedK(form);
  for (uint32_t block = 0; block < form.m / kRows; ++block)
    for (uint32_t k = 0; k < depth; k += width)
      visit(block * kRows, k, a + tileOfA(form, block, k / width) * kTileBytes);
}
template <class Visit>
void eachTileOfB(const MatrixForm& form, const std::byte* b, Visit visit) {
  const uint32_t width = tileWidth(form.b);
  for (uint32_t block = 0; block < form.n / kRows; ++block)
    for (uint32_t k = 0; k < form.k(); k += width)
      visit(block * kRows, k, b + tileOfB(form, block, k / width) * kTileBytes);
}

// --- Accumulators ----------------------------------------------------------------------------------------------------

// Row `row` of a block of two registers: even columns in the first, odd ones in the second.
__m256 joined(const std::byte* registers, uint32_t row) {
  const __m128 even = _mm_loadu_ps(reinterpret_cast<const float*>(registers + row * kRowBytes));
  const __m128 odd = _mm_loadu_ps(reinterpret_cast<const float*>(registers + kTileBytes + row * kRowBytes));
  return _mm256_set_m128(_mm_unpackhi_ps(even, odd), _mm_unpacklo_ps(even, odd));
}
void parted(__m256 values, std::byte* registers, uint32_t row) {
  const __m128 low = _mm256_castps256_ps128(values), high = _mm256_extractf128_ps(values, 1);
  _mm_storeu_ps(reinterpret_cast<float*>(registers + row * kRowBytes), _mm_shuffle_ps(low, high, 0x88));
  _mm_storeu_ps(reinterpret_cast<float*>(registers + kTileBytes + row * kRowBytes), _mm_shuffle_ps(low, high, 0xdd));
}

__m256 accumulatorRow(MatrixType type, const std::byte* registers, uint32_t row) {
  return type == MatrixType::F16 ? _mm256_cvtph_ps(loadRow(registers + row * kRowBytes)) : joined(registers, row);
}
void storeAccumulator(MatrixType type, __m256 sum, std::byte* registers, uint32_t row) {
  const __m256 isNaN = _mm256_cmp_ps(sum, sum, _CMP_UNORD_Q);
  sum = _mm256_blendv_ps(sum, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)), isNaN);
  if (type == MatrixType::F16)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(registers + row * kRowBytes), _mm256_cvtps_ph(sum, 0));
  else
    parted(sum, registers, row);
}

// --- Floats ----------------------------------------------------------------------------------------------------------

struct alignas(64) Floats {
  float a[512];       // rows of stored k
  float turned[512];  // columns of k
  float b[512];       // k rows of columns
  uint8_t columns[512];
};

// Eight rows times eight columns, of constant depth and distance between rows of B, so that all of it is unrolled.
template <uint32_t kDepth, uint32_t kWidth>
void denseBlock(const float* a, const float* b, __m256 (&sum)[kRows]) {
  for (uint32_t k = 0; k < kDepth; ++k) {
    const __m256 line = _mm256_loadu_ps(b + k * kWidth);
    for (uint32_t row = 0; row < kRows; ++row)
      sum[row] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + row * kDepth + k), line, sum[row]);
  }
}

// The same with a row of B for each element of A.
void sparseBlock(const MatrixForm& form, const float* a, const float* b, const uint8_t* columns, __m256 (&sum)[kRows]) {
  const uint32_t depth = storedK(form);
  for (uint32_t k = 0; k < depth; ++k)
    for (uint32_t row = 0; row < kRows; ++row)
      sum[row] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + row * depth + k),
                                 _mm256_loadu_ps(b + columns[row * depth + k] * kRows), sum[row]);
}

void addProducts(const MatrixForm& form, const float* a, const float* b, const uint8_t* columns, __m256 (&sum)[kRows]) {
  if (columns) return sparseBlock(form, a, b, columns, sum);
  switch (form.k() * 64 + form.n) {  // every combination that exists
    case 4 * 64 + 8:
      return denseBlock<4, 8>(a, b, sum);
    case 8 * 64 + 8:
      return denseBlock<8, 8>(a, b, sum);
    case 8 * 64 + 16:
      return denseBlock<8, 16>(a, b, sum);
    case 16 * 64 + 8:
      return denseBlock<16, 8>(a, b, sum);
    case 16 * 64 + 16:
      return denseBlock<16, 16>(a, b, sum);
    default:
      return denseBlock<32, 8>(a, b, sum);
  }
}

void floatBlock(const MatrixForm& form, const float* a, const float* b, const uint8_t* columns, const std::byte* c,
                std::byte* d) {
  __m256 sum[kRows];
  for (uint32_t row = 0; row < kRows; ++row) sum[row] = accumulatorRow(form.c(), c, row);
  addProducts(form, a, b, columns, sum);
  for (uint32_t row = 0; row < kRows; ++row) storeAccumulator(form.d(), sum[row], d, row);
}

template <class Block>
void eachBlock(const MatrixForm& form, Block block) {
  for (uint32_t row = 0; row < form.m / kRows; ++row)
    for (uint32_t column = 0; column < form.n / kRows; ++column) block(row, column, tileOfC(form, row, column));
}

void multiplyFloats(const MatrixForm& form, const Operands& from, std::byte* results) {
  Floats x;
  const uint32_t depth = storedK(form), deep = form.k() < 8 ? 8 : form.k();
  const TileToFloats aToFloats = floatsOf(form.a), bToFloats = floatsOf(form.b);
  eachTileOfA(form, from.a,
              [&](uint32_t row, uint32_t k, const std::byte* tile) { aToFloats(tile, x.a + row * depth + k, depth); });
  if (form.k() < 8) __builtin_memset(x.turned, 0, sizeof x.turned);
  eachTileOfB(form, from.b, [&](uint32_t column, uint32_t k, const std::byte* tile) {
    bToFloats(tile, x.turned + column * deep + k, deep);
  });
  for (uint32_t column = 0; column < form.n; column += 8)
    for (uint32_t k = 0; k < deep; k += 8) turn(x.turned + column * deep + k, deep, x.b + k * form.n + column, form.n);
  const bool isSparse = form.has(kMatrixSparse);
  for (uint32_t row = 0; isSparse && row < form.m; ++row)
    for (uint32_t k = 0; k < depth; ++k)
      x.columns[row * depth + k] = static_cast<uint8_t>(sparseColumn(form, from.metadata, row, k));
  eachBlock(form, [&](uint32_t row, uint32_t column, uint32_t tile) {
    floatBlock(
        form, x.a + row * kRows * depth, x.b + column * kRows, isSparse ? x.columns + row * kRows * depth : nullptr,
        from.c + tile * registersOfC(form.c()) * kTileBytes, results + tile * registersOfC(form.d()) * kTileBytes);
  });
}

// --- Whole numbers ---------------------------------------------------------------------------------------------------

struct alignas(64) Words {
  int16_t a[2048];  // rows of k
  int16_t stored[1024];
  int16_t turned[1024];
  int32_t b[512];  // rows of columns, each of pairs of k
};

void addWhole(bool saturate, __m256i product, const std::byte* c, std::byte* d, uint32_t row) {
  const __m256i old = _mm256_castps_si256(joined(c, row));
  __m256i sum = _mm256_add_epi32(old, product);
  if (saturate) {
    const __m256i over = _mm256_and_si256(_mm256_xor_si256(old, sum), _mm256_xor_si256(product, sum));
    const __m256i limit = _mm256_xor_si256(_mm256_srai_epi32(old, 31), _mm256_set1_epi32(0x7fffffff));
    sum = _mm256_blendv_epi8(sum, limit, _mm256_srai_epi32(over, 31));
  }
  parted(_mm256_castsi256_ps(sum), d, row);
}

void wholeBlock(const MatrixForm& form, const int16_t* a, const int32_t* b, const std::byte* c, std::byte* d) {
  const uint32_t depth = form.k(), width = form.n;
  __m256i sum[kRows];
  for (uint32_t row = 0; row < kRows; ++row) sum[row] = _mm256_setzero_si256();
  for (uint32_t k = 0; k < depth; k += 2) {
    const __m256i line = loadWords(b + k / 2 * width);
    for (uint32_t row = 0; row < kRows; ++row) {
      int32_t pair;
      __builtin_memcpy(&pair, a + row * depth + k, sizeof pair);
      sum[row] = _mm256_add_epi32(sum[row], _mm256_madd_epi16(_mm256_set1_epi32(pair), line));
    }
  }
  for (uint32_t row = 0; row < kRows; ++row) addWhole(form.has(kMatrixSaturate), sum[row], c, d, row);
}

// Rows of k; elements that a sparse A lacks count as zeros.
void spreadWords(const MatrixForm& form, const Operands& from, Words& x) {
  const TileToWords toWords = wordsOf(form.a);
  const uint32_t stored = storedK(form);
  int16_t* const to = form.has(kMatrixSparse) ? x.stored : x.a;
  eachTileOfA(form, from.a,
              [&](uint32_t row, uint32_t k, const std::byte* tile) { toWords(tile, to + row * stored + k, stored); });
  if (!form.has(kMatrixSparse)) return;
  __builtin_memset(x.a, 0, form.m * form.k() * sizeof(int16_t));
  for (uint32_t row = 0; row < form.m; ++row)
    for (uint32_t k = 0; k < stored; ++k)
      x.a[row * form.k() + sparseColumn(form, from.metadata, row, k)] = x.stored[row * stored + k];
}

void multiplyWhole(const MatrixForm& form, const Operands& from, std::byte* results) {
  Words x;
  const uint32_t depth = form.k(), pairs = depth / 2;
  spreadWords(form, from, x);
  const TileToWords toWords = wordsOf(form.b);
  eachTileOfB(form, from.b, [&](uint32_t column, uint32_t k, const std::byte* tile) {
    toWords(tile, x.turned + column * depth + k, depth);
  });
  const float* const turned = reinterpret_cast<const float*>(x.turned);
  for (uint32_t column = 0; column < form.n; column += 8)
    for (uint32_t k = 0; k < pairs; k += 8)
      turn(turned + column * pairs + k, pairs, reinterpret_cast<float*>(x.b) + k * form.n + column, form.n);
  eachBlock(form, [&](uint32_t row, uint32_t column, uint32_t tile) {
    wholeBlock(form, x.a + row * kRows * depth, x.b + column * kRows, from.c + 2 * tile * kTileBytes,
               results + 2 * tile * kTileBytes);
  });
}

// --- Bits ------------------------------------------------------------------------------------------------------------

uint32_t countedBits(__m128i a, __m128i b, bool isAnd) {
  const __m128i bits = isAnd ? _mm_and_si128(a, b) : _mm_xor_si128(a, b);
  return static_cast<uint32_t>(__builtin_popcountll(static_cast<uint64_t>(_mm_cvtsi128_si64(bits))) +
                               __builtin_popcountll(static_cast<uint64_t>(_mm_extract_epi64(bits, 1))));
}

void multiplyBits(const MatrixForm& form, const Operands& from, std::byte* results) {
  const bool isAnd = form.has(kMatrixAnd);
  eachBlock(form, [&](uint32_t rowBlock, uint32_t columnBlock, uint32_t tile) {
    alignas(32) uint32_t sums[kRows][kRows] = {};
    for (uint32_t k = 0; k < form.k() / 128; ++k) {
      const std::byte* const a = from.a + tileOfA(form, rowBlock, k) * kTileBytes;
      const std::byte* const b = from.b + tileOfB(form, columnBlock, k) * kTileBytes;
      for (uint32_t row = 0; row < kRows; ++row)
        for (uint32_t column = 0; column < kRows; ++column)
          sums[row][column] += countedBits(loadRow(a + row * kRowBytes), loadRow(b + column * kRowBytes), isAnd);
    }
    for (uint32_t row = 0; row < kRows; ++row)
      addWhole(form.has(kMatrixSaturate), loadWords(sums[row]), from.c + 2 * tile * kTileBytes,
               results + 2 * tile * kTileBytes, row);
  });
}

// --- f64, rounded to nearest -----------------------------------------------------------------------------------------

constexpr uint32_t kWideTile = 2 * kTileBytes, kWideRow = 2 * kRowBytes;

const double* doubles(const std::byte* p) { return reinterpret_cast<const double*>(p); }

// Four columns of four k turned to rows of columns.
void turnDoubles(const std::byte* tile, double (*to)[kRows], uint32_t first) {
  __m256d r[4];
  for (uint32_t n = 0; n < 4; ++n) r[n] = _mm256_loadu_pd(doubles(tile + (first + n) * kWideRow));
  const __m256d a = _mm256_unpacklo_pd(r[0], r[1]), b = _mm256_unpackhi_pd(r[0], r[1]),
                c = _mm256_unpacklo_pd(r[2], r[3]), d = _mm256_unpackhi_pd(r[2], r[3]);
  _mm256_storeu_pd(&to[0][first], _mm256_permute2f128_pd(a, c, 0x20));
  _mm256_storeu_pd(&to[1][first], _mm256_permute2f128_pd(b, d, 0x20));
  _mm256_storeu_pd(&to[2][first], _mm256_permute2f128_pd(a, c, 0x31));
  _mm256_storeu_pd(&to[3][first], _mm256_permute2f128_pd(b, d, 0x31));
}

__m256d canonical(__m256d sum) {
  const __m256d isNaN = _mm256_cmp_pd(sum, sum, _CMP_UNORD_Q);
  return _mm256_blendv_pd(sum, _mm256_castsi256_pd(_mm256_set1_epi64x(0x7ff8000000000000)), isNaN);
}

constexpr uint32_t kTogether = 4;  // rows whose sums are under way at once

// A row of C: even and odd columns from two registers, and back.
void joinDoubles(const std::byte* registers, __m256d& low, __m256d& high) {
  const __m256d even = _mm256_loadu_pd(doubles(registers)), odd = _mm256_loadu_pd(doubles(registers + kWideTile));
  const __m256d mixed0 = _mm256_unpacklo_pd(even, odd), mixed1 = _mm256_unpackhi_pd(even, odd);
  low = _mm256_permute2f128_pd(mixed0, mixed1, 0x20);
  high = _mm256_permute2f128_pd(mixed0, mixed1, 0x31);
}
void partDoubles(__m256d low, __m256d high, std::byte* registers) {
  low = canonical(low);
  high = canonical(high);
  const __m256d lower = _mm256_permute2f128_pd(low, high, 0x20), upper = _mm256_permute2f128_pd(low, high, 0x31);
  _mm256_storeu_pd(reinterpret_cast<double*>(registers), _mm256_unpacklo_pd(lower, upper));
  _mm256_storeu_pd(reinterpret_cast<double*>(registers + kWideTile), _mm256_unpackhi_pd(lower, upper));
}

void doubleRows(const MatrixForm& form, const Operands& from, const double (*b)[kRows], uint32_t rowBlock, uint32_t row,
                std::byte* results) {
  const uint32_t tile = 2 * tileOfC(form, rowBlock, 0) * kWideTile + row * kWideRow;
  __m256d low[kTogether], high[kTogether];
  for (uint32_t r = 0; r < kTogether; ++r) joinDoubles(from.c + tile + r * kWideRow, low[r], high[r]);
  for (uint32_t k = 0; k < form.k(); ++k) {
    const std::byte* const a =
        from.a + tileOfA(form, rowBlock, k / 4) * kWideTile + row * kWideRow + k % 4 * sizeof(double);
    const __m256d lower = _mm256_loadu_pd(b[k]), upper = _mm256_loadu_pd(b[k] + 4);
    for (uint32_t r = 0; r < kTogether; ++r) {
      const __m256d factor = _mm256_broadcast_sd(doubles(a + r * kWideRow));
      low[r] = _mm256_fmadd_pd(factor, lower, low[r]);
      high[r] = _mm256_fmadd_pd(factor, upper, high[r]);
    }
  }
  for (uint32_t r = 0; r < kTogether; ++r) partDoubles(low[r], high[r], results + tile + r * kWideRow);
}

void multiplyDoubles(const MatrixForm& form, const Operands& from, std::byte* results) {
  alignas(32) double b[16][kRows];
  for (uint32_t k = 0; k < form.k(); k += 4)
    for (uint32_t first = 0; first < kRows; first += 4) turnDoubles(from.b + k / 4 * kWideTile, b + k, first);
  for (uint32_t block = 0; block < form.m / kRows; ++block)
    for (uint32_t row = 0; row < kRows; row += kTogether) doubleRows(form, from, b, block, row, results);
}

void multiply(const MatrixForm& form, const std::byte* operands, std::byte* results) {
  const Operands from(form, operands);
  if (form.a == MatrixType::F64)
    form.selector() ? multiplyPlainly(form, operands, results) : multiplyDoubles(form, from, results);
  else if (form.a == MatrixType::B1)
    multiplyBits(form, from, results);
  else if (isWhole(form.a))
    multiplyWhole(form, from, results);
  else
    multiplyFloats(form, from, results);
}

bool isSupported() {
  using namespace processor;
  return has(kAvx2) && has(kFma) && has(kF16c) && has(kPopcnt);
}

}  // namespace

extern const MatrixEngine kAvx2MatrixEngine = {"avx2", isSupported, multiply};

}  // namespace vg::ptx
