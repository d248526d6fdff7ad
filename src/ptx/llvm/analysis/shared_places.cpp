#include "ptx/llvm/analysis/shared_places.h"

#include <algorithm>
#include <cstdlib>

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

constexpr int kDepth = 24;  // of expressions that are looked into
constexpr int kDepthOfTurns = 6;
constexpr int64_t kOtherArray = 128;  // bytes between constants of addresses that are taken for different arrays

const Instruction* plainInstruction(const Program& program, ValueId id) {
  const Value& v = program.values[id];
  if (v.kind != Value::Result || v.resultIndex != 0) return nullptr;
  const Instruction& i = program.instructions[v.instruction];
  const bool negates = std::find(i.negated.begin(), i.negated.end(), true) != i.negated.end();
  return i.guard == kNone && i.carryIn == kNone && i.carryOut == kNone && !negates && !i.sources.empty() &&
                 std::find(i.sources.begin(), i.sources.end(), kNone) == i.sources.end()
             ? &i
             : nullptr;
}

bool isIntegerCode(const ptx::Instruction& i) {
  for (uint32_t n = 0; n < i.typeCount; ++n)
    if (ptx::isFloat(i.types[n]) || i.types[n] == Type::Pred) return false;
  return !i.has(Mod::Sat) && !i.has(Mod::Hi);
}

std::optional<int64_t> constantOf(const Program& program, ValueId id) {
  const auto bits = knownBits(program, id);
  if (!bits) return {};
  return bitsOf(program.values[id].type) <= 32 ? static_cast<int32_t>(*bits) : static_cast<int64_t>(*bits);
}

bool isSharedVariable(const Program& program, const Value& v) {
  if (v.kind != Value::Symbol) return false;
  if (v.symbolKind == SymbolKind::FunctionVariable)
    return program.module->functions[v.function].variables[v.symbol].space == Space::Shared;
  return v.symbolKind == SymbolKind::ModuleVariable && program.module->variables[v.symbol].space == Space::Shared;
}

}  // namespace

SharedPlaces::SharedPlaces(const Program& program) : program_(program) {
  for (const Instruction& i : program.instructions)
    givesOutShared_ |= i.ast->op == Op::Cvta && !i.ast->has(Mod::To) && i.ast->space == Space::Shared;
}

// --- Addresses -----------------------------------------------------------------------------------------------------

void SharedPlaces::add(LinearPlace& to, const LinearPlace& place, int64_t factor) const {
  to.constant += place.constant * factor;
  for (const auto& [value, times] : place.terms)
    if ((to.terms[value] += times * factor) == 0) to.terms.erase(value);
}

LinearPlace SharedPlaces::placeOf(ValueId id, int depth) const {
  LinearPlace out;
  if (const auto constant = constantOf(program_, id)) {
    out.constant = *constant;
    return out;
  }
  const Value& v = program_.values[id];
  if (v.kind == Value::Symbol) {  // one leaf for all offsets into it
    out.constant = v.offset;
    ValueId first = id;
    for (ValueId other = 0; other < id; ++other) {
      const Value& w = program_.values[other];
      if (w.kind == Value::Symbol && w.symbolKind == v.symbolKind && w.symbol == v.symbol && w.function == v.function) {
        first = other;
        break;
      }
    }
    out.terms[first] = 1;
    return out;
  }
  const Instruction* const i = depth > 0 ? plainInstruction(program_, id) : nullptr;
  const auto leaf = [&] {
    out = {};
    out.terms[id] = 1;
    return out;
  };
  if (!i || !isIntegerCode(*i->ast)) return leaf();
  const auto source = [&](size_t n) { return placeOf(i->sources[n], depth - 1); };
  switch (i->ast->op) {
    case Op::Mov:
    case Op::Cvta:
    case Op::Cvt:
      if (i->sources.size() != 1) return leaf();
      return source(0);
    case Op::Add:
    case Op::Sub:
      add(out, source(0), 1);
      add(out, source(1), i->ast->op == Op::Add ? 1 : -1);
      return out;
    case Op::Mul:
    case Op::Mad: {
      const size_t of = constantOf(program_, i->sources[1]) ? 0 : 1;
      const auto factor = constantOf(program_, i->sources[1 - of]);
      if (!factor) return leaf();
      add(out, source(of), *factor);
      if (i->ast->op == Op::Mad) add(out, source(2), 1);
      return out;
    }
    case Op::Shl: {
      const auto amount = constantOf(program_, i->sources[1]);
      if (!amount || *amount < 0 || *amount > 31) return leaf();
      add(out, source(0), int64_t{1} << *amount);
      return out;
    }
    default:
      return leaf();
  }
}

