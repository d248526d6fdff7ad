// wgmma: a warp's rows of the product of four warps, as products of 16 x 8.
#include <array>
#include <cstring>

#include "ptx/abi/more_barriers.h"
#include "ptx/operations/matrix.h"

namespace vg::ptx {
namespace {

constexpr uint32_t kLanes = 32, kUnit = 16;  // bytes of a row of a tile
constexpr uint32_t kTileBytes = 8 * kUnit;
constexpr uint32_t kAddressMask = (1u << 18) - 1;  // of shared memory, in descriptors

// A matrix in shared memory as its descriptor says.
class SharedMatrix {
 public:
  // `neighbours`: elements of one k are neighbours, else those of one row of A, or column of B.
  SharedMatrix(uint64_t descriptor, bool neighbours) : neighbours_(neighbours) {
    const auto field = [&](unsigned at) { return static_cast<uint32_t>(descriptor >> at & 0x3fff) * kUnit; };
    start_ = field(0);
    leading_ = field(16);
    stride_ = field(32);
    base_ = descriptor >> 49 & 7;
    static constexpr uint8_t kLogOfUnits[] = {0, 3, 2, 1};
    logOfUnits_ = kLogOfUnits[descriptor >> 62];
  }

  // Calls `unit(n, place)` for the eight units of 16 bytes, in shared memory, that hold rows `line` to line + 7 of a
  // tile, the bytes of k from `along` on. False: one call was.
  template <class Unit>
  bool eachUnit(uint32_t line, uint32_t along, Unit unit) const {
    return neighbours_ ? turned(line, along / 2, unit) : straight(line, along, unit);
  }

  // The tile. False: not in shared memory.
  bool tile(const GroupMemory& memory, uint32_t line, uint32_t along, std::byte* to) const {
    return eachUnit(line, along, [&](uint32_t n, uint32_t place) {
      if (place + kUnit > memory.bytes) return false;
      const std::byte* const from = memory.start + place;
      if (!neighbours_) return std::memcpy(to + n * kUnit, from, kUnit), true;
      for (uint32_t e = 0; e < 8; ++e) std::memcpy(to + e * kUnit + 2 * n, from + 2 * e, 2);
      return true;
    });
  }

 private:
  uint32_t width() const { return kUnit << logOfUnits_; }

  // Units of 16 bytes change places in rows of 128 bytes that count from where a pattern begins.
  uint32_t at(uint32_t offset) const {
    const uint32_t address = start_ + offset, row = (address >> 7) - base_;
    return (address ^ (row & ((1u << logOfUnits_) - 1)) * kUnit) & kAddressMask;
  }

  template <class Unit>
  bool straight(uint32_t line, uint32_t along, Unit unit) const {
    const uint32_t column = logOfUnits_ ? along % width() + along / width() * leading_ : along / kUnit * leading_;
    for (uint32_t n = 0; n < 8; ++n)
      if (!unit(n, at((line + n) / 8 * stride_ + (line + n) % 8 * width() + column))) return false;
    return true;
  }

  // Elements of 16 bits, eight of one k in a unit.
  template <class Unit>
  bool turned(uint32_t line, uint32_t k, Unit unit) const {
    const uint32_t bytes = line * 2;
    const uint32_t across = logOfUnits_ ? bytes % width() + bytes / width() * leading_ : bytes / kUnit * stride_;
    for (uint32_t n = 0; n < 8; ++n) {
      const uint32_t rows = (k + n) / 8 * (logOfUnits_ ? stride_ : leading_);
      if (!unit(n, at(rows + (k + n) % 8 * width() + across))) return false;
    }
    return true;
  }

  const bool neighbours_;
  uint32_t start_, leading_, stride_, base_, logOfUnits_;
};

// The signs of all elements the other way round.
void negate(std::byte* words, uint32_t bytes, MatrixType type) {
  const uint32_t signs = bitsOf(type) == 8 ? 0x80808080 : bitsOf(type) == 16 ? 0x80008000 : 0x80000000;
  for (uint32_t at = 0; at < bytes; at += 4) {
    uint32_t word;
    std::memcpy(&word, words + at, 4);
    word ^= signs;
    std::memcpy(words + at, &word, 4);
  }
}

// The product of 16 x 8 that a block of columns is.
MatrixForm blockOf(const MatrixForm& group) {
  MatrixForm form = group;
  form.operation = MatrixOperation::Multiply;
  form.n = 8;
  form.flags &= kMatrixSaturate | kMatrixAnd | kMatrixSparse;
  return form;
}

// The operands that say what is in shared memory; what follows them.
struct Operands {
  Operands(const MatrixForm& group, const std::byte* operands)
      : a(wordAt(operands), group.has(kMatrixColumnsA)),
        b(wordAt(operands + bytesOfA(group)), group.has(kMatrixRowsB)),
        next(operands + bytesOfA(group) + 8 * kLanes) {}

