// Values of variables: phis where ways meet, and those among them that are none.

#include <algorithm>

#include "ptx/llvm/ir/ssa_builder.h"

namespace vg::ptx::gen {

ValueId SsaBuilder::newValue(Value value) {
  program_.values.push_back(std::move(value));
  forward_.push_back(kNone);
  return static_cast<ValueId>(program_.values.size() - 1);
}

ValueId SsaBuilder::resolve(ValueId v) {
  while (v != kNone && forward_[v] != kNone) v = forward_[v];
  return v;
}

ValueId SsaBuilder::unwritten(Class type) {
  auto [at, inserted] = unwritten_.try_emplace(type, kNone);
  if (inserted) {
    Value value;
    value.type = type;
    at->second = newValue(value);
  }
  return at->second;
}

ValueId SsaBuilder::newPhi(BlockId b, uint32_t variable) {
  Value phi;
  phi.kind = Value::Phi;
  phi.type = code_.variableTypes[variable];
  phi.block = b;
  const ValueId id = newValue(phi);
  program_.blocks[b].phis.push_back(id);
  return id;
}

void SsaBuilder::noteWrites() {
  for (BlockId b = 0; b < program_.blocks.size(); ++b)
    for (const Item& item : code_.blocks[rawOf_[b]].items)
      for (uint32_t variable : code_.effectsOf(item).writes) {
        // Pieces of parameters become variables here.
        if (variable >= writtenIn_.size()) writtenIn_.resize(code_.variableTypes.size());
        std::vector<BlockId>& blocks = writtenIn_[variable];
        if (blocks.empty() || blocks.back() != b) blocks.push_back(b);
      }
}

// Variables made later may be written anywhere.
bool SsaBuilder::writes(LoopId loop, uint32_t variable) const {
  if (variable >= writtenIn_.size()) return true;
  const std::vector<BlockId>& blocks = writtenIn_[variable];
  const auto first = std::ranges::lower_bound(blocks, program_.loops[loop].header);
  return first != blocks.end() && program_.inLoop(*first, loop);
}

// Of the header of a loop: the only block outside of it from which it is entered, as long as that is in no loop that
// ends there; kNone: there is none.
BlockId SsaBuilder::wayInto(LoopId loop) const {
  const BlockId header = program_.loops[loop].header;
  BlockId from = kNone;
  for (BlockId p : program_.blocks[header].predecessors) {
    if (program_.inLoop(p, loop)) continue;
    if (from != kNone) return kNone;
    from = p;
  }
  return from == kNone || leavesLoop(from, header) ? kNone : from;
}

// Where the loop begins that a block is behind or the header of, if nothing in the loop writes the variable; kNone
// otherwise. Nests of loops have a phi for each variable in each of them without this.
BlockId SsaBuilder::beforeLoop(uint32_t variable, BlockId b) const {
  const Block& block = program_.blocks[b];
  LoopId around = kNone;
  if (block.loop != kNone && program_.loops[block.loop].header == b)
    around = block.loop;
  else if (block.predecessors.size() == 1)
    for (LoopId l = program_.blocks[block.predecessors[0]].loop; l != kNone && !program_.inLoop(b, l);
         l = program_.loops[l].parent)
      around = l;
  return around == kNone || writes(around, variable) ? kNone : wayInto(around);
}

ValueId SsaBuilder::read(uint32_t variable, BlockId b) {
  auto found = current_[b].find(variable);
  if (found != current_[b].end()) return found->second;
  const Block& block = program_.blocks[b];
  ValueId value;
  if (block.predecessors.empty()) {
    value = unwritten(code_.variableTypes[variable]);
  } else if (block.predecessors.size() == 1 && !leavesLoop(block.predecessors[0], b)) {
    value = read(variable, block.predecessors[0]);
  } else if (const BlockId before = beforeLoop(variable, b); before != kNone) {
    value = read(variable, before);
  } else {
    value = newPhi(b, variable);
    pendingPhis_.push_back({value, variable});
  }
  current_[b][variable] = value;
  return value;
}

bool SsaBuilder::leavesLoop(BlockId from, BlockId to) const {
  const LoopId loop = program_.blocks[from].loop;
  return loop != kNone && !program_.inLoop(to, loop);
}

void SsaBuilder::completePhis() {
  while (!pendingPhis_.empty()) {
    auto [phi, variable] = pendingPhis_.back();
    pendingPhis_.pop_back();
    const BlockId b = program_.values[phi].block;
    std::vector<ValueId> incoming;
    for (BlockId p : program_.blocks[b].predecessors) incoming.push_back(read(variable, p));
    program_.values[phi].incoming = std::move(incoming);
  }
}

ValueId SsaBuilder::trivialValue(ValueId id) {
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
  for (BlockId p : program_.blocks[phi.block].predecessors) {
    LoopId loop = program_.blocks[p].loop;
    while (loop != kNone && !program_.inLoop(definition, loop)) loop = program_.loops[loop].parent;
    if (loop != kNone && !program_.inLoop(phi.block, loop)) return kNone;
  }
  return same;
}

void SsaBuilder::removeTrivialPhis() {
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

void SsaBuilder::removeDeadPhis() {
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

void SsaBuilder::refineTypes() {
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

void SsaBuilder::markCrossBlockUses() {
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

}  // namespace vg::ptx::gen