void SharedPlaces::findVariables(ValueId id, Variables& found, std::set<ValueId>& seen) const {
  if (id == kNone || !seen.insert(id).second) return;
  const Value& v = program_.values[id];
  if (isSharedVariable(program_, v))
    found.insert({v.symbolKind == SymbolKind::FunctionVariable ? v.function : kNone, v.symbol});
  if (v.kind == Value::Phi)
    for (ValueId in : v.incoming) findVariables(in, found, seen);
  if (v.kind != Value::Result) return;
  const Instruction& i = program_.instructions[v.instruction];
  switch (i.ast->op) {
    case Op::Mov:
    case Op::Cvta:
    case Op::Cvt:
    case Op::Add:
    case Op::Sub:
    case Op::Mad:
    case Op::Or:
    case Op::And:
    case Op::Xor:
    case Op::Selp:
      for (ValueId s : i.sources) findVariables(s, found, seen);
      for (ValueId s : i.old) findVariables(s, found, seen);
      return;
    default:
      return;
  }
}

// Of a generic address: whether it comes neither from the kernel's parameters nor from other memory's variables.
bool SharedPlaces::mayBeShared(ValueId address) const {
  if (!givesOutShared_) return false;
  std::set<ValueId> seen;
  std::vector<ValueId> work{address};
  bool unknown = false;
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    if (id == kNone || !seen.insert(id).second) continue;
    const Value& v = program_.values[id];
    if (isSharedVariable(program_, v)) return true;
    if (v.kind == Value::Symbol) return false;
    if (givenPointer(program_, id)) return false;
    for (ValueId in : v.incoming) work.push_back(in);
    if (v.kind != Value::Result) continue;
    const Instruction& i = program_.instructions[v.instruction];
    if (i.ast->op == Op::Ld) {
      unknown |= v.type == Class::I64;
      continue;
    }
    if (bitsOf(v.type) >= 64)
      for (ValueId s : i.sources) work.push_back(s);
  }
  return unknown;
}

SharedAccess SharedPlaces::accessOf(uint32_t number) const {
  SharedAccess access;
  access.instruction = number;
  const Instruction& i = program_.instructions[number];
  const ptx::Instruction& ast = *i.ast;
  const Opcode& row = rowOf(ast.op);
  if (row.has(Trait::Texture)) return access;
  const bool isLoad = row.memory == MemoryUse::Loads, isStore = row.memory == MemoryUse::Stores;
  access.atomic = isAtomic(ast.op);
  if ((!isLoad && !isStore && !access.atomic) || i.sources.empty() || i.sources[0] == kNone) return access;
  const bool generic = ast.space == Space::None;
  if (generic ? !mayBeShared(i.sources[0]) : ast.space != Space::Shared) return access;
  access.reads = !isStore;
  access.writes = !isLoad;
  const uint32_t rows = row.has(Trait::Matrix) ? 16 : 0;  // ldmatrix, stmatrix
  access.bytes = std::max(rows, std::max(1u, ptx::bitsOf(ast.type()) / 8) * ast.vectorWidth);
  access.place = placeOf(i.sources[0], kDepth);
  access.place.constant += i.offsets[0];
  access.uniform = program_.values[i.sources[0]].shape.uniform() && !rows;
  std::set<ValueId> seen;
  findVariables(i.sources[0], access.variables, seen);
  return access;
}

// --- Whether they meet ---------------------------------------------------------------------------------------------

bool SharedPlaces::sameInBlock(ValueId id, int depth) const {
  const Value& v = program_.values[id];
  switch (v.kind) {
    case Value::Constant:
    case Value::Symbol:
      return true;
    case Value::Special:
      return v.special >= Special::NtidX && v.special <= Special::NtidZ;
    case Value::Result: {
      const Instruction& i = program_.instructions[v.instruction];
      if (i.ast->op == Op::Ld) {
        const Value* const base = i.sources[0] == kNone ? nullptr : &program_.values[i.sources[0]];
        return base && base->kind == Value::Symbol && base->symbolKind == SymbolKind::Parameter;
      }
      if (depth == 0 || i.guard != kNone || i.sources.empty() || readsSharedState(*i.ast)) return false;
      return std::all_of(i.sources.begin(), i.sources.end(),
                         [&](ValueId s) { return s != kNone && sameInBlock(s, depth - 1); });
    }
    default:
      return false;
  }
}

// The loops' values that a value is made of, and whether by more than steps and multiples: by what tells one buffer
// from another.
void SharedPlaces::findTurns(ValueId id, bool turned, int depth, Turns& found) const {
  const Value& v = program_.values[id];
  if (v.kind == Value::Phi) {
    found[id] |= turned;
    return;
  }
  if (v.kind != Value::Result || depth == 0) return;
  const Instruction& i = program_.instructions[v.instruction];
  switch (i.ast->op) {
    case Op::Sub:
      turned |= !constantOf(program_, i.sources[1]);
      break;
    case Op::Xor:
    case Op::Not:
    case Op::Selp:
    case Op::And:
    case Op::Rem:
    case Op::Setp:
    case Op::Lop3:
      turned = true;
      break;
    case Op::Add:
    case Op::Mov:
    case Op::Cvt:
    case Op::Mul:
    case Op::Mad:
    case Op::Shl:
    case Op::Shr:
      break;
    default:
      return;
  }
  for (ValueId s : i.sources)
    if (s != kNone) findTurns(s, turned, depth - 1, found);
}

