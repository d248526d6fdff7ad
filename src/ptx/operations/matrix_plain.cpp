// Products element by element, each found where PTX's tables put it.
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>

#include "ptx/operations/half.h"
#include "ptx/operations/matrix.h"

namespace vg::ptx {
namespace {

constexpr uint32_t kLanes = 32;
constexpr uint32_t kFloatNaN = 0x7fffffff;
constexpr uint64_t kDoubleNaN = 0x7ff8000000000000;

// A fragment: registers of 32 lanes.
struct Fragment {
  const std::byte* registers;
  MatrixType type;

  // The bits of an element: `part` counts elements within the register of a lane.
  uint64_t element(uint32_t reg, uint32_t lane, uint32_t part) const {
    const uint32_t bytes = registerBytes(type), bits = bitsOf(type);
    uint64_t word = 0;
    std::memcpy(&word, registers + (reg * kLanes + lane) * bytes, bytes);
    return bits == 64 ? word : word >> (part * bits) & ((uint64_t{1} << bits) - 1);
  }
};

struct Place {
  uint32_t reg, lane, part;
};

// In a tile: row, and element of the row.
Place inTile(uint32_t tile, uint32_t row, uint32_t element, MatrixType type) {
  const uint32_t inWord = tileWidth(type) / 4;
  return {tile, row * 4 + element / inWord, element % inWord};
}

// mma.m8n8k4: lanes 4q..4q+3 and 16 more make product q; what a lane holds is told by its number in the eight.
Place quadOfA(const MatrixForm& form, uint32_t quad, uint32_t row, uint32_t k) {
  const bool columns = form.has(kMatrixColumnsA);
  const uint32_t lane = 4 * quad + (columns ? k : row % 4) + (row >= 4 ? 16 : 0);
  const uint32_t element = columns ? row % 4 : k;
  return {element / 2, lane, element % 2};
}
Place quadOfB(const MatrixForm& form, uint32_t quad, uint32_t k, uint32_t column) {
  const bool rows = form.has(kMatrixRowsB);
  const uint32_t lane = 4 * quad + (rows ? k : column % 4) + (column >= 4 ? 16 : 0);
  const uint32_t element = rows ? column % 4 : k;
  return {element / 2, lane, element % 2};
}
Place quadOfC(MatrixType type, uint32_t quad, uint32_t row, uint32_t column) {
  const uint32_t upper = row >= 4 ? 16 : 0;
  if (type == MatrixType::F16) return {column / 2, 4 * quad + row % 4 + upper, column % 2};
  return {(column & 4) + (row & 2) + (column & 1), 4 * quad + (row & 1) + (column & 2) + upper, 0};
}

Place placeOfA(const MatrixForm& form, uint32_t row, uint32_t k) {
  const uint32_t width = tileWidth(form.a);
  return inTile(tileOfA(form, row / 8, k / width), row % 8, k % width, form.a);
}
Place placeOfB(const MatrixForm& form, uint32_t k, uint32_t column) {
  const uint32_t width = tileWidth(form.b);
  return inTile(tileOfB(form, column / 8, k / width), column % 8, k % width, form.b);
}
Place placeOfC(const MatrixForm& form, MatrixType type, uint32_t row, uint32_t column) {
  const uint32_t tile = tileOfC(form, row / 8, column / 8), lane = row % 8 * 4 + column % 8 / 2;
  if (type == MatrixType::F16) return {tile, lane, column % 2};
  return {2 * tile + column % 2, lane, 0};
}

double realOf(MatrixType type, uint64_t bits) {
  switch (type) {
    case MatrixType::F16:
      return doubleOfHalf(static_cast<uint16_t>(bits));
    case MatrixType::BF16:
      return doubleOfBfloat(static_cast<uint16_t>(bits));
    case MatrixType::TF32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits) & 0xffffe000);
    case MatrixType::F32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case MatrixType::E4M3:
      return widen(static_cast<uint32_t>(bits), kE4M3);
    case MatrixType::E5M2:
      return widen(static_cast<uint32_t>(bits), kE5M2);
    case MatrixType::E2M3:
      return widen(static_cast<uint32_t>(bits) & 63, kE2M3);
    case MatrixType::E3M2:
      return widen(static_cast<uint32_t>(bits) & 63, kE3M2);
    case MatrixType::E2M1:
      return widen(static_cast<uint32_t>(bits) >> 2 & 15, kE2M1);
    case MatrixType::E2M1Pair:
      return widen(static_cast<uint32_t>(bits), kE2M1);
    default:
      return std::bit_cast<double>(bits);
  }
}

