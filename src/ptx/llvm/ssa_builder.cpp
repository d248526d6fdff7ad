// Reads a kernel and the functions it calls into blocks, orders them, and gives every register SSA values in one pass
// over the blocks (after Braun et al., "Simple and Efficient Construction of Static Single Assignment Form").
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>

#include "ptx/llvm/control_flow.h"
#include "ptx/llvm/ptx_facts.h"
#include "ptx/llvm/warp_ir.h"

namespace vg::ptx::gen {

void unsupportedConstruct(uint32_t line, const char* format, ...) {
  char text[400];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  throw Unsupported{text, line};
}

uint32_t bitsOf(Class c) {
  switch (c) {
    case Class::Pred:
      return 1;
    case Class::I8:
      return 8;
    case Class::I16:
      return 16;
    case Class::I32:
    case Class::F32:
      return 32;
    case Class::I64:
    case Class::F64:
      return 64;
    case Class::I128:
      return 128;
  }
  return 0;
}

Class integerClass(uint32_t bits) {
  switch (bits) {
    case 1:
      return Class::Pred;
    case 8:
      return Class::I8;
    case 16:
      return Class::I16;
    case 32:
      return Class::I32;
    case 64:
      return Class::I64;
    default:
      return Class::I128;
  }
}

namespace {

constexpr size_t kMaxInstructions = 60000;

// A call argument: variables by byte offset.
struct ParamObject {
  struct Piece {
    uint32_t variable;
    uint32_t bits;
  };
  std::map<int64_t, Piece> pieces;
};

// One inlined copy of a function.
struct Instance {
  const Function* function = nullptr;
  uint32_t functionIndex = 0;
  uint32_t firstVariable = 0;
  std::vector<ParamObject*> parameters, returns;
  std::map<uint32_t, ParamObject*> locals;  // .param variables of the body
  const Instance* caller = nullptr;
};

struct Item {
  const ptx::Instruction* ast = nullptr;
  Instance* instance = nullptr;
  // A copy between a register and a call argument, when ast is null.
  uint32_t copyTo = kNone, copyFrom = kNone;
  const Operand* copyOperand = nullptr;
};

struct RawBlock {
  std::vector<Item> items;
  Block::Terminator terminator = Block::Exit;
  std::vector<uint32_t> successors;
  uint32_t condition = kNone;  // variable
  bool negated = false;
  uint32_t line = 0;
};

class Builder {
 public:
  Builder(const Module& module, uint32_t entry) {
    program_.module = &module;
    program_.entry = entry;
    program_.references = references(module, entry);
    program_.shared = sharedLayout(module, entry);
    program_.parameters = parameterLayout(module.functions[entry]);
  }

  Program build() {
    carry_ = newVariable(Class::Pred);
    raw_.emplace_back();  // the end: lanes that leave go there
    Instance* top = newInstance(program_.entry, nullptr);
    const uint32_t first = expand(*top, kEnd);
    layOutBlocks(first);
    findLoops(program_);
    for (BlockId b = 0; b < program_.blocks.size(); ++b) fillBlock(b);
    completePhis();
    removeTrivialPhis();
    refineTypes();
    markCrossBlockUses();
    return std::move(program_);
  }

 private:
  static constexpr uint32_t kEnd = 0;

  uint32_t newVariable(Class type) {
    variableTypes_.push_back(type);
    return static_cast<uint32_t>(variableTypes_.size() - 1);
  }

  Instance* newInstance(uint32_t functionIndex, const Instance* caller) {
    instances_.push_back(std::make_unique<Instance>());
    Instance* instance = instances_.back().get();
    instance->function = &program_.module->functions[functionIndex];
    instance->functionIndex = functionIndex;
    instance->caller = caller;
    instance->firstVariable = static_cast<uint32_t>(variableTypes_.size());
    for (const Register& r : instance->function->registers) newVariable(integerClass(ptx::bitsOf(r.type)));
    return instance;
  }

  ParamObject* newObject() {
    objects_.push_back(std::make_unique<ParamObject>());
    return objects_.back().get();
  }

  uint32_t newBlock() {
    raw_.emplace_back();
    return static_cast<uint32_t>(raw_.size() - 1);
  }

  void jump(uint32_t from, uint32_t to) {
    raw_[from].terminator = Block::Jump;
    raw_[from].successors = {to};
  }

