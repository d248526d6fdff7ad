// Products by vectors of eight. Operands are spread to plain rows: A by rows of k, B by rows of columns, so that an
// element of A times a row of B is one step for eight accumulators. The order of sums is that of the plain loops.
#include <immintrin.h>

#include "ptx/matrix.h"

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

void rowToFloats(MatrixType type, __m128i row, float* to) {
  switch (type) {
    case MatrixType::F16:
      return _mm256_storeu_ps(to, _mm256_cvtph_ps(row));
    case MatrixType::BF16:
      return storeWords(to, _mm256_slli_epi32(_mm256_cvtepu16_epi32(row), 16));
    case MatrixType::TF32:
      return _mm_storeu_ps(to, _mm_castsi128_ps(_mm_and_si128(row, _mm_set1_epi32(~0x1fff))));
    case MatrixType::E4M3:
      _mm256_storeu_ps(to, eighthsToFloats(row));
      return _mm256_storeu_ps(to + 8, eighthsToFloats(_mm_srli_si128(row, 8)));
    default: {  // e5m2 is the upper half of f16
      const __m128i zero = _mm_setzero_si128();
      _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_unpacklo_epi8(zero, row)));
      return _mm256_storeu_ps(to + 8, _mm256_cvtph_ps(_mm_unpackhi_epi8(zero, row)));
    }
  }
}