// Whether two values that are the same in all lanes name different ones of several buffers.
bool SharedPlaces::takeTurns(ValueId a, ValueId b) const {
  Turns one, other;
  findTurns(a, false, kDepthOfTurns, one);
  findTurns(b, false, kDepthOfTurns, other);
  for (const auto& [phi, turned] : one) {
    if (const auto same = other.find(phi); same != other.end() && (turned || same->second)) return true;
    const Value& v = program_.values[phi];
    for (const auto& [with, unused] : other)  // two that change places
      if (with != phi && program_.values[with].block == v.block &&
          std::find(v.incoming.begin(), v.incoming.end(), with) != v.incoming.end())
        return true;
  }
  return false;
}

// Whether a loop's value names another buffer in the next round.
bool SharedPlaces::turnsInLoop(ValueId value) const {
  Turns made;
  findTurns(value, false, kDepthOfTurns, made);
  return std::any_of(made.begin(), made.end(), [&](const auto& of) {
    if (of.second) return true;
    const std::vector<ValueId>& incoming = program_.values[of.first].incoming;
    return std::any_of(incoming.begin(), incoming.end(),
                       [&](ValueId in) { return in != of.first && takeTurns(in, of.first); });
  });
}

bool SharedPlaces::inOtherBuffers(const LinearPlace& load, const LinearPlace& store, bool again) const {
  const auto uniform = [&](ValueId id) { return program_.values[id].shape.uniform(); };
  for (const auto& [to, times] : store.terms) {
    if (!uniform(to)) continue;
    if (again && load.terms.count(to) && turnsInLoop(to)) return true;
    for (const auto& [from, other] : load.terms)
      if (from != to && uniform(from) && takeTurns(to, from)) return true;
  }
  return false;
}

// Whether a value of the address may be another one by the time of the store, in a later round.
bool SharedPlaces::changesBetween(const LinearPlace& place, BlockId load, BlockId store) const {
  for (const auto& [value, times] : place.terms) {
    const BlockId at = program_.values[value].block;
    if (at == kNone) continue;
    for (LoopId l = program_.blocks[load].loop; l != kNone; l = program_.loops[l].parent)
      if (program_.inLoop(store, l) && program_.inLoop(at, l)) return true;
  }
  return false;
}

bool SharedPlaces::inOtherVariables(const SharedAccess& a, const SharedAccess& b) {
  return !a.variables.empty() && !b.variables.empty() &&
         std::ranges::none_of(a.variables, [&](const auto& v) { return b.variables.count(v) != 0; });
}

bool SharedPlaces::mayMeet(const SharedAccess& load, const SharedAccess& store, bool again) const {
  if (inOtherVariables(load, store)) return false;
  if (inOtherBuffers(load.place, store.place, again)) return false;
  LinearPlace apart = store.place;
  add(apart, load.place, -1);
  if (std::abs(apart.constant) >= kOtherArray) return false;
  if (!apart.terms.empty()) return true;
  const BlockId from = program_.instructions[load.instruction].block,
                to = program_.instructions[store.instruction].block;
  if (again && changesBetween(load.place, from, to)) return true;
  const bool one = std::all_of(load.place.terms.begin(), load.place.terms.end(),
                               [&](const auto& term) { return sameInBlock(term.first, kDepth); });
  if (one) return apart.constant < load.bytes && -apart.constant < store.bytes;
  return apart.constant != 0;  // else each has its own
}

// A pointer that rounds of a loop move by the same step in all lanes, as it is in the first round and what is added.
LinearPlace SharedPlaces::firstOfRounds(const LinearPlace& place) const {
  LinearPlace first = place;
  for (const auto& [value, times] : place.terms) {
    const Value& v = program_.values[value];
    if (v.kind != Value::Phi || v.shape.uniform() || v.incoming.size() != 2) continue;
    for (size_t n = 0; n < 2; ++n) {
      LinearPlace step = placeOf(v.incoming[n], kDepth);
      if (step.terms.erase(value) == 0) continue;
      const bool all =
          std::ranges::all_of(step.terms, [&](const auto& term) { return sameInBlock(term.first, kDepth); });
      if (!all) continue;
      first.terms.erase(value);
      add(first, placeOf(v.incoming[1 - n], kDepth), times);
      break;
    }
  }
  return first;
}

bool SharedPlaces::mayMeetInLoop(const SharedAccess& load, const SharedAccess& store) const {
  const auto isOfRound = [&](ValueId value) { return program_.values[value].kind == Value::Phi; };
  // How far a loop comes is unknown, so constants say nothing.
  const bool moves = std::ranges::any_of(load.place.terms, [&](const auto& term) { return isOfRound(term.first); });
  if (!moves) return mayMeet(load, store, false);
  if (inOtherVariables(load, store) || inOtherBuffers(load.place, store.place, false)) return false;
  LinearPlace apart = store.place;
  add(apart, firstOfRounds(load.place), -1);
  return std::ranges::any_of(apart.terms, [&](const auto& term) {
    const bool isAlike = isOfRound(term.first) && program_.values[term.first].shape.uniform();
    return !isAlike && !sameInBlock(term.first, kDepth);
  });
}

}  // namespace vg::ptx::gen
