// setp, set, selp, slct.
#include <cmath>

#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/text/op.h"

namespace vg::ptx::interpreter {
namespace {

enum class Relation : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
enum class Boolean : uint8_t { None, And, Or, Xor };

template <class T>
bool related(Relation relation, T a, T b) {
  const bool unordered = a != a || b != b;
  switch (relation) {
    case Relation::Eq:
      return a == b;
    case Relation::Ne:
      return !unordered && a != b;
    case Relation::Lt:
      return a < b;
    case Relation::Le:
      return a <= b;
    case Relation::Gt:
      return a > b;
    case Relation::Ge:
      return a >= b;
    case Relation::Equ:
      return unordered || a == b;
    case Relation::Neu:
      return unordered || a != b;
    case Relation::Ltu:
      return unordered || a < b;
    case Relation::Leu:
      return unordered || a <= b;
    case Relation::Gtu:
      return unordered || a > b;
    case Relation::Geu:
      return unordered || a >= b;
    case Relation::Num:
      return !unordered;
    case Relation::Nan:
      return unordered;
  }
  return false;
}

bool combined(Boolean operation, bool a, bool b) {
  switch (operation) {
    case Boolean::None:
      return a;
    case Boolean::And:
      return a && b;
    case Boolean::Or:
      return a || b;
    case Boolean::Xor:
      return a != b;
  }
  return a;
}

// The comparison of one pair of values of the type.
bool compare(const Step& s, Type type, uint64_t a, uint64_t b) {
  const Relation relation = static_cast<Relation>(s.number);
  switch (type) {
    case Type::F32:
      return related(relation, asFloat(s.ftz ? flush(a) : a), asFloat(s.ftz ? flush(b) : b));
    case Type::F64:
      return related(relation, asDouble(a), asDouble(b));
    case Type::F16:
    case Type::F16x2:
      return related(relation, doubleOfHalf(static_cast<uint16_t>(s.ftz ? flushHalf(a) : a)),
                     doubleOfHalf(static_cast<uint16_t>(s.ftz ? flushHalf(b) : b)));
    case Type::BF16:
    case Type::BF16x2:
      return related(relation, doubleOfBfloat(static_cast<uint16_t>(a)), doubleOfBfloat(static_cast<uint16_t>(b)));
    default:
      break;
  }
  const uint32_t bits = bitsOf(type);
  if (isSigned(type)) return related(relation, signExtend(a, bits), signExtend(b, bits));
  return related(relation, a & maskOf(bits), b & maskOf(bits));
}

bool isPacked(Type type) { return type == Type::F16x2 || type == Type::BF16x2; }

void setPredicate(const Step& s, const uint64_t* in, uint64_t* r) {
  const Boolean operation = static_cast<Boolean>(s.number2);
  const Type type = s.i->type();
  const bool c = in[2];
  if (isPacked(type)) {
    r[0] = combined(operation, compare(s, type, in[0] & 0xffff, in[1] & 0xffff), c);
    r[1] = combined(operation, compare(s, type, in[0] >> 16 & 0xffff, in[1] >> 16 & 0xffff), c);
    return;
  }
  const bool result = compare(s, type, in[0], in[1]);
  r[0] = combined(operation, result, c);
  r[1] = combined(operation, !result, c);
}

uint64_t truth(Type type) {
  switch (type) {
    case Type::F32:
      return 0x3f800000;
    case Type::F16:
      return 0x3c00;
    case Type::BF16:
      return 0x3f80;
    default:
      return ~uint64_t{0};
  }
}

void setValue(const Step& s, const uint64_t* in, uint64_t* r) {
  const Boolean operation = static_cast<Boolean>(s.number2);
  const Type to = s.i->types[0], from = s.i->types[1];
  const bool c = in[2];
  if (!isPacked(from)) {
    r[0] = combined(operation, compare(s, from, in[0], in[1]), c) ? truth(to) : 0;
    return;
  }
  const uint64_t one = to == Type::F16x2 ? 0x3c00 : to == Type::BF16x2 ? 0x3f80 : 0xffff;
  const bool low = combined(operation, compare(s, from, in[0] & 0xffff, in[1] & 0xffff), c);
  const bool high = combined(operation, compare(s, from, in[0] >> 16 & 0xffff, in[1] >> 16 & 0xffff), c);
  r[0] = (low ? one : 0) | (high ? one << 16 : 0);
}

void selectByPredicate(const Step&, const uint64_t* in, uint64_t* r) { r[0] = in[2] ? in[0] : in[1]; }
void selectBySign(const Step&, const uint64_t* in, uint64_t* r) {
  r[0] = static_cast<int32_t>(in[2]) >= 0 ? in[0] : in[1];
}
void selectByFloat(const Step& s, const uint64_t* in, uint64_t* r) {
  r[0] = asFloat(s.ftz ? flush(in[2]) : in[2]) >= 0 ? in[0] : in[1];
}

bool relationOf(const Instruction& i, Step& s) {
  struct Row {
    Mod mod;
    Relation relation;
  };
  static constexpr Row kRows[] = {{Mod::Eq, Relation::Eq},   {Mod::Ne, Relation::Ne},   {Mod::Lt, Relation::Lt},
                                  {Mod::Le, Relation::Le},   {Mod::Gt, Relation::Gt},   {Mod::Ge, Relation::Ge},
                                  {Mod::Lo, Relation::Lt},   {Mod::Ls, Relation::Le},   {Mod::Hi, Relation::Gt},
                                  {Mod::Hs, Relation::Ge},   {Mod::Equ, Relation::Equ}, {Mod::Neu, Relation::Neu},
                                  {Mod::Ltu, Relation::Ltu}, {Mod::Leu, Relation::Leu}, {Mod::Gtu, Relation::Gtu},
                                  {Mod::Geu, Relation::Geu}, {Mod::Num, Relation::Num}, {Mod::Nan, Relation::Nan}};
  for (const Row& row : kRows)
    if (i.has(row.mod)) {
      s.number = static_cast<uint8_t>(row.relation);
      s.number2 = static_cast<uint8_t>(i.has(Mod::And)   ? Boolean::And
                                       : i.has(Mod::Or)  ? Boolean::Or
                                       : i.has(Mod::Xor) ? Boolean::Xor
                                                         : Boolean::None);
      s.ftz = i.has(Mod::Ftz);
      return true;
    }
  return false;
}

}  // namespace

void selectCompare(const Instruction& i, Step& s) {
  switch (i.op) {
    case Op::Setp:
      if (relationOf(i, s)) s.compute = setPredicate;
      break;
    case Op::Set:
      if (relationOf(i, s)) s.compute = setValue;
      break;
    case Op::Selp:
      s.compute = selectByPredicate;
      break;
    case Op::Slct:
      s.ftz = i.has(Mod::Ftz);
      s.compute = i.types[1] == Type::F32 ? selectByFloat : selectBySign;
      break;
    default:
      break;
  }
}

}  // namespace vg::ptx::interpreter
