#include "ptx/llvm/waits/elsewhere.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {
namespace {

constexpr size_t kMostValues = 500;  // looked at for one address

// A variable, or a parameter by its place among them.
using Root = std::tuple<SymbolKind, uint32_t, uint32_t>;
using Roots = std::set<Root>;

// What a sum that is an address is made of; nothing where it may be more than numbers and roots.
const std::vector<ValueId>* partsOf(const Program& program, const Value& v) {
  if (v.kind == Value::Phi) return &v.incoming;
  const Instruction& i = program.instructions[v.instruction];
  if (i.results.size() != 1 || i.guard != kNone) return nullptr;
  switch (i.ast->op) {
    case Op::Mov:
    case Op::Cvt:
    case Op::Cvta:
      return i.sources.size() == 1 ? &i.sources : nullptr;
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Mad:
    case Op::Shl:
    case Op::Selp:
      return &i.sources;
    default:
      return nullptr;
  }
}

// Numbers of 32 bits and less are indices.
std::optional<Roots> rootsOf(const Program& program, ValueId address) {
  Roots roots;
  std::set<ValueId> seen;
  std::vector<ValueId> work{address};
  if (address == kNone) return {};
  if (const Value& v = program.values[address]; v.kind != Value::Symbol && bitsOf(v.type) < 64) return {};
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    if (id == kNone || seen.size() > kMostValues) return {};
    const Value& v = program.values[id];
    if (!seen.insert(id).second || v.kind == Value::Constant || v.kind == Value::Special) continue;
    if (v.kind == Value::Undefined) continue;
    if (v.kind == Value::Symbol) {
      roots.emplace(v.symbolKind, v.function, v.symbol);
    } else if (bitsOf(v.type) < 64) {
      continue;
    } else if (const std::optional<uint32_t> given = givenPointer(program, id)) {
      roots.emplace(SymbolKind::Parameter, 0, *given);
    } else {
      const std::vector<ValueId>* const parts = partsOf(program, v);
      if (!parts) return {};
      work.insert(work.end(), parts->begin(), parts->end());
    }
  }
  if (roots.empty()) return {};
  return roots;
}

bool isOfOneSpace(Space s) { return s == Space::Global || s == Space::Shared; }

}  // namespace

bool liesElsewhere(const Program& program, const Instruction& a, const Instruction& b, Given given) {
  if (isOfOneSpace(a.ast->space) && isOfOneSpace(b.ast->space) && a.ast->space != b.ast->space) return true;
  if (a.sources.empty() || b.sources.empty()) return false;
  const std::optional<Roots> x = rootsOf(program, a.sources[0]), y = rootsOf(program, b.sources[0]);
  const auto isGiven = [](const Root& root) { return std::get<0>(root) == SymbolKind::Parameter; };
  if (!x || !y ||
      (given == Given::PerhapsTwice && std::ranges::any_of(*x, isGiven) && std::ranges::any_of(*y, isGiven)))
    return false;
  return std::ranges::none_of(*x, [&](const Root& root) { return y->contains(root); });
}

}  // namespace vg::ptx::gen
