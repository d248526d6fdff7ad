#include "ptx/llvm/analysis/alignment.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ptx/llvm/ir/settled_values.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {
namespace {

constexpr uint8_t kAll = 64;         // the value is zero
constexpr uint8_t kSharedBase = 10;  // shared memory begins at a multiple of 1 KiB, a lane's local memory at one of 64
constexpr uint8_t kLocalBase = 6;

class Analysis {
 public:
  Analysis(const Program& program, const ShapeOptions& options, Lanes lanes)
      : program_(program), options_(options), lanes_(lanes), zeros_(program.values.size(), kAll) {}

  // Starts from the best and takes back what does not hold, until nothing changes.
  std::vector<uint8_t> run() {
    settleValues(program_, [&](ValueId id) {
      const uint8_t now = std::min(zeros_[id], of(program_.values[id]));
      return std::exchange(zeros_[id], now) != now;
    });
    return std::move(zeros_);
  }

 private:
  uint8_t of(const Value& v) const {
    switch (v.kind) {
      case Value::Constant:
        return static_cast<uint8_t>(std::countr_zero(v.bits));
      case Value::Special:
        return special(v.special);
      case Value::Phi:
        return least(v.incoming);
      case Value::Result:
        return result(program_.instructions[v.instruction], v.resultIndex);
      case Value::Symbol:
        return std::min<uint8_t>(symbol(v), static_cast<uint8_t>(std::countr_zero(static_cast<uint64_t>(v.offset))));
      case Value::Undefined:
        return kAll;
      default:
        return 0;
    }
  }

  uint8_t special(ptx::Special s) const {
    const bool first = lanes_ == Lanes::First;
    if (options_.rowLanes) {
      const uint8_t rowZeros = zerosOf(options_.rowLanes);
      if (s == Special::NtidX) return rowZeros;
      if (s == Special::LaneId) return first ? rowZeros : 0;
      return s != Special::TidX || !first ? 0 : options_.wholeRows ? kAll : rowZeros;
    }
    if (s == Special::LaneId) return first ? kAll : 0;
    if (!options_.rowsOf32) return 0;
    return s == Special::NtidX || (s == Special::TidX && first) ? 5 : 0;
  }

  static uint8_t zerosOf(uint64_t value) { return static_cast<uint8_t>(std::countr_zero(value)); }

  uint8_t symbol(const Value& v) const {
    const bool moduleScope = v.symbolKind == SymbolKind::ModuleVariable;
    if (!moduleScope && v.symbolKind != SymbolKind::FunctionVariable) return 0;
    const Variable& variable =
        moduleScope ? program_.module->variables[v.symbol] : program_.module->functions[v.function].variables[v.symbol];
    switch (variable.space) {
      case Space::Shared:
        return std::min(kSharedBase,
                        zerosOf(variable.unsizedArray ? program_.shared.dynamicOffset
                                                      : program_.shared.offsetOf(moduleScope, v.function, v.symbol)));
      case Space::Local:
        if (moduleScope) return 0;
        return std::min(kLocalBase, zerosOf(program_.locals.at({v.function, v.symbol})));
      default:
        return zerosOf(std::max(variable.alignment, 1u));
    }
  }

  uint8_t at(ValueId id) const { return id == kNone ? 0 : zeros_[id]; }

  uint8_t least(const std::vector<ValueId>& ids) const {
    uint8_t out = kAll;
    for (ValueId id : ids) out = std::min(out, at(id));
    return out;
  }

  static uint8_t product(uint8_t a, uint8_t b) { return static_cast<uint8_t>(std::min(a + b, int{kAll})); }

  // A guarded instruction leaves what was there in some lanes.
  uint8_t result(const Instruction& i, uint32_t index) const {
    const uint8_t made = computed(i);
    const bool joins = i.guard != kNone && index < i.old.size() && i.old[index] != kNone;
    return joins ? std::min(made, at(i.old[index])) : made;
  }

  uint8_t computed(const Instruction& i) const {
    const ptx::Instruction& ast = *i.ast;
    if (ast.op == Op::Alloca) return kLocalBase;
    const bool whole = i.results.size() == 1 && !ptx::isFloat(ast.type()) && ptx::bitsOf(ast.type()) >= 32 &&
                       ptx::bitsOf(ast.type()) <= 64 && !ast.has(Mod::Sat);
    if (!whole) return 0;
    switch (ast.op) {
      case Op::Mov:
        return i.sources.size() == 1 && !i.negated[0] ? at(i.sources[0]) : 0;
      case Op::Cvta:
        return std::min(at(i.sources[0]), kSharedBase);
      case Op::Selp:
        return std::min(at(i.sources[0]), at(i.sources[1]));
      case Op::Cvt:
        return ast.typeCount == 2 && !ptx::isFloat(ast.types[1]) && ptx::bitsOf(ast.types[1]) >= 32 ? at(i.sources[0])
                                                                                                    : 0;
      case Op::Add:
      case Op::Sub:
        return ast.typeCount == 1 && !ast.has(Mod::Cc) ? least(i.sources) : 0;
      case Op::Mul:
        return ast.has(Mod::Hi) ? 0 : product(at(i.sources[0]), at(i.sources[1]));
      case Op::Mad:
        if (ast.has(Mod::Hi) || ast.has(Mod::Cc)) return 0;
        return std::min(product(at(i.sources[0]), at(i.sources[1])), at(i.sources[2]));
      case Op::Shl: {
        const Value& amount = program_.values[i.sources[1]];
        if (amount.kind != Value::Constant) return at(i.sources[0]);
        return product(at(i.sources[0]), static_cast<uint8_t>(std::min<uint64_t>(amount.bits & 0xffffffff, kAll)));
      }
      case Op::And:
        return std::max(at(i.sources[0]), at(i.sources[1]));
      case Op::Or:
      case Op::Xor:
        return least(i.sources);
      default:
        return 0;
    }
  }

  const Program& program_;
  const ShapeOptions options_;
  const Lanes lanes_;
  std::vector<uint8_t> zeros_;
};

}  // namespace

std::vector<uint8_t> alignments(const Program& program, const ShapeOptions& options, Lanes lanes) {
  return Analysis(program, options, lanes).run();
}

}  // namespace vg::ptx::gen
