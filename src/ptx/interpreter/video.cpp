// The video instructions: scalar ones on selected bytes and halves, SIMD ones on two or four parts.
#include <algorithm>

#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/operations/video.h"
#include "ptx/text/op.h"

namespace vg::ptx::interpreter {
namespace {

int64_t typed(uint64_t bits, uint32_t width, bool isSigned) {
  return isSigned ? signExtend(bits, width) : static_cast<int64_t>(bits & maskOf(width));
}

// The part of a 32-bit source that its selector names.
int64_t selected(const Source& source, uint64_t bits, bool isSigned) {
  const VideoField field = videoField(source.selector);
  return typed(bits >> field.first, field.bits, isSigned);
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

// The value in the part of c that the destination's selector names.
uint64_t merged(const Step& s, int64_t value, uint64_t c) {
  const VideoField field = videoField(s.selector);
  const uint64_t mask = maskOf(field.bits) << field.first;
  return (static_cast<uint64_t>(value) << videoPlace(s.selector) & mask) | (c & ~mask);
}

// d = op2(op(a, b), c); the first result still has all its bits, and is unsigned when d is.
int64_t second(const Step& s, int64_t value, uint64_t bits, bool toSigned) {
  const int64_t c = typed(bits, 32, toSigned);
  const bool isLess = toSigned ? value < c : static_cast<uint64_t>(value) < static_cast<uint64_t>(c);
  if (s.i->has(Mod::Add)) return value + c;
  if (s.i->has(Mod::Min)) return isLess ? value : c;
  if (s.i->has(Mod::Max)) return isLess ? c : value;
  return value;
}

// .sat of a part of the destination knows no negative values: devices take them for large ones.
int64_t limitPart(int64_t value, uint32_t width, bool isSigned) {
  const uint64_t most = maskOf(isSigned ? width - 1 : width);
  return static_cast<int64_t>(std::min(static_cast<uint64_t>(value), most));
}

void scalar(const Step& s, const uint64_t* in, uint64_t* r) {
  const Instruction& i = *s.i;
  const bool toSigned = isSigned(i.types[0]);
  const bool isShift = i.op == Op::Vshl || i.op == Op::Vshr;
  const int64_t a = selected(s.sources[0], in[0], isSigned(i.types[1]));
  const int64_t b = selected(s.sources[1], in[1], !isShift && isSigned(i.types[2]));
  int64_t value = operate(s, a, b);
  if (s.selector) {
    if (s.sat) value = limitPart(value, videoField(s.selector).bits, toSigned);
    r[0] = merged(s, value, in[2]);
    return;
  }
  if (s.sat) value = limit(value, 32, toSigned);
  if (s.sourceCount == 3) value = second(s, value, in[2], toSigned);
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
  if (s.selector) {
    r[0] = merged(s, value, in[2]);
    return;
  }
  if (s.sourceCount == 3) value = second(s, value, in[2], false);
  r[0] = static_cast<uint64_t>(value);
}

void multiplyAdd(const Step& s, const uint64_t* in, uint64_t* r) {
  const Instruction& i = *s.i;
  const auto raw = [&](int k) { return in[k] ^ s.sources[k].negated; };  // what is read is that of a predicate
  const int64_t a = selected(s.sources[0], raw(0), isSigned(i.types[1])),
                b = selected(s.sources[1], raw(1), isSigned(i.types[2]));
  // In 64 bits. Devices take whole words for signed ones whatever their type; only the shift minds it.
  const bool toSigned = isSigned(i.types[0]), shiftsSign = toSigned || isSigned(i.types[1]) || isSigned(i.types[2]);
  const auto factor = [](int64_t v) { return static_cast<uint64_t>(typed(static_cast<uint64_t>(v), 32, true)); };
  uint64_t value = factor(a) * factor(b);
  if (s.sources[0].negated != s.sources[1].negated) value = 0 - value;
  const uint64_t c = static_cast<uint64_t>(typed(raw(2), 32, true));
  value += s.sources[2].negated ? 0 - c : c;
  if (i.has(Mod::Po)) value += 1;
  const uint32_t places = i.has(Mod::Shr7) ? 7 : i.has(Mod::Shr15) ? 15 : 0;
  value = shiftsSign ? static_cast<uint64_t>(static_cast<int64_t>(value) >> places) : value >> places;
  r[0] = s.sat ? static_cast<uint64_t>(limit(static_cast<int64_t>(value), 32, toSigned)) : value;
}

// Parts of the pair {b, a} that a SIMD selector picks, or the word's own.
int64_t picked(const Source& source, const uint64_t* in, uint32_t k, uint32_t parts, bool isSigned, bool second) {
  const uint32_t width = 32 / parts, at = videoSource(source.selector, k, parts, second);
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
  const uint32_t written = videoParts(s.selector, parts);
  for (uint32_t k = 0; k < parts; ++k) {
    if (!(written >> k & 1)) continue;
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
  const uint32_t parts = videoWidth(i.op), types = i.typeCount;
  s.number = static_cast<uint8_t>(parts);
  if (parts > 1)
    s.compute = types >= 2 ? simd : nullptr;
  else if (i.op == Op::Vset)
    s.compute = types == 2 ? compareScalar : nullptr;
  else if (i.op == Op::Vmad)
    s.compute = types == 3 ? multiplyAdd : nullptr;
  else if (parts)
    s.compute = types == 3 ? scalar : nullptr;
}

}  // namespace vg::ptx::interpreter