  // Blocks of a function body; returns its first block. `after` is where `ret` goes.
  uint32_t expand(Instance& instance, uint32_t after) {
    const Function& f = *instance.function;
    if (f.isDeclaration) unsupportedConstruct(f.line, "call of undefined function %s", f.name.c_str());
    std::vector<uint32_t> blockAt(f.body.size() + 1, kNone);
    for (const Label& label : f.labels) {
      if (label.instruction > f.body.size()) continue;
      if (blockAt[label.instruction] == kNone) blockAt[label.instruction] = newBlock();
    }
    const uint32_t first = blockAt[0] != kNone ? blockAt[0] : (blockAt[0] = newBlock());
    uint32_t current = first;
    bool open = true;
    for (size_t n = 0; n < f.body.size(); ++n) {
      if (blockAt[n] != kNone && blockAt[n] != current) {
        if (open) jump(current, blockAt[n]);
        current = blockAt[n];
        open = true;
      }
      if (!open) {  // unreachable code without a label
        current = newBlock();
        open = true;
      }
      const ptx::Instruction& i = f.body[n];
      if (++expanded_ > kMaxInstructions)
        unsupportedConstruct(i.line, "kernel of over %zu instructions", kMaxInstructions);
      const auto operandAt = [&](uint32_t k) -> const Operand& { return f.operands[i.first + k]; };
      switch (i.op) {
        case Op::Bra: {
          const uint32_t target = labelBlock(f, blockAt, operandAt(0), i);
          current = branch(instance, i, current, target, open);
          break;
        }
        case Op::Ret:
          current = branch(instance, i, current, after, open);
          break;
        case Op::Exit:
          current = branch(instance, i, current, kEnd, open);
          break;
        case Op::Brx: {
          const Operand& table = operandAt(1);
          if (i.guard >= 0 || table.symbolKind != SymbolKind::BranchTable)
            unsupportedConstruct(i.line, "guarded brx.idx");
          raw_[current].terminator = Block::Switch;
          raw_[current].condition = instance.firstVariable + operandAt(0).reg;
          raw_[current].line = i.line;
          for (uint32_t label : f.branchTables[table.symbol].labels)
            raw_[current].successors.push_back(blockAt[f.labels[label].instruction]);
          open = false;
          break;
        }
        case Op::Call:
          current = call(instance, i, current);
          break;
        default:
          raw_[current].items.push_back({&i, &instance});
          break;
      }
    }
    if (blockAt[f.body.size()] != kNone) {
      if (open) jump(current, blockAt[f.body.size()]);
      current = blockAt[f.body.size()];
      open = true;
    }
    if (open) jump(current, after);
    return first;
  }

  static uint32_t labelBlock(const Function& f, const std::vector<uint32_t>& blockAt, const Operand& o,
                             const ptx::Instruction& i) {
    if (o.symbolKind != SymbolKind::Label) unsupportedConstruct(i.line, "branch to something that is not a label");
    return blockAt[f.labels[o.symbol].instruction];
  }

  // A possibly guarded jump; returns the block that what follows goes to.
  uint32_t branch(Instance& instance, const ptx::Instruction& i, uint32_t current, uint32_t target, bool& open) {
    raw_[current].line = i.line;
    if (i.guard < 0) {
      jump(current, target);
      open = false;
      return current;
    }
    const uint32_t next = newBlock();
    raw_[current].terminator = Block::Branch;
    raw_[current].condition = instance.firstVariable + static_cast<uint32_t>(i.guard);
    raw_[current].negated = i.guardNegated;
    raw_[current].successors = {target, next};
    return next;
  }

  ParamObject* objectOf(Instance& instance, const Operand& o, uint32_t line) {
    switch (o.symbolKind) {
      case SymbolKind::FunctionVariable: {
        ParamObject*& object = instance.locals[o.symbol];
        if (!object) object = newObject();
        return object;
      }
      case SymbolKind::Parameter:
        if (o.symbol < instance.parameters.size()) return instance.parameters[o.symbol];
        break;
      case SymbolKind::ReturnParameter:
        if (o.symbol < instance.returns.size()) return instance.returns[o.symbol];
        break;
      default:
        break;
    }
    unsupportedConstruct(line, "this use of .param space");
  }

