// What selectors of the video instructions mean, for the interpreter and the code generator.
#pragma once

#include "ptx/text/ast.h"
#include "ptx/text/op.h"

namespace vg::ptx {

// The part of a word that a selector names.
struct VideoField {
  uint32_t first = 0, bits = 32;
};
inline VideoField videoField(uint16_t selector) {
  if (selector >= kSelectorHalf && selector < kSelectorHalf + 2) return {16u * (selector - kSelectorHalf), 16};
  if (selector >= kSelectorByte && selector < kSelectorByte + 4) return {8u * (selector - kSelectorByte), 8};
  return {};
}

// Where a scalar instruction puts its result: devices place the upper half of the result, not the lower, in .h1.
inline uint32_t videoPlace(uint16_t selector) { return selector == kSelectorHalf + 1 ? 0 : videoField(selector).first; }

// The parts of the destination that a SIMD video instruction writes, one bit each; all without a selector.
inline uint32_t videoParts(uint16_t selector, uint32_t parts) {
  if (selector & kSelectorMask) return selector & 15;
  const VideoField field = videoField(selector);
  if (field.bits != 32) return 1u << (field.first * parts / 32);
  return (1u << parts) - 1;  // all of them, in order
}

// Which part of {b, a} is part k of a SIMD operand.
inline uint32_t videoSource(uint16_t selector, uint32_t k, uint32_t parts, bool second) {
  if (selector & kSelectorBytes) return selector >> (3 * k) & 7;
  if (selector & kSelectorHalves) return selector >> (2 * k) & 3;
  return k + (second ? parts : 0);
}

inline bool isVideoShift(Op op) { return op == Op::Vshl || op == Op::Vshr; }
inline bool isVideoSet(Op op) { return op == Op::Vset || op == Op::Vset2 || op == Op::Vset4; }

// Parts of a SIMD video instruction; 1 for scalar ones, 0 for everything else.
inline uint32_t videoWidth(Op op) {
  switch (op) {
    case Op::Vadd:
    case Op::Vsub:
    case Op::Vabsdiff:
    case Op::Vmin:
    case Op::Vmax:
    case Op::Vshl:
    case Op::Vshr:
    case Op::Vset:
    case Op::Vmad:
      return 1;
    case Op::Vadd2:
    case Op::Vsub2:
    case Op::Vavrg2:
    case Op::Vabsdiff2:
    case Op::Vmin2:
    case Op::Vmax2:
    case Op::Vset2:
      return 2;
    case Op::Vadd4:
    case Op::Vsub4:
    case Op::Vavrg4:
    case Op::Vabsdiff4:
    case Op::Vmin4:
    case Op::Vmax4:
    case Op::Vset4:
      return 4;
    default:
      return 0;
  }
}

}  // namespace vg::ptx
