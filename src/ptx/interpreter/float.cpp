// f32 and f64 arithmetic. Rounding other than to nearest is exact: f32 through doubles and the sign of what they lost,
// f64 through the rounding mode of the machine.
#include <algorithm>
#include <cfenv>
#include <cmath>

#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/operations/special_functions.h"
#include "ptx/text/op.h"

namespace vg::ptx::interpreter {
namespace {

int signOf(double d) { return d > 0 ? 1 : d < 0 ? -1 : 0; }

// Double sum and the sign of its rounding error.
struct Sum {
  double value;
  int lost;
};
Sum exactSum(double a, double b) {
  const double s = a + b;
  if (!std::isfinite(s)) return {s, 0};
  const double bb = s - a;
  return {s, signOf((a - (s - bb)) + (b - bb))};
}

float roundedSum(double a, double b, Rounding rounding) {
  const Sum sum = exactSum(a, b);
  if (sum.value == 0 && sum.lost == 0) {  // an exact zero takes its sign from the direction
    if (std::signbit(a) == std::signbit(b)) return static_cast<float>(a + b);
    return rounding == Rounding::Down ? -0.0f : 0.0f;
  }
  return asFloat(roundTo(sum.value, sum.lost, kSingle, rounding, false));
}

float roundedSingle(double value, int lost, Rounding rounding) {
  return asFloat(roundTo(value, lost, kSingle, rounding, false));
}

// Operands and results of f32 instructions with .ftz and .sat.
float in32(const Step& s, uint64_t bits) { return asFloat(s.ftz ? flush(bits) : bits); }
uint64_t out32(const Step& s, float value) {
  if (s.sat) value = value > 1 ? 1.0f : value > 0 ? value : 0.0f;
  const uint64_t bits = bitsOfFloat(value);
  return s.ftz ? flush(bits) : bits;
}

// With .ftz what is too small after rounding to 24 bits, whatever its exponent, is zero, even where rounding to the
// step of subnormal numbers lifts it to the smallest normal one. `larger`: the same, 2^32 times as large.
uint64_t flushedEarly(const Step& s, float rounded, float larger) {
  const uint64_t bits = out32(s, rounded);
  return std::fabs(larger) < 0x1p-94f ? bits & 0x80000000 : bits;
}

constexpr float kLarger = 0x1p32f;

// `larger`: the operands of what is 2^32 times as large as the result. It overflows only where the result is no small
// one.
#define VG_F32(name, larger, nearest, directed)                                                \
  void name(const Step& s, const uint64_t* in, uint64_t* r) {                                  \
    const float x = in32(s, in[0]);                                                            \
    [[maybe_unused]] const float y = in32(s, in[1]), z = in32(s, in[2]);                       \
    const auto of = [&](float a, [[maybe_unused]] float b = 0, [[maybe_unused]] float c = 0) { \
      const Rounding rounding = s.rounding;                                                    \
      return rounding == Rounding::NearestEven ? (nearest) : (directed);                       \
    };                                                                                         \
    if (s.rounding == Rounding::NearestEven || !s.ftz)                                         \
      r[0] = out32(s, of(x, y, z));                                                            \
    else                                                                                       \
      r[0] = flushedEarly(s, of(x, y, z), of larger);                                          \
  }

VG_F32(add32, (x * kLarger, y* kLarger), a + b, roundedSum(a, b, rounding))
VG_F32(sub32, (x * kLarger, y* kLarger), a - b, roundedSum(a, -static_cast<double>(b), rounding))
VG_F32(mul32, (x * kLarger, y), a* b, roundedSingle(static_cast<double>(a) * b, 0, rounding))
VG_F32(fma32, (x * kLarger, y, z* kLarger), std::fma(a, b, c), roundedSum(static_cast<double>(a) * b, c, rounding))

float directedQuotient(float a, float b, Rounding rounding) {
  const double q = static_cast<double>(a) / b;
  const double rest = std::isfinite(q) && q != 0 ? std::fma(-q, static_cast<double>(b), static_cast<double>(a)) : 0;
  return roundedSingle(q, b < 0 ? -signOf(rest) : signOf(rest), rounding);
}
float directedRoot(float a, Rounding rounding) {
  const double q = std::sqrt(static_cast<double>(a));
  const double rest = std::isfinite(q) ? std::fma(-q, q, static_cast<double>(a)) : 0;
  return roundedSingle(q, signOf(rest), rounding);
}
VG_F32(div32, (x * kLarger, y), a / b, directedQuotient(a, b, rounding))
VG_F32(rcp32, (x / kLarger), 1.0f / a, directedQuotient(1.0f, a, rounding))
VG_F32(sqrt32, (x), std::sqrt(a), directedRoot(a, rounding))

#define VG_SPECIAL(name, function)                                 \
  void name(const Step& s, const uint64_t* in, uint64_t* r) {      \
    r[0] = special::function(static_cast<uint32_t>(in[0]), s.ftz); \
  }
VG_SPECIAL(rcpApprox, reciprocal)
VG_SPECIAL(sqrtApprox, root)
VG_SPECIAL(rsqrtApprox, reciprocalRoot)
VG_SPECIAL(ex2Approx, power)
VG_SPECIAL(lg2Approx, logarithm)
VG_SPECIAL(sinApprox, sine)
VG_SPECIAL(cosApprox, cosine)
void sinTurned(const Step&, const uint64_t* in, uint64_t* r) {
  r[0] = special::turnedSine(static_cast<uint32_t>(in[0]));
}
void cosTurned(const Step&, const uint64_t* in, uint64_t* r) {
  r[0] = special::turnedCosine(static_cast<uint32_t>(in[0]));
}
void tanhApprox(const Step&, const uint64_t* in, uint64_t* r) { r[0] = special::tangent(static_cast<uint32_t>(in[0])); }

void divApprox(const Step& s, const uint64_t* in, uint64_t* r) {
  const auto divide = s.number ? special::quotient : special::fullQuotient;
  r[0] = divide(static_cast<uint32_t>(in[0]), static_cast<uint32_t>(in[1]), s.ftz);
}

// Of a NaN they make the one NaN of all arithmetic.
void abs32(const Step& s, const uint64_t* in, uint64_t* r) { r[0] = bitsOfFloat(std::fabs(in32(s, in[0]))); }
void neg32(const Step& s, const uint64_t* in, uint64_t* r) { r[0] = bitsOfFloat(-in32(s, in[0])); }

// min and max: a number wins over NaN (unless .NaN), -0 is below +0. number: bit 0 max, 1 .NaN, 2 .xorsign.abs.
template <class T>
T extreme(T a, T b, int number) {
  const bool isMax = number & 1;
  bool negative = false;
  if (number & 4) {
    negative = std::signbit(a) != std::signbit(b);
    a = std::fabs(a);
    b = std::fabs(b);
  }
  T result;
  if (std::isnan(a) || std::isnan(b)) {
    result = (number & 2) || (std::isnan(a) && std::isnan(b)) ? std::numeric_limits<T>::quiet_NaN()
             : std::isnan(a)                                  ? b
                                                              : a;
  } else if (a == b) {
    result = std::signbit(a) == isMax ? b : a;
  } else {
    result = (a < b) == isMax ? b : a;
  }
  return (number & 4) ? std::copysign(result, negative ? T(-1) : T(1)) : result;
}
void extreme32(const Step& s, const uint64_t* in, uint64_t* r) {
  float value = extreme(in32(s, in[0]), in32(s, in[1]), s.number);
  if (s.sourceCount == 3) value = extreme(value, in32(s, in[2]), s.number);
  r[0] = out32(s, value);
}
// NaNs of f64 go on as they are, made quiet; of two NaNs the second.
double quiet(double nan) { return nan + nan; }
void extreme64(const Step& s, const uint64_t* in, uint64_t* r) {
  if (std::isnan(asDouble(in[0])) && std::isnan(asDouble(in[1])))
    r[0] = bitsOfDouble(quiet(asDouble(in[1])));
  else
    r[0] = bitsOfDouble(extreme(asDouble(in[0]), asDouble(in[1]), s.number));
}

// f64: the machine's rounding mode around one operation that the compiler cannot move.
int modeOf(Rounding rounding) {
  switch (rounding) {
    case Rounding::Zero:
      return FE_TOWARDZERO;
    case Rounding::Down:
      return FE_DOWNWARD;
    case Rounding::Up:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}
// A NaN that no operand is has its sign set, as on a GPU and on x86-64; ARM's has not.
uint64_t withSignOfInvalid(const Step& s, const uint64_t* in, double result) {
  constexpr uint64_t kOfInvalid = uint64_t{0xfff8} << 48;
  const auto isNaN = [](uint64_t bits) { return std::isnan(asDouble(bits)); };
  return std::isnan(result) && std::none_of(in, in + s.sourceCount, isNaN) ? kOfInvalid : bitsOfDouble(result);
}
template <class Operation>
void rounded64(const Step& s, const uint64_t* in, uint64_t* r, Operation operation) {
  volatile double a = asDouble(in[0]), b = asDouble(in[1]), c = asDouble(in[2]);
  if (s.rounding == Rounding::NearestEven) {
    r[0] = withSignOfInvalid(s, in, operation(a, b, c));
    return;
  }
  const int before = std::fegetround();
  std::fesetround(modeOf(s.rounding));
  volatile double result = operation(a, b, c);
  std::fesetround(before);
  r[0] = withSignOfInvalid(s, in, result);
}
#define VG_F64(name, expression)                                                                              \
  void name(const Step& s, const uint64_t* in, uint64_t* r) {                                                 \
    rounded64(s, in, r, []([[maybe_unused]] double a, [[maybe_unused]] double b, [[maybe_unused]] double c) { \
      return expression;                                                                                      \
    });                                                                                                       \
  }
VG_F64(add64, a + b)
VG_F64(sub64, std::isnan(b) ? quiet(b) : a - b)
VG_F64(mul64, a* b)
VG_F64(fma64, std::isnan(b) ? quiet(b) : std::isnan(c) ? quiet(c) : std::fma(a, b, c))
VG_F64(div64, a / b)
VG_F64(rcp64, 1.0 / a)
VG_F64(sqrt64, std::sqrt(a))
void rsqrt64(const Step&, const uint64_t* in, uint64_t* r) {
  r[0] = bitsOfDouble(special::nearReciprocalRoot64(asDouble(in[0])));
}
// The sign of a NaN stays.
void abs64(const Step&, const uint64_t* in, uint64_t* r) {
  r[0] = std::isnan(asDouble(in[0])) ? bitsOfDouble(quiet(asDouble(in[0]))) : in[0] & ~(1ull << 63);
}
void neg64(const Step&, const uint64_t* in, uint64_t* r) {
  r[0] = std::isnan(asDouble(in[0])) ? bitsOfDouble(quiet(asDouble(in[0]))) : in[0] ^ 1ull << 63;
}

// The approximate reciprocals of f64 read and write only the upper 32 bits, without subnormals.
void rcpApprox64(const Step&, const uint64_t* in, uint64_t* r) {
  r[0] = uint64_t{special::reciprocal64(static_cast<uint32_t>(in[0] >> 32))} << 32;
}
void rsqrtApprox64(const Step&, const uint64_t* in, uint64_t* r) {
  r[0] = uint64_t{special::reciprocalRoot64(static_cast<uint32_t>(in[0] >> 32))} << 32;
}

void copySign32(const Step&, const uint64_t* in, uint64_t* r) { r[0] = (in[0] & 0x80000000) | (in[1] & 0x7fffffff); }
void copySign64(const Step&, const uint64_t* in, uint64_t* r) { r[0] = (in[0] & 1ull << 63) | (in[1] & ~(1ull << 63)); }

template <class T>
void classify(const Step& s, const uint64_t* in, uint64_t* r) {
  const T value = static_cast<T>(sizeof(T) == 4 ? static_cast<double>(asFloat(in[0])) : asDouble(in[0]));
  const int kind = std::fpclassify(sizeof(T) == 4 ? static_cast<T>(asFloat(in[0])) : value);
  switch (s.number) {
    case 0:
      r[0] = kind != FP_NAN && kind != FP_INFINITE;
      break;
    case 1:
      r[0] = kind == FP_INFINITE;
      break;
    case 2:
      r[0] = kind != FP_NAN;
      break;
    case 3:
      r[0] = kind == FP_NAN;
      break;
    case 4:
      r[0] = kind == FP_NORMAL || kind == FP_ZERO;
      break;
    default:
      r[0] = kind == FP_SUBNORMAL;
      break;
  }
}

// Two f32 in a 64-bit word.
template <Compute operation>
void both(const Step& s, const uint64_t* in, uint64_t* r) {
  uint64_t low[3], high[3], results[2];
  for (int k = 0; k < 3; ++k) {
    low[k] = in[k] & 0xffffffff;
    high[k] = in[k] >> 32;
  }
  operation(s, low, &results[0]);
  operation(s, high, &results[1]);
  r[0] = results[0] | results[1] << 32;
}

Compute single(const Instruction& i) {
  const bool approx = i.has(Mod::Approx);
  switch (i.op) {
    case Op::Add:
      return add32;
    case Op::Sub:
      return sub32;
    case Op::Mul:
      return mul32;
    case Op::Mad:
    case Op::Fma:
      return fma32;
    case Op::Div:
      return approx || i.has(Mod::Full) ? divApprox : div32;
    case Op::Rcp:
      return approx ? rcpApprox : rcp32;
    case Op::Sqrt:
      return approx ? sqrtApprox : sqrt32;
    case Op::Rsqrt:
      return rsqrtApprox;
    case Op::Ex2:
      return ex2Approx;
    case Op::Lg2:
      return lg2Approx;
    case Op::Sin:
      return i.has(Mod::TwoPi) ? sinTurned : sinApprox;
    case Op::Cos:
      return i.has(Mod::TwoPi) ? cosTurned : cosApprox;
    case Op::Tanh:
      return tanhApprox;
    case Op::Abs:
      return abs32;
    case Op::Neg:
      return neg32;
    case Op::Min:
    case Op::Max:
      return extreme32;
    case Op::Copysign:
      return copySign32;
    case Op::Testp:
      return classify<float>;
    default:
      return nullptr;
  }
}

Compute wide(const Instruction& i) {
  const bool approx = i.has(Mod::Approx) && i.has(Mod::Ftz);
  switch (i.op) {
    case Op::Add:
      return add64;
    case Op::Sub:
      return sub64;
    case Op::Mul:
      return mul64;
    case Op::Mad:
    case Op::Fma:
      return fma64;
    case Op::Div:
      return div64;
    case Op::Rcp:
      return approx ? rcpApprox64 : rcp64;
    case Op::Sqrt:
      return sqrt64;
    case Op::Rsqrt:
      return approx ? rsqrtApprox64 : rsqrt64;
    case Op::Abs:
      return abs64;
    case Op::Neg:
      return neg64;
    case Op::Min:
    case Op::Max:
      return extreme64;
    case Op::Copysign:
      return copySign64;
    case Op::Testp:
      return classify<double>;
    default:
      return nullptr;
  }
}

Compute twoSingles(const Instruction& i) {
  switch (i.op) {
    case Op::Add:
      return both<add32>;
    case Op::Sub:
      return both<sub32>;
    case Op::Mul:
      return both<mul32>;
    case Op::Fma:
      return both<fma32>;
    default:
      return nullptr;
  }
}

// add.f32.f16 and the like: halves widened, arithmetic in f32.
template <Compute operation, int narrow, bool brain>
void widened(const Step& s, const uint64_t* in, uint64_t* r) {
  uint64_t a[3] = {in[0], in[1], in[2]};
  for (int k = 0; k < narrow; ++k) {
    const uint16_t h = static_cast<uint16_t>(in[k]);
    a[k] = bitsOfFloat(static_cast<float>(brain ? doubleOfBfloat(h) : doubleOfHalf(h)));
  }
  operation(s, a, r);
}

Compute mixed(const Instruction& i) {
  const bool brain = i.types[1] == Type::BF16;
  if (i.types[1] != Type::F16 && !brain) return nullptr;
  switch (i.op) {
    case Op::Add:
      return brain ? widened<add32, 1, true> : widened<add32, 1, false>;
    case Op::Sub:
      return brain ? widened<sub32, 1, true> : widened<sub32, 1, false>;
    case Op::Fma:
      return brain ? widened<fma32, 2, true> : widened<fma32, 2, false>;
    default:
      return nullptr;
  }
}

}  // namespace

void selectFloat(const Instruction& i, Step& s) {
  if (i.op == Op::Cvt || i.op == Op::Set || i.op == Op::Setp || i.op == Op::Selp || i.op == Op::Slct) return;
  s.ftz = i.has(Mod::Ftz);
  s.sat = i.has(Mod::Sat);
  s.rounding = i.has(Mod::Rz)   ? Rounding::Zero
               : i.has(Mod::Rm) ? Rounding::Down
               : i.has(Mod::Rp) ? Rounding::Up
                                : Rounding::NearestEven;
  if (i.op == Op::Min || i.op == Op::Max)
    s.number = static_cast<uint8_t>((i.op == Op::Max) | i.has(Mod::NaN) << 1 | i.has(Mod::Xorsign) << 2);
  if (i.op == Op::Div) s.number = i.has(Mod::Approx);
  if (i.op == Op::Testp) {
    const Mod kinds[] = {Mod::Finite, Mod::Infinite, Mod::Number, Mod::Notanumber, Mod::Normal, Mod::Subnormal};
    for (uint8_t k = 0; k < 6; ++k)
      if (i.has(kinds[k])) s.number = k;
  }
  if (i.type() == Type::F32) s.compute = i.typeCount == 2 ? mixed(i) : single(i);
  if (i.type() == Type::F64) s.compute = wide(i);
  if (i.type() == Type::F32x2) s.compute = twoSingles(i);
}

}  // namespace vg::ptx::interpreter