  uint32_t pieceOf(ParamObject& object, int64_t offset, uint32_t bits, uint32_t line) {
    auto [at, inserted] = object.pieces.try_emplace(offset);
    if (inserted) {
      at->second = {newVariable(integerClass(bits)), bits};
      if (at != object.pieces.begin()) {
        auto before = std::prev(at);
        if (before->first + before->second.bits / 8 > offset)
          unsupportedConstruct(line, "call argument accessed in overlapping pieces");
      }
      auto next = std::next(at);
      if (next != object.pieces.end() && offset + bits / 8 > next->first)
        unsupportedConstruct(line, "call argument accessed in overlapping pieces");
    } else if (at->second.bits != bits) {
      unsupportedConstruct(line, "call argument accessed with two widths");
    }
    return at->second.variable;
  }

  uint32_t call(Instance& instance, const ptx::Instruction& i, uint32_t current) {
    const Function& f = *instance.function;
    // Operands: the return list and the argument list are vectors, the target a symbol.
    const Operand *target = nullptr, *returns = nullptr, *arguments = nullptr;
    for (uint32_t k = 0; k < i.count; ++k) {
      const Operand& o = f.operands[i.first + k];
      if (o.kind == Operand::Kind::Vector) {
        (target ? arguments : returns) = &o;
      } else if (!target && (o.kind == Operand::Kind::Symbol || o.kind == Operand::Kind::Register)) {
        target = &o;
      }
    }
    if (!target || target->kind != Operand::Kind::Symbol || target->symbolKind != SymbolKind::Function)
      unsupportedConstruct(i.line, "call through a register");
    uint32_t after = kNone;
    if (i.guard >= 0) {
      const uint32_t taken = newBlock();
      after = newBlock();
      raw_[current].terminator = Block::Branch;
      raw_[current].condition = instance.firstVariable + static_cast<uint32_t>(i.guard);
      raw_[current].negated = i.guardNegated;
      raw_[current].successors = {taken, after};
      raw_[current].line = i.line;
      current = taken;
    }
    const Function& callee = program_.module->functions[target->symbol];
    if (callee.isDeclaration) {
      raw_[current].items.push_back({&i, &instance});
      if (after == kNone) return current;
      jump(current, after);
      return after;
    }
    for (const Instance* up = &instance; up; up = up->caller)
      if (up->functionIndex == target->symbol)
        unsupportedConstruct(i.line, "recursive call of %s", callee.name.c_str());
    Instance* inlined = newInstance(target->symbol, &instance);
    const auto bind = [&](const Operand* list, const std::vector<Variable>& formals, std::vector<ParamObject*>& objects,
                          bool input) {
      std::vector<std::pair<const Operand*, ParamObject*>> registers;
      const uint32_t count = list ? list->count : 0;
      if (count != formals.size())
        unsupportedConstruct(i.line, "call of %s with a wrong number of arguments", callee.name.c_str());
      for (uint32_t k = 0; k < count; ++k) {
        const Operand& o = f.operands[list->first + k];
        if (o.kind == Operand::Kind::Symbol) {
          objects.push_back(objectOf(instance, o, i.line));
        } else {
          objects.push_back(newObject());
          registers.push_back({&o, objects.back()});
          const uint32_t piece = pieceOf(*objects.back(), 0, ptx::bitsOf(formals[k].type), i.line);
          if (input) {
            Item copy;
            copy.instance = &instance;
            copy.copyTo = piece;
            copy.copyOperand = &o;
            raw_[current].items.push_back(copy);
          }
        }
      }
      return registers;
    };
    bind(arguments, callee.parameters, inlined->parameters, true);
    auto results = bind(returns, callee.returns, inlined->returns, false);
    const uint32_t back = newBlock();
    const uint32_t body = expand(*inlined, back);
    jump(current, body);
    for (auto& [operand, object] : results) {
      if (operand->kind != Operand::Kind::Register) continue;
      Item copy;
      copy.instance = &instance;
      copy.copyTo = instance.firstVariable + operand->reg;
      copy.copyFrom = object->pieces.at(0).variable;
      raw_[back].items.push_back(copy);
    }
    if (after == kNone) return back;
    jump(back, after);
    return after;
  }

  // Follows empty blocks that only jump.
  uint32_t thread(uint32_t b) {
    for (int limit = 0; limit < 100000; ++limit) {
      const RawBlock& block = raw_[b];
      if (b == kEnd || !block.items.empty() || block.terminator != Block::Jump || block.successors[0] == b) return b;
      b = block.successors[0];
    }
    return b;
  }

