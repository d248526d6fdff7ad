// f16 and bf16 arithmetic, single and packed: in doubles, with one exact rounding.
#include <cmath>

#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/operations/special_functions.h"
#include "ptx/text/op.h"

namespace vg::ptx::interpreter {
namespace {

// The NaN that fills tensors out of bounds, with either sign: fma.oob takes its product and sum for zero.
bool outOfBounds(uint64_t bits) { return (bits & 0x7fff) == 0x7ff7; }

struct Half {
  static constexpr uint64_t kNaN = 0x7fff;
  static double widen(uint64_t bits) { return doubleOfHalf(static_cast<uint16_t>(bits)); }
  static uint64_t round(double value, int lost) { return roundTo(value, lost, kHalf, Rounding::NearestEven, false); }
};
struct Brain {
  static constexpr uint64_t kNaN = 0x7fff;
  static double widen(uint64_t bits) { return doubleOfBfloat(static_cast<uint16_t>(bits)); }
  static uint64_t round(double value, int lost) { return roundTo(value, lost, kBfloat, Rounding::NearestEven, false); }
};

// Sum of doubles that is then rounded once to the format.
template <class F>
uint64_t roundedSum(double a, double b) {
  const double s = a + b;
  if (!std::isfinite(s) || s == 0) return F::round(s, 0);
  const double bb = s - a;
  const double lost = (a - (s - bb)) + (b - bb);
  return F::round(s, lost > 0 ? 1 : lost < 0 ? -1 : 0);
}

template <class F>
uint64_t extreme(uint64_t a, uint64_t b, int number) {
  const bool isMax = number & 1;
  const uint64_t sign = (a ^ b) & 0x8000;
  if (number & 4) {
    a &= 0x7fff;
    b &= 0x7fff;
  }
  const double x = F::widen(a), y = F::widen(b);
  uint64_t result;
  if (std::isnan(x) || std::isnan(y)) {
    result = (number & 2) || (std::isnan(x) && std::isnan(y)) ? F::kNaN : std::isnan(x) ? b : a;
  } else if (x == y) {
    result = ((a >> 15) != 0) == isMax ? b : a;
  } else {
    result = (x < y) == isMax ? b : a;
  }
  return (number & 4) && !std::isnan(F::widen(result)) ? (result & 0x7fff) | sign : result;
}

// One element. `number` as for min and max of f32; .relu clamps negatives and NaN... to +0 and canonical NaN.
template <class F>
uint64_t element(const Step& s, uint64_t a, uint64_t b, uint64_t c) {
  if (s.ftz) {
    a = flushHalf(a);
    b = flushHalf(b);
    c = flushHalf(c);
  }
  uint64_t result = 0;
  switch (s.i->op) {
    case Op::Add:
      result = roundedSum<F>(F::widen(a), F::widen(b));
      break;
    case Op::Sub:
      result = roundedSum<F>(F::widen(a), -F::widen(b));
      break;
    case Op::Mul:
      result = F::round(F::widen(a) * F::widen(b), 0);
      break;
    case Op::Fma: {
      const bool oob = s.i->has(Mod::Oob) && (outOfBounds(a) || outOfBounds(b));
      result = oob ? 0 : roundedSum<F>(F::widen(a) * F::widen(b), F::widen(c));
      break;
    }
    case Op::Min:
    case Op::Max:
      result = extreme<F>(a, b, s.number);
      if (s.sourceCount == 3) result = extreme<F>(result, c, s.number);
      break;
    case Op::Abs:
      result = std::isnan(F::widen(a)) ? F::kNaN : a & 0x7fff;
      break;
    case Op::Neg:
      result = std::isnan(F::widen(a)) ? F::kNaN : a ^ 0x8000;
      break;
    case Op::Ex2:
      return special::powerOfHalf(static_cast<uint16_t>(a), std::is_same_v<F, Half>);
    case Op::Tanh:
      return special::tangentOfHalf(static_cast<uint16_t>(a), std::is_same_v<F, Half>);
    default:
      break;
  }
  if (s.sat) {
    const double value = F::widen(result);
    if (!(value > 0))
      result = 0;
    else if (value > 1)
      result = F::round(1.0, 0);
  }
  if (s.i->has(Mod::Relu) && !std::isnan(F::widen(result)) && (result & 0x8000)) result = 0;
  return s.ftz ? flushHalf(result) : result;
}

template <class F>
void one(const Step& s, const uint64_t* in, uint64_t* r) {
  r[0] = element<F>(s, in[0] & 0xffff, in[1] & 0xffff, in[2] & 0xffff);
}
template <class F>
void two(const Step& s, const uint64_t* in, uint64_t* r) {
  r[0] = element<F>(s, in[0] & 0xffff, in[1] & 0xffff, in[2] & 0xffff) |
         element<F>(s, in[0] >> 16 & 0xffff, in[1] >> 16 & 0xffff, in[2] >> 16 & 0xffff) << 16;
}

}  // namespace

void selectHalf(const Instruction& i, Step& s) {
  switch (i.op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Fma:
    case Op::Min:
    case Op::Max:
    case Op::Abs:
    case Op::Neg:
    case Op::Ex2:
    case Op::Tanh:
      break;
    default:
      return;
  }
  switch (i.type()) {
    case Type::F16:
      s.compute = one<Half>;
      break;
    case Type::BF16:
      s.compute = one<Brain>;
      break;
    case Type::F16x2:
      s.compute = two<Half>;
      break;
    case Type::BF16x2:
      s.compute = two<Brain>;
      break;
    default:
      return;
  }
  s.ftz = i.has(Mod::Ftz);
  s.sat = i.has(Mod::Sat);
  s.number = static_cast<uint8_t>((i.op == Op::Max) | i.has(Mod::NaN) << 1 | i.has(Mod::Xorsign) << 2);
}

}  // namespace vg::ptx::interpreter
