// From a parsed module to steps: operands resolved to slots, constants and addresses, arithmetic selected.
#include <algorithm>

#include "ptx/async_form.h"
#include "ptx/expression.h"
#include "ptx/interpreter_impl.h"
#include "ptx/matrix_form.h"
#include "ptx/texture_form.h"

namespace vg::ptx::interpreter {

class Preparation {
 public:
  Preparation(const Module& module, uint32_t entry, Program& program) : m_(module), entry_(entry), p_(program) {}

  void run() {
    p_.module = &m_;
    p_.uses = references(m_, entry_);
    p_.shared = sharedLayout(m_, entry_);
    p_.parameters = parameterLayout(m_.functions[entry_]);
    p_.functions.resize(m_.functions.size());
    for (uint32_t f : p_.uses.functions) frameOf(f);
    for (uint32_t f : p_.uses.functions) bodyOf(*p_.functions[f]);
    p_.entry = p_.functions[entry_].get();
    traits();
  }

 private:
  static uint32_t slotsOf(Type type) { return type == Type::B128 ? 2 : 1; }
  static uint32_t alignUp(uint64_t value, uint64_t alignment) {
    return static_cast<uint32_t>((value + alignment - 1) / alignment * alignment);
  }

  // Registers and memory of a function's frame.
  void frameOf(uint32_t index) {
    p_.functions[index] = std::make_unique<FunctionCode>();
    FunctionCode& code = *p_.functions[index];
    const Function& f = m_.functions[index];
    code.function = &f;
    code.index = index;
    for (const Register& r : f.registers) {
      code.registerSlots.push_back(code.slots);
      code.slots += slotsOf(r.type);
    }
    uint64_t bytes = 0;
    const auto place = [&](const Variable& v) {
      bytes = alignUp(bytes, std::max(v.alignment, 8u));
      const uint32_t at = static_cast<uint32_t>(bytes);
      bytes = std::min<uint64_t>(bytes + v.size, 1u << 31);
      return at;
    };
    const auto formal = [&](const Variable& v) {
      Formal formal;
      formal.size = static_cast<uint32_t>(v.size);
      if (v.space != Space::None) {
        formal.offset = place(v);
        return formal;
      }
      formal.isRegister = true;
      for (uint32_t r = 0; r < f.registers.size(); ++r)
        if (f.registers[r].name == v.name)
          formal.target = {code.registerSlots[r], static_cast<uint8_t>(bitsOf(v.type))};
      return formal;
    };
    if (!f.isEntry)
      for (const Variable& v : f.parameters) code.parameters.push_back(formal(v));
    for (const Variable& v : f.returns) code.returns.push_back(formal(v));
    for (const Variable& v : f.variables) code.variableOffsets.push_back(v.space == Space::Shared ? 0 : place(v));
    code.frameBytes = static_cast<uint32_t>(bytes);
  }

  void bodyOf(FunctionCode& code) {
    code_ = &code;
    f_ = code.function;
    code.steps.resize(f_->body.size());
    for (const BranchTable& table : f_->branchTables) {
      std::vector<uint32_t>& targets = code.tables.emplace_back();
      for (uint32_t label : table.labels) targets.push_back(f_->labels[label].instruction);
    }
    for (size_t k = 0; k < f_->body.size(); ++k) {
      step(f_->body[k], code.steps[k]);
      Step& s = code.steps[k];
      p_.allocates |= s.i->op == Op::Alloca;
      p_.carriesOrder |= carriesOrder(*s.i);
      if (s.compute || s.execute || s.flow != Flow::None) continue;
      s.flow = Flow::Illegal;
      gap(*s.i);
    }
  }

  static bool carriesOrder(const Instruction& i) {
    return i.op == Op::Membar || i.op == Op::Fence || i.op == Op::Mbarrier || i.has(Mod::Volatile) ||
           i.has(Mod::Acquire) || i.has(Mod::Release) || i.has(Mod::AcqRel);
  }

  void gap(const Instruction& i) {
    std::string& gaps = p_.mutableGaps();
    if (gaps.size() > 4096) return;
    std::string name = nameOf(i.op);
    if (i.op == Op::Invalid)
      for (const Module::Unknown& u : m_.unknowns)
        if (u.line == i.line) name = u.text;
    gaps += "line " + std::to_string(i.line) + ": " + name + "\n";
  }