  static uint32_t bytesOfA(const MatrixForm& group) { return (group.has(kMatrixDescribedA) ? 8 : 16) * kLanes; }
  static uint64_t wordAt(const std::byte* from) {
    uint64_t word;
    std::memcpy(&word, from, sizeof word);
    return word;
  }

  SharedMatrix a, b;  // a: if it is described
  const std::byte* next;
};

uint32_t tilesOfA(const MatrixForm& form) { return storedK(form) * bitsOf(form.a) / 8 / kUnit; }
uint32_t firstRow(uint32_t warp) { return warp % kWarpsOfGroup * 16; }

}  // namespace

bool mayRead(const MatrixForm& group, uint32_t warp, const std::byte* operands, GroupReads& reads) {
  const MatrixForm form = blockOf(group);
  const Operands given(group, operands);
  const auto ask = [&](uint32_t, uint32_t place) { return reads.allows(place); };
  for (uint32_t k = 0; group.has(kMatrixDescribedA) && k < tilesOfA(form); ++k)
    for (uint32_t half = 0; half < 2; ++half)
      if (!given.a.eachUnit(firstRow(warp) + 8 * half, k * kUnit, ask)) return false;
  for (uint32_t column = 0; column < group.n; ++column)
    for (uint32_t k = 0; k < tilesAlongK(form.k(), form.b); ++k)
      if (!given.b.eachUnit(8 * column, k * kUnit, ask)) return false;
  return true;
}

MatrixFault multiplyGroup(const MatrixForm& group, uint32_t warp, const GroupMemory& memory, const std::byte* operands,
                          std::byte* results, const MatrixEngine& engine) {
  const MatrixForm form = blockOf(group);
  // Behind each other: A, B, C, metadata, as Multiply has them.
  alignas(64) std::array<std::byte, 4 * kTileBytes + 4 * kTileBytes + 4 * kTileBytes + kTileBytes> block;
  std::byte* const a = block.data();
  const Operands given(group, operands);
  if (group.has(kMatrixDescribedA)) {
    for (uint32_t k = 0; k < tilesOfA(form); ++k)
      for (uint32_t half = 0; half < 2; ++half)
        if (!given.a.tile(memory, firstRow(warp) + 8 * half, k * kUnit, a + (2 * k + half) * kTileBytes))
          return MatrixFault::OutOfShared;
  } else {
    std::memcpy(a, operands, 4 * kTileBytes);
  }
  if (group.has(kMatrixNegatedA)) negate(a, 4 * kTileBytes, form.a);
  const std::byte* next = given.next;
  const uint32_t ofB = tilesAlongK(form.k(), form.b), bytesOfC = 2 * registersOfC(form.c()) * kTileBytes;
  std::byte *const b = a + 4 * kTileBytes, *const c = b + ofB * kTileBytes;
  if (group.has(kMatrixSparse)) {
    std::memcpy(c + bytesOfC, next, kTileBytes);
    next += kTileBytes;
  }
  uint32_t accumulates;
  std::memcpy(&accumulates, next, sizeof accumulates);
  next += kTileBytes;
  for (uint32_t column = 0; column < group.n; ++column, next += bytesOfC, results += bytesOfC) {
    for (uint32_t k = 0; k < ofB; ++k)
      if (!given.b.tile(memory, 8 * column, k * kUnit, b + k * kTileBytes)) return MatrixFault::OutOfShared;
    if (group.has(kMatrixNegatedB)) negate(b, ofB * kTileBytes, form.b);
    if (accumulates)
      std::memcpy(c, next, bytesOfC);
    else
      std::memset(c, 0, bytesOfC);
    engine.multiply(form, a, results);
  }
  return MatrixFault::None;
}

}  // namespace vg::ptx
