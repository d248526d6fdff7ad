// Products by vectors of sixteen, in the lanes where the registers of a warp have their elements: lane 4g + t of a
// register of C holds row g and column 2t or 2t + 1. For each k, word t of A goes to all four lanes of its row, and of
// B the columns 2t to lane t of each row. So nothing is turned or spread in memory, and sums stay in registers. The
// order of sums is that of the plain loops. What is rare is left to vectors of eight.
#include <immintrin.h>

#include "base/system/processor.h"
#include "ptx/operations/matrix.h"

namespace vg::ptx {
namespace {

constexpr uint32_t kRows = 8, kTileBytes = 128, kVector = 64, kWords = 4;  // of a row of a tile

__m512i loadWords(const void* p) { return _mm512_loadu_si512(p); }
void storeWords(void* p, __m512i v) { _mm512_storeu_si512(p, v); }

struct Operands {
  const std::byte *a, *b, *c;
};

template <uint32_t kRegisterBytes>
Operands operandsOf(const MatrixForm& form, uint32_t tileWidth, const std::byte* operands) {
  const bool isPadded = form.has(kMatrixWarp) && form.a == MatrixType::F16;
  const uint32_t kBlocks = form.k() / tileWidth, bytes = 32 * kRegisterBytes;
  const std::byte* const b = operands + (isPadded ? 8 : form.m / kRows * kBlocks) * bytes;
  return {operands, b, b + (isPadded ? 8 : form.n / kRows * kBlocks) * bytes};
}

// The tiles of form.h for one width, which the compiler knows.
uint32_t placeInA(const MatrixForm& form, uint32_t row, uint32_t k, uint32_t kBlocks) {
  const uint32_t rows = form.m < 16 ? 1 : 2;
  return (row / rows * kBlocks + k) * rows + row % rows;
}

// Calls unit.template operator()<blocks of rows>(first block of rows, block of columns).
template <class Unit>
void eachUnit(const MatrixForm& form, Unit unit) {
  for (uint32_t column = 0; column < form.n / kRows; ++column) {
    if (form.m < 16) unit.template operator()<1>(0, column);
    for (uint32_t row = 0; form.m >= 16 && row < form.m / kRows; row += 2) unit.template operator()<2>(row, column);
  }
}

// Word kWord of each row in all lanes of the row.
template <uint32_t kWord>
__m512i inRows(__m512i tile) {
  return _mm512_shuffle_epi32(tile, static_cast<_MM_PERM_ENUM>(kWord * 0x55));
}
// Of the rows 2t + kOdd, which are columns of B, word kWord in lane t of each row.
template <uint32_t kWord, uint32_t kOdd>
__m512i inColumns(__m512i low, __m512i high) {
  const __m512i first = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 8, 16, 24));
  return _mm512_permutex2var_epi32(low, _mm512_add_epi32(first, _mm512_set1_epi32(4 * kOdd + kWord)), high);
}

// --- Floats ----------------------------------------------------------------------------------------------------------

template <MatrixType kType>
constexpr uint32_t kParts = kType == MatrixType::TF32 ? 1 : 2;  // elements of a word

// Element kPart of each word as a float.
template <MatrixType kType, uint32_t kPart>
__m512i part(__m512i words) {
  if constexpr (kType == MatrixType::TF32) {
    return _mm512_and_si512(words, _mm512_set1_epi32(~0x1fff));
  } else if constexpr (kType == MatrixType::BF16) {
    return kPart ? _mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xffff0000)))
                 : _mm512_slli_epi32(words, 16);
  } else {
    const __m512i shifted = kPart ? _mm512_srli_epi32(words, 16) : words;
    return _mm512_castps_si512(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(shifted)));
  }
}

// Of a tile: its halves of four rows, by part.
template <MatrixType kType>
struct Tile {
  __m512i low[kParts<kType>], high[kParts<kType>];

  explicit Tile(const std::byte* from) {
    const __m512i lower = loadWords(from), upper = loadWords(from + kVector);
    low[0] = part<kType, 0>(lower);
    high[0] = part<kType, 0>(upper);
    if constexpr (kParts<kType> == 2) {
      low[1] = part<kType, 1>(lower);
      high[1] = part<kType, 1>(upper);
    }
  }
};

// Of a block of 8 x 8: even and odd columns, each four rows and the next four.
struct Sums {
  __m512 at[2][2];
};

__m512 halvesToFloats(__m512i words) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words)); }

Sums loadSums(MatrixType type, const std::byte* c, uint32_t tile) {
  Sums sums;
  const std::byte* const from = c + registersOfC(type) * tile * kTileBytes;
  for (uint32_t half = 0; half < 2; ++half) {
    const __m512i words = loadWords(from + half * kVector);
    if (type == MatrixType::F16) {
      sums.at[0][half] = halvesToFloats(words);
      sums.at[1][half] = halvesToFloats(_mm512_srli_epi32(words, 16));
    } else {
      sums.at[0][half] = _mm512_castsi512_ps(words);
      sums.at[1][half] = _mm512_castsi512_ps(loadWords(from + kTileBytes + half * kVector));
    }
  }
  return sums;
}

