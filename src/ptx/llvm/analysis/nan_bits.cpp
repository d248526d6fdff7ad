#include "ptx/llvm/analysis/nan_bits.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

// Instructions of f32 whose NaNs are the processor's.
bool isArithmetic(const ptx::Instruction& i) { return i.type() == Type::F32 && rowOf(i.op).has(Trait::Arithmetic); }

bool isIntegral(const ptx::Instruction& i) {
  return i.has(Mod::Rni) || i.has(Mod::Rzi) || i.has(Mod::Rmi) || i.has(Mod::Rpi);
}

// From f32 to f32 without anything: a move.
bool isPlainConversion(const ptx::Instruction& i) {
  return i.op == Op::Cvt && i.types[0] == Type::F32 && i.types[1] == Type::F32 && !i.has(Mod::Ftz) &&
         !i.has(Mod::Sat) && !isIntegral(i);
}

// Conversions to f32 that are arithmetic on a GPU; those of f64 and bf16 hand bits on as the processor's do.
bool convertsByArithmetic(const ptx::Instruction& i) {
  if (i.op != Op::Cvt || i.types[0] != Type::F32 || i.has(Mod::Sat)) return false;
  return i.types[1] == Type::F16 || (i.types[1] == Type::F32 && !isPlainConversion(i));
}

// Whether a source goes on to the result as it is.
bool handsOn(const Instruction& i, size_t source) {
  switch (i.ast->op) {
    case Op::Mov:
      return i.sources.size() == 1 && i.results.size() == 1;
    case Op::Selp:
    case Op::Slct:
      return source < 2;
    case Op::Shfl:
      return source == 0;
    case Op::Cvt:
      return isPlainConversion(*i.ast);
    default:
      return false;
  }
}

// NaNs of its making are a GPU's, or it makes none.
bool makesOneNaN(const ptx::Instruction& i) {
  return i.type() == Type::F32 && (i.op == Op::Min || i.op == Op::Max || i.op == Op::Set);
}

// Whether the instruction takes the source for a number.
bool readsNumber(const Instruction& i, size_t source) {
  const ptx::Instruction& ast = *i.ast;
  switch (ast.op) {
    case Op::Min:
    case Op::Max:
      return ast.type() == Type::F32 && !ast.has(Mod::Xorsign);
    case Op::Setp:
    case Op::Testp:
      return ast.type() == Type::F32 && source < (ast.op == Op::Setp ? 2u : 1u);
    case Op::Set:
      return ast.typeCount > 1 && ast.types[1] == Type::F32 && source < 2;
    case Op::Slct:
      return source == 2 && ast.typeCount > 1 && ast.types[1] == Type::F32;
    case Op::Cvt:
      return ast.typeCount > 1 && ast.types[1] == Type::F32 && ast.types[0] != Type::F64 && !isPlainConversion(ast) &&
             !(ast.types[0] == Type::TF32 && ast.has(Mod::Rna));
    default:
      return isArithmetic(ast);
  }
}

class Settler {
 public:
  explicit Settler(Program& program)
      : program_(program),
        raw_(program.values.size(), false),
        foreign_(program.values.size(), false),
        integral_(program.values.size(), false) {}

  void run() {
    while (spreadForeign()) {
    }
    while (spread()) {
    }
    for (Block& block : program_.blocks) settle(block);
    for (const Block& block : program_.blocks) settlePhis(block);
  }

  // Of a program that has been settled, by what it has now: the line of an instruction that sees bits of the
  // processor's making, or at which such a value and one that keeps its bits become the same; 0 where there is none.
  uint32_t wrongLine() {
    loopsBringForeign_ = false;
    while (spreadForeign()) {
    }
    while (spreadEverywhere()) {
    }
    for (const Block& block : program_.blocks) {
      for (ValueId phi : block.phis)
        if (raw(phi) && (foreign(phi) || integral(phi))) return block.line;
      for (uint32_t number : block.instructions)
        if (isWrong(program_.instructions[number])) return program_.instructions[number].ast->line;
    }
    return 0;
  }

 private:
  bool raw(ValueId v) const { return v != kNone && raw_[v]; }

  static bool mark(std::vector<bool>& set, ValueId v) {
    if (v == kNone || set[v]) return false;
    return set[v] = true;
  }

  // Values whose bits come from somewhere else, memory or integers, and stay as they are.
  bool foreign(ValueId v) const { return has(foreign_, v); }
  // Those of them that no text calls a number.
  bool integral(ValueId v) const { return has(integral_, v); }
  bool has(const std::vector<bool>& set, ValueId v) const {
    if (v == kNone) return false;
    const Value& value = program_.values[v];
    switch (value.kind) {
      case Value::Constant:
        return (value.bits & 0x7fffffff) > 0x7f800000;
      case Value::Special:
      case Value::Symbol:
        return true;
      default:
        return set[v];
    }
  }

