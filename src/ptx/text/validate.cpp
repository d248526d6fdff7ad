#include "ptx/text/validate.h"

#include <array>

#include "ptx/facts/texture_form.h"

namespace vg::ptx {
namespace {

using Kind = Operand::Kind;

// The operands of an instruction, one letter each, destinations first:
//   t u v  the size of the first, second, third type        x  twice the first type's size
//   i l p  32 bits, 64 bits, predicate                       w  32-bit count: a 32-bit register or any constant
//   L      any register of at least 8 bits, or a constant    V  the same, or as many as .v2 .v4 .v8 says
//   T      as t, or a vector of such                         B  as t, or a vector whose sizes add up
//   m s *  address, name, anything
// '=' before a letter: a destination. '?': all from here on may be absent. A trailing '*' repeats. After the first
// destination of a `d|p` pair one predicate or register destination is read by itself.
struct Row {
  Op op;
  const char* signature;
};
constexpr Row kRows[] = {
    {Op::Abs, "=tt"},         {Op::Activemask, "=t"},   {Op::Addc, "=ttt"},    {Op::Alloca, "=L*"},
    {Op::And, "=ttt"},        {Op::Atom, "=TmT?T*"},    {Op::Bfe, "=ttww"},    {Op::Bfi, "=tttww"},
    {Op::Bfind, "=it"},       {Op::Bmsk, "=iww"},       {Op::Bra, "s"},        {Op::Brev, "=tt"},
    {Op::Brkpt, ""},          {Op::Brx, "is"},          {Op::Clz, "=it"},      {Op::Cnot, "=tt"},
    {Op::Copysign, "=ttt"},   {Op::Cos, "=tt"},         {Op::Cvt, "=LL?LL"},   {Op::Cvta, "=LB"},
    {Op::Div, "=ttt"},        {Op::Dp2a, "=iiii"},      {Op::Dp4a, "=iiii"},   {Op::Elect, "=ii"},
    {Op::Ex2, "=tt"},         {Op::Exit, ""},           {Op::Fns, "=iiii"},    {Op::Griddepcontrol, ""},
    {Op::Isspacep, "=pL"},    {Op::Ld, "=Vm?*"},        {Op::Ldu, "=Vm"},      {Op::Lg2, "=tt"},
    {Op::Lop3, "=tiiiw?p"},   {Op::Mad24, "=tttt"},     {Op::Madc, "=tttt"},   {Op::Match, "=iti"},
    {Op::Max, "=ttt?t"},      {Op::Membar, ""},         {Op::Min, "=ttt?t"},   {Op::Mov, "=BB"},
    {Op::Mul24, "=ttt"},      {Op::Nanosleep, "i"},     {Op::Neg, "=tt"},      {Op::Not, "=tt"},
    {Op::Or, "=ttt"},         {Op::Popc, "=it"},        {Op::Prmt, "=iiii"},   {Op::Rcp, "=tt"},
    {Op::Red, "mT?*"},        {Op::Redux, "=tti"},      {Op::Rem, "=ttt"},     {Op::Ret, ""},
    {Op::Rsqrt, "=tt"},       {Op::Sad, "=tttt"},       {Op::Selp, "=tttp"},   {Op::Set, "=tuu?p"},
    {Op::Setp, "=ptt?p"},     {Op::Shf, "=iiii"},       {Op::Shfl, "=ttww?i"}, {Op::Shl, "=ttw"},
    {Op::Shr, "=ttw"},        {Op::Sin, "=tt"},         {Op::Slct, "=tttu"},   {Op::Sqrt, "=tt"},
    {Op::St, "mV?*"},         {Op::Stackrestore, "L"},  {Op::Stacksave, "=L"}, {Op::Subc, "=ttt"},
    {Op::Szext, "=ttw"},      {Op::Tanh, "=tt"},        {Op::Testp, "=pt"},    {Op::Trap, ""},
    {Op::Xor, "=ttt"},        {Op::Vadd, "=*LL?*"},     {Op::Vsub, "=*LL?*"},  {Op::Vabsdiff, "=*LL?*"},
    {Op::Vmin, "=*LL?*"},     {Op::Vmax, "=*LL?*"},     {Op::Vshl, "=*LL?*"},  {Op::Vshr, "=*LL?*"},
    {Op::Vmad, "=*LLL"},      {Op::Vset, "=*LL?*"},     {Op::Vadd2, "=*LLL"},  {Op::Vsub2, "=*LLL"},
    {Op::Vavrg2, "=*LLL"},    {Op::Vabsdiff2, "=*LLL"}, {Op::Vmin2, "=*LLL"},  {Op::Vmax2, "=*LLL"},
    {Op::Vset2, "=*LLL"},     {Op::Vadd4, "=*LLL"},     {Op::Vsub4, "=*LLL"},  {Op::Vavrg4, "=*LLL"},
    {Op::Vabsdiff4, "=*LLL"}, {Op::Vmin4, "=*LLL"},     {Op::Vmax4, "=*LLL"},  {Op::Vset4, "=*LLL"},
    {Op::Tex, "=*m*"},        {Op::Tld4, "=*m*"},       {Op::Txq, "=*m*"},     {Op::Suld, "=*m*"},
    {Op::Sust, "m*"},         {Op::Sured, "m*"},        {Op::Suq, "=*m"},      {Op::Mapa, "=L*L"},
    {Op::Getctarank, "=L*"},  {Op::Istypep, "=p*"},     {Op::Ldmatrix, "=*m"}, {Op::Stmatrix, "m*"},
    {Op::Mma, "=***?*"},      {Op::Movmatrix, "=ii"},
};

constexpr auto kSignatures = [] {
  std::array<const char*, 256> table{};
  for (const Row& row : kRows) table[static_cast<size_t>(row.op)] = row.signature;
  return table;
}();

const char* signatureOf(const Instruction& i) {
  const bool wide = i.has(Mod::Wide), mixed = i.typeCount == 2;
  switch (i.op) {
    case Op::Add:
      return mixed ? "=tut" : "=ttt";
    case Op::Sub:
      return mixed ? "=tut" : "=ttt";
    case Op::Mul:
      return wide ? "=xtt" : "=ttt";
    case Op::Mad:
      return wide ? "=xttx" : "=tttt";
    case Op::Fma:
      return mixed ? "=tuut" : "=tttt";
    case Op::Vote:
      return i.has(Mod::Ballot) ? "=ip?i" : "=pp?i";
    case Op::Bar:
    case Op::Barrier:
      if (i.has(Mod::Cluster)) return "";
      if (i.has(Mod::Warp)) return "i";
      if (i.has(Mod::Arrive)) return "ww";
      if (i.has(Mod::Red)) {  // the number of threads stands before the predicate, or not at all
        if (i.count < 4) return i.has(Mod::Popc) ? "=iwp" : "=pwp";
        return i.has(Mod::Popc) ? "=iwwp" : "=pwwp";
      }
      return "w?w";
    case Op::Clusterlaunchcontrol:
      return i.has(Mod::TryCancel) ? "mm" : i.has(Mod::IsCanceled) ? "=pu" : "=Vu";
    case Op::Cp:
      if (i.has(Mod::Bulk) || i.has(Mod::Mbarrier)) return "?*";
      if (i.has(Mod::CommitGroup) || i.has(Mod::WaitAll)) return "";
      return i.has(Mod::WaitGroup) ? "w" : "mmw?**";
    default: {
      const size_t index = static_cast<size_t>(i.op);
      const char* known = index < kSignatures.size() ? kSignatures[index] : nullptr;
      return known ? known : "?*";
    }
  }
}

class Checker {
 public:
  Checker(const Instruction& i, const Function& f) : i_(i), f_(f) {}

  const char* run() {
    const char* signature = signatureOf(i_);
    const Operand* const operands = f_.operands.data() + i_.first;
    bool optional = false;
    uint32_t at = 0;
    bool pairPending = i_.pair;
    for (; *signature; ++signature) {
      if (*signature == '?') {
        optional = true;
        continue;
      }
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
      case 'i':
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
        if (letter != 'T' && letter != 'V' && letter != 'B') return "a vector is not allowed here";
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

}  // namespace

const char* validate(const Instruction& i, const Function& f) {
  if (i.op == Op::Call || i.op == Op::Invalid) return nullptr;
  if (const char* why = Checker(i, f).run()) return why;
  if (isTextureOp(i.op) && !describeTexture(i, f)) return "there is no such form";
  return nullptr;
}

}  // namespace vg::ptx
