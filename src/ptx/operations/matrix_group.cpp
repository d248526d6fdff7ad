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
  SharedMatrix(const GroupMemory& memory, uint64_t descriptor, bool neighbours)
      : memory_(memory), neighbours_(neighbours) {
    const auto field = [&](unsigned at) { return static_cast<uint32_t>(descriptor >> at & 0x3fff) * kUnit; };
    start_ = field(0);
    leading_ = field(16);
    stride_ = field(32);
    base_ = descriptor >> 49 & 7;
    static constexpr uint8_t kLogOfUnits[] = {0, 3, 2, 1};
    logOfUnits_ = kLogOfUnits[descriptor >> 62];
  }

  // Rows `line` to line + 7 of a tile: the bytes of k from `along` on. False: not in shared memory.
  bool tile(uint32_t line, uint32_t along, std::byte* to) const {
    return neighbours_ ? turned(line, along / 2, to) : straight(line, along, to);
  }

 private:
  uint32_t width() const { return kUnit << logOfUnits_; }

  // Units of 16 bytes change places in rows of 128 bytes that count from where a pattern begins.
  const std::byte* at(uint32_t offset) const {
    uint32_t address = start_ + offset;
    const uint32_t row = (address >> 7) - base_;
    address = (address ^ (row & ((1u << logOfUnits_) - 1)) * kUnit) & kAddressMask;
    return address + kUnit <= memory_.bytes ? memory_.start + address : nullptr;
  }

  bool straight(uint32_t line, uint32_t along, std::byte* to) const {
    const uint32_t column = logOfUnits_ ? along % width() + along / width() * leading_ : along / kUnit * leading_;
    for (uint32_t k = 0; k < 8; ++k) {
      const std::byte* const from = at((line + k) / 8 * stride_ + (line + k) % 8 * width() + column);
      if (!from) return false;
      std::memcpy(to + k * kUnit, from, kUnit);
    }
    return true;
  }

  // Elements of 16 bits, eight of one k in a unit.
  bool turned(uint32_t line, uint32_t k, std::byte* to) const {
    const uint32_t bytes = line * 2;
    const uint32_t across = logOfUnits_ ? bytes % width() + bytes / width() * leading_ : bytes / kUnit * stride_;
    for (uint32_t n = 0; n < 8; ++n) {
      const uint32_t rows = (k + n) / 8 * (logOfUnits_ ? stride_ : leading_);
      const std::byte* const from = at(rows + (k + n) % 8 * width() + across);
      if (!from) return false;
      for (uint32_t e = 0; e < 8; ++e) std::memcpy(to + e * kUnit + 2 * n, from + 2 * e, 2);
    }
    return true;
  }

  const GroupMemory memory_;
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

}  // namespace

MatrixFault multiplyGroup(const MatrixForm& group, uint32_t warp, const GroupMemory& memory, const std::byte* operands,
                          std::byte* results, const MatrixEngine& engine) {
  const MatrixForm form = blockOf(group);
  const auto descriptor = [](const std::byte* from) {
    uint64_t word;
    std::memcpy(&word, from, sizeof word);
    return word;
  };
  // Behind each other: A, B, C, metadata, as Multiply has them.
  alignas(64) std::array<std::byte, 4 * kTileBytes + 4 * kTileBytes + 4 * kTileBytes + kTileBytes> block;
  std::byte* const a = block.data();
  const uint32_t tiles = storedK(form) * bitsOf(form.a) / 8 / kUnit;
  const std::byte* next = operands + (group.has(kMatrixDescribedA) ? 8 : 16) * kLanes;
  if (group.has(kMatrixDescribedA)) {
    const SharedMatrix matrix(memory, descriptor(operands), group.has(kMatrixColumnsA));
    const uint32_t row = warp % kWarpsOfGroup * 16;
    for (uint32_t k = 0; k < tiles; ++k)
      for (uint32_t half = 0; half < 2; ++half)
        if (!matrix.tile(row + 8 * half, k * kUnit, a + (2 * k + half) * kTileBytes)) return MatrixFault::OutOfShared;
  } else {
    std::memcpy(a, operands, 4 * kTileBytes);
  }
  if (group.has(kMatrixNegatedA)) negate(a, 4 * kTileBytes, form.a);
  const SharedMatrix matrix(memory, descriptor(next), group.has(kMatrixRowsB));
  next += 8 * kLanes;
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
      if (!matrix.tile(8 * column, k * kUnit, b + k * kTileBytes)) return MatrixFault::OutOfShared;
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