  bool spreadForeign() {
    bool more = false;
    for (const Block& block : program_.blocks) {
      for (ValueId phi : block.phis)
        for (ValueId in : program_.values[phi].incoming) {
          if (foreign(in) && (loopsBringForeign_ || !comesBack(block))) more |= mark(foreign_, phi);
          if (integral(in)) more |= mark(integral_, phi);
        }
      for (uint32_t number : block.instructions) {
        const Instruction& i = program_.instructions[number];
        more |= spread(i, foreign_);
        more |= spread(i, integral_);
      }
    }
    return more;
  }

  // Into `set`, which is foreign_ or integral_: what the instruction brings of the kind, and what was there before.
  bool spread(const Instruction& i, std::vector<bool>& set) {
    const bool all = brings(i, set);
    bool more = false;
    for (size_t r = 0; r < i.results.size(); ++r)
      if (all || (r < i.old.size() && has(set, i.old[r]))) more |= mark(set, i.results[r]);
    return more;
  }
  // Whether its results are of the kind by what it hands on, or by what it makes.
  bool brings(const Instruction& i, const std::vector<bool>& set) const {
    bool hands = false, any = false;
    for (size_t s = 0; s < i.sources.size(); ++s) {
      hands |= handsOn(i, s);
      any |= handsOn(i, s) && has(set, i.sources[s]);
    }
    if (hands) return any;
    return !makesRaw(i) && !makesOneNaN(*i.ast) && (&set == &foreign_ || i.ast->type() != Type::F32);
  }

  // Marks results that may have a NaN's bits of the processor's making; false when there are no more. Where such a
  // value and a foreign one may become the same, it is settled before.
  bool spread() {
    bool more = false;
    for (const Block& block : program_.blocks) {
      for (ValueId phi : block.phis) {
        if (keepsBits(block, phi)) continue;
        for (ValueId in : program_.values[phi].incoming)
          if (raw(in)) more |= mark(raw_, phi);
      }
      for (uint32_t number : block.instructions) more |= spread(program_.instructions[number]);
    }
    return more;
  }

  bool spread(const Instruction& i) {
    if (i.results.empty() || joinsForeign(i) || mergesForeign(i)) return false;
    bool makes = makesRaw(i) && !i.ast->has(Mod::Sat);
    for (size_t s = 0; s < i.sources.size(); ++s) makes |= raw(i.sources[s]) && handsOn(i, s);
    if (i.guard != kNone && !i.old.empty() && !brings(i, foreign_)) makes |= raw(i.old[0]);
    return makes && mark(raw_, i.results[0]);
  }

  // Whether what comes to the phi must be settled first. Not numbers that go round a loop which began with one from
  // memory: a NaN from memory becomes a GPU's there, also if no round is taken.
  bool keepsBits(const Block& block, ValueId phi) const {
    if (integral(phi)) return true;
    return foreign(phi) && !comesBack(block);
  }
  bool comesBack(const Block& block) const {
    const auto number = static_cast<BlockId>(&block - program_.blocks.data());
    return std::any_of(block.predecessors.begin(), block.predecessors.end(),
                       [&](BlockId from) { return from >= number; });
  }

  // Whether lanes that an instruction of arithmetic leaves out keep a foreign value.
  bool mergesForeign(const Instruction& i) const {
    return i.guard != kNone && !i.old.empty() && makesRaw(i) && !i.ast->has(Mod::Sat) && foreign(i.old[0]);
  }

  // Whether a foreign value may become the result of an instruction that chooses.
  bool joinsForeign(const Instruction& i) const {
    size_t choices = i.guard != kNone && !i.old.empty() && i.old[0] != kNone;
    bool any = choices && foreign(i.old[0]);
    for (size_t s = 0; s < i.sources.size(); ++s) {
      if (!handsOn(i, s)) continue;
      ++choices;
      any |= foreign(i.sources[s]);
    }
    const bool loads = choices == 1 && i.guard != kNone && !i.results.empty() && !makesRaw(i);
    return any && (choices > 1 || loads);
  }
  static bool makesRaw(const Instruction& i) { return isArithmetic(*i.ast) || convertsByArithmetic(*i.ast); }

  // As spread(), whatever the values meet.
  bool spreadEverywhere() {
    bool more = false;
    for (const Block& block : program_.blocks) {
      for (ValueId phi : block.phis)
        for (ValueId in : program_.values[phi].incoming)
          if (raw(in)) more |= mark(raw_, phi);
      for (uint32_t number : block.instructions) {
        const Instruction& i = program_.instructions[number];
        bool makes = makesRaw(i) && !i.ast->has(Mod::Sat);
        for (size_t s = 0; s < i.sources.size(); ++s) makes |= raw(i.sources[s]) && handsOn(i, s);
        for (size_t r = 0; r < i.results.size(); ++r)
          if ((makes && r == 0) || (r < i.old.size() && raw(i.old[r]))) more |= mark(raw_, i.results[r]);
      }
    }
    return more;
  }

  bool isWrong(const Instruction& i) const {
    for (ValueId result : i.results)
      if (raw(result) && (foreign(result) || integral(result))) return true;
    for (size_t s = 0; s < i.sources.size(); ++s)
      if (raw(i.sources[s]) && !handsOn(i, s) && !readsNumber(i, s)) return true;
    return false;
  }

