// ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store: between memory and the tiles of fragments.
#include <bit>
#include <cstring>

#include "ptx/operations/matrix.h"

namespace vg::ptx {
namespace {

constexpr uint32_t kLanes = 32, kRows = 8, kRowBytes = 16, kTileBytes = kRows * kRowBytes;

std::byte* pointer(uint64_t address) { return reinterpret_cast<std::byte*>(address); }

template <class T>
T wordAt(const std::byte* from) {
  T word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

using Halves = uint16_t __attribute__((vector_size(16)));

Halves lowMixed(Halves a, Halves b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
Halves highMixed(Halves a, Halves b) { return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }

// A tile of 8 x 8 halves: mixing rows k and k + 4 three times turns it.
void transpose(const std::byte* from, std::byte* to) {
  Halves rows[kRows], mixed[kRows];
  std::memcpy(rows, from, sizeof rows);
  for (int step = 0; step < 3; ++step) {
    for (uint32_t k = 0; k < kRows / 2; ++k) {
      mixed[2 * k] = lowMixed(rows[k], rows[k + 4]);
      mixed[2 * k + 1] = highMixed(rows[k], rows[k + 4]);
    }
    std::memcpy(rows, mixed, sizeof rows);
  }
  std::memcpy(to, rows, sizeof rows);
}

// Rows of `kBytes`, one after another, from lines of memory; and back.
template <uint32_t kBytes>
void copyRows(const std::byte* from, size_t fromPitch, std::byte* to, size_t toPitch) {
  for (uint32_t row = 0; row < kRows; ++row) std::memcpy(to + row * toPitch, from + row * fromPitch, kBytes);
}

// A row of eight elements as vectors of 16 bytes, and the same with even ones in front of odd ones.
template <class Vector, uint32_t kVectors>
struct Row {
  Vector parts[kVectors];

  Row parted() const {
    Row out;
    for (uint32_t n = 0; n < kVectors / 2; ++n) {
      const Vector a = parts[2 * n], b = parts[2 * n + 1];
      if constexpr (sizeof(a[0]) == 4) {
        out.parts[n] = __builtin_shufflevector(a, b, 0, 2, 4, 6);
        out.parts[kVectors / 2 + n] = __builtin_shufflevector(a, b, 1, 3, 5, 7);
      } else {
        out.parts[n] = __builtin_shufflevector(a, b, 0, 2);
        out.parts[kVectors / 2 + n] = __builtin_shufflevector(a, b, 1, 3);
      }
    }
    return out;
  }
  Row joined() const {
    Row out;
    for (uint32_t n = 0; n < kVectors / 2; ++n) {
      const Vector even = parts[n], odd = parts[kVectors / 2 + n];
      if constexpr (sizeof(even[0]) == 4) {
        out.parts[2 * n] = __builtin_shufflevector(even, odd, 0, 4, 1, 5);
        out.parts[2 * n + 1] = __builtin_shufflevector(even, odd, 2, 6, 3, 7);
      } else {
        out.parts[2 * n] = __builtin_shufflevector(even, odd, 0, 2);
        out.parts[2 * n + 1] = __builtin_shufflevector(even, odd, 1, 3);
      }
    }
    return out;
  }
};
using RowOfWords = Row<uint32_t __attribute__((vector_size(16))), 2>;
using RowOfLongs = Row<uint64_t __attribute__((vector_size(16))), 4>;

// A block of 8 x 8 accumulators whose rows are lines of memory: even columns in one register and odd ones in the next.
template <class Whole, bool kStores>
void moveBlock(std::byte* memory, size_t pitch, std::byte* registers) {
  constexpr size_t kHalf = sizeof(Whole) / 2, kRegister = kRows * kHalf;
  for (uint32_t row = 0; row < kRows; ++row) {
    Whole whole;
    std::byte *const outside = memory + row * pitch, *const inside = registers + row * kHalf;
    auto* const parts = reinterpret_cast<std::byte*>(&whole);
    if constexpr (kStores) {
      std::memcpy(parts, inside, kHalf);
      std::memcpy(parts + kHalf, inside + kRegister, kHalf);
      whole = whole.joined();
      std::memcpy(outside, parts, sizeof whole);
    } else {
      std::memcpy(parts, outside, sizeof whole);
      whole = whole.parted();
      std::memcpy(inside, parts, kHalf);
      std::memcpy(inside + kRegister, parts + kHalf, kHalf);
    }
  }
}

// Four lines of eight words, or of eight doubles, as eight rows of four.
void turnWords(const std::byte* from, size_t pitch, std::byte* to) {
  using Words = uint32_t __attribute__((vector_size(16)));
  for (uint32_t half = 0; half < 2; ++half) {
    Words lines[4], rows[4];
    for (uint32_t k = 0; k < 4; ++k) lines[k] = wordAt<Words>(from + k * pitch + half * sizeof(Words));
    const Words a = __builtin_shufflevector(lines[0], lines[1], 0, 4, 1, 5);
    const Words b = __builtin_shufflevector(lines[2], lines[3], 0, 4, 1, 5);
    const Words c = __builtin_shufflevector(lines[0], lines[1], 2, 6, 3, 7);
    const Words d = __builtin_shufflevector(lines[2], lines[3], 2, 6, 3, 7);
    rows[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    rows[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    rows[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    rows[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
    std::memcpy(to + half * sizeof rows, rows, sizeof rows);
  }
}
void turnDoubles(const std::byte* from, size_t pitch, std::byte* to) {
  using Doubles = uint64_t __attribute__((vector_size(16)));
  for (uint32_t pair = 0; pair < 4; ++pair)
    for (uint32_t k = 0; k < 4; k += 2) {
      const Doubles a = wordAt<Doubles>(from + k * pitch + pair * sizeof(Doubles));
      const Doubles b = wordAt<Doubles>(from + (k + 1) * pitch + pair * sizeof(Doubles));
      const Doubles upper = __builtin_shufflevector(a, b, 0, 2), lower = __builtin_shufflevector(a, b, 1, 3);
      std::memcpy(to + pair * 64 + k * 8, &upper, sizeof upper);
      std::memcpy(to + pair * 64 + 32 + k * 8, &lower, sizeof lower);
    }
}

// The rows that lanes name: lane 8t + r has row r of tile t. False: one is not aligned.
bool rowsOf(const std::byte* operands, uint32_t tiles, uint32_t mask, uint64_t (&rows)[kLanes]) {
  const uint32_t naming = mask & static_cast<uint32_t>((uint64_t{1} << kRows * tiles) - 1);
  uint64_t all = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    rows[lane] = naming >> lane & 1 ? wordAt<uint64_t>(operands + 8 * lane) : 0;
    all |= rows[lane];
  }
  return all % kRowBytes == 0;
}

// A row of elements of fewer than eight bits: each becomes a byte.
void widenRow(std::byte* row, uint32_t bits) {
  uint64_t words[2];
  std::memcpy(words, row, sizeof words);
  const auto all = static_cast<unsigned __int128>(words[1]) << 64 | words[0];
  for (uint32_t k = 0; k < kRowBytes; ++k)
    row[k] = static_cast<std::byte>(static_cast<uint8_t>(all >> bits * k) & ((1u << bits) - 1));
}

// 16 rows of 16 bytes, and the two registers that hold columns 0 to 7 and 8 to 15 of them.
void turnBytes(const std::byte* rows, std::byte* registers) {
  for (uint32_t column = 0; column < kRowBytes; ++column)
    for (uint32_t row = 0; row < kRowBytes; ++row) registers[column * kRowBytes + row] = rows[row * kRowBytes + column];
}

// A register whose lanes hold, as in accumulators, two columns of rows g and g + 8 each: the columns.
void columnsOfBytes(const std::byte* words, std::byte* columns) {
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t k = 0; k < 4; ++k)
      columns[(lane % 4 * 2 + k % 2) * kRowBytes + lane / 4 + k / 2 * kRows] = words[lane * 4 + k];
}

MatrixFault loadRows(const MatrixForm& form, uint32_t mask, const std::byte* operands, std::byte* results) {
  uint64_t rows[kLanes];
  if (!rowsOf(operands, form.n, mask, rows)) return MatrixFault::Misaligned;
  alignas(16) std::byte loaded[kLanes * kRowBytes];
  std::byte* const to = form.has(kMatrixTransposed) ? loaded : results;
  const uint32_t bytes = bytesOfRow(form);
  for (uint32_t row = 0; row < kRows * form.n; ++row) {
    std::byte* const at = to + row * kRowBytes;
    std::memset(at, 0, kRowBytes);
    if (!rows[row]) continue;
    if (bytes == kRowBytes) {
      std::memcpy(at, pointer(rows[row]), kRowBytes);
    } else {
      std::memcpy(at, pointer(rows[row]), bytes);
      widenRow(at, bytes / 2);  // 16 elements
    }
  }
  if (!form.has(kMatrixTransposed)) return MatrixFault::None;
  if (form.a == MatrixType::F16)
    for (uint32_t tile = 0; tile < form.n; ++tile) transpose(loaded + tile * kTileBytes, results + tile * kTileBytes);
  else
    for (uint32_t tile = 0; tile < form.n; tile += 2)
      turnBytes(loaded + tile * kTileBytes, results + tile * kTileBytes);
  return MatrixFault::None;
}

MatrixFault storeRows(const MatrixForm& form, uint32_t mask, const std::byte* operands) {
  uint64_t rows[kLanes];
  if (!rowsOf(operands, form.n, mask, rows)) return MatrixFault::Misaligned;
  const std::byte* const registers = operands + 8 * kLanes;
  for (uint32_t tile = 0; tile < form.n; ++tile) {
    alignas(16) std::byte turned[kTileBytes];
    const std::byte* from = registers + tile * kTileBytes;
    if (form.has(kMatrixTransposed)) {
      (form.a == MatrixType::F16 ? transpose : columnsOfBytes)(from, turned);
      from = turned;
    }
    for (uint32_t r = 0; r < kRows; ++r)
      if (rows[kRows * tile + r]) std::memcpy(pointer(rows[kRows * tile + r]), from + r * kRowBytes, kRowBytes);
  }
  return MatrixFault::None;
}

// Elements of whole bytes between memory and registers, one by one: `place` says where in the registers. The registers
// are in `fragment`, memory begins at `memory`; lines of memory are `pitch` bytes apart.
template <uint32_t kBytes, bool kStores, class Place>
void moveElements(std::byte* memory, size_t pitch, std::byte* fragment, uint32_t lines, uint32_t length, Place place) {
  for (uint32_t line = 0; line < lines; ++line)
    for (uint32_t at = 0; at < length; ++at) {
      std::byte* const outside = memory + line * pitch + at * kBytes;
      std::byte* const inside = fragment + place(line, at);
      std::memcpy(kStores ? outside : inside, kStores ? inside : outside, kBytes);
    }
}

// One fragment: which part of which matrix lies where.
class FragmentMove {
 public:
  FragmentMove(const MatrixForm& form, std::byte* memory, uint32_t stride, std::byte* fragment)
      : form_(form), memory_(memory), fragment_(fragment), bits_(bitsOf(form.a)) {
    pitch_ = size_t{stride} * bits_ / 8;
    isColumns_ = form.has(kMatrixColumnsA);
  }

  template <bool kStores>
  void run() {
    switch (form_.role()) {
      case MatrixRole::A:
        return operand<kStores>(form_.m / kRows, storedK(form_), !isColumns_,
                                [&](uint32_t block, uint32_t k) { return tileOfA(form_, block, k); });
      case MatrixRole::B:
        return operand<kStores>(form_.n / kRows, form_.k(), isColumns_,
                                [&](uint32_t block, uint32_t k) { return tileOfB(form_, block, k); });
      default:
        return accumulator<kStores>();
    }
  }

 private:
  // A, and B turned: blocks of 8 rows, elements along k. alongK: neighbours in memory are neighbours in k.
  template <bool kStores, class Tile>
  void operand(uint32_t blocks, uint32_t depth, bool alongK, Tile tileOf) {
    const uint32_t width = tileWidth(form_.a), rowBytes = 4 * registerBytes(form_.a), tileBytes = kRows * rowBytes;
    for (uint32_t block = 0; block < blocks; ++block)
      for (uint32_t k = 0; k < depth / width; ++k) {
        std::byte* const tile = fragment_ + tileOf(block, k) * tileBytes;
        if (alongK)
          rows(memory_ + block * kRows * pitch_ + k * rowBytes, tile, rowBytes);
        else
          columns(memory_ + k * width * pitch_ + block * kRows * bits_ / 8, tile, width, rowBytes);
      }
  }

  void rows(const std::byte* from, std::byte* tile, uint32_t rowBytes) const {
    if (rowBytes == kRowBytes)
      copyRows<kRowBytes>(from, pitch_, tile, kRowBytes);
    else
      copyRows<2 * kRowBytes>(from, pitch_, tile, 2 * kRowBytes);
  }

  void columns(std::byte* from, std::byte* tile, uint32_t width, uint32_t rowBytes) const {
    if (bits_ == 16) {
      alignas(16) std::byte lines[kTileBytes];
      copyRows<kRowBytes>(from, pitch_, lines, kRowBytes);
      return transpose(lines, tile);
    }
    if (bits_ == 32) return turnWords(from, pitch_, tile);
    if (bits_ == 64) return turnDoubles(from, pitch_, tile);
    moveElements<1, false>(from, pitch_, tile, width, kRows,
                           [=](uint32_t line, uint32_t at) { return at * rowBytes + line; });
  }

  template <bool kStores>
  void accumulator() {
    for (uint32_t rowBlock = 0; rowBlock < form_.m / kRows; ++rowBlock)
      for (uint32_t columnBlock = 0; columnBlock < form_.n / kRows; ++columnBlock)
        block<kStores>(rowBlock, columnBlock);
  }

  template <bool kStores>
  void block(uint32_t rowBlock, uint32_t columnBlock) {
    const uint32_t bytes = bits_ / 8, line = isColumns_ ? columnBlock : rowBlock,
                   along = isColumns_ ? rowBlock : columnBlock;
    std::byte* const memory = memory_ + line * kRows * pitch_ + along * kRows * bytes;
    const uint32_t tile = tileOfC(form_, rowBlock, columnBlock) * registersOfC(form_.a);
    std::byte* const registers = fragment_ + tile * kLanes * registerBytes(form_.a);
    const bool columns = isColumns_;
    if (!columns) return rowsOfBlock<kStores>(memory, registers);
    // Two registers hold even and odd columns; halves are packed in one.
    const uint32_t odd = bits_ == 16 ? 2 : kLanes * bytes, lane = bits_ == 16 ? 4 : bytes;
    const auto place = [=](uint32_t line, uint32_t at) {
      const uint32_t row = columns ? at : line, column = columns ? line : at;
      return (row * 4 + column / 2) * lane + column % 2 * odd;
    };
    if (bits_ == 16)
      moveElements<2, kStores>(memory, pitch_, registers, kRows, kRows, place);
    else if (bits_ == 32)
      moveElements<4, kStores>(memory, pitch_, registers, kRows, kRows, place);
    else
      moveElements<8, kStores>(memory, pitch_, registers, kRows, kRows, place);
  }

  template <bool kStores>
  void rowsOfBlock(std::byte* memory, std::byte* registers) const {
    if (bits_ == 64)
      moveBlock<RowOfLongs, kStores>(memory, pitch_, registers);
    else if (bits_ == 32)
      moveBlock<RowOfWords, kStores>(memory, pitch_, registers);
    else if (kStores)
      copyRows<kRowBytes>(registers, kRowBytes, memory, pitch_);
    else
      copyRows<kRowBytes>(memory, pitch_, registers, kRowBytes);
  }

  const MatrixForm form_;
  std::byte *memory_, *fragment_;
  uint32_t bits_;
  size_t pitch_ = 0;
  bool isColumns_ = false;
};

// A and B of f16 have eight registers, whatever they hold: the tiles again and again.
void repeatTiles(const MatrixForm& form, std::byte* results) {
  const uint32_t all = registerCount(form, form.role(), form.a);
  MatrixForm once = form;
  once.flags = static_cast<uint8_t>(once.flags & ~kMatrixWarp);
  const uint32_t tiles = registerCount(once, form.role(), form.a);
  for (uint32_t r = tiles; r < all; ++r)
    std::memcpy(results + r * kTileBytes, results + (r - tiles) * kTileBytes, kTileBytes);
}

MatrixFault moveFragment(const MatrixForm& form, uint32_t mask, const std::byte* operands, std::byte* results) {
  const bool stores = form.operation == MatrixOperation::StoreFragment;
  const uint32_t lane = mask ? static_cast<uint32_t>(std::countr_zero(mask)) : 0;
  const uint64_t address = wordAt<uint64_t>(operands + 8 * lane);
  const uint32_t stride = wordAt<uint32_t>(operands + 8 * kLanes + 4 * lane);
  if (address % (bitsOf(form.a) < 8 ? 4 : bitsOf(form.a) / 8)) return MatrixFault::Misaligned;
  if (stores) {
    std::byte copy[kMatrixResultBytes];
    std::memcpy(copy, operands + 12 * kLanes,
                registerCount(form, MatrixRole::C, form.a) * kLanes * registerBytes(form.a));
    FragmentMove(form, pointer(address), stride, copy).run<true>();
    return MatrixFault::None;
  }
  FragmentMove(form, pointer(address), stride, results).run<false>();
  if (form.role() != MatrixRole::C) repeatTiles(form, results);
  return MatrixFault::None;
}

}  // namespace

MatrixFault moveMatrix(const MatrixForm& form, uint32_t mask, const std::byte* operands, std::byte* results) {
  switch (form.operation) {
    case MatrixOperation::LoadRows:
      return loadRows(form, mask, operands, results);
    case MatrixOperation::StoreRows:
      return storeRows(form, mask, operands);
    case MatrixOperation::Transpose:
      transpose(operands, results);
      return MatrixFault::None;
    default:
      return moveFragment(form, mask, operands, results);
  }
}

}  // namespace vg::ptx
