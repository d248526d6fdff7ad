#include "ptx/operations/matrix.h"

#include <algorithm>
#include <string>

#include "base/settings.h"

namespace vg::ptx {
namespace {

// The best up to the one that is asked for.
const MatrixEngine& chooseEngine() {
  const std::string& wanted = settings().isa;
  const bool isNamed =
      std::ranges::any_of(kAllMatrixEngines, [&](const auto* engine) { return wanted == engine->name; });
  bool allowed = !isNamed;
  for (const MatrixEngine* candidate : kAllMatrixEngines) {
    allowed |= wanted == candidate->name;
    if (allowed && candidate->supported()) return *candidate;
  }
  return kPlainMatrixEngine;
}

// Bits of metadata of a row: four for each group of elements of which two (or two pairs, or one) are there.
uint32_t metadataBits(const MatrixForm& form) {
  const uint32_t group = form.a == MatrixType::TF32 ? 1 : bitsOf(form.a) == 4 ? 4 : 2;
  return storedK(form) / group * 4;
}

// The metadata of the group of a row. Rows of 16 bits: one lane of four holds rows g and g + 8. Of 32: two lanes, each
// half of both rows, or one row each when elements are small. Of 64: four lanes, the first two for the first half.
uint32_t groupMetadata(const MatrixForm& form, const uint32_t* metadata, uint32_t row, uint32_t group) {
  const uint32_t bits = metadataBits(form), lane = row % 8 * 4, upper = row / 8;
  const uint32_t at = group * 4;  // bit in the row
  if (bits == 16) return metadata[lane + form.selector()] >> (16 * upper + at) & 15;
  if (bits == 64) return metadata[lane + at / 32 * 2 + upper] >> (at % 32) & 15;
  if (bitsOf(form.a) <= 8) return metadata[lane + 2 * form.selector() + upper] >> at & 15;
  return metadata[lane + 2 * form.selector() + at / 16] >> (16 * upper + at % 16) & 15;
}

}  // namespace

uint32_t sparseColumn(const MatrixForm& form, const uint32_t* metadata, uint32_t row, uint32_t k) {
  if (form.a == MatrixType::TF32) return 2 * k + (groupMetadata(form, metadata, row, k) >> 1 & 1);
  const uint32_t run = bitsOf(form.a) == 4 ? 2 : 1;  // 4-bit elements come in pairs
  const uint32_t group = k / run / 2, index = groupMetadata(form, metadata, row, group) >> (2 * (k / run % 2)) & 3;
  return (4 * group + index) * run + k % run;
}

static const MatrixEngine& bestEngine() {
  static const MatrixEngine& engine = chooseEngine();
  return engine;
}

MatrixFault runGroup(const MatrixForm& form, uint32_t warp, const GroupMemory& memory, const std::byte* operands,
                     std::byte* results) {
  return multiplyGroup(form, warp, memory, operands, results, bestEngine());
}

MatrixFault runMatrix(const MatrixForm& form, uint32_t mask, const std::byte* operands, std::byte* results) {
  if (form.operation != MatrixOperation::Multiply) return moveMatrix(form, mask, operands, results);
  if (isPlainOnly(form))
    multiplyPlainly(form, operands, results);
  else
    bestEngine().multiply(form, operands, results);
  return MatrixFault::None;
}

}  // namespace vg::ptx