  void layOutBlocks(uint32_t first) {
    for (RawBlock& block : raw_) {
      for (uint32_t& s : block.successors) s = thread(s);
      if (block.terminator == Block::Branch && block.successors[0] == block.successors[1]) {
        block.terminator = Block::Jump;
        block.successors.resize(1);
      }
    }
    first = thread(first);
    // The entry gets a block of its own without predecessors.
    const uint32_t start = newBlock();
    jump(start, first);
    std::vector<std::vector<uint32_t>> successors(raw_.size());
    for (uint32_t b = 0; b < raw_.size(); ++b) successors[b] = raw_[b].successors;
    const std::vector<uint32_t> order = orderBlocks(successors, start);
    std::vector<uint32_t> position(raw_.size(), kNone);
    for (uint32_t n = 0; n < order.size(); ++n) position[order[n]] = n;
    program_.blocks.resize(order.size());
    rawOf_ = order;
    for (uint32_t n = 0; n < order.size(); ++n) {
      const RawBlock& raw = raw_[order[n]];
      Block& block = program_.blocks[n];
      block.terminator = order[n] == kEnd ? Block::Exit : raw.terminator;
      block.conditionNegated = raw.negated;
      block.line = raw.line;
      for (uint32_t s : raw.successors) block.successors.push_back(position[s]);
    }
    for (uint32_t n = 0; n < order.size(); ++n)
      for (BlockId s : program_.blocks[n].successors) program_.blocks[s].predecessors.push_back(n);
    current_.resize(order.size());
  }

  ValueId newValue(Value value) {
    program_.values.push_back(std::move(value));
    forward_.push_back(kNone);
    return static_cast<ValueId>(program_.values.size() - 1);
  }

  ValueId resolve(ValueId v) {
    while (v != kNone && forward_[v] != kNone) v = forward_[v];
    return v;
  }

  ValueId newPhi(BlockId b, uint32_t variable) {
    Value phi;
    phi.kind = Value::Phi;
    phi.type = variableTypes_[variable];
    phi.block = b;
    const ValueId id = newValue(phi);
    program_.blocks[b].phis.push_back(id);
    return id;
  }

  // The value of a variable at the end of a block (or so far, while it is being filled).
  ValueId read(uint32_t variable, BlockId b) {
    auto found = current_[b].find(variable);
    if (found != current_[b].end()) return found->second;
    const Block& block = program_.blocks[b];
    ValueId value;
    if (block.predecessors.empty()) {
      Value undefined;
      undefined.type = variableTypes_[variable];
      value = newValue(undefined);
    } else if (block.predecessors.size() == 1 && !leavesLoop(block.predecessors[0], b)) {
      value = read(variable, block.predecessors[0]);
    } else {
      value = newPhi(b, variable);
      pendingPhis_.push_back({value, variable});
    }
    current_[b][variable] = value;
    return value;
  }

  bool leavesLoop(BlockId from, BlockId to) const {
    const LoopId loop = program_.blocks[from].loop;
    return loop != kNone && !program_.inLoop(to, loop);
  }

  void write(uint32_t variable, BlockId b, ValueId value) { current_[b][variable] = value; }

  void completePhis() {
    while (!pendingPhis_.empty()) {
      auto [phi, variable] = pendingPhis_.back();
      pendingPhis_.pop_back();
      const BlockId b = program_.values[phi].block;
      std::vector<ValueId> incoming;
      for (BlockId p : program_.blocks[b].predecessors) incoming.push_back(read(variable, p));
      program_.values[phi].incoming = std::move(incoming);
    }
  }

  // The one value a phi stands for, or kNone. A phi that carries a value out of its loop stays.
  ValueId trivialValue(ValueId id) {
    const Value& phi = program_.values[id];
    ValueId same = kNone;
    for (ValueId in : phi.incoming) {
      in = resolve(in);
      if (in == id || in == same) continue;
      if (same != kNone) return kNone;
      same = in;
    }
    if (same == kNone) return kNone;
    const BlockId definition = program_.values[same].block;
    if (definition == kNone) return same;
    for (BlockId p : program_.blocks[phi.block].predecessors)
      for (LoopId loop = program_.blocks[p].loop; loop != kNone; loop = program_.loops[loop].parent)
        if (program_.inLoop(definition, loop) && !program_.inLoop(phi.block, loop)) return kNone;
    return same;
  }

