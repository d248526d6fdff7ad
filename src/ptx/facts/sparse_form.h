// What spdecompress says of the registers that it names: vectors of elements and indexes, packed from the lowest bits
// on. Groups follow each other; each has `kept` elements, and the place of each among `whole` is an index. The other
// places are zero. Of elements with one place the last counts; one whose place is beyond the group, which the manual
// leaves open, is dropped.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/text/ast.h"

namespace vg::ptx {

struct SparseForm {
  uint32_t elementBits, indexBits, kept, whole, groups;

  uint32_t indexWords() const { return (kept * indexBits * groups + 31) / 32; }
  uint32_t keptWords() const { return (kept * elementBits * groups + 31) / 32; }
  uint32_t wholeWords() const { return (whole * elementBits * groups + 31) / 32; }
};

// None: there is no such form, or the registers are too few or too many for it.
std::optional<SparseForm> describeSparse(const Instruction& i, const Function& f);

}  // namespace vg::ptx
