// Operands of instructions: registers, constants, names, addresses, vectors.
#include "ptx/text/op.h"
#include "ptx/text/parser_impl.h"

namespace vg::ptx {
namespace {

constexpr uint32_t kNewRegister = UINT32_MAX;

Operand registerOperand(uint32_t index) {
  Operand o;
  o.kind = Operand::Kind::Register;
  o.reg = index;
  return o;
}

bool specialRegister(std::string_view name, Operand& o) {
  o.special = findSpecial(name);
  if (o.special == Special::None) return false;
  o.kind = Operand::Kind::Special;
  return true;
}

// %r1.b0, %r1.h1, %r1.b3210, %r1.h10 of the video instructions.
bool videoSelector(std::string_view word, uint16_t& selector) {
  if (word.size() < 2 || (word[0] != 'b' && word[0] != 'h')) return false;
  const bool bytes = word[0] == 'b';
  const std::string_view digits = word.substr(1);
  for (char c : digits)
    if (c < '0' || c > (bytes ? '7' : '3')) return false;
  selector = 0;
  if (digits.size() == 1) {
    const int limit = bytes ? 4 : 2, digit = digits[0] - '0';
    if (digit >= limit) return false;
    selector = static_cast<uint16_t>((bytes ? kSelectorByte : kSelectorHalf) + digit);
  } else if (bytes && digits.size() < 4) {  // bytes of a destination
    for (size_t k = 0; k < digits.size(); ++k) {
      if (digits[k] > '3' || (k && digits[k] >= digits[k - 1])) return false;
      selector |= static_cast<uint16_t>(1u << (digits[k] - '0'));
    }
    selector |= kSelectorMask;
  } else {
    if (digits.size() != (bytes ? 4u : 2u)) return false;
    for (char c : digits) selector = static_cast<uint16_t>(selector << (bytes ? 3 : 2) | (c - '0'));
    selector |= bytes ? kSelectorBytes : kSelectorHalves;
  }
  return true;
}

bool isNameStart(char c) {
  return c == '%' || c == '_' || c == '$' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// "%r12" -> "%r" and 12. False when the name does not end in a plain decimal number below 2^31.
bool splitNumber(std::string_view name, std::string_view& prefix, uint32_t& number) {
  size_t start = name.size();
  while (start > 0 && isDigit(name[start - 1])) --start;
  const size_t digits = name.size() - start;
  if (digits == 0 || digits > 9 || start == 0 || (digits > 1 && name[start] == '0')) return false;
  number = 0;
  for (char c : name.substr(start)) number = number * 10 + static_cast<uint32_t>(c - '0');
  prefix = name.substr(0, start);
  return true;
}

}  // namespace

// An index behind the name of an array.
class ArrayElement {
 public:
  explicit ArrayElement(ParserImpl& p) : p_(p) {}
  bool read(Operand& o);

 private:
  const Variable* variableOf(const Operand& o) const;
  bool address(Operand& o, const Operand& index, uint64_t size);
  void addInstruction(Op op, std::initializer_list<Type> types, std::initializer_list<Operand> operands,
                      Mod mod = Mod::Count);

