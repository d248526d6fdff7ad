// Integer arithmetic: sums, products, carries, halves, dot products.
#include "ptx/interpreter/integer.h"
#include "ptx/text/op.h"

#include <algorithm>
#include <limits>

namespace vg::ptx::interpreter {
namespace {

template <class T>
using Wide =
    std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                       std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                                          std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

template <class T>
T saturate(Wide<T> value) {
  const Wide<T> least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  return static_cast<T>(value < least ? least : value > most ? most : value);
}

#define VG_INTEGER(Name, expression)                                                   \
  template <class T>                                                                   \
  struct Name {                                                                        \
    using U = std::make_unsigned_t<T>;                                                 \
    static void run([[maybe_unused]] const Step& s, const uint64_t* in, uint64_t* r) { \
      [[maybe_unused]] const T a = as<T>(in[0]), b = as<T>(in[1]), c = as<T>(in[2]);   \
      r[0] = bitsFrom<T>(static_cast<T>(expression));                                  \
    }                                                                                  \
  };

VG_INTEGER(Add, s.sat ? saturate<T>(static_cast<Wide<T>>(a) + b) : static_cast<T>(U(a) + U(b)))
VG_INTEGER(Sub, s.sat ? saturate<T>(static_cast<Wide<T>>(a) - b) : static_cast<T>(U(a) - U(b)))
VG_INTEGER(MulLo, static_cast<Wide<U>>(U(a)) * U(b))
VG_INTEGER(MulHi, (static_cast<Wide<T>>(a) * b) >> (8 * sizeof(T)))
VG_INTEGER(MadLo, static_cast<Wide<U>>(U(a)) * U(b) + U(c))
VG_INTEGER(Sad, U(a < b ? U(b) - U(a) : U(a) - U(b)) + U(c))
VG_INTEGER(Div, b == 0 ? T(-1) : std::is_signed_v<T> && b == T(-1) ? T(U(0) - U(a)) : T(a / b))
VG_INTEGER(Rem, b == 0 ? T(-1) : std::is_signed_v<T> && b == T(-1) ? T(0) : T(a % b))
VG_INTEGER(Min, s.number ? std::max<T>(std::min(a, b), 0) : std::min(a, b))
VG_INTEGER(Max, s.number ? std::max<T>(std::max(a, b), 0) : std::max(a, b))
VG_INTEGER(Abs, a < 0 ? T(U(0) - U(a)) : a)
VG_INTEGER(Neg, U(0) - U(a))

template <class T>
struct MadHi {
  static void run(const Step& s, const uint64_t* in, uint64_t* r) {
    const T a = as<T>(in[0]), b = as<T>(in[1]), c = as<T>(in[2]);
    const T high = static_cast<T>((static_cast<Wide<T>>(a) * b) >> (8 * sizeof(T)));
    using U = std::make_unsigned_t<T>;
    r[0] = bitsFrom<T>(s.sat ? saturate<T>(static_cast<Wide<T>>(high) + c) : static_cast<T>(U(high) + U(c)));
  }
};
template <class T>
struct MulWide {
  static void run(const Step&, const uint64_t* in, uint64_t* r) {
    const Wide<T> product = static_cast<Wide<T>>(as<T>(in[0])) * as<T>(in[1]);
    r[0] = static_cast<uint64_t>(product);
  }
};
template <class T>
struct MadWide {
  static void run(const Step&, const uint64_t* in, uint64_t* r) {
    r[0] = static_cast<uint64_t>(static_cast<Wide<T>>(as<T>(in[0])) * as<T>(in[1])) + in[2];
  }
};

// 24-bit products: the low 24 bits of the sources; hi is bits 47..16 of the product.
template <bool isSigned>
int64_t product24(const uint64_t* in) {
  const int64_t a = isSigned ? signExtend(in[0], 24) : static_cast<int64_t>(in[0] & 0xffffff);
  const int64_t b = isSigned ? signExtend(in[1], 24) : static_cast<int64_t>(in[1] & 0xffffff);
  return a * b;
}
template <bool isSigned>
void mul24(const Step& s, const uint64_t* in, uint64_t* r) {
  r[0] = static_cast<uint64_t>(s.number ? product24<isSigned>(in) >> 16 : product24<isSigned>(in));
}
template <bool isSigned>
void mad24(const Step& s, const uint64_t* in, uint64_t* r) {
  uint64_t product = 0;
  mul24<isSigned>(s, in, &product);
  r[0] = s.sat ? bitsFrom(saturate<int32_t>(int64_t{as<int32_t>(product)} + as<int32_t>(in[2]))) : product + in[2];
}

// Carry chains. in[3] is the carry in, r[1] the carry out. A subtraction adds the complement: its carry is 1 when
// nothing was borrowed, which additions behind it may read.
template <class T>
struct AddCarry {
  static void run(const Step& s, const uint64_t* in, uint64_t* r) {
    using W = Wide<std::make_unsigned_t<T>>;
    using U = std::make_unsigned_t<T>;
    const W sum = static_cast<W>(as<U>(in[0])) + as<U>(in[1]) + (s.readsCarry ? in[3] : 0);
    r[0] = static_cast<U>(sum);
    r[1] = static_cast<uint64_t>(sum >> (8 * sizeof(T))) & 1;
  }
};
template <class T>
struct SubCarry {
  static void run(const Step& s, const uint64_t* in, uint64_t* r) {
    using W = Wide<std::make_unsigned_t<T>>;
    using U = std::make_unsigned_t<T>;
    const W difference = static_cast<W>(as<U>(in[0])) - as<U>(in[1]) - (s.readsCarry ? in[3] ^ 1 : 0);
    r[0] = static_cast<U>(difference);
    r[1] = ~static_cast<uint64_t>(difference >> (8 * sizeof(T))) & 1;
  }
};
template <class T>
struct MadCarry {
  static void run(const Step& s, const uint64_t* in, uint64_t* r) {
    uint64_t addends[4] = {0, in[2], 0, in[3]};
    if (s.number)
      MulHi<T>::run(s, in, addends);
    else
      MulLo<T>::run(s, in, addends);
    AddCarry<T>::run(s, addends, r);
  }
};

int64_t part(uint64_t word, uint32_t index, uint32_t width, bool isSigned) {
  const uint64_t bits = word >> (index * width) & maskOf(width);
  return isSigned ? signExtend(bits, width) : static_cast<int64_t>(bits);
}
template <bool aSigned, bool bSigned>
void dot4(const Step&, const uint64_t* in, uint64_t* r) {
  int64_t sum = static_cast<int64_t>(in[2]);
  for (uint32_t k = 0; k < 4; ++k) sum += part(in[0], k, 8, aSigned) * part(in[1], k, 8, bSigned);
  r[0] = static_cast<uint64_t>(sum);
}
template <bool aSigned, bool bSigned>
void dot2(const Step& s, const uint64_t* in, uint64_t* r) {
  int64_t sum = static_cast<int64_t>(in[2]);
  for (uint32_t k = 0; k < 2; ++k) sum += part(in[0], k, 16, aSigned) * part(in[1], k + 2 * s.number, 8, bSigned);
  r[0] = static_cast<uint64_t>(sum);
}

// add, sub, min, max, neg of numbers side by side in 32 bits.
template <uint32_t bits, bool isSigned>
void packed(const Step& s, const uint64_t* in, uint64_t* r) {
  constexpr int64_t kMost = (int64_t{1} << (isSigned ? bits - 1 : bits)) - 1, kLeast = isSigned ? -kMost - 1 : 0;
  uint64_t out = 0;
  for (uint32_t k = 0; k < 32 / bits; ++k) {
    const int64_t a = part(in[0], k, bits, isSigned), b = part(in[1], k, bits, isSigned);
    int64_t v = 0;
    switch (s.i->op) {
      case Op::Add:
        v = a + b;
        break;
      case Op::Sub:
        v = a - b;
        break;
      case Op::Min:
        v = std::min(a, b);
        break;
      case Op::Max:
        v = std::max(a, b);
        break;
      case Op::Neg:
        v = -a;
        break;
      default:
        break;
    }
    if (s.number) v = std::max<int64_t>(v, 0);
    if (s.sat) v = std::clamp(v, kLeast, kMost);
    out |= (static_cast<uint64_t>(v) & ((uint64_t{1} << bits) - 1)) << (bits * k);
  }
  r[0] = out;
}

// a * b without carries, its lower or upper 64 bits, and c added without carries.
void carrylessMad(const Step& s, const uint64_t* in, uint64_t* r) {
  uint64_t low = 0, high = 0;
  for (uint32_t k = 0; k < 64; ++k) {
    if (!(in[1] >> k & 1)) continue;
    low ^= in[0] << k;
    if (k) high ^= in[0] >> (64 - k);
  }
  r[0] = (s.number ? high : low) ^ in[2];
}

Compute dotOf(const Instruction& i) {
  const bool a = isSigned(i.types[0]), b = isSigned(i.types[1]);
  if (i.op == Op::Dp4a)
    return a ? (b ? dot4<true, true> : dot4<true, false>) : (b ? dot4<false, true> : dot4<false, false>);
  return a ? (b ? dot2<true, true> : dot2<true, false>) : (b ? dot2<false, true> : dot2<false, false>);
}

Compute arithmetic(const Instruction& i, Step& s) {
  const Type t = i.type();
  if (t == Type::U16x2) return packed<16, false>;
  if (t == Type::S16x2) return packed<16, true>;
  if (t == Type::U8x4) return packed<8, false>;
  if (t == Type::S8x4) return packed<8, true>;
  const bool carry = s.readsCarry || s.writesCarry;
  switch (i.op) {
    case Op::Add:
    case Op::Addc:
      return carry ? forType<AddCarry>(t) : forType<Add>(t);
    case Op::Sub:
    case Op::Subc:
      return carry ? forType<SubCarry>(t) : forType<Sub>(t);
    case Op::Mul:
      return i.has(Mod::Wide) ? forType<MulWide>(t) : i.has(Mod::Hi) ? forType<MulHi>(t) : forType<MulLo>(t);
    case Op::Mad:
    case Op::Madc:
      if (carry) {
        s.number = i.has(Mod::Hi);
        return forType<MadCarry>(t);
      }
      return i.has(Mod::Wide) ? forType<MadWide>(t) : i.has(Mod::Hi) ? forType<MadHi>(t) : forType<MadLo>(t);
    case Op::Div:
      return forType<Div>(t);
    case Op::Rem:
      return forType<Rem>(t);
    case Op::Min:
      return forType<Min>(t);
    case Op::Max:
      return forType<Max>(t);
    case Op::Abs:
      return forType<Abs>(t);
    case Op::Neg:
      return forType<Neg>(t);
    case Op::Sad:
      return forType<Sad>(t);
    default:
      return nullptr;
  }
}

}  // namespace

void selectInteger(const Instruction& i, Step& s) {
  const Type t = i.type();
  if (isFloat(t)) return;
  s.sat = i.has(Mod::Sat);
  switch (i.op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Mad:
    case Op::Div:
    case Op::Rem:
    case Op::Min:
    case Op::Max:
    case Op::Abs:
    case Op::Neg:
    case Op::Sad:
    case Op::Addc:
    case Op::Subc:
    case Op::Madc:
      s.writesCarry = i.has(Mod::Cc);
      s.readsCarry = i.op == Op::Addc || i.op == Op::Subc || i.op == Op::Madc;
      s.number = i.has(Mod::Relu);
      s.compute = arithmetic(i, s);
      break;
    case Op::Clmad:
      s.number = i.has(Mod::Hi);
      s.compute = carrylessMad;
      break;
    case Op::Mul24:
      s.number = i.has(Mod::Hi);
      s.compute = isSigned(t) ? mul24<true> : mul24<false>;
      break;
    case Op::Mad24:
      s.number = i.has(Mod::Hi);
      s.compute = isSigned(t) ? mad24<true> : mad24<false>;
      break;
    case Op::Dp4a:
      s.compute = dotOf(i);
      break;
    case Op::Dp2a:
      s.number = i.has(Mod::Hi);
      s.compute = dotOf(i);
      break;
    default:
      break;
  }
}

}  // namespace vg::ptx::interpreter