  Target target(const Operand& o) const {
    if (o.kind != Operand::Kind::Register) return {};
    return {code_->registerSlots[o.reg], static_cast<uint8_t>(bitsOf(f_->registers[o.reg].type))};
  }

  // Constants take the form of `type`.
  Source source(const Operand& o, Type type) const {
    Source s;
    s.negated = o.negated;
    s.selector = o.selector;
    switch (o.kind) {
      case Operand::Kind::Register:
        s.kind = Source::Kind::Register;
        s.slot = code_->registerSlots[o.reg];
        s.bits = static_cast<uint8_t>(bitsOf(f_->registers[o.reg].type));
        break;
      case Operand::Kind::Immediate: {
        Constant constant{o.literal, false, o.bits};
        s.value = bitsAs(constant, type);
        if (type == Type::Pred) s.value = o.bits != 0;
        break;
      }
      case Operand::Kind::Special:
        s.kind = Source::Kind::Special;
        s.special = o.special;
        break;
      case Operand::Kind::Symbol:
      case Operand::Kind::Address:
        address(o, s);
        break;
      default:
        break;
    }
    return s;
  }

  // The value of a name, or of the base of an address, and its offset.
  void address(const Operand& o, Source& s) const {
    s.value = static_cast<uint64_t>(o.offset);
    if (o.isBaseRegister) {
      s.kind = Source::Kind::Register;
      s.slot = code_->registerSlots[o.reg];
      s.bits = static_cast<uint8_t>(bitsOf(f_->registers[o.reg].type));
      return;
    }
    switch (o.symbolKind) {
      case SymbolKind::ModuleVariable:
        moduleVariable(o.symbol, s);
        break;
      case SymbolKind::FunctionVariable:
        if (f_->variables[o.symbol].space == Space::Shared) {
          s.kind = Source::Kind::SharedAddress;
          s.value += p_.shared.offsetOf(false, code_->index, o.symbol);
        } else {
          s.kind = Source::Kind::FrameAddress;
          s.value += code_->variableOffsets[o.symbol];
        }
        break;
      case SymbolKind::Parameter:
        s.kind = f_->isEntry ? Source::Kind::EntryParameter : Source::Kind::FrameAddress;
        s.value += f_->isEntry ? p_.parameters[o.symbol].offset : code_->parameters[o.symbol].offset;
        break;
      case SymbolKind::ReturnParameter:
        s.kind = Source::Kind::FrameAddress;
        s.value += code_->returns[o.symbol].offset;
        break;
      case SymbolKind::Function:
        s.value += functionAddress(o.symbol);
        break;
      default:
        break;
    }
  }

  void moduleVariable(uint32_t index, Source& s) const {
    if (m_.variables[index].space == Space::Shared) {
      s.kind = Source::Kind::SharedAddress;
      s.value += p_.shared.offsetOf(true, 0, index);
      return;
    }
    const std::vector<uint32_t>& globals = p_.uses.globals;
    s.kind = Source::Kind::Global;
    s.slot = static_cast<uint32_t>(std::lower_bound(globals.begin(), globals.end(), index) - globals.begin());
  }

  // The type that a constant among the sources takes.
  static Type constantType(const Instruction& i, size_t k) {
    switch (i.op) {
      case Op::Set:
        return k == 2 ? Type::Pred : i.types[1];
      case Op::Setp:
        return k == 2 ? Type::Pred : i.types[0];
      case Op::Cvt:
        return i.has(Mod::Pack) && k == 2 ? Type::B32 : i.types[1];
      case Op::Selp:
        return k == 2 ? Type::Pred : i.types[0];
      case Op::Slct:
        return k == 2 ? i.types[1] : i.types[0];
      case Op::Add:
      case Op::Sub:
        return i.typeCount == 2 && k == 0 ? i.types[1] : i.types[0];
      case Op::Fma:
        return i.typeCount == 2 && k < 2 ? i.types[1] : i.types[0];
      case Op::Vote:
        return k == 0 ? Type::Pred : Type::B32;
      case Op::Bar:
      case Op::Barrier:
        return Type::B32;
      case Op::Lop3:
        return Type::B32;
      default:
        return i.types[0];
    }
  }