__m512 canonical(__m512 sum) {
  const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fffffff));
  return _mm512_mask_mov_ps(sum, _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q), nan);
}
__m512i floatsToHalves(__m512 sum) { return _mm512_cvtepu16_epi32(_mm512_cvtps_ph(sum, 0)); }

void storeSums(MatrixType type, const Sums& sums, std::byte* d, uint32_t tile) {
  std::byte* const to = d + registersOfC(type) * tile * kTileBytes;
  for (uint32_t half = 0; half < 2; ++half) {
    const __m512 even = canonical(sums.at[0][half]), odd = canonical(sums.at[1][half]);
    if (type == MatrixType::F16) {
      const __m512i upper = _mm512_slli_epi32(floatsToHalves(odd), 16);
      storeWords(to + half * kVector, _mm512_or_si512(floatsToHalves(even), upper));
    } else {
      storeWords(to + half * kVector, _mm512_castps_si512(even));
      storeWords(to + kTileBytes + half * kVector, _mm512_castps_si512(odd));
    }
  }
}

template <MatrixType kType, uint32_t kWord, uint32_t kPart, uint32_t kBlocks>
void addElement(const Tile<kType>* a, const Tile<kType>& b, Sums* sums) {
  const __m512 even = _mm512_castsi512_ps(inColumns<kWord, 0>(b.low[kPart], b.high[kPart]));
  const __m512 odd = _mm512_castsi512_ps(inColumns<kWord, 1>(b.low[kPart], b.high[kPart]));
  for (uint32_t block = 0; block < kBlocks; ++block) {
    const __m512 low = _mm512_castsi512_ps(inRows<kWord>(a[block].low[kPart]));
    const __m512 high = _mm512_castsi512_ps(inRows<kWord>(a[block].high[kPart]));
    auto& at = sums[block].at;
    at[0][0] = _mm512_fmadd_ps(low, even, at[0][0]);
    at[0][1] = _mm512_fmadd_ps(high, even, at[0][1]);
    at[1][0] = _mm512_fmadd_ps(low, odd, at[1][0]);
    at[1][1] = _mm512_fmadd_ps(high, odd, at[1][1]);
  }
}

template <MatrixType kType, uint32_t kBlocks, uint32_t kWord = 0>
void addWords(const Tile<kType>* a, const Tile<kType>& b, Sums* sums) {
  addElement<kType, kWord, 0, kBlocks>(a, b, sums);
  if constexpr (kParts<kType> == 2) addElement<kType, kWord, 1, kBlocks>(a, b, sums);
  if constexpr (kWord + 1 < kWords) addWords<kType, kBlocks, kWord + 1>(a, b, sums);
}

template <MatrixType kType>
void multiplyFloats(const MatrixForm& form, const std::byte* operands, std::byte* results) {
  constexpr uint32_t kWidth = kWords * kParts<kType>;
  const Operands from = operandsOf<4>(form, kWidth, operands);
  const uint32_t kBlocks = form.k() / kWidth;
  eachUnit(form, [&]<uint32_t kTogether>(uint32_t row, uint32_t column) {
    const uint32_t tile = tileOfC(form, row, column);
    Sums sums[kTogether];
    for (uint32_t block = 0; block < kTogether; ++block) sums[block] = loadSums(form.c(), from.c, tile + block);
    for (uint32_t k = 0; k < kBlocks; ++k) {
      const std::byte* const at = from.a + placeInA(form, row, k, kBlocks) * kTileBytes;
      const Tile<kType> b(from.b + (column * kBlocks + k) * kTileBytes);
      if constexpr (kTogether == 2) {
        const Tile<kType> a[2] = {Tile<kType>(at), Tile<kType>(at + kTileBytes)};
        addWords<kType, 2>(a, b, sums);
      } else {
        const Tile<kType> a(at);
        addWords<kType, 1>(&a, b, sums);
      }
    }
    for (uint32_t block = 0; block < kTogether; ++block) storeSums(form.d(), sums[block], results, tile + block);
  });
}

// --- Bytes -----------------------------------------------------------------------------------------------------------

// One factor must be signed and the other not: 128 is added to or taken from each element of one, and the products with
// 128 are summed on their own.
template <bool kSignedA, bool kSignedB>
struct ByteSums {
  __m512i at[2][2], other[2];  // other: by columns where both are signed, by rows where none is

  ByteSums() {
    for (auto& columns : at)
      for (__m512i& sum : columns) sum = _mm512_setzero_si512();
    for (__m512i& sum : other) sum = _mm512_setzero_si512();
  }

