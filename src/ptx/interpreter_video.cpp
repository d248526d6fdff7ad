// The video instructions: scalar ones on selected bytes and halves, SIMD ones on two or four parts.
#include <algorithm>

#include "ptx/interpreter_impl.h"

namespace vg::ptx::interpreter {
namespace {

int64_t typed(uint64_t bits, uint32_t width, bool isSigned) {
  return isSigned ? signExtend(bits, width) : static_cast<int64_t>(bits & maskOf(width));
}

// The part of a 32-bit source that its selector names.
int64_t selected(const Source& source, uint64_t bits, bool isSigned) {
  if (source.selector >= kSelectorHalf && source.selector < kSelectorHalf + 2)
    return typed(bits >> (16 * (source.selector - kSelectorHalf)), 16, isSigned);
  if (source.selector >= kSelectorByte && source.selector < kSelectorByte + 4)
    return typed(bits >> (8 * (source.selector - kSelectorByte)), 8, isSigned);
  return typed(bits, 32, isSigned);
}

int64_t limit(int64_t value, uint32_t width, bool isSigned) {
  const int64_t most = isSigned ? (int64_t{1} << (width - 1)) - 1 : static_cast<int64_t>(maskOf(width));
  return std::clamp(value, isSigned ? -most - 1 : 0, most);
}

// The operation proper on two values; shifts see b as an amount.
int64_t operate(const Step& s, int64_t a, int64_t b) {
  switch (s.i->op) {
    case Op::Vadd:
    case Op::Vadd2:
    case Op::Vadd4:
      return a + b;
    case Op::Vsub:
    case Op::Vsub2:
    case Op::Vsub4:
      return a - b;
    case Op::Vabsdiff:
    case Op::Vabsdiff2:
    case Op::Vabsdiff4:
      return a < b ? b - a : a - b;
    case Op::Vmin:
    case Op::Vmin2:
    case Op::Vmin4:
      return std::min(a, b);
    case Op::Vmax:
    case Op::Vmax2:
    case Op::Vmax4:
      return std::max(a, b);
    case Op::Vavrg2:
    case Op::Vavrg4:
      return (a + b + (a + b >= 0)) >> 1;
    default:
      break;
  }
  const uint32_t raw = static_cast<uint32_t>(b), amount = s.i->has(Mod::Wrap) ? raw & 31 : std::min(raw, 32u);
  return s.i->op == Op::Vshl ? static_cast<int64_t>(static_cast<uint64_t>(a) << amount) : a >> amount;
}

// d = op2(op(a, b), c)
int64_t second(const Step& s, int64_t value, int64_t c) {
  if (s.i->has(Mod::Add)) return value + c;
  if (s.i->has(Mod::Min)) return std::min(value, c);
  if (s.i->has(Mod::Max)) return std::max(value, c);
  return value;
}

void scalar(const Step& s, const uint64_t* in, uint64_t* r) {
  const Instruction& i = *s.i;
  const bool toSigned = isSigned(i.types[0]);
  const bool isShift = i.op == Op::Vshl || i.op == Op::Vshr;
  const int64_t a = selected(s.sources[0], in[0], isSigned(i.types[1]));
  const int64_t b = selected(s.sources[1], in[1], !isShift && isSigned(i.types[2]));
  int64_t value = operate(s, a, b);
  if (s.sat) value = limit(value, 32, toSigned);
  if (s.sourceCount == 3)
    value = second(s, typed(static_cast<uint64_t>(value), 32, toSigned), typed(in[2], 32, toSigned));
  r[0] = static_cast<uint64_t>(value);
}

bool relation(const Instruction& i, int64_t a, int64_t b) {
  if (i.has(Mod::Eq)) return a == b;
  if (i.has(Mod::Ne)) return a != b;
  if (i.has(Mod::Lt)) return a < b;
  if (i.has(Mod::Le)) return a <= b;
  return i.has(Mod::Gt) ? a > b : a >= b;
}

void compareScalar(const Step& s, const uint64_t* in, uint64_t* r) {
  const Instruction& i = *s.i;
  const int64_t a = selected(s.sources[0], in[0], isSigned(i.types[0])),
                b = selected(s.sources[1], in[1], isSigned(i.types[1]));
  int64_t value = relation(i, a, b);
  if (s.sourceCount == 3) value = second(s, value, typed(in[2], 32, false));
  r[0] = static_cast<uint64_t>(value);
}

void multiplyAdd(const Step& s, const uint64_t* in, uint64_t* r) {
  const Instruction& i = *s.i;
  const int64_t a = selected(s.sources[0], in[0], isSigned(i.types[1])),
                b = selected(s.sources[1], in[1], isSigned(i.types[2]));
  const bool toSigned = isSigned(i.types[0]);
  __int128 value = static_cast<__int128>(a) * b;
  if (s.sources[0].negated != s.sources[1].negated) value = -value;
  value += s.sources[2].negated ? -typed(in[2], 32, toSigned) : typed(in[2], 32, toSigned);
  if (i.has(Mod::Po)) value += 1;
  if (i.has(Mod::Shr7)) value >>= 7;
  if (i.has(Mod::Shr15)) value >>= 15;
  const __int128 most = toSigned ? 0x7fffffff : 0xffffffff, least = toSigned ? -most - 1 : 0;
  r[0] = static_cast<uint64_t>(s.sat ? std::clamp(value, least, most) : value);
}

// Parts of the pair {b, a} that a SIMD selector picks, or the word's own.
int64_t picked(const Source& source, const uint64_t* in, uint32_t k, uint32_t parts, bool isSigned, bool second) {
  const uint32_t width = 32 / parts;
  uint32_t at = k + (second ? parts : 0);
  if (source.selector & kSelectorBytes)
    at = source.selector >> (3 * k) & 7;
  else if (source.selector & kSelectorHalves)
    at = source.selector >> (2 * k) & 3;
  const uint64_t pair = (in[1] & 0xffffffff) << 32 | (in[0] & 0xffffffff);
  return typed(pair >> (width * at), width, isSigned);
}

void simd(const Step& s, const uint64_t* in, uint64_t* r) {
  const Instruction& i = *s.i;
  const uint32_t parts = s.number, width = 32 / parts;
  const bool isSet = i.op == Op::Vset2 || i.op == Op::Vset4;
  const bool toSigned = isSigned(i.types[0]);
  const Type aType = i.types[isSet ? 0 : 1], bType = i.types[isSet ? 1 : 2];
  uint64_t out = in[2] & 0xffffffff;
  int64_t sum = typed(in[2], 32, toSigned);
  for (uint32_t k = 0; k < parts; ++k) {
    const int64_t a = picked(s.sources[0], in, k, parts, isSigned(aType), false);
    const int64_t b = picked(s.sources[1], in, k, parts, isSigned(bType), true);
    int64_t value = isSet ? relation(i, a, b) : operate(s, a, b);
    if (s.sat) value = limit(value, width, toSigned);
    if (i.has(Mod::Add)) sum += value;
    out = (out & ~(maskOf(width) << (width * k))) | (static_cast<uint64_t>(value) & maskOf(width)) << (width * k);
  }
  r[0] = i.has(Mod::Add) ? static_cast<uint64_t>(sum) : out;
}

}  // namespace

void selectVideo(const Instruction& i, Step& s) {
  s.sat = i.has(Mod::Sat);
  switch (i.op) {
    case Op::Vadd:
    case Op::Vsub:
    case Op::Vabsdiff:
    case Op::Vmin:
    case Op::Vmax:
    case Op::Vshl:
    case Op::Vshr:
      if (i.typeCount == 3) s.compute = scalar;
      break;
    case Op::Vset:
      if (i.typeCount == 2) s.compute = compareScalar;
      break;
    case Op::Vmad:
      if (i.typeCount == 3) s.compute = multiplyAdd;
      break;
    case Op::Vadd2:
    case Op::Vsub2:
    case Op::Vavrg2:
    case Op::Vabsdiff2:
    case Op::Vmin2:
    case Op::Vmax2:
    case Op::Vset2:
      s.number = 2;
      if (i.typeCount >= 2) s.compute = simd;
      break;
    case Op::Vadd4:
    case Op::Vsub4:
    case Op::Vavrg4:
    case Op::Vabsdiff4:
    case Op::Vmin4:
    case Op::Vmax4:
    case Op::Vset4:
      s.number = 4;
      if (i.typeCount >= 2) s.compute = simd;
      break;
    default:
      break;
  }
}

}  // namespace vg::ptx::interpreter
