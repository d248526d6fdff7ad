#include "ptx/text/validate.h"

#include <cstring>

#include "ptx/facts/matrix_form.h"
#include "ptx/facts/sparse_form.h"
#include "ptx/facts/texture_form.h"
#include "ptx/operations/random_rounding.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx {
namespace {

using Kind = Operand::Kind;

// The operands of an instruction, one letter each, destinations first:
//   t u v  the size of the first, second, third type        x  twice the first type's size
//   i l p  32 bits, 64 bits, predicate                       w  32-bit count: a 32-bit register or any constant
//   L      any register of at least 8 bits, or a constant    V  the same, or as many as .v2 .v4 .v8 says
//   T      as t, or a vector of such                         B  as t, or a vector whose sizes add up
//   R      32 bits, or a vector of such
//   m s *  address, name, anything                           n  as w, absent where there is an operand less
// '=' before a letter: a destination. '?': all from here on may be absent. A trailing '*' repeats. After the first
// destination of a `d|p` pair one predicate or register destination is read by itself.
class Checker {
 public:
  Checker(const Instruction& i, const Function& f) : i_(i), f_(f) {}

  const char* run() {
    const char* signature = operandsOf(i_);
    const Operand* const operands = f_.operands.data() + i_.first;
    bool optional = false;
    uint32_t at = 0;
    bool pairPending = i_.pair;
    for (; *signature; ++signature) {
      if (*signature == '?') {
        optional = true;
        continue;
      }
      if (*signature == 'n' && i_.count - at <= std::strlen(signature + 1)) continue;
      const bool destination = *signature == '=';
      if (destination) ++signature;
      const bool repeats = *signature == '*' && signature[1] == '\0' && !destination;
      if (at == i_.count) {
        if (optional || repeats) break;
        return "too few operands";
      }
      do {
        if (const char* why = check(operands[at++], *signature, destination)) return why;
      } while (repeats && at < i_.count);
      if (destination && pairPending) {
        pairPending = false;
        if (at == i_.count) return "too few operands";
        const Operand& second = operands[at++];
        if (second.kind != Kind::Sink && !(second.kind == Kind::Register && isPredicate(second)))
          return "the second destination is a predicate";
      }
    }
    return at == i_.count ? nullptr : "too many operands";
  }

 private:
  Type typeOf(const Operand& o) const { return f_.registers[o.reg].type; }
  bool isPredicate(const Operand& o) const { return typeOf(o) == Type::Pred; }

  // Bits that the letter asks for; 0: any.
  uint32_t wanted(char letter) const {
    switch (letter) {
      case 't':
      case 'T':
      case 'B':
        return bitsOf(i_.types[0]);
      case 'u':
        return bitsOf(i_.types[1]);
      case 'v':
        return bitsOf(i_.types[2]);
      case 'x':
        return 2 * bitsOf(i_.types[0]);
      case 'R':
      case 'i':
      case 'n':
      case 'w':
        return 32;
      case 'l':
        return 64;
      case 'p':
        return 1;
      default:
        return 0;
    }
  }

  const char* checkAddress(const Operand& o) const {
    if (o.kind != Kind::Address) return "address expected";
    if (o.isBaseRegister) {
      const uint32_t bits = bitsOf(typeOf(o));
      return bits == 32 || bits == 64 ? nullptr : "an address register has 32 or 64 bits";
    }
    switch (o.symbolKind) {
      case SymbolKind::Label:
      case SymbolKind::BranchTable:
      case SymbolKind::Prototype:
      case SymbolKind::Function:
        return "not the name of a variable";
      default:
        return nullptr;
    }
  }

  const char* checkRegister(const Operand& o, char letter) const {
    const uint32_t bits = bitsOf(typeOf(o));
    const uint32_t want = wanted(letter);
    if (letter != 'p' && i_.type() != Type::Pred && isPredicate(o)) return "a predicate register is not a number";
    if (want && bits != want) return letter == 'p' ? "predicate register expected" : "register of another size";
    if (letter == 'V' && bits < bitsOf(i_.type())) return "register is smaller than the type";
    return nullptr;
  }

