#include "ptx/llvm/ir/ptx_facts.h"

#include "ptx/abi/system_calls.h"
#include "ptx/facts/async_form.h"
#include "ptx/facts/polls.h"
#include "ptx/llvm/ir/call_graph.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

Type sourceType(const ptx::Instruction& i, uint32_t source) {
  switch (i.op) {
    case Op::Cvt:
      return i.typeCount > 1 ? i.types[1] : i.type();
    case Op::Set:
      return i.typeCount > 1 ? i.types[1] : i.type();
    case Op::Slct:
      return source == 2 && i.typeCount > 1 ? i.types[1] : i.type();
    case Op::Add:  // the second type, if there is one, is that of all but the addend
    case Op::Sub:
      return source == 0 && i.typeCount > 1 ? i.types[1] : i.type();
    case Op::Fma:
      return source < 2 && i.typeCount > 1 ? i.types[1] : i.type();
    case Op::Barrier:
      return isHold(i) && bitsOf(i.type()) == 64 ? Type::B64 : Type::B32;
    case Op::Vote:
    case Op::Bar:
      return Type::B32;
    case Op::Mma:  // which bytes and lanes have the scales
      return i.has(Mod::BlockScale) ? Type::B32 : i.type();
    case Op::Tex:  // coordinates that are constants
    case Op::Tld4:
      return i.typeCount > 1 ? i.types[1] : i.type();
    default:
      return i.type();
  }
}

Class resultClass(const ptx::Instruction& i, Class reg) {
  if (i.op == Op::Setp || reg == Class::Pred || i.has(Mod::Wide)) return reg;
  if (i.type() == Type::F32 && reg == Class::I32) return Class::F32;
  if (i.type() == Type::F64 && reg == Class::I64) return Class::F64;
  return reg;
}

std::optional<uint64_t> knownBits(const Program& program, ValueId id) {
  const Value* value = &program.values[id];
  while (value->kind == Value::Result) {
    const Instruction& i = program.instructions[value->instruction];
    const bool plainMove =
        i.ast->op == Op::Mov && i.guard == kNone && i.results.size() == 1 && i.sources.size() == 1 && !i.negated[0];
    if (!plainMove) return {};
    value = &program.values[i.sources[0]];
  }
  if (value->kind != Value::Constant) return {};
  return value->bits;
}

std::optional<uint32_t> givenPointer(const Program& program, ValueId value) {
  const Value& v = program.values[value];
  if (v.kind != Value::Result || v.type != Class::I64) return {};
  const Instruction& i = program.instructions[v.instruction];
  if (i.ast->op != Op::Ld || i.guard != kNone || ptx::bitsOf(i.ast->type()) != 64) return {};
  const Value& base = program.values[i.sources[0]];
  if (base.kind != Value::Symbol || base.symbolKind != SymbolKind::Parameter) return {};
  return static_cast<uint32_t>(program.parameters[base.symbol].offset + base.offset + i.offsets[0] +
                               8 * int64_t{v.resultIndex});
}

bool isWideSpecial(Special s) {
  return s == Special::Clock64 || s == Special::GlobalTimer || s == Special::GridId || s == Special::CurrentGraphExec;
}

bool isSyscall(std::string_view name) { return systemCallNamed(name) != SystemCall::None; }

bool isCallApart(const Instruction& i) { return i.ast->op == Op::Call && !callOperands(*i.function, *i.ast).byName(); }

bool readsSharedState(const ptx::Instruction& i) {
  if (isHold(i)) return i.has(Mod::Red) && !takesFromBarrier(i);
  return readsStrongly(i);
}

bool mayPoll(const ptx::Instruction& i, const Loop& loop) {
  if (isHold(i)) return false;
  return readsStrongly(i) || readsPastFirstCache(i) || ((loop.fenced || loop.rereads) && readsWeakly(i));
}

bool isBarrierOfBlock(const Instruction& i) {
  return (isBlockBarrier(*i.ast) || comesToBarrier(*i.ast)) && i.block != kNone;
}

bool isPause(const Instruction& i) { return i.ast->op == Op::Bar && i.functionIndex == kNone; }

bool isHold(const ptx::Instruction& i) { return i.op == Op::Barrier && i.has(Mod::Warp); }

static bool isHoldOfBlock(const ptx::Instruction& i) { return isHold(i) && i.has(Mod::Cta); }

static bool combines(const ptx::Instruction& i) { return i.has(Mod::Popc) || i.has(Mod::And) || i.has(Mod::Or); }

bool comesToBarrier(const ptx::Instruction& i) { return isHoldOfBlock(i) && !i.has(Mod::Red); }

bool takesFromBarrier(const ptx::Instruction& i) { return isHoldOfBlock(i) && i.has(Mod::Red) && combines(i); }

bool waitsForBarrier(const ptx::Instruction& i) { return isHoldOfBlock(i) && i.has(Mod::Red) && !combines(i); }

bool isJoint(const ptx::Instruction& i) { return rowOf(i.op).meets == Meets::Warp && i.has(Mod::Arrive); }

bool lanesMeetAt(const ptx::Instruction& i, const ptx::Function& function) {
  if (isHold(i) || isJoint(i)) return false;
  const auto namesAll = [&] {
    const Operand& mask = function.operands[i.first + i.count - 1];
    return mask.kind == Operand::Kind::Immediate && static_cast<uint32_t>(mask.bits) == ~0u;
  };
  switch (rowOf(i.op).meets) {
    case Meets::Block:
      return i.has(Mod::Warp) ? namesAll() : !i.has(Mod::Arrive);
    case Meets::Warp:
      return i.count > 0 && namesAll();
    case Meets::WholeWarp:
      return true;
    default:
      return false;
  }
}

bool needsExactMask(const ptx::Instruction& i) { return rowOf(i.op).has(Trait::Exact) || ptx::isAsync(i); }

bool isVolatileAccess(const ptx::Instruction& i) {
  return i.has(Mod::Volatile) || i.has(Mod::Relaxed) || i.has(Mod::Acquire) || i.has(Mod::Release) ||
         i.has(Mod::Mmio) || i.has(Mod::Cv);
}

uint32_t accessBytes(const ptx::Instruction& i) {
  return ptx::bitsOf(i.type()) / 8 * std::max<uint32_t>(i.vectorWidth, 1);
}

bool isScattered(const Program& program, ValueId id, int depth) {
  if (id == kNone || depth > 8) return false;
  const auto& v = program.values[id];
  if (v.kind != Value::Result || !v.shape.varying()) return false;
  const Instruction& i = program.instructions[v.instruction];
  if (i.function == &program.made->function) return true;  // what calls keep
  switch (i.ast->op) {
    case Op::Alloca:
      return true;
    case Op::Ld:
    case Op::Ldu:
      return i.sources[0] != kNone;
    case Op::Atom:
    case Op::Shfl:
      return true;
    default:
      break;
  }
  for (ValueId s : i.sources)
    if (isScattered(program, s, depth + 1)) return true;
  return false;
}

}  // namespace vg::ptx::gen
