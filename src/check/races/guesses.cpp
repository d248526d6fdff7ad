#include "check/races/guesses.h"

#include <algorithm>

#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::check {
namespace {

const ptx::Operand* addressOf(const ptx::Function& function, const ptx::Instruction& i) {
  const auto first = function.operands.begin() + i.first;
  const auto found = std::find_if(
      first, first + i.count, [](const ptx::Operand& operand) { return operand.kind == ptx::Operand::Kind::Address; });
  return found == first + i.count ? nullptr : &*found;
}

bool same(const ptx::Operand& one, const ptx::Operand& other) {
  if (one.isBaseRegister != other.isBaseRegister || one.offset != other.offset) return false;
  return one.isBaseRegister ? one.reg == other.reg : one.symbolKind == other.symbolKind && one.symbol == other.symbol;
}

bool swaps(const ptx::Instruction& i) { return i.op == ptx::Op::Atom && i.has(ptx::Mod::Cas); }

bool isGuess(const ptx::Function& function, const ptx::Instruction& load) {
  const ptx::Operand* const address = load.op == ptx::Op::Ld ? addressOf(function, load) : nullptr;
  return address && std::any_of(function.body.begin(), function.body.end(), [&](const ptx::Instruction& i) {
           const ptx::Operand* const other = swaps(i) ? addressOf(function, i) : nullptr;
           return other && same(*address, *other);
         });
}

}  // namespace

bool isGuess(const ptx::Module& module, uint32_t line) {
  for (const ptx::Function& function : module.functions)
    for (const ptx::Instruction& i : function.body)
      if (i.line == line) return isGuess(function, i);
  return false;
}

}  // namespace vg::check