  static __m512i forA(__m512i words) {
    return kSignedA && kSignedB ? _mm512_xor_si512(words, _mm512_set1_epi8(-128)) : words;
  }
  static __m512i forB(__m512i words) {
    return !kSignedA && !kSignedB ? _mm512_xor_si512(words, _mm512_set1_epi8(-128)) : words;
  }
  static __m512i add(__m512i sum, __m512i a, __m512i b) {
    return kSignedA && !kSignedB ? _mm512_dpbusd_epi32(sum, b, a) : _mm512_dpbusd_epi32(sum, a, b);
  }

  template <uint32_t kWord>
  void addWord(const __m512i* a, const __m512i* b) {
    const __m512i columns[2] = {inColumns<kWord, 0>(b[0], b[1]), inColumns<kWord, 1>(b[0], b[1])};
    const __m512i rows[2] = {inRows<kWord>(a[0]), inRows<kWord>(a[1])};
    for (uint32_t odd = 0; odd < 2; ++odd)
      for (uint32_t half = 0; half < 2; ++half) at[odd][half] = add(at[odd][half], rows[half], columns[odd]);
    for (uint32_t n = 0; n < 2; ++n) {
      if constexpr (kSignedA && kSignedB)
        other[n] = _mm512_dpbusd_epi32(other[n], _mm512_set1_epi8(-128), columns[n]);
      else if constexpr (!kSignedA && !kSignedB)
        other[n] = _mm512_dpbusd_epi32(other[n], rows[n], _mm512_set1_epi8(1));
    }
  }

  __m512i product(uint32_t odd, uint32_t half) const {
    if constexpr (kSignedA && kSignedB) return _mm512_sub_epi32(at[odd][half], other[odd]);
    if constexpr (!kSignedA && !kSignedB) return _mm512_add_epi32(at[odd][half], _mm512_slli_epi32(other[half], 7));
    return at[odd][half];
  }
};

__m512i added(bool saturate, __m512i old, __m512i product) {
  const __m512i sum = _mm512_add_epi32(old, product);
  if (!saturate) return sum;
  const __m512i over = _mm512_and_si512(_mm512_xor_si512(old, sum), _mm512_xor_si512(product, sum));
  const __m512i limit = _mm512_xor_si512(_mm512_srai_epi32(old, 31), _mm512_set1_epi32(0x7fffffff));
  return _mm512_mask_mov_epi32(sum, _mm512_movepi32_mask(over), limit);
}

template <bool kSignedA, bool kSignedB>
void multiplyBytes(const MatrixForm& form, const std::byte* operands, std::byte* results) {
  using BlockSums = ByteSums<kSignedA, kSignedB>;
  constexpr uint32_t kWidth = 16;
  const Operands from = operandsOf<4>(form, kWidth, operands);
  const uint32_t kBlocks = form.k() / kWidth;
  for (uint32_t row = 0; row < form.m / kRows; ++row)
    for (uint32_t column = 0; column < form.n / kRows; ++column) {
      BlockSums sums;
      for (uint32_t k = 0; k < kBlocks; ++k) {
        const std::byte* const atA = from.a + placeInA(form, row, k, kBlocks) * kTileBytes;
        const std::byte* const atB = from.b + (column * kBlocks + k) * kTileBytes;
        const __m512i a[2] = {BlockSums::forA(loadWords(atA)), BlockSums::forA(loadWords(atA + kVector))};
        const __m512i b[2] = {BlockSums::forB(loadWords(atB)), BlockSums::forB(loadWords(atB + kVector))};
        sums.template addWord<0>(a, b);
        sums.template addWord<1>(a, b);
        sums.template addWord<2>(a, b);
        sums.template addWord<3>(a, b);
      }
      const uint32_t tile = 2 * tileOfC(form, row, column) * kTileBytes;
      for (uint32_t odd = 0; odd < 2; ++odd)
        for (uint32_t half = 0; half < 2; ++half) {
          const uint32_t at = tile + odd * kTileBytes + half * kVector;
          const __m512i old = loadWords(from.c + at);
          storeWords(results + at, added(form.has(kMatrixSaturate), old, sums.product(odd, half)));
        }
    }
}

// --- f64, rounded to nearest -----------------------------------------------------------------------------------------

constexpr uint32_t kWideTile = 2 * kTileBytes, kWideRow = 32, kDeep = 4;  // k of a tile