  static bool hasDestination(const Instruction& i) {
    switch (i.op) {
      case Op::St:
      case Op::Red:
      case Op::Bra:
      case Op::Brx:
      case Op::Call:
      case Op::Membar:
      case Op::Fence:
      case Op::Cp:
      case Op::Prefetch:
      case Op::Prefetchu:
      case Op::Discard:
      case Op::Applypriority:
      case Op::Exit:
      case Op::Ret:
      case Op::Trap:
      case Op::Nanosleep:
      case Op::Griddepcontrol:
      case Op::Setmaxnreg:
      case Op::Stackrestore:
      case Op::Pmevent:
      case Op::Brkpt:
        return false;
      case Op::Bar:
      case Op::Barrier:
        return i.has(Mod::Red);
      default:
        return true;
    }
  }

  // Fills targets and sources from the operands, in order.
  void operands(const Instruction& i, Step& s) const {
    uint32_t at = 0;
    const auto operand = [&](uint32_t k) -> const Operand& { return f_->operands[i.first + k]; };
    if (hasDestination(i) && i.count) {
      const Operand& o = operand(at++);
      s.selector = o.selector;
      if (o.kind == Operand::Kind::Vector)
        for (uint32_t k = 0; k < o.count; ++k) s.vectorTargets.push_back(target(f_->operands[o.first + k]));
      else
        s.targets[0] = target(o);
      if (i.pair && at < i.count) s.targets[1] = target(operand(at++));
    }
    for (; at < i.count && s.sourceCount < std::size(s.sources); ++at) {
      const Operand& o = operand(at);
      const Type type = constantType(i, s.sourceCount);
      if (o.kind == Operand::Kind::Vector) {
        for (uint32_t k = 0; k < o.count; ++k) s.vectorSources.push_back(source(f_->operands[o.first + k], type));
        if (i.op == Op::Mov) continue;
      }
      s.sources[s.sourceCount++] = source(o, type);
    }
  }

  // Operands of barrier objects and bulk copies.
  void asynchronous(const Instruction& i, Step& s) const {
    const uint32_t destinations = asyncResult(i) ? 1 : 0;
    if (destinations && i.count) s.targets[0] = target(f_->operands[i.first]);
    for (uint32_t k = destinations; k < i.count; ++k) {
      const Operand& o = f_->operands[i.first + k];
      if (o.kind != Operand::Kind::Vector) s.vectorSources.push_back(source(o, Type::B64));
      for (uint32_t e = 0; o.kind == Operand::Kind::Vector && e < o.count; ++e)
        s.vectorSources.push_back(source(f_->operands[o.first + e], Type::B64));
    }
  }

  // Every operand by itself. Constants are whole numbers unless they are written as floats.
  void flattened(const Instruction& i, Step& s) const {
    const bool stores =
        i.op == Op::Sust || i.op == Op::Sured || i.op == Op::Stmatrix || (i.op == Op::Wmma && i.has(Mod::Store));
    const uint32_t destinations = stores ? 0 : i.pair ? 2 : 1;
    const auto add = [&](const Operand& o, bool destination) {
      const bool whole = o.literal == Operand::Literal::Integer;
      if (destination)
        s.vectorTargets.push_back(target(o));
      else
        s.vectorSources.push_back(source(o, whole ? Type::B64 : Type::F32));
    };
    for (uint32_t k = 0; k < i.count; ++k) {
      const Operand& o = f_->operands[i.first + k];
      if (o.kind != Operand::Kind::Vector) add(o, k < destinations);
      for (uint32_t e = 0; o.kind == Operand::Kind::Vector && e < o.count; ++e)
        add(f_->operands[o.first + e], k < destinations);
    }
  }

