// cvt in all its forms.
#include <algorithm>
#include <cmath>

#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/operations/random_rounding.h"
#include "ptx/text/op.h"

namespace vg::ptx::interpreter {
namespace {

// A real number: a double and the sign of what is missing from it.
struct Real {
  double value = 0;
  int lost = 0;
};

Real realOf(const Step& s, Type type, uint64_t bits) {
  switch (type) {
    case Type::F64:
      return {asDouble(bits), 0};
    case Type::F32:
      return {asFloat(s.ftz ? flush(bits) : bits), 0};
    case Type::F16:
      return {doubleOfHalf(static_cast<uint16_t>(bits)), 0};
    case Type::BF16:
      return {doubleOfBfloat(static_cast<uint16_t>(bits)), 0};
    default:
      break;
  }
  // An integer: two exact halves and their rounded sum.
  const uint32_t width = bitsOf(type);
  const int64_t whole = isSigned(type) ? signExtend(bits, width) : static_cast<int64_t>(bits & maskOf(width));
  const double high =
      isSigned(type) ? static_cast<double>(whole >> 32) : static_cast<double>(static_cast<uint64_t>(whole) >> 32);
  const double a = high * 0x1p32, b = static_cast<double>(whole & 0xffffffff);
  const double sum = a + b, rest = b - (sum - a);
  return {sum, rest > 0 ? 1 : rest < 0 ? -1 : 0};
}

double adjusted(const Real& real, Rounding rounding) {
  if (real.lost == 0) return real.value;
  const bool down = rounding == Rounding::Down || (rounding == Rounding::Zero && real.value > 0);
  const bool up = rounding == Rounding::Up || (rounding == Rounding::Zero && real.value < 0);
  if (up && real.lost > 0) return std::nextafter(real.value, HUGE_VAL);
  if (down && real.lost < 0) return std::nextafter(real.value, -HUGE_VAL);
  return real.value;
}

double roundedToInteger(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::Zero:
      return std::trunc(value);
    case Rounding::Down:
      return std::floor(value);
    case Rounding::Up:
      return std::ceil(value);
    default:
      return std::nearbyint(value);
  }
}

// A real number as bits of a float type, with .relu, .sat, .satfinite and .ftz.
uint64_t floatBits(const Step& s, Type to, Real real) {
  const Instruction& i = *s.i;
  if (s.sat) {
    if (!(real.value > 0))
      real = {0, 0};
    else if (real.value >= 1 && !(real.value == 1 && real.lost < 0))
      real = {1, 0};
  }
  if (i.has(Mod::Relu) && real.value <= 0) real = {0, 0};
  if (to == Type::F64) return bitsOfDouble(adjusted(real, s.rounding));
  const bool narrow = to != Type::F32 && to != Type::F16 && to != Type::BF16 && to != Type::TF32;
  const uint64_t bits = roundTo(real.value, real.lost, *formatOf(to), s.rounding,
                                i.has(Mod::Satfinite) && (narrow || !std::isnan(real.value)));
  if (to == Type::TF32) return bits << 13;
  if (to == Type::F32) {
    if (std::isnan(real.value)) return 0x7fffffff;
    return s.ftz ? flush(bits) : bits;
  }
  return bits;
}

uint64_t clampInteger(__int128 value, Type to) {
  const uint32_t width = bitsOf(to);
  const __int128 one = 1;
  const __int128 least = isSigned(to) ? -(one << (width - 1)) : 0;
  const __int128 most = isSigned(to) ? (one << (width - 1)) - 1 : (one << width) - 1;
  return static_cast<uint64_t>(std::clamp(value, least, most));
}

void integerToInteger(const Step& s, const uint64_t* in, uint64_t* r) {
  const Type to = s.i->types[0], from = s.i->types[1];
  const uint32_t width = bitsOf(from), toWidth = bitsOf(to);
  const uint64_t value = isSigned(from) ? static_cast<uint64_t>(signExtend(in[0], width)) : in[0] & maskOf(width);
  if (s.sat) {
    r[0] = clampInteger(isSigned(from) ? static_cast<__int128>(static_cast<int64_t>(value)) : value, to);
  } else {
    r[0] = isSigned(to) ? static_cast<uint64_t>(signExtend(value, toWidth)) : value & maskOf(toWidth);
  }
}

void floatToInteger(const Step& s, const uint64_t* in, uint64_t* r) {
  const Type to = s.i->types[0], from = s.i->types[1];
  const double value = realOf(s, from, in[0]).value;
  const uint32_t width = bitsOf(to);
  if (std::isnan(value)) {
    const uint64_t top = uint64_t{1} << (width - 1);
    r[0] = from != Type::F64 && width != 64 ? 0 : isSigned(to) ? 0 - top : top;
    return;
  }
  const double whole = roundedToInteger(value, s.rounding);
  const double bounded = std::clamp(whole, -0x1p64, 0x1p64);
  r[0] = clampInteger(static_cast<__int128>(bounded), to);
}

void integerToFloat(const Step& s, const uint64_t* in, uint64_t* r) {
  r[0] = floatBits(s, s.i->types[0], realOf(s, s.i->types[1], in[0]));
}

// What a NaN becomes in another format without .sat: from and to f64 its upper bits go on, made quiet, and what only
// moves bits keeps them; everything else makes the one NaN of arithmetic.
uint64_t convertedNaN(const Step& s, uint64_t bits) {
  const Type to = s.i->types[0], from = s.i->types[1];
  const bool moves = !s.number && !s.ftz;
  if (to == Type::F64) {
    if (from == Type::F64) return s.number ? bits | 1ull << 51 : bits;
    float narrow = asFloat(from == Type::F32 ? bits : bits << 16);
    if (from == Type::F16) narrow = asFloat((bits & 0x8000) << 16 | 0x7fc00000 | (bits & 0x1ff) << 13);
    return bitsOfDouble(from == Type::F32 && s.ftz ? asFloat(0x7fffffff) : narrow);
  }
  if (from == Type::F64) {
    const uint64_t single = (bits >> 32 & 0x80000000) | 0x7fc00000 | (bits >> 29 & 0x3fffff);
    if (to == Type::F32) return single;
    return to == Type::BF16 ? single >> 16 : (single >> 16 & 0x8000) | 0x7c00 | (single >> 13 & 0x3ff);
  }
  if (to == Type::F32 && moves && from == Type::F32) return bits & 0xffffffff;
  if (to == Type::F32 && moves && from == Type::BF16) return bits << 16 & 0xffffffff;
  return to == Type::F32 ? 0x7fffffff : 0x7fff;
}

// .rna to tf32 is arithmetic on the bits of a NaN, too, and what is then too large is made smaller.
uint64_t unroundedNaN(const Step& s, uint64_t bits) {
  const uint64_t cut = bits & 0xffffe000;
  return s.i->has(Mod::Satfinite) ? cut - 0x2000 : cut;
}

void floatToFloat(const Step& s, const uint64_t* in, uint64_t* r) {
  Real real = realOf(s, s.i->types[1], in[0]);
  if (s.number) real.value = roundedToInteger(real.value, s.rounding);
  if (s.i->types[0] == Type::TF32 && std::isnan(real.value)) {
    r[0] = s.rounding == Rounding::NearestAway ? unroundedNaN(s, in[0]) : 0x7fffe000;
    return;
  }
  if (std::isnan(real.value) && !s.sat) {
    r[0] = convertedNaN(s, in[0]);
    return;
  }
  r[0] = floatBits(s, s.i->types[0], real);
}

// ue8m0: the exponent of a positive power of two, biased by 127; 0xff is NaN.
uint64_t exponentBits(const Step& s, double value) {
  if (std::isnan(value)) return 0xff;
  value = std::fabs(value);
  const int most = s.i->has(Mod::Satfinite) ? 127 : 128;  // 128 is the code of NaN
  if (std::isinf(value)) return static_cast<uint64_t>(most) + 127;
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  if (fraction == 0.5 || s.rounding != Rounding::Up) --exponent;
  return static_cast<uint64_t>(std::clamp(exponent, -127, most) + 127);
}
double powerOf(uint64_t bits) { return bits == 0xff ? NAN : std::ldexp(1.0, static_cast<int>(bits) - 127); }

uint64_t narrowed(const Step& s, Type to, Real real) {
  return to == Type::UE8M0x2 ? exponentBits(s, real.value) : floatBits(s, to, real);
}

// cvt.f16x2.f32 d, a, b: the first source goes to the upper half.
void pairFromFloats(const Step& s, const uint64_t* in, uint64_t* r) {
  const Type to = s.i->types[0];
  const uint32_t width = bitsOf(to) / 2;
  const uint64_t high = narrowed(s, to, realOf(s, Type::F32, in[0])),
                 low = narrowed(s, to, realOf(s, Type::F32, in[1]));
  r[0] = (high & maskOf(width)) << width | (low & maskOf(width));
}

// Between packed formats, element by element: e4m3x2.f16x2, f16x2.e4m3x2.
void pairToPair(const Step& s, const uint64_t* in, uint64_t* r) {
  const Type to = s.i->types[0], from = s.i->types[1];
  const uint32_t toWidth = bitsOf(to) / 2, fromWidth = bitsOf(from) / 2;
  r[0] = 0;
  for (uint32_t k = 0; k < 2; ++k) {
    const uint64_t element = in[0] >> (k * fromWidth) & maskOf(fromWidth);
    const double value =
        from == Type::UE8M0x2 ? powerOf(element) : widen(static_cast<uint32_t>(element), *formatOf(from));
    const Real real{value, 0};
    r[0] |= (narrowed(s, to, real) & maskOf(toWidth)) << (k * toWidth);
  }
}

void packIntegers(const Step& s, const uint64_t* in, uint64_t* r) {
  const Type to = s.i->types[0];
  const uint32_t width = bitsOf(to);
  const auto convert = [&](uint64_t bits) {
    const __int128 value = isSigned(s.i->types[1]) ? signExtend(bits, 32) : static_cast<__int128>(bits & 0xffffffff);
    return clampInteger(value, to) & maskOf(width);
  };
  r[0] = convert(in[0]) << width | convert(in[1]);
  if (s.sourceCount == 3) r[0] |= in[2] << (2 * width);
}

bool isPacked(Type type) {
  switch (type) {
    case Type::F16x2:
    case Type::BF16x2:
    case Type::E4M3x2:
    case Type::E5M2x2:
    case Type::E2M3x2:
    case Type::E3M2x2:
    case Type::E2M1x2:
    case Type::UE8M0x2:
      return true;
    default:
      return false;
  }
}
bool isReal(Type type) { return type == Type::F16 || type == Type::BF16 || type == Type::F32 || type == Type::F64; }
bool isInteger(Type type) { return type >= Type::U8 && type <= Type::S64; }

Rounding roundingOf(const Instruction& i) {
  if (i.has(Mod::Rz) || i.has(Mod::Rzi)) return Rounding::Zero;
  if (i.has(Mod::Rm) || i.has(Mod::Rmi)) return Rounding::Down;
  if (i.has(Mod::Rp) || i.has(Mod::Rpi)) return Rounding::Up;
  return i.has(Mod::Rna) ? Rounding::NearestAway : Rounding::NearestEven;
}

void roundByChance(Warp& w, const Step& s, uint32_t mask) {
  const RandomRounding& rounding = *s.randomRounding;
  eachLane(mask, [&](uint32_t lane) {
    const uint64_t random = w.read(lane, s.vectorSources[rounding.count]);
    uint64_t made = 0;
    for (uint32_t n = 0; n < rounding.count; ++n) {
      const float value = asFloat(w.read(lane, s.vectorSources[rounding.source(n)]));
      const uint64_t bits = random >> rounding.randomAt(n) & maskOf(rounding.randomBits);
      made |= uint64_t{roundRandomly(value, static_cast<uint32_t>(bits), rounding)} << (n * rounding.elementBits);
    }
    w.write(lane, s.vectorTargets[0], made);
  });
}

}  // namespace