  const char* checkVector(const Operand& o, char letter, bool destination) const {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < o.count; ++k) {
      const Operand& e = f_.operands[o.first + k];
      if (e.kind == Kind::Sink) {
        if (!destination) return "'_' is not a source";
        sum += bitsOf(i_.type()) / o.count;
      } else if (e.kind == Kind::Register) {
        if (isPredicate(e)) return "a predicate register is not a number";
        const uint32_t bits = bitsOf(typeOf(e));
        sum += bits;
        if (letter == 'T' && bits != bitsOf(i_.type())) return "vector element of another size";
        if (letter == 'R' && bits != 32) return "vector element of another size";
        if (letter == 'V' && bits < bitsOf(i_.type())) return "vector element is smaller than the type";
      } else if (destination || (e.kind != Kind::Immediate && e.kind != Kind::Special)) {
        return "register expected in the vector";
      } else {
        sum += bitsOf(i_.type()) / o.count;
      }
    }
    if (letter == 'B' && sum != bitsOf(i_.type())) return "vector elements do not add up to the type";
    if (letter == 'V' && o.count != i_.vectorWidth) return "vector of another width";
    return o.count ? nullptr : "empty vector";
  }

  const char* check(const Operand& o, char letter, bool destination) const {
    if (letter == 'm') return checkAddress(o);
    if (letter == 's') return o.kind == Kind::Symbol ? nullptr : "name expected";
    const bool typed = letter == 't' || letter == 'T' || letter == 'B' || letter == 'x';
    if (typed && i_.typeCount == 0) return "type missing";
    if ((letter == 'u' && i_.typeCount < 2) || (i_.op == Op::Cvt && i_.typeCount < 2)) return "two types needed";
    if ((letter == 'V') && i_.typeCount == 0) return "type missing";
    if (o.negated && letter != 'p' && i_.type() != Type::Pred && i_.op != Op::Vmad) return "'!' is for predicates";
    if (letter == '*') {
      if (o.negated && o.kind == Kind::Register && !isPredicate(o) && i_.op != Op::Vmad) return "'!' is for predicates";
      if (destination && o.kind == Kind::Immediate) return "a constant is not a destination";
      return nullptr;
    }
    switch (o.kind) {
      case Kind::Register:
        if (letter == 'V' && i_.vectorWidth > 1) return "vector expected";
        return checkRegister(o, letter);
      case Kind::Vector:
        if (letter != 'T' && letter != 'V' && letter != 'B' && letter != 'R') return "a vector is not allowed here";
        return checkVector(o, letter, destination);
      case Kind::Sink:
        return destination ? nullptr : "'_' is not a source";
      case Kind::Immediate:
      case Kind::Special:
        if (destination) return "register expected";
        return letter == 'V' && i_.vectorWidth > 1 ? "vector expected" : nullptr;
      case Kind::Symbol:
        if (destination) return "register expected";
        if (o.symbolKind == SymbolKind::Label) return "name is not defined";
        return i_.op == Op::Mov || i_.op == Op::Cvta || letter == 'L' ? nullptr : "a name is not allowed here";
      case Kind::Address:
        return "an address is not allowed here";
      case Kind::None:
        break;
    }
    return "operand expected";
  }

  const Instruction& i_;
  const Function& f_;
};

bool hasOnlyItsWords(const Instruction& i) {
  for (size_t word = 0; word < i.mods.size(); ++word)
    if (i.mods.test(word) && !allows(i.op, static_cast<Mod>(word))) return false;
  return true;
}

bool isForm(const Instruction& texture, const Function& f) {
  return hasOnlyItsWords(texture) && describeTexture(texture, f);
}

}  // namespace

const char* validate(const Instruction& i, const Function& f) {
  if (i.op == Op::Call || i.op == Op::Invalid) return nullptr;
  if (const char* why = Checker(i, f).run()) return why;
  if (rowOf(i.op).has(Trait::Texture) && !isForm(i, f)) return "there is no such form";
  if (i.op == Op::Cvt && i.has(Mod::Rs) && !describeRandomRounding(i, f)) return "there is no such form";
  if ((i.op == Op::Ldmatrix || i.op == Op::Stmatrix) && !describeMatrix(i, f)) return "there is no such form";
  if (i.op == Op::Spdecompress && !describeSparse(i, f)) return "there is no such form";
  return nullptr;
}

}  // namespace vg::ptx