  void step(const Instruction& i, Step& s) {
    s.i = &i;
    s.guard = i.guard < 0 ? -1 : static_cast<int32_t>(code_->registerSlots[i.guard]);
    s.guardNegated = i.guardNegated;
    switch (i.op) {
      case Op::Invalid:
        return;
      case Op::Call:
        return call(i, s);
      case Op::Bra:
        s.flow = Flow::Branch;
        if (f_->operands[i.first].symbolKind == SymbolKind::Label)
          s.destination = f_->labels[f_->operands[i.first].symbol].instruction;
        else
          s.flow = Flow::Illegal;
        return;
      default:
        break;
    }
    if (isTextureOp(i.op)) {
      flattened(i, s);
      return selectTexture(i, *f_, s);
    }
    if (isMatrixOp(i.op)) {
      flattened(i, s);
      return selectMatrix(i, *f_, s);
    }
    if (isAsync(i)) {
      asynchronous(i, s);
      return selectAsync(i, *f_, s);
    }
    operands(i, s);
    if (std::find(i.types, i.types + i.typeCount, Type::B128) != i.types + i.typeCount) return selectWide(i, s);
    switch (i.op) {
      case Op::Brx:
        if (f_->operands[i.first + 1].symbolKind == SymbolKind::BranchTable) {
          s.flow = Flow::BranchTable;
          s.destination = f_->operands[i.first + 1].symbol;
        }
        return;
      case Op::Ret:
        s.flow = Flow::Return;
        return;
      case Op::Exit:
        s.flow = Flow::Exit;
        return;
      case Op::Trap:
        s.flow = Flow::Trap;
        return;
      case Op::Nanosleep:
        s.flow = Flow::Yield;
        return;
      case Op::Bar:
      case Op::Barrier:
        return barrier(i, s);
      default:
        break;
    }
    selectMemory(i, s);
    if (!s.execute) selectCluster(i, s);
    if (!s.execute) selectWarp(i, s);
    if (s.execute || s.flow != Flow::None) return;
    if (i.op == Op::Mov) {
      if (bitsOf(i.type()) <= 64) s.compute = [](const Step&, const uint64_t* a, uint64_t* r) { r[0] = a[0]; };
      return;
    }
    for (const auto select : {selectCompare, selectConvert, selectVideo, selectHalf, selectFloat, selectInteger})
      if (!s.compute) select(i, s);
  }

  void barrier(const Instruction& i, Step& s) {
    if (i.has(Mod::Warp)) {
      s.flow = Flow::WarpSync;
      s.destination = 0;
      s.number = 1;  // any place in the program meets any other
      return;
    }
    s.flow = Flow::Barrier;
    if (i.has(Mod::Cluster)) {
      if (i.has(Mod::Arrive)) {
        s.flow = Flow::None;
        s.execute = [](Warp& w, const Step&, uint32_t mask) { w.arriveCluster(mask); };
      }
      return;
    }
    if (i.has(Mod::Red) && s.sourceCount == 2) {  // no count: the predicate moves to its place
      s.sources[2] = s.sources[1];
      s.sources[1] = Source{};
      s.sourceCount = 3;
    }
  }

  void call(const Instruction& i, Step& s) {
    auto site = std::make_unique<CallSite>();
    const Operand& returns = f_->operands[i.first];
    const Operand& callee = f_->operands[i.first + 1];
    const Operand& arguments = f_->operands[i.first + 2];
    for (uint32_t k = 0; k < returns.count; ++k) site->results.push_back(passed(f_->operands[returns.first + k]));
    for (uint32_t k = 0; k < arguments.count; ++k) site->arguments.push_back(passed(f_->operands[arguments.first + k]));
    s.flow = Flow::Call;
    if (callee.kind == Operand::Kind::Symbol) {
      site->target = p_.functions[callee.symbol].get();
      if (m_.functions[callee.symbol].isDeclaration) {
        site->systemCall = systemCallNamed(m_.functions[callee.symbol].name);
        if (site->systemCall == SystemCall::None) s.flow = Flow::Illegal;
      }
    } else {
      s.sources[0] = source(callee, Type::U64);
      s.sourceCount = 1;
    }
    s.call = site.get();
    code_->calls.push_back(std::move(site));
    if (s.flow == Flow::Illegal) gap(i);
  }

