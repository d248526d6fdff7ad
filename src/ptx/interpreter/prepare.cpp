// From a parsed module to steps: frames laid out, operands resolved, arithmetic selected.
#include <algorithm>
#include <optional>

#include "base/float_environment.h"
#include "base/round.h"
#include "ptx/facts/async_form.h"
#include "ptx/facts/coverage.h"
#include "ptx/facts/polls.h"
#include "ptx/interpreter/operands.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

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
    findTraits(p_);
  }

 private:
  static uint32_t slotsOf(Type type) { return type == Type::B128 ? 2 : 1; }
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
      bytes = roundUp(bytes, std::max(v.alignment, 8u));
      code.frameAlignment = std::max(code.frameAlignment, v.alignment);
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
    operands_.emplace(p_, code);
    code.steps.resize(f_->body.size());
    for (const BranchTable& table : f_->branchTables) {
      std::vector<uint32_t>& targets = code.tables.emplace_back();
      for (uint32_t label : table.labels) targets.push_back(f_->labels[label].instruction);
    }
    for (size_t k = 0; k < f_->body.size(); ++k) {
      step(f_->body[k], code.steps[k]);
      Step& s = code.steps[k];
      p_.allocates |= s.i->op == Op::Alloca;
      p_.carries = ptx::carries(p_.carries, *s.i);
      if (s.compute || s.execute || s.flow != Flow::None) continue;
      s.flow = Flow::Illegal;
      gap(*s.i);
    }
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
    if (coverage::counts(i)) return count(i, s);
    if (byRunner(i, s)) return;
    operands_->fill(i, s);
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
        s.polls = fencesThreads(i);
        return;
      case Op::Bar:
      case Op::Barrier:
        s.polls = meetsInPart(i);
        return barrier(i, s);
      default:
        break;
    }
    select(i, s);
  }

  // Of coverage.
  void count(const Instruction& i, Step& s) {
    s.destination = static_cast<uint32_t>(coverage::counterOf(i, *f_));
    s.execute = [](Warp& w, const Step& step, uint32_t mask) {
      uint64_t* const counters = w.block->launch->counters[w.block->worker];
      counters[step.destination] += static_cast<uint32_t>(std::popcount(mask));
    };
  }

  // Families that the runner, or code beside the interpreter, does from forms and flattened operands.
  bool byRunner(const Instruction& i, Step& s) {
    if (rowOf(i.op).has(Trait::Texture)) {
      operands_->fillFlattened(i, s);
      selectTexture(i, *f_, s);
    } else if (i.op == Op::Spdecompress) {
      operands_->fillFlattened(i, s);
      selectSparse(i, *f_, s);
    } else if (i.op == Op::Cvt && i.has(Mod::Rs)) {
      operands_->fillFlattened(i, s);
      selectRandomRounding(i, *f_, s);
    } else if (rowOf(i.op).has(Trait::Matrix)) {
      operands_->fillFlattened(i, s);
      selectMatrix(i, *f_, s);
    } else if (isAsync(i)) {
      operands_->fillAsynchronous(i, s);
      selectAsync(i, *f_, s);
    } else {
      return false;
    }
    return true;
  }

  // The first family that knows the instruction.
  void select(const Instruction& i, Step& s) {
    selectMemory(i, s);
    if (!s.execute) selectCluster(i, s);
    if (!s.execute) selectWarp(i, s);
    if (s.execute || s.flow != Flow::None) return;
    if (i.op == Op::Mov) {
      if (bitsOf(i.type()) <= 64) s.compute = [](const Step&, const uint64_t* a, uint64_t* r) { r[0] = a[0]; };
      return;
    }
    for (const auto family :
         {selectCompare, selectConvert, selectVideo, selectHalf, selectFloat, selectInteger, selectBits})
      if (!s.compute) family(i, s);
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
        s.execute = [](Warp& w, const Step& s, uint32_t mask) { w.arriveCluster(&s, mask); };
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
    for (uint32_t k = 0; k < returns.count; ++k)
      site->results.push_back(operands_->passed(f_->operands[returns.first + k]));
    for (uint32_t k = 0; k < arguments.count; ++k)
      site->arguments.push_back(operands_->passed(f_->operands[arguments.first + k]));
    s.flow = Flow::Call;
    if (callee.kind == Operand::Kind::Symbol) {
      site->target = p_.functions[callee.symbol].get();
      if (m_.functions[callee.symbol].isDeclaration) {
        site->systemCall = systemCallNamed(m_.functions[callee.symbol].name);
        if (site->systemCall == SystemCall::None) s.flow = Flow::Illegal;
      }
    } else {
      s.sources[0] = operands_->source(callee, Type::U64);
      s.sourceCount = 1;
    }
    s.call = site.get();
    code_->calls.push_back(std::move(site));
    if (s.flow == Flow::Illegal) gap(i);
  }

  const Module& m_;
  uint32_t entry_;
  Program& p_;
  FunctionCode* code_ = nullptr;
  const Function* f_ = nullptr;
  std::optional<Operands> operands_;  // of f_
};

}  // namespace vg::ptx::interpreter

namespace vg::ptx {

Result<std::unique_ptr<InterpreterProgram>> prepare(const Module& module, uint32_t entry, Observer* observer) {
  const DefaultFloatEnvironment ofConstants;
  if (entry >= module.functions.size() || !module.functions[entry].isEntry || module.functions[entry].isDeclaration)
    return fail(CUDA_ERROR_NOT_FOUND, "function %u of the module is not an entry with a body", entry);
  auto program = std::make_unique<interpreter::Program>();
  program->observer = observer;
  interpreter::Preparation(module, entry, *program).run();
  return std::unique_ptr<InterpreterProgram>(std::move(program));
}

}  // namespace vg::ptx