// The same as 16-bit whole numbers.
void rowToWords(MatrixType type, __m128i row, int16_t* to) {
  if (type == MatrixType::S8) return storeWords(to, _mm256_cvtepi8_epi16(row));
  if (type == MatrixType::U8) return storeWords(to, _mm256_cvtepu8_epi16(row));
  const __m128i nibble = _mm_set1_epi8(15);
  const __m128i low = _mm_and_si128(row, nibble), high = _mm_and_si128(_mm_srli_epi16(row, 4), nibble);
  __m128i parts[2] = {_mm_unpacklo_epi8(low, high), _mm_unpackhi_epi8(low, high)};
  for (int half = 0; half < 2; ++half) {
    if (type == MatrixType::S4)
      parts[half] = _mm_sub_epi8(_mm_xor_si128(parts[half], _mm_set1_epi8(8)), _mm_set1_epi8(8));
    storeWords(to + 16 * half, _mm256_cvtepi8_epi16(parts[half]));
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

// Calls visit(row, k, address) for each row of each tile of A, and of B turned.
template <class Visit>
void eachRowOfA(const MatrixForm& form, const std::byte* a, Visit visit) {
  const uint32_t width = tileWidth(form.a), depth = storedK(form);
  for (uint32_t block = 0; block < form.m / kRows; ++block)
    for (uint32_t k = 0; k < depth; k += width) {
      const std::byte* const tile = a + tileOfA(form, block, k / width) * kTileBytes;
      for (uint32_t row = 0; row < kRows; ++row) visit(block * kRows + row, k, tile + row * kRowBytes);
    }
}
template <class Visit>
void eachRowOfB(const MatrixForm& form, const std::byte* b, Visit visit) {
  const uint32_t width = tileWidth(form.b);
  for (uint32_t block = 0; block < form.n / kRows; ++block)
    for (uint32_t k = 0; k < form.k(); k += width) {
      const std::byte* const tile = b + tileOfB(form, block, k / width) * kTileBytes;
      for (uint32_t row = 0; row < kRows; ++row) visit(block * kRows + row, k, tile + row * kRowBytes);
    }
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

// Eight rows times eight columns. `columns`: the row of B for each element of A, or null.
void floatBlock(const MatrixForm& form, const float* a, const float* b, const uint8_t* columns, const std::byte* c,
                std::byte* d) {
  const uint32_t depth = storedK(form), width = form.n;
  __m256 sum[kRows];
  for (uint32_t row = 0; row < kRows; ++row) sum[row] = accumulatorRow(form.c(), c, row);
  if (columns) {
    for (uint32_t k = 0; k < depth; ++k)
      for (uint32_t row = 0; row < kRows; ++row)
        sum[row] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + row * depth + k),
                                   _mm256_loadu_ps(b + columns[row * depth + k] * width), sum[row]);
  } else {
    for (uint32_t k = 0; k < depth; ++k) {
      const __m256 line = _mm256_loadu_ps(b + k * width);
      for (uint32_t row = 0; row < kRows; ++row)
        sum[row] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + row * depth + k), line, sum[row]);
    }
  }
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
  eachRowOfA(form, from.a, [&](uint32_t row, uint32_t k, const std::byte* p) {
    rowToFloats(form.a, loadRow(p), x.a + row * depth + k);
  });
  if (form.k() < 8) __builtin_memset(x.turned, 0, sizeof x.turned);
  eachRowOfB(form, from.b, [&](uint32_t column, uint32_t k, const std::byte* p) {
    rowToFloats(form.b, loadRow(p), x.turned + column * deep + k);
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

// Elements that a sparse A lacks count as zeros.
void spread(const MatrixForm& form, const uint32_t* metadata, const int16_t* stored, int16_t* row, uint32_t number) {
  for (uint32_t k = 0; k < storedK(form); ++k) row[sparseColumn(form, metadata, number, k)] = stored[k];
}

void multiplyWhole(const MatrixForm& form, const Operands& from, std::byte* results) {
  Words x;
  const uint32_t depth = form.k(), pairs = depth / 2;
  if (form.has(kMatrixSparse)) {
    int16_t stored[64];
    __builtin_memset(x.a, 0, form.m * depth * sizeof(int16_t));
    const uint32_t width = tileWidth(form.a);
    eachRowOfA(form, from.a, [&](uint32_t row, uint32_t k, const std::byte* p) {
      if (k) return;  // all tiles of the row at once
      for (uint32_t at = 0; at < storedK(form); at += width) {
        const uint32_t further = (tileOfA(form, row / kRows, at / width) - tileOfA(form, row / kRows, 0)) * kTileBytes;
        rowToWords(form.a, loadRow(p + further), stored + at);
      }
      spread(form, from.metadata, stored, x.a + row * depth, row);
    });
  } else {
    eachRowOfA(form, from.a, [&](uint32_t row, uint32_t k, const std::byte* p) {
      rowToWords(form.a, loadRow(p), x.a + row * depth + k);
    });
  }
  eachRowOfB(form, from.b, [&](uint32_t column, uint32_t k, const std::byte* p) {
    rowToWords(form.b, loadRow(p), x.turned + column * depth + k);
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

// Even and odd columns of a row of C, and back.
void doubleRow(const MatrixForm& form, const Operands& from, const double (*b)[kRows], uint32_t rowBlock, uint32_t row,
               std::byte* results) {
  const uint32_t tile = 2 * tileOfC(form, rowBlock, 0), at = row * kWideRow;
  const __m256d even = _mm256_loadu_pd(doubles(from.c + tile * kWideTile + at)),
                odd = _mm256_loadu_pd(doubles(from.c + (tile + 1) * kWideTile + at));
  const __m256d mixed0 = _mm256_unpacklo_pd(even, odd), mixed1 = _mm256_unpackhi_pd(even, odd);
  __m256d low = _mm256_permute2f128_pd(mixed0, mixed1, 0x20), high = _mm256_permute2f128_pd(mixed0, mixed1, 0x31);
  for (uint32_t k = 0; k < form.k(); ++k) {
    const std::byte* const a = from.a + tileOfA(form, rowBlock, k / 4) * kWideTile + at + k % 4 * sizeof(double);
    const __m256d factor = _mm256_broadcast_sd(doubles(a));
    low = _mm256_fmadd_pd(factor, _mm256_loadu_pd(b[k]), low);
    high = _mm256_fmadd_pd(factor, _mm256_loadu_pd(b[k] + 4), high);
  }
  low = canonical(low);
  high = canonical(high);
  const __m256d lower = _mm256_permute2f128_pd(low, high, 0x20), upper = _mm256_permute2f128_pd(low, high, 0x31);
  double* const to = reinterpret_cast<double*>(results + tile * kWideTile + at);
  _mm256_storeu_pd(to, _mm256_unpacklo_pd(lower, upper));
  _mm256_storeu_pd(to + kWideTile / sizeof(double), _mm256_unpackhi_pd(lower, upper));
}

void multiplyDoubles(const MatrixForm& form, const Operands& from, std::byte* results) {
  alignas(32) double b[16][kRows];
  for (uint32_t k = 0; k < form.k(); k += 4)
    for (uint32_t first = 0; first < kRows; first += 4) turnDoubles(from.b + k / 4 * kWideTile, b + k, first);
  for (uint32_t block = 0; block < form.m / kRows; ++block)
    for (uint32_t row = 0; row < kRows; ++row) doubleRow(form, from, b, block, row, results);
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
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
         __builtin_cpu_supports("popcnt");
}

}  // namespace

extern const MatrixEngine kAvx2MatrixEngine = {"avx2", isSupported, multiply};

}  // namespace vg::ptx
