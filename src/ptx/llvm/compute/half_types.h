// Which types are halves (f16 and bf16), alone and in pairs.
#pragma once

#include "ptx/text/ast.h"

namespace vg::ptx::gen {

inline bool isHalf(Type t) { return t == Type::F16 || t == Type::BF16; }
inline bool isHalfPair(Type t) { return t == Type::F16x2 || t == Type::BF16x2; }
inline bool isF16(Type t) { return t == Type::F16 || t == Type::F16x2; }  // of halves and pairs: else it is bf16
// What a pair is made of; of a half, itself.
inline Type halfIn(Type t) { return isF16(t) ? Type::F16 : Type::BF16; }

}  // namespace vg::ptx::gen