  ParserImpl& p_;
};

// The variable that the operand names, and its element's size in bytes: 1 for what has no declaration here.
const Variable* ArrayElement::variableOf(const Operand& o) const {
  switch (o.symbolKind) {
    case SymbolKind::ModuleVariable:
      return &p_.module_.variables[o.symbol];
    case SymbolKind::FunctionVariable:
      return &p_.here_.function->variables[o.symbol];
    case SymbolKind::Parameter:
      return &p_.here_.function->parameters[o.symbol];
    default:
      return nullptr;
  }
}

// a[3], a[%r1], a[%r1+3]: the index counts elements. With a register the operand becomes a register that instructions
// in front of this one set to the address.
bool ArrayElement::read(Operand& o) {
  p_.in_.take('[');
  const Variable* v = variableOf(o);
  const uint64_t size = v ? uint64_t{bitsOf(v->type)} / 8 * v->vectorWidth : 1;
  const char* why = nullptr;
  int64_t index = 0;
  Operand counted;
  if (isNameStart(p_.in_.peek())) {
    const std::string_view name = p_.in_.operandName();
    if (name == "WARP_SZ")
      index = 32;
    else if (!p_.resolve(name, counted, false))
      return false;
    else if (counted.kind != Operand::Kind::Register)
      return p_.error("an index is a register or a constant");
    const char sign = p_.in_.peek();
    int64_t more = 0;
    if ((sign == '+' || sign == '-') && !parseInteger(p_.in_, more, &why)) return p_.error("%s", why);
    index += more;
  } else if (!parseInteger(p_.in_, index, &why)) {
    return p_.error("%s", why);
  }
  o.offset = static_cast<int64_t>(static_cast<uint64_t>(index) * size);
  p_.here_.isElement = true;
  if (counted.kind == Operand::Kind::Register && !address(o, counted, size)) return false;
  return p_.expect(']');
}

// mov base, a+offset; cvt index to 64 bits; mad address, index, size, base.
bool ArrayElement::address(Operand& o, const Operand& index, uint64_t size) {
  const Type type = p_.here_.function->registers[index.reg].type;
  if (type == Type::Pred || isFloat(type) || bitsOf(type) > 64) return p_.error("an index is an integer");
  const auto fresh = [&] { return registerOperand(p_.addRegister("%element", Type::B64)); };
  const Operand base = fresh(), wide = fresh(), sum = fresh();
  Operand scale;
  scale.kind = Operand::Kind::Immediate;
  scale.bits = size;
  const bool isUnsigned = type == Type::U8 || type == Type::U16;
  static constexpr Type kNarrow[2][3] = {{Type::S8, Type::S16, Type::S32}, {Type::U8, Type::U16, Type::U32}};
  const uint32_t bits = bitsOf(type);
  addInstruction(Op::Mov, {Type::B64}, {base, o});
  if (bits < 64) addInstruction(Op::Cvt, {Type::S64, kNarrow[isUnsigned][bits / 16]}, {wide, index});
  addInstruction(Op::Mad, {Type::S64}, {sum, bits < 64 ? wide : index, scale, base}, Mod::Lo);
  const Variable* v = variableOf(o);
  p_.here_.elementSpace = v ? v->space : Space::None;
  o = sum;
  return true;
}

void ArrayElement::addInstruction(Op op, std::initializer_list<Type> types, std::initializer_list<Operand> operands,
                                  Mod mod) {
  Instruction i;
  i.op = op;
  i.line = p_.here_.statementLine;
  i.location = p_.here_.location;
  for (const Type type : types) i.types[i.typeCount++] = type;
  if (mod != Mod::Count) i.mods.set(static_cast<size_t>(mod));
  std::vector<Operand>& all = p_.here_.function->operands;
  i.first = static_cast<uint32_t>(all.size());
  i.count = static_cast<uint32_t>(operands.size());
  all.insert(all.end(), operands);
  p_.here_.function->body.push_back(i);
}

bool ParserImpl::operand(Operand& o) {
  const char c = in_.peek();
  if (c == '{') return braces(o);
  if (c == '!') {
    in_.take('!');
    if (!namedOperand(o)) return false;
    o.negated = true;
    return o.kind == Operand::Kind::Register || error("'!' needs a predicate register");
  }
  if (c == '-' && isNameStart(in_.raw(1)) && negatedRegister(o)) return true;
  if (startsConstant(c)) return immediate(o);
  return namedOperand(o);
}

// -%r1, as vmad has it. False for names in constant expressions, which are read again.
bool ParserImpl::negatedRegister(Operand& o) {
  const Lexer start = in_;
  in_.take('-');
  const std::string_view name = in_.operandName();
  if (name != "WARP_SZ" && resolve(name, o, false) && o.kind == Operand::Kind::Register) {
    o.negated = true;
    return true;
  }
  in_ = start;
  o = Operand{};
  return false;
}

bool ParserImpl::immediate(Operand& o) {
  if (in_.plainNumber(o.bits)) {
    o.kind = Operand::Kind::Immediate;
    return true;
  }
  Constant value;
  const char* why = nullptr;
  if (!parseExpression(in_, value, &why)) return error("%s", why);
  o.kind = Operand::Kind::Immediate;
  o.literal = value.literal;
  o.bits = value.bits;
  return true;
}

bool ParserImpl::namedOperand(Operand& o) {
  const std::string_view name = in_.operandName();
  if (name.empty()) return error("operand expected");
  if (name == "_") {
    o.kind = Operand::Kind::Sink;
    return true;
  }
  if (name == "WARP_SZ") {
    o.kind = Operand::Kind::Immediate;
    o.bits = 32;
    return true;
  }
  if (!resolve(name, o, false)) return false;
  if (o.kind != Operand::Kind::Symbol) return true;
  const char next = in_.peek();
  const char* why = nullptr;
  if (next == '[') return ArrayElement(*this).read(o);
  if (next == '+' || next == '-') return parseInteger(in_, o.offset, &why) || error("%s", why);
  return true;
}

bool ParserImpl::resolveRegister(std::string_view name, Operand& o) {
  std::string_view prefix;
  uint32_t number = 0;
  Declaration* range = nullptr;
  if (splitNumber(name, prefix, number)) {
    range = here_.ranges.find(prefix);
    if (range && number >= range->count) range = nullptr;
  }
  if (range && here_.digitNames) {  // the innermost of both declarations holds
    const Declaration* exact = here_.names.find(name);
    if (exact && exact->depth >= range->depth) range = nullptr;
  }
  if (!range) return false;
  uint32_t& index = here_.rangeRegisters.at(here_.ranges.numberOf(range), number);
  if (index == kNewRegister) index = addRegister(name, range->type);
  o = registerOperand(index);
  return true;
}

bool ParserImpl::resolve(std::string_view name, Operand& o, bool inVector) {
  if (resolveRegister(name, o)) return true;
  o = Operand{};
  const Declaration* d = here_.names.find(name);
  if (!d) d = globals_.find(name);
  if (d && d->kind == Declaration::Kind::Register) {
    o = registerOperand(d->index);
    return true;
  }
  if (d && d->kind == Declaration::Kind::VectorRegister && !inVector) {
    o.kind = Operand::Kind::Vector;
    o.first = static_cast<uint32_t>(here_.function->operands.size());
    o.count = d->width;
    for (uint32_t i = 0; i < d->width; ++i) here_.function->operands.push_back(registerOperand(d->index + i));
    return true;
  }
  const bool late = !d || d->symbol == SymbolKind::Label || d->symbol == SymbolKind::BranchTable ||
                    d->symbol == SymbolKind::Prototype;
  if (d && d->kind == Declaration::Kind::Symbol && !late) {
    o.kind = Operand::Kind::Symbol;
    o.symbolKind = d->symbol;
    o.symbol = d->index;
    return true;
  }
  if (!d) {
    if (name.find('.') != std::string_view::npos)
      return suffixed(name, o) || error("'%.*s' is not defined", static_cast<int>(name.size()), name.data());
    if (specialRegister(name, o)) return true;
  }
  if (d && d->kind != Declaration::Kind::Symbol)
    return error("'%.*s' cannot be used here", static_cast<int>(name.size()), name.data());
  // A label, branch table or prototype: the right one is known when the scope closes.
  o.kind = Operand::Kind::Symbol;
  o.symbolKind = SymbolKind::Label;
  const uint32_t index = static_cast<uint32_t>(inVector ? here_.function->operands.size() : here_.scratch.size());
  here_.scratchPending.push_back({index, here_.names.intern(name), inVector});
  return true;
}

// A name with a word after a dot: %tid.x, v.y or v.g of a vector register, %r1.b0.
bool ParserImpl::suffixed(std::string_view name, Operand& o) {
  Lexer in(name);
  const std::string_view base = in.identifier(), word = in.dotWord();
  if (specialRegister(std::string(base).append(".").append(word), o)) return true;
  const Declaration* d = here_.names.find(base);
  if (uint16_t selector = 0;
      videoSelector(word, selector) && resolve(base, o, false) && o.kind == Operand::Kind::Register) {
    o.selector = selector;
    return true;
  }
  if (!d || d->kind != Declaration::Kind::VectorRegister || word.size() != 1) return false;
  for (const std::string_view components : {"xyzw", "rgba"})
    if (const size_t number = components.find(word[0]); number < d->width) {
      o = registerOperand(d->index + static_cast<uint32_t>(number));
      return true;
    }
  return false;
}

// [base+offset], or a list whose first item becomes the address; pushes the operands.
bool ParserImpl::bracket() {
  if (!expect('[')) return false;
  Operand address;
  const char c = in_.peek();
  const char* why = nullptr;
  if (startsConstant(c)) {
    if (!parseInteger(in_, address.offset, &why)) return error("%s", why);
  } else {
    if (!namedOperand(address)) return false;
    if (address.kind == Operand::Kind::Register) {
      address.isBaseRegister = true;
      const char sign = in_.peek();
      if ((sign == '+' || sign == '-') && !parseInteger(in_, address.offset, &why)) return error("%s", why);
    } else if (address.kind != Operand::Kind::Symbol) {
      return error("an address is a register, a name or a constant");
    }
  }
  address.kind = Operand::Kind::Address;
  here_.scratch.push_back(address);
  while (in_.take(',')) {
    Operand item;
    if (!operand(item)) return false;
    here_.scratch.push_back(item);
  }
  return expect(']');
}

bool ParserImpl::braces(Operand& o) {
  in_.take('{');
  const uint32_t first = static_cast<uint32_t>(here_.function->operands.size());
  if (in_.peek() != '}') {
    do {
      Operand item;
      const char c = in_.peek();
      if (startsConstant(c)) {
        if (!immediate(item)) return false;
      } else {
        const std::string_view name = in_.operandName();
        if (name.empty()) return error("vector element expected");
        if (name == "_")
          item.kind = Operand::Kind::Sink;
        else if (!resolve(name, item, true))
          return false;
        if (item.kind == Operand::Kind::Symbol && (in_.peek() == '+' || in_.peek() == '-')) {
          const char* why = nullptr;
          if (!parseInteger(in_, item.offset, &why)) return error("%s", why);
        }
      }
      here_.function->operands.push_back(item);
    } while (in_.take(','));
  }
  o.kind = Operand::Kind::Vector;
  o.first = first;
  o.count = static_cast<uint32_t>(here_.function->operands.size()) - first;
  return expect('}');
}

// A parenthesised list of a call, as a Vector.
bool ParserImpl::parenthesised(Operand& o) {
  if (!expect('(')) return false;
  o.kind = Operand::Kind::Vector;
  o.first = static_cast<uint32_t>(here_.function->operands.size());
  if (in_.peek() != ')') {
    do {
      Operand item;
      const char c = in_.peek();
      if (startsConstant(c)) {
        if (!immediate(item)) return false;
      } else {
        const std::string_view name = in_.operandName();
        if (name.empty()) return error("argument expected");
        if (name == "_")
          item.kind = Operand::Kind::Sink;
        else if (!resolve(name, item, true))
          return false;
        if (item.kind == Operand::Kind::Symbol && item.symbolKind != SymbolKind::FunctionVariable &&
            item.symbolKind != SymbolKind::Parameter && item.symbolKind != SymbolKind::ReturnParameter)
          return error("'%.*s' is not a parameter", static_cast<int>(name.size()), name.data());
      }
      here_.function->operands.push_back(item);
    } while (in_.take(','));
  }
  o.count = static_cast<uint32_t>(here_.function->operands.size()) - o.first;
  return expect(')');
}

void ParserImpl::commitOperands(Instruction& i) {
  i.first = static_cast<uint32_t>(here_.function->operands.size());
  i.count = static_cast<uint32_t>(here_.scratch.size());
  for (const ScratchPending& p : here_.scratchPending)
    here_.pending.push_back({Pending::Where::Operand, p.name, i.line, p.inVector ? p.operand : i.first + p.operand, 0});
  here_.function->operands.insert(here_.function->operands.end(), here_.scratch.begin(), here_.scratch.end());
  here_.scratch.clear();
  here_.scratchPending.clear();
}

}  // namespace vg::ptx