  void removeTrivialPhis() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Block& block : program_.blocks)
        for (ValueId phi : block.phis) {
          if (forward_[phi] != kNone) continue;
          const ValueId same = trivialValue(phi);
          if (same == kNone) continue;
          forward_[phi] = same;
          changed = true;
        }
    }
    removeDeadPhis();
    for (Instruction& i : program_.instructions) {
      for (ValueId& v : i.sources) v = resolve(v);
      for (ValueId& v : i.old) v = resolve(v);
      i.guard = resolve(i.guard);
      i.carryIn = resolve(i.carryIn);
    }
    for (Block& block : program_.blocks) {
      block.condition = resolve(block.condition);
      for (ValueId phi : block.phis)
        for (ValueId& v : program_.values[phi].incoming) v = resolve(v);
    }
  }

  void removeDeadPhis() {
    std::vector<bool> live(program_.values.size(), false);
    std::vector<ValueId> work;
    const auto mark = [&](ValueId v) {
      v = resolve(v);
      if (v == kNone || live[v]) return;
      live[v] = true;
      if (program_.values[v].kind == Value::Phi) work.push_back(v);
    };
    for (const Instruction& i : program_.instructions) {
      for (ValueId v : i.sources) mark(v);
      for (ValueId v : i.old) mark(v);
      mark(i.guard);
      mark(i.carryIn);
    }
    for (const Block& block : program_.blocks) mark(block.condition);
    while (!work.empty()) {
      const ValueId phi = work.back();
      work.pop_back();
      for (ValueId v : program_.values[phi].incoming) mark(v);
    }
    for (Block& block : program_.blocks)
      std::erase_if(block.phis, [&](ValueId phi) { return forward_[phi] != kNone || !live[phi]; });
  }

  // A phi of float results is kept as a float: registers of newer PTX do not say.
  void refineTypes() {
    const auto floatOf = [](Class c) { return c == Class::I32 ? Class::F32 : Class::F64; };
    for (bool changed = true; changed;) {
      changed = false;
      for (Block& block : program_.blocks)
        for (ValueId id : block.phis) {
          Value& phi = program_.values[id];
          if (phi.type != Class::I32 && phi.type != Class::I64) continue;
          for (ValueId in : phi.incoming)
            if (program_.values[in].type == floatOf(phi.type)) {
              phi.type = floatOf(phi.type);
              changed = true;
              break;
            }
        }
    }
  }

  void markCrossBlockUses() {
    const auto use = [&](ValueId v, BlockId b) {
      if (v != kNone && program_.values[v].block != b) program_.values[v].usedElsewhere = true;
    };
    for (const Instruction& i : program_.instructions) {
      for (ValueId v : i.sources) use(v, i.block);
      for (ValueId v : i.old) use(v, i.block);
      use(i.guard, i.block);
      use(i.carryIn, i.block);
    }
    for (BlockId b = 0; b < program_.blocks.size(); ++b) {
      use(program_.blocks[b].condition, b);
      for (ValueId phi : program_.blocks[b].phis)
        for (ValueId v : program_.values[phi].incoming) use(v, kNone);
    }
  }

  ValueId constant(Class type, uint64_t bits) {
    auto [at, inserted] = constants_.try_emplace({type, bits}, kNone);
    if (inserted) {
      Value value;
      value.kind = Value::Constant;
      value.type = type;
      value.bits = bits;
      at->second = newValue(value);
    }
    return at->second;
  }

  static uint64_t immediateBits(const Operand& o, Type type) {
    if (o.literal == Operand::Literal::Integer) {
      return o.bits;
    }
    if (o.literal == Operand::Literal::F64 && ptx::bitsOf(type) == 32) {
      double wide;
      std::memcpy(&wide, &o.bits, 8);
      const float narrow = static_cast<float>(wide);
      uint32_t bits;
      std::memcpy(&bits, &narrow, 4);
      return bits;
    }
    if (o.literal == Operand::Literal::F32 && ptx::bitsOf(type) == 64) {
      float narrow;
      const uint32_t low = static_cast<uint32_t>(o.bits);
      std::memcpy(&narrow, &low, 4);
      const double wide = narrow;
      uint64_t bits;
      std::memcpy(&bits, &wide, 8);
      return bits;
    }
    return o.bits;
  }

  ValueId symbolValue(const Instance& instance, SymbolKind kind, uint32_t symbol, int64_t offset, uint32_t line) {
    Value value;
    value.kind = Value::Symbol;
    value.symbolKind = kind;
    value.symbol = symbol;
    value.function = instance.functionIndex;
    value.offset = offset;
    value.type = Class::I64;
    const auto key = std::make_tuple(static_cast<int>(kind), kind == SymbolKind::ModuleVariable ? 0u : value.function,
                                     symbol, offset);
    switch (kind) {
      case SymbolKind::ModuleVariable:
        noteVariable(program_.module->variables[symbol]);
        break;
      case SymbolKind::FunctionVariable: {
        const Variable& v = instance.function->variables[symbol];
        noteVariable(v);
        if (v.space == Space::Local) placeLocal(value.function, symbol, v);
        if (v.space == Space::Param) unsupportedConstruct(line, "address of a call argument");
        break;
      }
      case SymbolKind::Parameter:
        if (instance.caller) unsupportedConstruct(line, "address of a function parameter");
        break;
      default:
        unsupportedConstruct(line, "address of a function or label");
    }
    auto [at, inserted] = symbols_.try_emplace(key, kNone);
    if (inserted) at->second = newValue(value);
    return at->second;
  }

  void noteVariable(const Variable& v) {
    if (v.space == Space::Shared && v.unsizedArray) program_.usesDynamicShared = true;
  }

  void placeLocal(uint32_t function, uint32_t symbol, const Variable& v) {
    auto [at, inserted] = program_.locals.try_emplace({function, symbol}, 0u);
    if (!inserted) return;
    const uint64_t alignment = std::max<uint64_t>(v.alignment, 1);
    const uint64_t offset = (program_.localSize + alignment - 1) / alignment * alignment;
    if (offset + v.size > (1u << 19)) unsupportedConstruct(0, "over 512 KiB of local memory");
    at->second = static_cast<uint32_t>(offset);
    program_.localSize = static_cast<uint32_t>(offset + v.size);
  }

  ValueId special(ptx::Special which, uint32_t line) {
    (void)line;
    auto [at, inserted] = specials_.try_emplace(which, kNone);
    if (inserted) {
      Value value;
      value.kind = Value::Special;
      value.special = which;
      value.type = isWideSpecial(which) ? Class::I64 : Class::I32;
      at->second = newValue(value);
    }
    return at->second;
  }

  // One source operand (not a vector) as a value.
  void addSource(Instruction& out, const Instance& instance, const Operand& o, BlockId b, Type type) {
    const uint32_t line = out.ast ? out.ast->line : 0;
    ValueId value = kNone;
    int64_t offset = 0;
    switch (o.kind) {
      case Operand::Kind::Register:
        value = read(instance.firstVariable + o.reg, b);
        break;
      case Operand::Kind::Immediate:
        value = constant(type == Type::Pred ? Class::Pred : Class::I64, immediateBits(o, type));
        break;
      case Operand::Kind::Special:
        value = special(o.special, line);
        break;
      case Operand::Kind::Symbol:
        value = symbolValue(instance, o.symbolKind, o.symbol, o.offset, line);
        break;
      case Operand::Kind::Address:
        if (o.isBaseRegister) {
          value = read(instance.firstVariable + o.reg, b);
          offset = o.offset;
        } else if (o.symbolKind != SymbolKind::None) {
          value = symbolValue(instance, o.symbolKind, o.symbol, o.offset, line);
        } else {
          value = constant(Class::I64, static_cast<uint64_t>(o.offset) + o.bits);
        }
        break;
      case Operand::Kind::Sink:
      case Operand::Kind::None:
        break;
      case Operand::Kind::Vector:
        unsupportedConstruct(line, "nested vector operand");
    }
    out.sources.push_back(value);
    out.offsets.push_back(offset);
    out.negated.push_back(o.negated);
  }

  void addOperand(Instruction& out, const Instance& instance, const Operand& o, BlockId b, Type type) {
    out.operandFirst.push_back(static_cast<uint8_t>(out.sources.size()));
    if (o.kind != Operand::Kind::Vector) return addSource(out, instance, o, b, type);
    for (uint32_t k = 0; k < o.count; ++k) addSource(out, instance, instance.function->operands[o.first + k], b, type);
  }

  void fillBlock(BlockId b) {
    const RawBlock& raw = raw_[rawOf_[b]];
    for (const Item& item : raw.items) addItem(item, b);
    Block& block = program_.blocks[b];
    if (raw.condition != kNone && block.terminator != Block::Jump && block.terminator != Block::Exit)
      block.condition = read(raw.condition, b);
  }

  void addItem(const Item& item, BlockId b) {
    if (!item.ast) return addCopy(item, b);
    const ptx::Instruction& ast = *item.ast;
    Instance& instance = *item.instance;
    if (isParamAccess(ast, instance)) return addParamAccess(ast, instance, b);
    switch (ast.op) {
      case Op::Pmevent:
      case Op::Brkpt:
      case Op::Prefetch:
      case Op::Prefetchu:
      case Op::Discard:
      case Op::Applypriority:
      case Op::Griddepcontrol:
      case Op::Setmaxnreg:
        return;
      default:
        break;
    }
    const uint32_t index = static_cast<uint32_t>(program_.instructions.size());
    Instruction out;
    out.ast = &ast;
    out.function = instance.function;
    out.functionIndex = instance.functionIndex;
    out.block = b;
    const Function& f = *instance.function;
    if (ast.guard >= 0) {
      out.guard = read(instance.firstVariable + static_cast<uint32_t>(ast.guard), b);
      out.guardNegated = ast.guardNegated;
    }
    if (ast.op == Op::Call) {
      out.guard = kNone;
      addSyscall(out, instance, b, index);
      return;
    }
    const uint32_t destinations = destinationCount(ast);
    for (uint32_t k = destinations; k < ast.count; ++k)
      addOperand(out, instance, f.operands[ast.first + k], b, sourceType(ast, k - destinations));
    if (readsCarry(ast.op)) out.carryIn = read(carry_, b);
    for (uint32_t k = 0; k < destinations; ++k) {
      const Operand& o = f.operands[ast.first + k];
      if (o.kind == Operand::Kind::Vector) {
        for (uint32_t e = 0; e < o.count; ++e) addResult(out, instance, f.operands[o.first + e], b, index);
      } else {
        addResult(out, instance, o, b, index);
      }
    }
    if (ast.has(Mod::Cc)) out.carryOut = addResultVariable(out, carry_, b, index, Class::Pred);
    program_.blocks[b].instructions.push_back(index);
    program_.instructions.push_back(std::move(out));
  }

  void addResult(Instruction& out, const Instance& instance, const Operand& o, BlockId b, uint32_t index) {
    if (o.kind != Operand::Kind::Register) {
      out.results.push_back(kNone);
      out.old.push_back(kNone);
      return;
    }
    const uint32_t variable = instance.firstVariable + o.reg;
    addResultVariable(out, variable, b, index, resultClass(*out.ast, variableTypes_[variable]));
  }

  ValueId addResultVariable(Instruction& out, uint32_t variable, BlockId b, uint32_t index, Class type) {
    ValueId old = kNone;
    if (out.guard != kNone) {
      old = read(variable, b);
      if (program_.values[old].kind == Value::Undefined) old = kNone;
    }
    Value value;
    value.kind = Value::Result;
    value.type = type;
    value.block = b;
    value.instruction = index;
    value.resultIndex = static_cast<uint32_t>(out.results.size());
    const ValueId id = newValue(value);
    out.results.push_back(id);
    out.old.push_back(old);
    write(variable, b, id);
    return id;
  }

  void addCopy(const Item& item, BlockId b) {
    if (item.copyFrom != kNone) return write(item.copyTo, b, read(item.copyFrom, b));
    Instruction scratch;
    addSource(scratch, *item.instance, *item.copyOperand, b, Type::None);
    write(item.copyTo, b, scratch.sources[0]);
  }

  // ld.param and st.param of call arguments (the entry's own parameters are memory).
  static bool isParamAccess(const ptx::Instruction& ast, const Instance& instance) {
    if (ast.op != Op::Ld && ast.op != Op::St) return false;
    if (ast.space != Space::Param && ast.space != Space::ParamFunction) return false;
    const Operand& address = instance.function->operands[ast.first + (ast.op == Op::Ld ? 1 : 0)];
    if (address.kind != Operand::Kind::Address || address.isBaseRegister) return false;
    if (address.symbolKind == SymbolKind::Parameter) return instance.caller != nullptr;
    if (address.symbolKind == SymbolKind::ReturnParameter) return true;
    return address.symbolKind == SymbolKind::FunctionVariable &&
           instance.function->variables[address.symbol].space == Space::Param;
  }

  void addParamAccess(const ptx::Instruction& ast, Instance& instance, BlockId b) {
    const Function& f = *instance.function;
    const bool load = ast.op == Op::Ld;
    const Operand& address = f.operands[ast.first + (load ? 1 : 0)];
    const Operand& data = f.operands[ast.first + (load ? 0 : 1)];
    ParamObject& object = *objectOf(instance, address, ast.line);
    const Type type = ast.type();
    const uint32_t bits = ptx::bitsOf(type);
    const uint32_t count = data.kind == Operand::Kind::Vector ? data.count : 1;
    if (ast.guard >= 0) unsupportedConstruct(ast.line, "guarded access of a call argument");
    for (uint32_t k = 0; k < count; ++k) {
      const Operand& o = data.kind == Operand::Kind::Vector ? f.operands[data.first + k] : data;
      const uint32_t piece = pieceOf(object, address.offset + k * (bits / 8), bits, ast.line);
      if (load) {
        if (o.kind != Operand::Kind::Register) continue;
        const uint32_t variable = instance.firstVariable + o.reg;
        ValueId value = read(piece, b);
        // Loads narrower than the register extend: keep the instruction as a conversion.
        if (bitsOf(variableTypes_[variable]) != bits) value = convert(ast, f, value, variableTypes_[variable], b);
        write(variable, b, value);
      } else {
        Instruction scratch;
        scratch.ast = &ast;
        addSource(scratch, instance, o, b, type);
        write(piece, b, scratch.sources[0]);
      }
    }
  }

  // A value widened the way `ld` does: the emitter treats an Ld with kNone as its address as this conversion.
  ValueId convert(const ptx::Instruction& ast, const Function& f, ValueId value, Class type, BlockId b) {
    Instruction out;
    out.ast = &ast;
    out.function = &f;
    out.block = b;
    out.sources = {kNone, value};
    out.offsets = {0, 0};
    out.negated = {false, false};
    Value result;
    result.kind = Value::Result;
    result.type = type;
    result.block = b;
    result.instruction = static_cast<uint32_t>(program_.instructions.size());
    const ValueId id = newValue(result);
    out.results = {id};
    out.old = {kNone};
    program_.blocks[b].instructions.push_back(result.instruction);
    program_.instructions.push_back(std::move(out));
    return id;
  }

  // A call of one of the driver's own functions: sources are the arguments.
  void addSyscall(Instruction& out, Instance& instance, BlockId b, uint32_t index) {
    const Function& f = *instance.function;
    const ptx::Instruction& ast = *out.ast;
    const Operand *target = nullptr, *returns = nullptr, *arguments = nullptr;
    for (uint32_t k = 0; k < ast.count; ++k) {
      const Operand& o = f.operands[ast.first + k];
      if (o.kind == Operand::Kind::Vector) {
        (target ? arguments : returns) = &o;
      } else if (!target) {
        target = &o;
      }
    }
    const Function& callee = program_.module->functions[target->symbol];
    if (!isSyscall(callee.name)) unsupportedConstruct(ast.line, "call of undefined function %s", callee.name.c_str());
    for (uint32_t k = 0; arguments && k < arguments->count && k < callee.parameters.size(); ++k) {
      const Operand& o = f.operands[arguments->first + k];
      if (o.kind == Operand::Kind::Symbol) {
        ParamObject& object = *objectOf(instance, o, ast.line);
        out.sources.push_back(read(pieceOf(object, 0, ptx::bitsOf(callee.parameters[k].type), ast.line), b));
        out.offsets.push_back(0);
        out.negated.push_back(false);
      } else {
        addSource(out, instance, o, b, callee.parameters[k].type);
      }
    }
    if (returns && returns->count == 1 && callee.returns.size() == 1) {
      const Operand& o = f.operands[returns->first];
      const uint32_t bits = ptx::bitsOf(callee.returns[0].type);
      const uint32_t variable = o.kind == Operand::Kind::Symbol
                                    ? pieceOf(*objectOf(instance, o, ast.line), 0, bits, ast.line)
                                    : instance.firstVariable + o.reg;
      addResultVariable(out, variable, b, index, integerClass(bits));
    }
    program_.blocks[b].instructions.push_back(index);
    program_.instructions.push_back(std::move(out));
  }

  Program program_;
  std::vector<RawBlock> raw_;
  std::vector<uint32_t> rawOf_;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<std::unique_ptr<ParamObject>> objects_;
  std::vector<Class> variableTypes_;
  std::vector<std::map<uint32_t, ValueId>> current_;
  std::vector<ValueId> forward_;
  std::vector<std::pair<ValueId, uint32_t>> pendingPhis_;
  std::map<std::pair<Class, uint64_t>, ValueId> constants_;
  std::map<std::tuple<int, uint32_t, uint32_t, int64_t>, ValueId> symbols_;
  std::map<ptx::Special, ValueId> specials_;
  uint32_t carry_ = 0;
  size_t expanded_ = 0;
};

}  // namespace

Program buildProgram(const Module& module, uint32_t entry) { return Builder(module, entry).build(); }

}  // namespace vg::ptx::gen
