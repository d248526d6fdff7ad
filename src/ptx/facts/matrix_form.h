// What the matrix instructions (mma, wmma, wgmma, ldmatrix, stmatrix, movmatrix) ask of the runner: one call for a
// warp, RuntimeCalls::matrix, with the operation in 64 bits, the operands in one buffer and the results in another.
// Both machines, interpreter and generated code, make the call with what this file says of an instruction.
//
// Fragments. A register of all lanes is 32 words in lane order: a *tile* of 8 rows of 4 words. Lane 4g + t holds in row
// g the elements that fill word t, so that a tile of A is 8 rows of the matrix with 16 bytes of neighbouring k, and a
// tile of B is 8 columns with 16 bytes of neighbouring k (32 bytes for f64). That is what PTX documents for mma and
// ldmatrix; the fragments of wmma, which it leaves open, are the same tiles. Which tiles follow each other in the
// registers is said by tileOfA and its siblings.
//
// What files for one instruction set use of this header is static or always inlined, so that no other file gets it.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/text/ast.h"

namespace vg::ptx {

enum class MatrixOperation : uint8_t {
  Multiply,
  LoadRows,
  StoreRows,
  Transpose,
  LoadFragment,
  StoreFragment,
  MultiplyGroup,  // a warp's 16 rows of a product of four warps: wgmma
};
// E2M3, E3M2 and E2M1 lie in bytes, as `.kind::f8f6f4` has them (E2M1 from bit 2 on); E2M1Pair are two in a byte.
enum class MatrixType : uint8_t {
  F16,
  BF16,
  TF32,
  F32,
  F64,
  S8,
  U8,
  S4,
  U4,
  B1,
  E4M3,
  E5M2,
  S32,
  E2M3,
  E3M2,
  E2M1,
  E2M1Pair
};
enum class MatrixRole : uint8_t { A, B, C };

// Bits of MatrixForm::flags.
inline constexpr uint8_t kMatrixColumnsA = 1;     // the layout of A, or of what is loaded and stored: columns
inline constexpr uint8_t kMatrixRowsB = 2;        // the layout of B: rows
inline constexpr uint8_t kMatrixSaturate = 4;     // whole numbers: the sum is clamped, else it wraps
inline constexpr uint8_t kMatrixAnd = 8;          // b1: and; else xor
inline constexpr uint8_t kMatrixSparse = 16;      // A holds half of the elements, and metadata which
inline constexpr uint8_t kMatrixTransposed = 32;  // LoadRows, StoreRows
inline constexpr uint8_t kMatrixQuads = 64;       // mma.m8n8k4 of halves: four products by eight lanes each
inline constexpr uint8_t kMatrixWarp = 128;       // wmma: f16 fragments of A and B have eight registers
// Of MultiplyGroup, in place of the last three. Columns of A and rows of B: elements of one k are neighbours.
inline constexpr uint8_t kMatrixNegatedA = 32, kMatrixDescribedA = 64, kMatrixNegatedB = 128;

// Bits of MatrixForm::detail, for products of floats of eight bits and fewer; sparse ones have no selector then.
inline constexpr uint8_t kMatrixScaled = 128, kMatrixScalesE4M3 = 64;

struct MatrixForm {
  MatrixOperation operation{};
  MatrixType a{}, b{};     // LoadFragment, StoreFragment: a is the type of the fragment; LoadRows, StoreRows: f16, u8,
                           // or e2m3 and u4 for any elements of six and four bits, each of which becomes a byte
  uint8_t accumulators{};  // MatrixType of C, and of D << 4
  uint8_t m = 8, n = 8;    // LoadRows, StoreRows: n is the number of tiles; MultiplyGroup: of blocks of 8 columns
  uint8_t detail = 0;      // log2 of k in the low 4 bits; above: sparsity selector, rounding of f64, MatrixRole, or
                           // kMatrixScaled, kMatrixScalesE4M3 and log2 of scaleBlocks()
  uint8_t flags = 0;

