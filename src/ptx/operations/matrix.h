// The arithmetic of the matrix instructions on the operands of a warp, as matrix_form.h lays them out. Pure but for the
// memory that loads and stores name; any thread.
//
// What PTX leaves open is settled here. Products of floats are exact and are added to the accumulator one after another
// in the order of ascending k, each time rounded to f32 (to nearest even; f64 as the instruction says); f16 results are
// rounded once more, at the end. Whole numbers: the products are summed exactly and added to C once, which wraps or is
// clamped. NaN results are the canonical ones (0x7fffffff, 0x7fff, 0x7ff8000000000000). Subnormals count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptx/facts/matrix_form.h"

namespace vg::ptx {

enum class MatrixFault : uint8_t { None, Misaligned, OutOfShared };

// Does the instruction. Addresses are host addresses; only lanes of `mask` name rows, and the lowest one the fragment.
// `operands` and `results` as matrix_form.h says, 64-byte aligned.
MatrixFault runMatrix(const MatrixForm& form, uint32_t mask, const std::byte* operands, std::byte* results);

// The product by plain loops, element by element: what the fast one is tested against, and the interpreter's.
void multiplyPlainly(const MatrixForm& form, const std::byte* operands, std::byte* results);

// Everything but products.
MatrixFault moveMatrix(const MatrixForm& form, uint32_t mask, const std::byte* operands, std::byte* results);

// Products by vectors; one for each instruction set.
struct MatrixEngine {
  const char* name;
  bool (*supported)();
  void (*multiply)(const MatrixForm& form, const std::byte* operands, std::byte* results);
};
extern const MatrixEngine kPlainMatrixEngine;
// The best first. Every processor has the last one.
#if defined(__x86_64__)
extern const MatrixEngine kAvx2MatrixEngine, kAvx512MatrixEngine;
inline constexpr const MatrixEngine* kAllMatrixEngines[] = {&kAvx512MatrixEngine, &kAvx2MatrixEngine,
                                                            &kPlainMatrixEngine};
#else
inline constexpr const MatrixEngine* kAllMatrixEngines[] = {&kPlainMatrixEngine};
#endif

// The shared memory of a block, in which descriptors count.
struct GroupMemory {
  const std::byte* start;
  uint32_t bytes;
};
// MultiplyGroup: the rows of the warp, in blocks of 8 columns. The layouts of matrices in shared memory are those that
// PTX describes for wgmma: units of 16 bytes, with or without swizzling.
MatrixFault multiplyGroup(const MatrixForm& form, uint32_t warp, const GroupMemory& memory, const std::byte* operands,
                          std::byte* results, const MatrixEngine& engine);
// The same with the best engine.
MatrixFault runGroup(const MatrixForm& form, uint32_t warp, const GroupMemory& memory, const std::byte* operands,
                     std::byte* results);

// What multiplyGroup reads of shared memory, told before it does.
class GroupReads {
 public:
  // 16 bytes at this place of the block's shared memory, or beyond it. False: the product must not be made.
  virtual bool allows(uint32_t place) = 0;

 protected:
  ~GroupReads() = default;
};
// Whether all are allowed; none is asked about behind one that is not.
bool mayRead(const MatrixForm& form, uint32_t warp, const std::byte* operands, GroupReads& reads);

// Where the k-th stored element of a row of a sparse A stands in the whole row. `metadata`: 32 words, in lane order.
uint32_t sparseColumn(const MatrixForm& form, const uint32_t* metadata, uint32_t row, uint32_t k);

}  // namespace vg::ptx