// A scale has no sign.
double scaleOf(uint32_t bits, bool isE4M3) {
  if (isE4M3) return widen(bits & 127, kE4M3);
  return bits == 255 ? std::nan("") : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

// The scales of A or B: a word of each lane, of which lanes and which bytes count is said by two numbers. Two
// neighbours of four lanes have the rows g and g + 8 of A, one of them has the column of B.
class Scales {
 public:
  Scales() = default;
  Scales(const MatrixForm& form, const std::byte* operands) : isE4M3_(form.hasScalesE4M3()) {
    std::memcpy(words_, operands, sizeof words_);
    std::memcpy(&byte_, operands + sizeof words_, sizeof byte_);
    std::memcpy(&lane_, operands + 2 * sizeof words_, sizeof lane_);
  }
  double ofA(uint32_t row, uint32_t block) const { return at(row % 8 * 4 + lane_ % 2 * 2 + row / 8, block); }
  double ofB(uint32_t column, uint32_t block) const { return at(column * 4 + lane_ % 4, block); }

 private:
  double at(uint32_t lane, uint32_t block) const {
    return scaleOf(words_[lane] >> 8 * ((byte_ + block) % 4) & 255, isE4M3_);
  }

  uint32_t words_[kLanes] = {};
  uint32_t byte_ = 0, lane_ = 0;
  bool isE4M3_ = false;
};

int64_t wholeOf(MatrixType type, uint64_t bits) {
  const int64_t value = static_cast<int64_t>(bits);
  switch (type) {
    case MatrixType::S8:
      return static_cast<int8_t>(bits);
    case MatrixType::S4:
      return value & 8 ? value - 16 : value;
    case MatrixType::S32:
      return static_cast<int32_t>(bits);
    default:
      return value;
  }
}

class Product {
 public:
  Product(const MatrixForm& form, const std::byte* operands, std::byte* results) : form_(form), results_(results) {
    const uint32_t bytes = registerBytes(form.c()) * kLanes;
    a_ = {operands, form.a};
    b_ = {a_.registers + registerCount(form, MatrixRole::A, form.a) * bytes, form.b};
    c_ = {b_.registers + registerCount(form, MatrixRole::B, form.b) * bytes, form.c()};
    const std::byte* next = c_.registers + registerCount(form, MatrixRole::C, form.c()) * bytes;
    if (form.has(kMatrixSparse)) {
      std::memcpy(metadata_, next, sizeof metadata_);
      next += sizeof metadata_;
    }
    if (isScaledFloat(form)) {
      ofA_ = Scales(form, next);
      ofB_ = Scales(form, next + kMatrixScaleOperands / 2 * kLanes * sizeof(uint32_t));
    }
  }

  void run() {
    const uint32_t quads = form_.has(kMatrixQuads) ? 4 : 1;
    for (uint32_t quad = 0; quad < quads; ++quad)
      for (uint32_t row = 0; row < form_.m; ++row)
        for (uint32_t column = 0; column < form_.n; ++column) element(quad, row, column);
  }

 private:
  bool isQuads() const { return form_.has(kMatrixQuads); }
  Place accumulator(MatrixType type, uint32_t quad, uint32_t row, uint32_t column) const {
    return isQuads() ? quadOfC(type, quad, row, column) : placeOfC(form_, type, row, column);
  }
  uint64_t bitsOfA(uint32_t quad, uint32_t row, uint32_t k) const {
    const Place p = isQuads() ? quadOfA(form_, quad, row, k) : placeOfA(form_, row, k);
    return a_.element(p.reg, p.lane, p.part);
  }
  uint64_t bitsOfB(uint32_t quad, uint32_t k, uint32_t column) const {
    const Place p = isQuads() ? quadOfB(form_, quad, k, column) : placeOfB(form_, k, column);
    return b_.element(p.reg, p.lane, p.part);
  }
  uint32_t columnOf(uint32_t row, uint32_t k) const {
    return form_.has(kMatrixSparse) ? sparseColumn(form_, metadata_, row, k) : k;
  }

  void element(uint32_t quad, uint32_t row, uint32_t column) {
    const Place from = accumulator(form_.c(), quad, row, column), to = accumulator(form_.d(), quad, row, column);
    const uint64_t c = c_.element(from.reg, from.lane, from.part);
    const uint64_t d = isWhole(form_.a)             ? wholeSum(row, column, c)
                       : form_.a == MatrixType::F64 ? doubleSum(row, column, c)
                       : isScaledFloat(form_)       ? scaledSum(row, column, c)
                                                    : floatSum(quad, row, column, c);
    const uint32_t bytes = registerBytes(form_.d()), part = bitsOf(form_.d()) / 8;
    std::memcpy(results_ + (to.reg * kLanes + to.lane) * bytes + to.part * part, &d, part);
  }

  uint64_t floatSum(uint32_t quad, uint32_t row, uint32_t column, uint64_t c) const {
    float sum = static_cast<float>(realOf(form_.c(), c));
    for (uint32_t k = 0; k < storedK(form_); ++k)
      sum = std::fma(static_cast<float>(realOf(form_.a, bitsOfA(quad, row, k))),
                     static_cast<float>(realOf(form_.b, bitsOfB(quad, columnOf(row, k), column))), sum);
    if (form_.d() == MatrixType::F16) return halfOf(sum);
    return std::isnan(sum) ? kFloatNaN : std::bit_cast<uint32_t>(sum);
  }

  // Products and their scales are exact in a double.
  uint64_t scaledSum(uint32_t row, uint32_t column, uint64_t c) const {
    float sum = static_cast<float>(realOf(form_.c(), c));
    const uint32_t length = form_.k() / form_.scaleBlocks();
    for (uint32_t stored = 0; stored < storedK(form_); ++stored) {
      const uint32_t k = columnOf(row, stored);
      const double a = realOf(form_.a, bitsOfA(0, row, stored)) * ofA_.ofA(row, k / length),
                   b = realOf(form_.b, bitsOfB(0, k, column)) * ofB_.ofB(column, k / length);
      sum = static_cast<float>(std::fma(a, b, static_cast<double>(sum)));
    }
    return std::isnan(sum) ? kFloatNaN : std::bit_cast<uint32_t>(sum);
  }

  uint64_t doubleSum(uint32_t row, uint32_t column, uint64_t c) const {
    static constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    double sum = std::bit_cast<double>(c);
    const int before = std::fegetround();
    std::fesetround(kModes[form_.selector()]);
    for (uint32_t k = 0; k < form_.k(); ++k) {
      volatile double a = realOf(form_.a, bitsOfA(0, row, k));  // keeps the sum between the changes of the mode
      sum = std::fma(a, realOf(form_.b, bitsOfB(0, k, column)), sum);
    }
    volatile double kept = sum;
    std::fesetround(before);
    return std::isnan(kept) ? kDoubleNaN : std::bit_cast<uint64_t>(static_cast<double>(kept));
  }

  uint64_t wholeSum(uint32_t row, uint32_t column, uint64_t c) const {
    int64_t sum = wholeOf(MatrixType::S32, c);
    for (uint32_t k = 0; k < storedK(form_); ++k) {
      const uint64_t a = bitsOfA(0, row, k), b = bitsOfB(0, columnOf(row, k), column);
      if (form_.a == MatrixType::B1)
        sum += static_cast<int64_t>(form_.has(kMatrixAnd) ? a & b : a ^ b);
      else
        sum += wholeOf(form_.a, a) * wholeOf(form_.b, b);
    }
    if (form_.has(kMatrixSaturate)) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return static_cast<uint64_t>(sum);
  }

  const MatrixForm form_;
  std::byte* results_;
  Fragment a_, b_, c_;
  uint32_t metadata_[kLanes] = {};
  Scales ofA_, ofB_;
};

}  // namespace

void multiplyPlainly(const MatrixForm& form, const std::byte* operands, std::byte* results) {
  Product(form, operands, results).run();
}

extern const MatrixEngine kPlainMatrixEngine = {"baseline", [] { return true; }, multiplyPlainly};

}  // namespace vg::ptx
