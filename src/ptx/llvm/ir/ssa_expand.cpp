// Blocks of the kernel and of everything it calls, every call a copy of its own.
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/ir/ssa_builder.h"

namespace vg::ptx::gen {

static constexpr size_t kMaxInstructions = 60000;

uint32_t SsaBuilder::newVariable(Class type) {
  variableTypes_.push_back(type);
  return static_cast<uint32_t>(variableTypes_.size() - 1);
}

Instance* SsaBuilder::newInstance(uint32_t functionIndex, const Instance* caller) {
  instances_.push_back(std::make_unique<Instance>());
  Instance* instance = instances_.back().get();
  instance->function = &program_.module->functions[functionIndex];
  instance->functionIndex = functionIndex;
  instance->caller = caller;
  if (caller) instance->recursion = caller->recursion;
  instance->firstVariable = static_cast<uint32_t>(variableTypes_.size());
  for (const Register& r : instance->function->registers) newVariable(integerClass(ptx::bitsOf(r.type)));
  return instance;
}

ParamObject* SsaBuilder::newObject() {
  objects_.push_back(std::make_unique<ParamObject>());
  return objects_.back().get();
}

uint32_t SsaBuilder::newBlock() {
  raw_.emplace_back();
  return static_cast<uint32_t>(raw_.size() - 1);
}

void SsaBuilder::jump(uint32_t from, uint32_t to) {
  raw_[from].terminator = Block::Jump;
  raw_[from].successors = {to};
}

uint32_t SsaBuilder::expand(Instance& instance, uint32_t after) {
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
        if (table.symbolKind != SymbolKind::BranchTable)
          unsupportedConstruct(i.line, "brx.idx by something that is not a table");
        const uint32_t chooses = i.guard >= 0 ? newBlock() : current;
        current = i.guard >= 0 ? branch(instance, i, current, chooses, open) : current;
        raw_[chooses].terminator = Block::Switch;
        raw_[chooses].condition = instance.firstVariable + operandAt(0).reg;
        raw_[chooses].line = i.line;
        for (uint32_t label : f.branchTables[table.symbol].labels)
          raw_[chooses].successors.push_back(blockAt[f.labels[label].instruction]);
        open = i.guard >= 0;
        break;
      }
      case Op::Call:
        current = call(instance, i, current);
        break;
      default:
        if (meetings_ && lanesMeetAt(i, f) && !raw_[current].items.empty()) {
          const uint32_t meeting = newBlock();
          jump(current, meeting);
          current = meeting;
        }
        if (isParamAccess(i, instance)) declarePieces(i, instance);
        if (isParamAccess(i, instance) && i.guard >= 0) {  // call arguments are no memory: a way of its own
          const uint32_t access = newBlock();
          const uint32_t behind = branch(instance, i, current, access, open);
          raw_[access].items.push_back({&i, &instance});
          jump(access, behind);
          current = behind;
          break;
        }
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

uint32_t SsaBuilder::labelBlock(const Function& f, const std::vector<uint32_t>& blockAt, const Operand& o,
                                const ptx::Instruction& i) {
  if (o.symbolKind != SymbolKind::Label) unsupportedConstruct(i.line, "branch to something that is not a label");
  return blockAt[f.labels[o.symbol].instruction];
}

uint32_t SsaBuilder::branch(Instance& instance, const ptx::Instruction& i, uint32_t current, uint32_t target,
                            bool& open) {
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

ParamObject* SsaBuilder::objectOf(Instance& instance, const Operand& o, uint32_t line) {
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

// So that the widths of all pieces are known before anything is made of them.
void SsaBuilder::declarePieces(const ptx::Instruction& i, Instance& instance) {
  const Function& f = *instance.function;
  const bool load = i.op == Op::Ld;
  const Operand &address = f.operands[i.first + (load ? 1 : 0)], &data = f.operands[i.first + (load ? 0 : 1)];
  const uint32_t bits = ptx::bitsOf(i.type()), count = data.kind == Operand::Kind::Vector ? data.count : 1;
  ParamObject& object = *objectOf(instance, address, i.line);
  for (uint32_t k = 0; k < count; ++k) pieceOf(object, address.offset + k * (bits / 8), bits, i.line);
}

// The piece at an offset, which may be wider than asked for.
uint32_t SsaBuilder::pieceOf(ParamObject& object, int64_t offset, uint32_t bits, uint32_t line) {
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
  } else if (at->second.bits < bits) {
    // While functions are expanded, the widest access decides; later all are known.
    if (filling_) unsupportedConstruct(line, "call argument accessed with two widths");
    const auto next = std::next(at);
    if (next != object.pieces.end() && offset + bits / 8 > next->first)
      unsupportedConstruct(line, "call argument accessed in overlapping pieces");
    at->second.bits = bits;
    variableTypes_[at->second.variable] = integerClass(bits);
  }
  return at->second.variable;
}

uint32_t SsaBuilder::thread(uint32_t b) {
  for (int limit = 0; limit < 100000; ++limit) {
    const RawBlock& block = raw_[b];
    if (b == kEnd || !block.items.empty() || block.terminator != Block::Jump || block.successors[0] == b) return b;
    b = block.successors[0];
  }
  return b;
}

void SsaBuilder::layOutBlocks(uint32_t first) {
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
  untangleLoops(start);
  const std::vector<uint32_t> order = orderBlocks(ways(), start);
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

}  // namespace vg::ptx::gen