void selectRandomRounding(const Instruction& i, const Function& f, Step& s) {
  s.randomRounding = describeRandomRounding(i, f);
  if (s.randomRounding) s.execute = roundByChance;
}

void selectConvert(const Instruction& i, Step& s) {
  if (i.op != Op::Cvt) return;
  const Type to = i.types[0], from = i.types[1];
  s.sat = i.has(Mod::Sat);
  s.ftz = i.has(Mod::Ftz) && !(to == Type::F16 && from == Type::F32);  // halves have room for what it would flush
  s.rounding = roundingOf(i);
  s.number = i.has(Mod::Rni) || i.has(Mod::Rzi) || i.has(Mod::Rmi) || i.has(Mod::Rpi);
  if (i.has(Mod::Pack)) {
    const bool isPart = to == Type::S4 || to == Type::U4 || to == Type::S2 || to == Type::U2;
    if ((isPart || (isInteger(to) && bitsOf(to) <= 16)) && isInteger(from)) s.compute = packIntegers;
  } else if (isPacked(to) && from == Type::F32) {
    s.compute = pairFromFloats;
  } else if (isPacked(to) && isPacked(from)) {
    s.compute = pairToPair;
  } else if (isInteger(to) && isInteger(from)) {
    s.compute = integerToInteger;
  } else if (isInteger(to) && isReal(from)) {
    s.compute = floatToInteger;
  } else if (isReal(to) && isInteger(from)) {
    s.compute = integerToFloat;
  } else if ((isReal(to) || to == Type::TF32) && isReal(from)) {
    s.compute = floatToFloat;
  }
}

}  // namespace vg::ptx::interpreter