  [[gnu::always_inline]] bool has(uint8_t flag) const { return flags & flag; }
  [[gnu::always_inline]] uint32_t k() const { return 1u << (detail & 15); }
  [[gnu::always_inline]] uint32_t selector() const { return detail >> 4; }
  // Of isScaledFloat(): A and B have scales for each of so many parts of k, e4m3 or powers of two.
  [[gnu::always_inline]] bool hasScalesE4M3() const { return detail & kMatrixScalesE4M3; }
  [[gnu::always_inline]] uint32_t scaleBlocks() const { return 1u << (detail >> 4 & 3); }
  [[gnu::always_inline]] MatrixRole role() const { return static_cast<MatrixRole>(detail >> 4); }
  [[gnu::always_inline]] MatrixType c() const { return static_cast<MatrixType>(accumulators & 15); }
  [[gnu::always_inline]] MatrixType d() const { return static_cast<MatrixType>(accumulators >> 4); }
};
static_assert(sizeof(MatrixForm) == sizeof(uint64_t));
inline uint64_t wordOf(const MatrixForm& form) { return std::bit_cast<uint64_t>(form); }
inline MatrixForm matrixFormOf(uint64_t word) { return std::bit_cast<MatrixForm>(word); }

// In the order of MatrixType.
inline constexpr uint8_t kLogOfMatrixBits[] = {4, 4, 5, 5, 6, 3, 3, 2, 2, 0, 3, 3, 5, 3, 3, 3, 2};
static inline uint32_t bitsOf(MatrixType type) { return 1u << kLogOfMatrixBits[static_cast<uint8_t>(type)]; }
// Bytes from the first to the last element of a fragment in memory whose rows or columns are `stride` elements apart.
uint64_t extentOf(const MatrixForm& form, uint64_t stride);
// Of LoadRows and StoreRows: bytes that count at an address, which is a multiple of kRowAlignment.
inline constexpr uint32_t kRowAlignment = 16;
static inline uint32_t bytesOfRow(const MatrixForm& form) {
  return form.a == MatrixType::E2M3 ? 12 : form.a == MatrixType::U4 ? 8 : kRowAlignment;
}
// The lanes of `mask` whose addresses count.
uint32_t namingLanes(const MatrixForm& form, uint32_t mask);
// Floats of fewer than 8 bits, or whole bytes of 8.
static inline bool isSmallFloat(MatrixType type) {
  return type == MatrixType::E4M3 || type == MatrixType::E5M2 || type >= MatrixType::E2M3;
}
static inline bool isScaledFloat(const MatrixForm& form) {
  return isSmallFloat(form.a) && (form.detail & kMatrixScaled);
}
// Products that no vectors are made for.
static inline bool isPlainOnly(const MatrixForm& form) {
  return form.has(kMatrixQuads) || form.a >= MatrixType::E2M3 || form.b >= MatrixType::E2M3 || isScaledFloat(form);
}
static inline bool isWhole(MatrixType type) {
  return (type >= MatrixType::S8 && type <= MatrixType::B1) || type == MatrixType::S32;
}

// Elements of a row of a tile, and how many tiles so many elements are.
static inline uint32_t logOfTileWidth(MatrixType type) {
  return type == MatrixType::F64 ? 2 : 7 - kLogOfMatrixBits[static_cast<uint8_t>(type)];
}
static inline uint32_t tileWidth(MatrixType type) { return 1u << logOfTileWidth(type); }
static inline uint32_t tilesAlongK(uint32_t k, MatrixType type) { return k >> logOfTileWidth(type); }
// Bytes of a register of a fragment: 4, or 8 for f64.
static inline uint32_t registerBytes(MatrixType type) { return type == MatrixType::F64 ? 8 : 4; }
// k as A stores it.
static inline uint32_t storedK(const MatrixForm& form) { return form.has(kMatrixSparse) ? form.k() / 2 : form.k(); }

// Register of a fragment that holds the tile; row blocks are of 8 rows, column blocks of 8 columns.
static inline uint32_t tileOfA(const MatrixForm& form, uint32_t rowBlock, uint32_t kBlock) {
  const uint32_t rows = form.m < 16 ? 1 : 2, kBlocks = tilesAlongK(storedK(form), form.a);
  return (rowBlock / rows * kBlocks + kBlock) * rows + rowBlock % rows;
}
static inline uint32_t tileOfB(const MatrixForm& form, uint32_t columnBlock, uint32_t kBlock) {
  return columnBlock * tilesAlongK(form.k(), form.b) + kBlock;
}
// The accumulators of a block of 8 x 8: one register of halves, or two whose lanes hold even and odd columns.
static inline uint32_t tileOfC(const MatrixForm& form, uint32_t rowBlock, uint32_t columnBlock) {
  const uint32_t rows = form.m < 16 ? 1 : 2;
  return (rowBlock / rows * (form.n / 8u) + columnBlock) * rows + rowBlock % rows;
}
static inline uint32_t registersOfC(MatrixType type) { return type == MatrixType::F16 ? 1 : 2; }

// Registers of a fragment.
static inline uint32_t registerCount(const MatrixForm& form, MatrixRole role, MatrixType type) {
  if (form.has(kMatrixQuads)) return role != MatrixRole::C ? 2 : type == MatrixType::F16 ? 4 : 8;
  const uint32_t rowBlocks = form.m / 8u, columnBlocks = form.n / 8u;
  if (role == MatrixRole::C) return rowBlocks * columnBlocks * registersOfC(type);
  if (form.has(kMatrixWarp) && type == MatrixType::F16) return 8;
  if (role == MatrixRole::A) return rowBlocks * tilesAlongK(storedK(form), type);
  return columnBlocks * tilesAlongK(form.k(), type);
}

// The operands of RuntimeCalls::matrix lie behind each other, 32 lanes of 4 or 8 bytes each:
//   Multiply: A, B, C, sparse ones then the metadata,    Transpose: the register
//     scaled ones then scales of A, its byte and lanes, and the same three of B, as PTX numbers them
//   LoadRows: addresses (8 bytes)                        StoreRows: addresses, registers
//   LoadFragment: addresses, strides (4 bytes)           StoreFragment: addresses, strides, registers
//   MultiplyGroup: A's descriptor (8 bytes) or A, B's descriptor, sparse ones then the metadata, whether C counts, C
// and so do the results.
inline constexpr uint32_t kMatrixScaleOperands = 6;
inline constexpr uint32_t kMatrixOperandBytes = 4608, kMatrixResultBytes = 1024;
// The same of MultiplyGroup.
inline constexpr uint32_t kGroupOperandBytes = (2 * 8 + 2 * 4 + 128 * 4) * 32, kGroupResultBytes = 128 * 4 * 32;

inline constexpr uint8_t kMatrixStride = 255;  // MatrixShape::order: the instruction gives no stride

struct MatrixShape {
  MatrixForm form;
  Space space = Space::None;          // of the address
  std::vector<uint8_t> order;         // for each operand of the call its source, vectors flattened; or kMatrixStride
  std::vector<uint8_t> operandBytes;  // 4 or 8 a lane, for each operand of the call
  uint8_t resultBytes = 4;
  uint32_t results = 0;
  uint32_t stride = 0;  // elements, for kMatrixStride
};

// Nothing for forms that no machine runs. Requires: Trait::Matrix of the opcode; `f` holds the operands.
std::optional<MatrixShape> describeMatrix(const Instruction& i, const Function& f);

}  // namespace vg::ptx