// Of a tile of B: for each k the columns kOdd, 2 + kOdd, 4 + kOdd, 6 + kOdd, twice.
template <uint32_t kOdd>
void columnsOf(const std::byte* tile, __m512d (&to)[kDeep]) {
  __m256d r[4];
  for (uint32_t n = 0; n < 4; ++n)
    r[n] = _mm256_loadu_pd(reinterpret_cast<const double*>(tile + (2 * n + kOdd) * kWideRow));
  const __m256d a = _mm256_unpacklo_pd(r[0], r[1]), b = _mm256_unpackhi_pd(r[0], r[1]),
                c = _mm256_unpacklo_pd(r[2], r[3]), d = _mm256_unpackhi_pd(r[2], r[3]);
  to[0] = _mm512_broadcast_f64x4(_mm256_permute2f128_pd(a, c, 0x20));
  to[1] = _mm512_broadcast_f64x4(_mm256_permute2f128_pd(b, d, 0x20));
  to[2] = _mm512_broadcast_f64x4(_mm256_permute2f128_pd(a, c, 0x31));
  to[3] = _mm512_broadcast_f64x4(_mm256_permute2f128_pd(b, d, 0x31));
}

__m512d canonical(__m512d sum) {
  const __m512d nan = _mm512_castsi512_pd(_mm512_set1_epi64(0x7ff8000000000000));
  return _mm512_mask_mov_pd(sum, _mm512_cmp_pd_mask(sum, sum, _CMP_UNORD_Q), nan);
}

// Two rows of A times the columns.
template <uint32_t kStep = 0>
void addRows(__m512d rows, const __m512d (&even)[kDeep], const __m512d (&odd)[kDeep], __m512d (&sums)[2]) {
  const __m512d factor = _mm512_permutex_pd(rows, kStep * 0x55);
  sums[0] = _mm512_fmadd_pd(factor, even[kStep], sums[0]);
  sums[1] = _mm512_fmadd_pd(factor, odd[kStep], sums[1]);
  if constexpr (kStep + 1 < kDeep) addRows<kStep + 1>(rows, even, odd, sums);
}

void multiplyDoubles(const MatrixForm& form, const std::byte* operands, std::byte* results) {
  constexpr uint32_t kPairs = kRows / 2;  // of rows
  const Operands from = operandsOf<8>(form, kDeep, operands);
  const uint32_t kBlocks = form.k() / kDeep;
  for (uint32_t row = 0; row < form.m / kRows; ++row) {
    const uint32_t tile = 2 * tileOfC(form, row, 0) * kWideTile;
    __m512d sums[kPairs][2];
    for (uint32_t pair = 0; pair < kPairs; ++pair)
      for (uint32_t odd = 0; odd < 2; ++odd)
        sums[pair][odd] = _mm512_castsi512_pd(loadWords(from.c + tile + odd * kWideTile + pair * kVector));
    for (uint32_t k = 0; k < kBlocks; ++k) {
      __m512d even[kDeep], odd[kDeep];
      columnsOf<0>(from.b + k * kWideTile, even);
      columnsOf<1>(from.b + k * kWideTile, odd);
      const std::byte* const a = from.a + placeInA(form, row, k, kBlocks) * kWideTile;
      for (uint32_t pair = 0; pair < kPairs; ++pair)
        addRows(_mm512_castsi512_pd(loadWords(a + pair * kVector)), even, odd, sums[pair]);
    }
    for (uint32_t pair = 0; pair < kPairs; ++pair)
      for (uint32_t odd = 0; odd < 2; ++odd)
        storeWords(results + tile + odd * kWideTile + pair * kVector, _mm512_castpd_si512(canonical(sums[pair][odd])));
  }
}

// ---------------------------------------------------------------------------------------------------------------------

void multiply(const MatrixForm& form, const std::byte* operands, std::byte* results) {
  if (!form.has(kMatrixSparse)) {
    switch (form.a) {
      case MatrixType::F16:
        return multiplyFloats<MatrixType::F16>(form, operands, results);
      case MatrixType::BF16:
        return multiplyFloats<MatrixType::BF16>(form, operands, results);
      case MatrixType::TF32:
        return multiplyFloats<MatrixType::TF32>(form, operands, results);
      case MatrixType::S8:
        return form.b == MatrixType::S8 ? multiplyBytes<true, true>(form, operands, results)
                                        : multiplyBytes<true, false>(form, operands, results);
      case MatrixType::U8:
        return form.b == MatrixType::S8 ? multiplyBytes<false, true>(form, operands, results)
                                        : multiplyBytes<false, false>(form, operands, results);
      case MatrixType::F64:
        if (!form.selector() && form.n == kRows) return multiplyDoubles(form, operands, results);
        break;
      default:
        break;
    }
  }
  kAvx2MatrixEngine.multiply(form, operands, results);
}

bool isSupported() {
  using namespace processor;
  return kAvx2MatrixEngine.supported() && has(kAvx512F) && has(kAvx512Dq) && has(kAvx512Bw) && has(kAvx512Vl) &&
         has(kAvx512Vnni);
}

}  // namespace

extern const MatrixEngine kAvx512MatrixEngine = {"avx512", isSupported, multiply};

}  // namespace vg::ptx