  void settle(Block& block) {
    std::map<ValueId, ValueId> settled;
    std::vector<uint32_t> instructions;
    for (uint32_t number : block.instructions) {
      for (size_t s = 0; s < program_.instructions[number].sources.size(); ++s) {
        const Instruction& user = program_.instructions[number];
        const ValueId source = user.sources[s];
        const bool passes = handsOn(user, s) && raw(user.results[0]);
        if (!flushesFirst(user, s) && (!raw(source) || passes || readsNumber(user, s))) continue;
        const auto [known, isNew] = settled.try_emplace(source, kNone);
        if (isNew) known->second = settledBefore(number, source, instructions);
        program_.instructions[number].sources[s] = known->second;
      }
      const bool merges = mergesForeign(program_.instructions[number]);
      settleOld(number, instructions);
      instructions.push_back(number);
      if (merges) mergeSettled(number, instructions);
    }
    block.instructions = std::move(instructions);
  }

  // What lanes keep that a guard leaves out: nothing raw comes into a result that is not marked so.
  void settleOld(uint32_t number, std::vector<uint32_t>& instructions) {
    for (size_t r = 0; r < program_.instructions[number].old.size(); ++r) {
      const ValueId old = program_.instructions[number].old[r];
      if (raw(old) && !raw(program_.instructions[number].results[r]))
        program_.instructions[number].old[r] = settledBefore(number, old, instructions);
    }
  }

  // The result of a guarded instruction is settled before it joins what was there.
  void mergeSettled(uint32_t number, std::vector<uint32_t>& instructions) {
    const ValueId merged = program_.instructions[number].results[0];
    const ValueId own = settledBefore(number, kNone, instructions);  // for its place in the block
    const uint32_t settling = program_.values[own].instruction;
    Instruction &made = program_.instructions[number], &after = program_.instructions[settling];
    after.sources = {own, own};
    after.results = {merged};
    after.guard = made.guard;
    after.guardNegated = made.guardNegated;
    after.old = std::exchange(made.old, {kNone});
    made.results[0] = own;
    program_.values[own].instruction = number;
    program_.values[merged].instruction = settling;
  }

  void settlePhis(const Block& block) {
    for (ValueId phi : block.phis) {
      if (!keepsBits(block, phi)) continue;
      for (size_t k = 0; k < block.predecessors.size(); ++k) {
        const ValueId in = program_.values[phi].incoming[k];
        if (!raw(in)) continue;
        const auto [known, isNew] = atEnd_.try_emplace({block.predecessors[k], in}, kNone);
        Block& from = program_.blocks[block.predecessors[k]];
        if (isNew) known->second = settled(block.predecessors[k], from.line, in, from.instructions);
        program_.values[phi].incoming[k] = known->second;
        program_.values[known->second].usedElsewhere = true;
      }
    }
  }

  // cvt.ftz.f64.f32 is arithmetic in f32 before it widens.
  bool flushesFirst(const Instruction& i, size_t source) const {
    return source == 0 && i.ast->op == Op::Cvt && i.ast->has(Mod::Ftz) && i.ast->types[0] == Type::F64 &&
           i.ast->types[1] == Type::F32 && program_.values[i.sources[0]].kind != Value::Constant;
  }

  ValueId settledBefore(uint32_t user, ValueId source, std::vector<uint32_t>& instructions) {
    const Instruction& i = program_.instructions[user];
    return settled(i.block, i.ast->line, source, instructions);
  }

  // The larger of a value and itself, of which .NaN makes the NaN that a GPU has; behind `instructions`.
  ValueId settled(BlockId block, uint32_t line, ValueId source, std::vector<uint32_t>& instructions) {
    const auto result = static_cast<ValueId>(program_.values.size());
    const auto number = static_cast<uint32_t>(program_.instructions.size());
    Instruction& i = program_.instructions.emplace_back();
    i.ast = operation(line);
    i.function = &program_.made->function;
    i.block = block;
    i.sources = {source, source};
    i.offsets = {0, 0};
    i.operandFirst = {0, 1};
    i.negated = {false, false};
    i.results = {result};
    i.old = {kNone};
    Value& v = program_.values.emplace_back();
    v.kind = Value::Result;
    v.type = Class::F32;
    v.block = i.block;
    v.instruction = number;
    raw_.push_back(false);
    foreign_.push_back(false);
    integral_.push_back(false);
    instructions.push_back(number);
    return result;
  }

  const ptx::Instruction* operation(uint32_t line) {
    ptx::Instruction& i = program_.made->body.emplace_back();
    i.op = Op::Max;
    i.typeCount = 1;
    i.types[0] = Type::F32;
    i.mods.set(static_cast<size_t>(Mod::NaN));
    i.line = line;
    return &i;
  }

  Program& program_;
  std::vector<bool> raw_, foreign_, integral_;  // by value
  bool loopsBringForeign_ = true;               // into what their header has at first
  std::map<std::pair<BlockId, ValueId>, ValueId> atEnd_;
};

}  // namespace

void settleNaNs(Program& program) { Settler(program).run(); }

uint32_t lineOfWrongNaN(Program& settled) { return Settler(settled).wrongLine(); }

}  // namespace vg::ptx::gen
