// Function bodies: scopes, declarations, labels, instructions.
#include <bit>
#include <charconv>
#include <cstring>

#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"
#include "ptx/text/parser_impl.h"
#include "ptx/text/validate.h"
#include "ptx/text/warpgroup.h"

namespace vg::ptx {
namespace {

constexpr uint32_t kScopeLimit = 512;
constexpr uint32_t kRangeLimit = 1u << 30;

int length(std::string_view text) { return static_cast<int>(text.size()); }

bool isVectorWidth(std::string_view word, uint8_t& width) {
  if (word.size() != 2 || word[0] != 'v' || (word[1] != '2' && word[1] != '4' && word[1] != '8')) return false;
  width = static_cast<uint8_t>(word[1] - '0');
  return true;
}

// Of wgmma: m64n<columns>k<depth>.
bool takeGroupShape(Instruction& i, std::string_view word) {
  constexpr std::string_view kRows = "m64n";
  if (!word.starts_with(kRows)) return false;
  uint32_t columns = 0, depth = 0;
  const char* const end = word.data() + word.size();
  const auto [k, noColumns] = std::from_chars(word.data() + kRows.size(), end, columns);
  if (noColumns != std::errc() || k == end || *k != 'k') return false;
  const auto [rest, noDepth] = std::from_chars(k + 1, end, depth);
  if (noDepth != std::errc() || rest != end || !columns || columns % 8 || columns > 256) return false;
  if (!std::has_single_bit(depth) || depth > 512) return false;
  i.columns8 = static_cast<uint8_t>(columns / 8);
  i.depthLog2 = static_cast<uint8_t>(std::countr_zero(depth));
  return true;
}

void addMod(Instruction& i, Mod mod) {
  if (mod == Mod::Row && (i.has(Mod::Row) || i.has(Mod::Col))) mod = Mod::RowB;
  if (mod == Mod::Col && (i.has(Mod::Row) || i.has(Mod::Col))) mod = Mod::ColB;
  i.mods.set(static_cast<size_t>(mod));
}

// Whether the word may stand at the opcode: of others nobody knows what they would change. Textures and surfaces refuse
// them with all other forms that do not exist, as a driver does (validate.cpp).
bool mayHave(Op op, Mod word) { return rowOf(op).has(Trait::Texture) || allows(op, word); }

// One dot-word into the instruction; false when it is unknown, or the opcode cannot have it.
bool addWord(Instruction& i, std::string_view word) {
  uint8_t width = 1;
  if (const Type type = findType(word); type != Type::None) {
    if (i.typeCount == std::size(i.types)) return false;
    i.types[i.typeCount++] = type;
  } else if (isVectorWidth(word, width)) {
    i.vectorWidth = width;
  } else if (const Space space = findSpace(word); space != Space::None) {
    if (i.space == Space::None)
      i.space = space;
    else if (i.space2 == Space::None)
      i.space2 = space;
    else
      return false;
  } else if (const Mod mod = findMod(word); mod != Mod::Count && mayHave(i.op, mod)) {
    addMod(i, mod);
  } else {
    return i.op == Op::Wgmma && takeGroupShape(i, word);
  }
  return true;
}

}  // namespace

const ParserImpl::Mnemonic& ParserImpl::decode(std::string_view text) {
  if (const auto found = mnemonics_.find(text); found != mnemonics_.end()) return found->second;
  Mnemonic m;
  Lexer words(text);
  m.model.op = findOp(words.identifier());
  m.known = m.model.op != Op::Invalid;
  while (m.known && !words.atEnd()) m.known = addWord(m.model, words.dotWord());
  if (!m.known) m.model.op = Op::Invalid;
  return mnemonics_.emplace(text, m).first->second;
}

uint32_t ParserImpl::addRegister(std::string_view name, Type type) {
  here_.function->registers.push_back({std::string(name), type});
  return static_cast<uint32_t>(here_.function->registers.size() - 1);
}

bool ParserImpl::body(Function& f) {
  here_.function = &f;
  here_.pending.clear();
  here_.pendingStarts.clear();
  here_.location = 0;
  if (!expect('{')) return false;
  here_.names.openScope();
  here_.ranges.openScope();
  here_.pendingStarts.push_back(0);
  while (!here_.pendingStarts.empty()) {
    if (in_.atEnd()) return error("'}' of function '%s' is missing", f.name.c_str());
    if (!statement()) return false;
  }
  for (const Pending& p : here_.pending) {
    const std::string_view name = here_.names.text(p.name);
    return errorAt(p.line, "'%.*s' is not defined", length(name), name.data());
  }
  here_.function = nullptr;
  return true;
}

bool ParserImpl::closeScope() {
  const size_t start = here_.pendingStarts.back();
  here_.pendingStarts.pop_back();
  size_t kept = start;
  for (size_t i = start; i < here_.pending.size(); ++i) {
    const Pending p = here_.pending[i];
    const Declaration* d = here_.names.find(p.name);
    if (!d || d->kind != Declaration::Kind::Symbol || d->depth != here_.names.depth()) {
      here_.pending[kept++] = p;
      continue;
    }
    if (p.where == Pending::Where::Operand) {
      Operand& o = here_.function->operands[p.first];
      o.symbolKind = d->symbol;
      o.symbol = d->index;
    } else {
      if (d->symbol != SymbolKind::Label) return errorAt(p.line, "a branch target must be a label");
      here_.function->branchTables[p.first].labels[p.second] = d->index;
    }
  }
  here_.pending.resize(kept);
  here_.names.closeScope();
  here_.ranges.closeScope();
  return true;
}

bool ParserImpl::statement() {
  const char c = in_.peek();
  here_.statementLine = in_.line();
  switch (c) {
    case '{':
      if (here_.names.depth() >= kScopeLimit) return error("scopes nested too deeply");
      in_.take('{');
      here_.names.openScope();
      here_.ranges.openScope();
      here_.pendingStarts.push_back(here_.pending.size());
      return true;
    case '}':
      in_.take('}');
      return closeScope();
    case '.':
      return bodyDirective();
    case ';':
      return in_.take(';');
    case '@': {
      in_.take('@');
      const bool negated = in_.take('!');
      Operand guard;
      if (!namedOperand(guard)) return false;
      if (guard.kind != Operand::Kind::Register || here_.function->registers[guard.reg].type != Type::Pred)
        return error("a guard is a predicate register");
      return instruction(static_cast<int32_t>(guard.reg), negated, in_.mnemonic());
    }
    default:
      break;
  }
  const std::string_view word = in_.mnemonic();
  if (word.empty()) return error("statement expected, found '%c'", c);
  if (in_.peek() == ':' && in_.raw(1) != ':') {
    in_.take(':');
    return labelOrTable(word);
  }
  return instruction(-1, false, word);
}

bool ParserImpl::bodyDirective() {
  const uint32_t line = in_.line();
  const std::string_view word = in_.dotWord();
  if (word == "loc") return location();
  if (word == "reg") return registers();
  if (word == "param" || word == "local" || word == "shared") {
    return variableList(findSpace(word), Linkage::Internal, here_.function->variables, SymbolKind::FunctionVariable,
                        here_.names);
  }
  if (word == "global" || word == "const") {
    return variableList(findSpace(word), Linkage::Internal, module_.variables, SymbolKind::ModuleVariable, here_.names);
  }
  if (word == "branchtargets" || word == "calltargets" || word == "callprototype")
    return errorAt(line, ".%.*s needs a label", length(word), word.data());
  if (word.empty()) return error("directive expected");
  in_.skipDirective();
  return true;
}

bool ParserImpl::registers() {
  Variable v;
  if (!variableType(v)) return false;
  if (v.type == Type::None) return error("register type expected");
  do {
    const std::string_view name = in_.identifier();
    if (name.empty()) return error("register name expected");
    Declaration d;
    d.type = v.type;
    if (in_.take('<')) {
      int64_t count = 0;
      // A plain number: '>' would otherwise be an operator.
      while (isDigit(in_.peek()) && count < kRangeLimit) {
        count = count * 10 + (in_.raw() - '0');
        in_.advance(1);
      }
      if (count <= 0 || count >= kRangeLimit) return error("bad number of registers");
      if (!expect('>')) return false;
      d.kind = Declaration::Kind::RegisterRange;
      d.count = static_cast<uint32_t>(count);
    } else if (v.vectorWidth > 1) {
      static constexpr const char* kComponents[] = {".x", ".y", ".z", ".w"};
      if (v.vectorWidth > 4) return error("a vector register has 2 or 4 components");
      d.kind = Declaration::Kind::VectorRegister;
      d.width = v.vectorWidth;
      d.index = static_cast<uint32_t>(here_.function->registers.size());
      for (uint32_t i = 0; i < d.width; ++i) {
        addRegister(std::string(name) + kComponents[i], v.type);
      }
    } else {
      d.kind = Declaration::Kind::Register;
      d.index = addRegister(name, v.type);
      here_.digitNames |= isDigit(name.back());
    }
    NameTable& names = d.kind == Declaration::Kind::RegisterRange ? here_.ranges : here_.names;
    if (!names.declare(name, d)) return error("'%.*s' is already defined", length(name), name.data());
  } while (in_.take(','));
  return expect(';');
}

// `.loc file line column [, function_name label [+ n], inlined_at file line column]`
bool ParserImpl::location() {
  SourceLocation at;
  if (!numbers({&at.file, &at.line, &at.column})) return false;
  if (at.line == 0) at.file = 0;
  const std::string_view rest = in_.restOfLine();
  constexpr std::string_view kCaller = "inlined_at";
  if (const size_t caller = rest.find(kCaller); caller != rest.npos) {
    in_.advance(caller + kCaller.size());
    if (!numbers({&at.callerFile, &at.callerLine})) return false;
  }
  in_.skipLine();
  std::vector<SourceLocation>& known = module_.locations;
  if (known.empty() || known.back() != at) known.push_back(at);
  here_.location = static_cast<uint32_t>(known.size());
  return true;
}

// As many of the numbers as there are.
bool ParserImpl::numbers(std::initializer_list<uint32_t*> fields) {
  for (uint32_t* field : fields) {
    uint64_t value = 0;
    if (!isDigit(in_.peek())) break;
    while (isDigit(in_.raw())) {
      value = value * 10 + static_cast<uint64_t>(in_.raw() - '0');
      if (value > UINT32_MAX) return error("number too large");
      in_.advance(1);
    }
    *field = static_cast<uint32_t>(value);
  }
  return true;
}

bool ParserImpl::declareLabel(std::string_view name, SymbolKind kind, uint32_t index) {
  Declaration d;
  d.symbol = kind;
  d.index = index;
  return here_.names.declare(name, d) || error("'%.*s' is already defined", length(name), name.data());
}

bool ParserImpl::labelOrTable(std::string_view name) {
  if (name.find('.') != std::string_view::npos) return error("bad label");
  if (in_.peek() == '.') {
    Lexer ahead = in_;
    const std::string_view word = ahead.dotWord();
    if (word == "branchtargets" || word == "calltargets") {
      in_ = ahead;
      return branchTargets(name, word == "calltargets");
    }
    if (word == "callprototype") {
      in_ = ahead;
      return callPrototype(name);
    }
  }
  here_.function->labels.push_back({std::string(name), static_cast<uint32_t>(here_.function->body.size())});
  return declareLabel(name, SymbolKind::Label, static_cast<uint32_t>(here_.function->labels.size() - 1));
}

bool ParserImpl::branchTargets(std::string_view name, bool functions) {
  BranchTable table;
  table.name = name;
  const uint32_t index = static_cast<uint32_t>(here_.function->branchTables.size());
  do {
    const std::string_view target = in_.identifier();
    if (target.empty()) return error("branch target expected");
    if (functions) {
      const Declaration* d = globals_.find(target);
      if (!d || d->symbol != SymbolKind::Function)
        return error("'%.*s' is not a function", length(target), target.data());
      table.functions.push_back(d->index);
    } else {
      here_.pending.push_back({Pending::Where::TableEntry, here_.names.intern(target), in_.line(), index,
                               static_cast<uint32_t>(table.labels.size())});
      table.labels.push_back(0);
    }
  } while (in_.take(','));
  here_.function->branchTables.push_back(std::move(table));
  return declareLabel(name, SymbolKind::BranchTable, index) && expect(';');
}

bool ParserImpl::callPrototype(std::string_view name) {
  Prototype prototype;
  prototype.name = name;
  if (in_.peek() == '(' && !parameterList(prototype.returns, nullptr, SymbolKind::None)) return false;
  if (in_.identifier().empty()) return error("'_' expected");
  if (in_.peek() == '(' && !parameterList(prototype.parameters, nullptr, SymbolKind::None)) return false;
  while (in_.peek() == '.') {  // .noreturn, .abi_preserve n
    const std::string_view word = in_.dotWord();
    if (word.empty()) return error("directive expected");
    prototype.noreturn |= word == "noreturn";
    while (isDigit(in_.peek())) in_.advance(1);
  }
  here_.function->prototypes.push_back(std::move(prototype));
  return declareLabel(name, SymbolKind::Prototype, static_cast<uint32_t>(here_.function->prototypes.size() - 1)) &&
         expect(';');
}

bool ParserImpl::instruction(int32_t guard, bool guardNegated, std::string_view mnemonic) {
  if (mnemonic.empty()) return error("instruction expected");
  const Mnemonic& known = decode(mnemonic);
  Instruction i = known.model;
  i.guard = guard;
  i.guardNegated = guardNegated;
  i.line = here_.statementLine;
  i.location = here_.location;
  if (!known.known) {
    module_.unknowns.push_back({i.line, std::string(mnemonic.substr(0, 128))});
    note(i.line, ("unknown instruction '" + module_.unknowns.back().text + "'").c_str());
    while (in_.peek() != ';') {
      if (in_.atEnd()) return error("';' expected");
      in_.advance(1);
    }
    in_.take(';');
    here_.function->body.push_back(i);
    return true;
  }
  here_.elementSpace = Space::None;
  if (i.op == Op::Call) {
    if (!callOperands(i)) return false;
  } else if (in_.peek() != ';') {
    do {
      if (in_.peek() == '[') {
        if (!bracket()) return false;
      } else {
        Operand o;
        here_.isElement = false;
        if (!operand(o)) return false;
        if (here_.isElement && rowOf(i.op).touchesMemory()) {  // the brackets of ld and st are those of the index
          o.isBaseRegister = o.kind == Operand::Kind::Register;
          o.kind = Operand::Kind::Address;
        }
        here_.scratch.push_back(o);
      }
      if (in_.peek() == '|') {
        in_.take('|');
        Operand o;
        if (!operand(o)) return false;
        here_.scratch.push_back(o);
        i.pair = true;
      }
    } while (in_.take(','));
  }
  if (!expect(';')) return false;
  if (!here_.scratchPending.empty() && i.op != Op::Bra && i.op != Op::Brx && i.op != Op::Call) {
    const std::string_view name = here_.names.text(here_.scratchPending[0].name);
    return errorAt(i.line, "'%.*s' is not defined", length(name), name.data());
  }
  if (i.space == Space::None && rowOf(i.op).touchesMemory()) i.space = here_.elementSpace;
  commitOperands(i);
  if (const char* why = validate(i, *here_.function)) {
    return errorAt(i.line, "%.*s: %s", length(mnemonic), mnemonic.data(), why);
  }
  if (i.op == Op::Wgmma) return addOfWarpgroup(*here_.function, i), true;
  here_.function->body.push_back(i);
  return true;
}

// call (returns), target, (arguments), prototype: the lists may be absent.
bool ParserImpl::callOperands(Instruction&) {
  Operand returns, target, arguments;
  returns.kind = arguments.kind = Operand::Kind::Vector;
  if (in_.peek() == '(' && !(parenthesised(returns) && expect(','))) return false;
  here_.scratch.push_back(returns);
  if (!namedOperand(target)) return false;
  if (target.kind != Operand::Kind::Register &&
      !(target.kind == Operand::Kind::Symbol && target.symbolKind == SymbolKind::Function))
    return error("call of something that is not a declared function");
  here_.scratch.push_back(target);
  bool prototype = in_.take(',');
  if (prototype && in_.peek() == '(') {
    if (!parenthesised(arguments)) return false;
    prototype = in_.take(',');
  }
  here_.scratch.push_back(arguments);
  if (prototype) {
    Operand o;
    if (!namedOperand(o)) return false;
    here_.scratch.push_back(o);
  }
  return true;
}

}  // namespace vg::ptx
