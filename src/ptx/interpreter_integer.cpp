// Integer arithmetic, logic, shifts, bit fields.
#include <algorithm>
#include <type_traits>

#include "ptx/interpreter_impl.h"

namespace vg::ptx::interpreter {
namespace {

template <class T>
T as(uint64_t bits) {
  return static_cast<T>(bits);
}
template <class T>
uint64_t bitsFrom(T value) {
  return static_cast<uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
}
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

// One struct an operation, `run` on one lane; forType picks the instance for a type.
template <template <class> class Operation>
Compute forType(Type type) {
  switch (type) {
    case Type::S16:
      return Operation<int16_t>::run;
    case Type::U16:
    case Type::B16:
      return Operation<uint16_t>::run;
    case Type::S32:
      return Operation<int32_t>::run;
    case Type::U32:
    case Type::B32:
      return Operation<uint32_t>::run;
    case Type::S64:
      return Operation<int64_t>::run;
    case Type::U64:
    case Type::B64:
      return Operation<uint64_t>::run;
    default:
      return nullptr;
  }
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

// Carry chains. in[3] is the carry in (borrow for sub), r[1] the carry out.
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
struct SubBorrow {
  static void run(const Step& s, const uint64_t* in, uint64_t* r) {
    using W = Wide<std::make_unsigned_t<T>>;
    using U = std::make_unsigned_t<T>;
    const W difference = static_cast<W>(as<U>(in[0])) - as<U>(in[1]) - (s.readsCarry ? in[3] : 0);
    r[0] = static_cast<U>(difference);
    r[1] = static_cast<uint64_t>(difference >> (8 * sizeof(T))) & 1;
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

#define VG_PLAIN(name, expression) \
  void name([[maybe_unused]] const Step& s, const uint64_t* in, uint64_t* r) { r[0] = (expression); }

VG_PLAIN(bitAnd, in[0] & in[1])
VG_PLAIN(bitOr, in[0] | in[1])
VG_PLAIN(bitXor, in[0] ^ in[1])
VG_PLAIN(bitNot, ~in[0])
VG_PLAIN(isZero, in[0] == 0)
VG_PLAIN(shiftLeft16, static_cast<uint32_t>(in[1]) < 16 ? in[0] << in[1] : 0)
VG_PLAIN(shiftLeft32, static_cast<uint32_t>(in[1]) < 32 ? in[0] << in[1] : 0)
VG_PLAIN(shiftLeft64, static_cast<uint32_t>(in[1]) < 64 ? in[0] << static_cast<uint32_t>(in[1]) : 0)
VG_PLAIN(population, static_cast<uint64_t>(std::popcount(in[0])))
VG_PLAIN(leadingZeros32, static_cast<uint64_t>(std::countl_zero(static_cast<uint32_t>(in[0]))))
VG_PLAIN(leadingZeros64, static_cast<uint64_t>(std::countl_zero(in[0])))

template <class T>
struct ShiftRight {
  static void run(const Step&, const uint64_t* in, uint64_t* r) {
    const uint32_t amount = static_cast<uint32_t>(in[1]), width = 8 * sizeof(T);
    const T a = as<T>(in[0]);
    r[0] = bitsFrom<T>(amount < width ? static_cast<T>(a >> amount) : a < 0 ? T(-1) : T(0));
  }
};

uint64_t reverse(uint64_t value, int width) {
  uint64_t out = 0;
  for (int i = 0; i < width; ++i) out |= (value >> i & 1) << (width - 1 - i);
  return out;
}
VG_PLAIN(reverse32, reverse(in[0], 32))
VG_PLAIN(reverse64, reverse(in[0], 64))

// Positions and lengths count 8 bits in the 32-bit forms and are limited to the width in the 64-bit ones.
template <uint32_t width>
uint32_t fieldNumber(uint64_t value) {
  return width == 64 ? static_cast<uint32_t>(std::min<uint64_t>(value & 0xffffffff, 64)) : value & 0xff;
}

template <class T>
struct BitFieldExtract {
  static void run(const Step&, const uint64_t* in, uint64_t* r) {
    constexpr uint32_t width = 8 * sizeof(T);
    const uint32_t position = fieldNumber<width>(in[1]), length = fieldNumber<width>(in[2]);
    const uint64_t a = in[0] & maskOf(width);
    if (length == 0) {
      r[0] = 0;
      return;
    }
    const uint32_t last = std::min(position + length - 1, width - 1);
    const bool sign = std::is_signed_v<T> && (a >> last & 1);
    const uint64_t field = position < width ? a >> position : 0;
    const uint32_t have = position < width ? std::min(length, width - position) : 0;
    r[0] = (field & maskOf(have)) | (sign ? ~maskOf(have) : 0);
  }
};
template <uint32_t width>
void bitFieldInsert(const Step&, const uint64_t* in, uint64_t* r) {
  const uint32_t position = fieldNumber<width>(in[2]), length = fieldNumber<width>(in[3]);
  uint64_t result = in[1];
  if (position < width) {
    const uint64_t field = maskOf(std::min(length, width - position)) << position;
    result = (result & ~field) | ((in[0] << position) & field);
  }
  r[0] = result;
}

template <class T>
struct FindHighest {
  static void run(const Step& s, const uint64_t* in, uint64_t* r) {
    const uint32_t width = 8 * sizeof(T);
    uint64_t a = in[0] & maskOf(width);
    if (std::is_signed_v<T> && (a >> (width - 1))) a = ~a & maskOf(width);
    if (a == 0) {
      r[0] = 0xffffffff;
      return;
    }
    const uint32_t at = 63 - static_cast<uint32_t>(std::countl_zero(a));
    r[0] = s.number ? width - 1 - at : at;
  }
};

void findNth(const Step&, const uint64_t* in, uint64_t* r) {
  const uint32_t mask = static_cast<uint32_t>(in[0]), base = static_cast<uint32_t>(in[1]);
  const int32_t offset = static_cast<int32_t>(in[2]);
  r[0] = offset == INT32_MIN ? 0 : 0xffffffff;  // the one offset that has no opposite finds lane 0
  if (base > 31 || offset == INT32_MIN) return;
  if (offset == 0) {
    if (mask >> base & 1) r[0] = base;
    return;
  }
  int64_t wanted = offset > 0 ? int64_t{offset} : -int64_t{offset};
  for (int at = static_cast<int>(base); at >= 0 && at<32; at += offset> 0 ? 1 : -1)
    if ((mask >> at & 1) && --wanted == 0) {
      r[0] = static_cast<uint64_t>(at);
      return;
    }
}

void logic3(const Step& s, const uint64_t* in, uint64_t* r) {
  const uint32_t a = static_cast<uint32_t>(in[0]), b = static_cast<uint32_t>(in[1]), c = static_cast<uint32_t>(in[2]);
  const uint32_t table = static_cast<uint32_t>(in[3]);
  uint32_t out = 0;
  for (uint32_t k = 0; k < 8; ++k)
    if (table >> k & 1) out |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  r[0] = out;
  const bool any = out != 0;  // lop3.BoolOp: p = (result != 0) op q
  r[1] = s.number == 1 ? (any && in[4]) : (any || in[4]);
}

template <bool left, bool clamp>
void funnel(const Step&, const uint64_t* in, uint64_t* r) {
  const uint32_t raw = static_cast<uint32_t>(in[2]), n = clamp ? std::min(raw, 32u) : raw & 31;
  const uint64_t pair = (in[1] & 0xffffffff) << 32 | (in[0] & 0xffffffff);
  r[0] = left ? (n == 32 ? pair : pair << n >> 32) : pair >> n;
}

void permute(const Step& s, const uint64_t* in, uint64_t* r) {
  const uint64_t bytes = (in[1] & 0xffffffff) << 32 | (in[0] & 0xffffffff);
  const auto byteAt = [&](uint32_t n) { return bytes >> (8 * (n & 7)) & 0xff; };
  const uint32_t selector = static_cast<uint32_t>(in[2]), n = selector & 3;
  uint64_t out = 0;
  for (uint32_t k = 0; k < 4; ++k) {
    uint32_t pick = 0;
    switch (s.number) {
      case 1:
        pick = n + k;
        break;  // f4e
      case 2:
        pick = (n + 8 - k) & 7;
        break;  // b4e
      case 3:
        pick = n;
        break;  // rc8
      case 4:
        pick = std::max(n, k);
        break;  // ecl
      case 5:
        pick = std::min(n, k);
        break;  // ecr
      case 6:
        pick = (n & 1) * 2 + (k & 1);
        break;  // rc16
      default:
        pick = selector >> (4 * k) & 0xf;
        break;
    }
    uint64_t byte = byteAt(pick);
    if (s.number == 0 && (pick & 8)) byte = byte & 0x80 ? 0xff : 0;
    out |= byte << (8 * k);
  }
  r[0] = out;
}

template <bool clamp>
void bitMask(const Step&, const uint64_t* in, uint64_t* r) {
  uint32_t a = static_cast<uint32_t>(in[0]), b = static_cast<uint32_t>(in[1]);
  if (clamp) {
    r[0] = a >= 32 ? 0 : maskOf(std::min(b, 32u)) << a;
  } else {
    a &= 31;
    b &= 31;
    r[0] = maskOf(b) << a;
  }
}

template <bool isSigned>
void signOrZeroExtend(const Step& s, const uint64_t* in, uint64_t* r) {
  const uint32_t raw = static_cast<uint32_t>(in[1]);
  const uint32_t n = s.number ? raw & 31 : std::min(raw, 32u);
  if (n == 0)
    r[0] = 0;
  else
    r[0] = isSigned ? static_cast<uint64_t>(signExtend(in[0] & 0xffffffff, n)) : in[0] & maskOf(n);
}

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

// add, sub, min, max on two 16-bit halves.
template <bool isSigned>
void pairs(const Step& s, const uint64_t* in, uint64_t* r) {
  uint64_t out = 0;
  for (uint32_t k = 0; k < 2; ++k) {
    const int64_t a = part(in[0], k, 16, isSigned), b = part(in[1], k, 16, isSigned);
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
    if (s.sat && isSigned) v = std::clamp<int64_t>(v, -32768, 32767);
    if (s.sat && !isSigned) v = std::clamp<int64_t>(v, 0, 65535);
    out |= (static_cast<uint64_t>(v) & 0xffff) << (16 * k);
  }
  r[0] = out;
}

Compute dotOf(const Instruction& i) {
  const bool a = isSigned(i.types[0]), b = isSigned(i.types[1]);
  if (i.op == Op::Dp4a)
    return a ? (b ? dot4<true, true> : dot4<true, false>) : (b ? dot4<false, true> : dot4<false, false>);
  return a ? (b ? dot2<true, true> : dot2<true, false>) : (b ? dot2<false, true> : dot2<false, false>);
}

Compute arithmetic(const Instruction& i, Step& s) {
  const Type t = i.type();
  if (t == Type::U16x2) return pairs<false>;
  if (t == Type::S16x2) return pairs<true>;
  const bool carry = s.readsCarry || s.writesCarry;
  switch (i.op) {
    case Op::Add:
    case Op::Addc:
      return carry ? forType<AddCarry>(t) : forType<Add>(t);
    case Op::Sub:
    case Op::Subc:
      return carry ? forType<SubBorrow>(t) : forType<Sub>(t);
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
  const uint32_t width = bitsOf(t);
  const bool clamp = i.has(Mod::Clamp);
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
    case Op::Mul24:
      s.number = i.has(Mod::Hi);
      s.compute = isSigned(t) ? mul24<true> : mul24<false>;
      break;
    case Op::Mad24:
      s.number = i.has(Mod::Hi);
      s.compute = isSigned(t) ? mad24<true> : mad24<false>;
      break;
    case Op::And:
      s.compute = bitAnd;
      break;
    case Op::Or:
      s.compute = bitOr;
      break;
    case Op::Xor:
      s.compute = bitXor;
      break;
    case Op::Not:
      s.compute = bitNot;
      break;
    case Op::Cnot:
      s.compute = isZero;
      break;
    case Op::Shl:
      s.compute = width == 16 ? shiftLeft16 : width == 32 ? shiftLeft32 : shiftLeft64;
      break;
    case Op::Shr:
      s.compute = forType<ShiftRight>(t);
      break;
    case Op::Popc:
      s.compute = population;
      break;
    case Op::Clz:
      s.compute = width == 64 ? leadingZeros64 : leadingZeros32;
      break;
    case Op::Brev:
      s.compute = width == 64 ? reverse64 : reverse32;
      break;
    case Op::Bfe:
      s.compute = forType<BitFieldExtract>(t);
      break;
    case Op::Bfi:
      s.compute = width == 64 ? bitFieldInsert<64> : bitFieldInsert<32>;
      break;
    case Op::Bfind:
      s.number = i.has(Mod::Shiftamt);
      s.compute = forType<FindHighest>(t);
      break;
    case Op::Fns:
      s.compute = findNth;
      break;
    case Op::Lop3:
      s.number = i.has(Mod::And) ? 1 : 2;
      s.compute = logic3;
      break;
    case Op::Shf:
      if (i.has(Mod::L))
        s.compute = clamp ? funnel<true, true> : funnel<true, false>;
      else
        s.compute = clamp ? funnel<false, true> : funnel<false, false>;
      break;
    case Op::Prmt: {
      const Mod modes[] = {Mod::F4e, Mod::B4e, Mod::Rc8, Mod::Ecl, Mod::Ecr, Mod::Rc16};
      for (uint8_t k = 0; k < 6; ++k)
        if (i.has(modes[k])) s.number = k + 1;
      s.compute = permute;
      break;
    }
    case Op::Bmsk:
      s.compute = clamp ? bitMask<true> : bitMask<false>;
      break;
    case Op::Szext:
      s.number = i.has(Mod::Wrap);
      s.compute = isSigned(t) ? signOrZeroExtend<true> : signOrZeroExtend<false>;
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
