// Logic, shifts, bit fields, permutations of bytes.
#include <algorithm>

#include "ptx/interpreter/integer.h"
#include "ptx/text/op.h"

namespace vg::ptx::interpreter {
namespace {

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

// Shifts and fields of bits; null for other opcodes.
Compute shiftOrField(const Instruction& i, Type t) {
  const uint32_t width = bitsOf(t);
  const bool clamp = i.has(Mod::Clamp);
  switch (i.op) {
    case Op::Shl:
      return width == 16 ? shiftLeft16 : width == 32 ? shiftLeft32 : shiftLeft64;
    case Op::Shr:
      return forType<ShiftRight>(t);
    case Op::Shf:
      if (i.has(Mod::L)) return clamp ? funnel<true, true> : funnel<true, false>;
      return clamp ? funnel<false, true> : funnel<false, false>;
    case Op::Bfe:
      return forType<BitFieldExtract>(t);
    case Op::Bfi:
      return width == 64 ? bitFieldInsert<64> : bitFieldInsert<32>;
    case Op::Bmsk:
      return clamp ? bitMask<true> : bitMask<false>;
    case Op::Szext:
      return isSigned(t) ? signOrZeroExtend<true> : signOrZeroExtend<false>;
    default:
      return nullptr;
  }
}

// Logic, and what looks for bits or orders them; null for other opcodes.
Compute logicOrSearch(Op op, Type t) {
  const bool wide = bitsOf(t) == 64;
  switch (op) {
    case Op::And:
      return bitAnd;
    case Op::Or:
      return bitOr;
    case Op::Xor:
      return bitXor;
    case Op::Not:
      return bitNot;
    case Op::Cnot:
      return isZero;
    case Op::Lop3:
      return logic3;
    case Op::Popc:
      return population;
    case Op::Clz:
      return wide ? leadingZeros64 : leadingZeros32;
    case Op::Brev:
      return wide ? reverse64 : reverse32;
    case Op::Bfind:
      return forType<FindHighest>(t);
    case Op::Fns:
      return findNth;
    case Op::Prmt:
      return permute;
    default:
      return nullptr;
  }
}

// What the function of an opcode finds in Step::number, where it looks there.
uint8_t formOf(const Instruction& i) {
  constexpr Mod kPermutations[] = {Mod::F4e, Mod::B4e, Mod::Rc8, Mod::Ecl, Mod::Ecr, Mod::Rc16};
  switch (i.op) {
    case Op::Bfind:
      return i.has(Mod::Shiftamt);
    case Op::Lop3:
      return i.has(Mod::And) ? 1 : 2;
    case Op::Szext:
      return i.has(Mod::Wrap);
    case Op::Prmt:
      for (size_t k = 0; k < std::size(kPermutations); ++k)
        if (i.has(kPermutations[k])) return static_cast<uint8_t>(k + 1);
      return 0;
    default:
      return 0;
  }
}

}  // namespace

void selectBits(const Instruction& i, Step& s) {
  const Type t = i.type();
  if (isFloat(t)) return;
  Compute compute = logicOrSearch(i.op, t);
  if (!compute) compute = shiftOrField(i, t);
  if (!compute) return;
  s.compute = compute;
  s.number = formOf(i);
}

}  // namespace vg::ptx::interpreter