  CallSite::Argument passed(const Operand& o) const {
    CallSite::Argument a;
    a.source = source(o, Type::B64);
    a.target = target(o);
    if (o.kind != Operand::Kind::Symbol) return a;
    a.isFrame = true;
    switch (o.symbolKind) {
      case SymbolKind::FunctionVariable:
        a.offset = code_->variableOffsets[o.symbol];
        a.size = static_cast<uint32_t>(f_->variables[o.symbol].size);
        break;
      case SymbolKind::Parameter:
        a.isFrame = !f_->isEntry;  // an entry's own parameter is read where it is
        a.offset = f_->isEntry ? 0 : code_->parameters[o.symbol].offset;
        a.size = static_cast<uint32_t>(f_->parameters[o.symbol].size);
        break;
      default:
        a.offset = code_->returns[o.symbol].offset;
        a.size = static_cast<uint32_t>(f_->returns[o.symbol].size);
        break;
    }
    return a;
  }

  void traits() {
    KernelTraits& t = p_.mutableTraits();
    t.staticShared = p_.shared.staticSize;
    t.dynamicSharedOffset = p_.shared.dynamicOffset;
    t.clusterAddresses = p_.uses.clusterAddresses;
    t.stackPerWarp = 64 * 1024;  // of the interpreter itself; lanes have their own memory
    for (const SharedLayout::Slot& slot : p_.shared.slots) {
      const Variable& v =
          slot.moduleScope ? m_.variables[slot.variable] : m_.functions[slot.function].variables[slot.variable];
      t.usesDynamicShared |= v.unsizedArray;
    }
    uint32_t slots = 0;
    for (uint32_t f : p_.uses.functions) {
      const FunctionCode& code = *p_.functions[f];
      slots = std::max(slots, code.slots);
      for (const Variable& v : code.function->variables)
        if (v.space == Space::Local) t.localPerThread += static_cast<uint32_t>(std::min<uint64_t>(v.size, 1u << 30));
      loops(code);
    }
    t.registers = std::clamp(slots / 2, 16u, 255u);
    if (p_.uses.functions.size() > 1) t.loops = true;  // recursion is possible
    t.waits |= t.polls;
  }

  void loops(const FunctionCode& code) {
    KernelTraits& t = p_.mutableTraits();
    std::vector<uint32_t> polls(code.steps.size() + 1);
    for (size_t k = 0; k < code.steps.size(); ++k) {
      const Step& s = code.steps[k];
      polls[k + 1] = polls[k] + (s.polls || s.flow == Flow::Call);
      t.waits |= s.flow == Flow::Barrier || s.flow == Flow::Yield;
      const auto branch = [&](uint32_t target) {
        if (target > k) return;
        t.loops = true;
        t.polls |= polls[k + 1] - polls[target] > callsBetween(code, target, k);
      };
      if (s.flow == Flow::Branch) branch(s.destination);
      if (s.flow == Flow::BranchTable)
        for (uint32_t target : code.tables[s.destination]) branch(target);
    }
  }

  // Calls in a loop poll only if what they call does.
  uint32_t callsBetween(const FunctionCode& code, size_t first, size_t last) const {
    uint32_t innocent = 0;
    for (size_t k = first; k <= last; ++k) {
      const Step& s = code.steps[k];
      if (s.flow != Flow::Call) continue;
      bool polls = !s.call->target && s.call->systemCall == SystemCall::None;
      if (s.call->target)
        for (const Step& inner : s.call->target->steps) polls |= inner.polls;
      innocent += !polls;
    }
    return innocent;
  }

  const Module& m_;
  uint32_t entry_;
  Program& p_;
  FunctionCode* code_ = nullptr;
  const Function* f_ = nullptr;
};

}  // namespace vg::ptx::interpreter

namespace vg::ptx {

Result<std::unique_ptr<InterpreterProgram>> prepare(const Module& module, uint32_t entry, Observer* observer) {
  if (entry >= module.functions.size() || !module.functions[entry].isEntry || module.functions[entry].isDeclaration)
    return fail(CUDA_ERROR_NOT_FOUND, "function %u of the module is not an entry with a body", entry);
  auto program = std::make_unique<interpreter::Program>();
  program->observer = observer;
  interpreter::Preparation(module, entry, *program).run();
  return std::unique_ptr<InterpreterProgram>(std::move(program));
}

}  // namespace vg::ptx
