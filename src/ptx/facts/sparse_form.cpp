#include "ptx/facts/sparse_form.h"

namespace vg::ptx {
namespace {

struct Factor {
  Mod word;
  uint32_t kept, whole;
};
constexpr Factor kFactors[] = {{Mod::Sp1to2, 1, 2},   {Mod::Sp1to4, 1, 4}, {Mod::Sp1to8, 1, 8},
                               {Mod::Sp1to16, 1, 16}, {Mod::Sp2to4, 2, 4}, {Mod::Sp2to8, 2, 8},
                               {Mod::Sp2to16, 2, 16}, {Mod::Sp4to8, 4, 8}, {Mod::Sp4to16, 4, 16}};

struct Count {
  Mod word;
  uint32_t groups;
};
constexpr Count kCounts[] = {{Mod::X1, 1},   {Mod::X2, 2},   {Mod::X4, 4},  {Mod::X8, 8},
                             {Mod::X16, 16}, {Mod::X32, 32}, {Mod::X64, 64}};

// The row of the only word of a table that the instruction has.
template <class Row, size_t kRows>
const Row* onlyOne(const Row (&rows)[kRows], const Instruction& i) {
  const Row* found = nullptr;
  for (const Row& row : rows) {
    if (!i.has(row.word)) continue;
    if (found) return nullptr;
    found = &row;
  }
  return found;
}

// What the manual asks of the sizes.
bool isWithinLimits(const SparseForm& form) {
  constexpr uint32_t kMostBits = 4096, kMostRegisters = 253;
  const uint32_t bits = form.whole * form.elementBits * form.groups;
  return form.kept * form.elementBits <= 32 && 1u << form.indexBits >= form.whole && bits >= 32 && bits <= kMostBits &&
         form.indexWords() + form.keptWords() + form.wholeWords() <= kMostRegisters;
}

}  // namespace

std::optional<SparseForm> describeSparse(const Instruction& i, const Function& f) {
  const Factor* const factor = onlyOne(kFactors, i);
  const Count* const count = onlyOne(kCounts, i);
  if (!factor || !count || i.typeCount != 1 || i.has(Mod::B2) == i.has(Mod::B4) || i.count != 3) return {};
  const SparseForm form{bitsOf(i.type()), i.has(Mod::B2) ? 2u : 4u, factor->kept, factor->whole, count->groups};
  if (!isWithinLimits(form)) return {};
  const uint32_t words[] = {form.wholeWords(), form.indexWords(), form.keptWords()};
  for (uint32_t k = 0; k < i.count; ++k) {
    const Operand& o = f.operands[i.first + k];
    if ((o.kind == Operand::Kind::Vector ? o.count : 1) != words[k]) return {};
  }
  return form;
}

}  // namespace vg::ptx
