// Constants and constant expressions of PTX: integers in four bases, hexadecimal and decimal floats, the C operators.
// Integers are 64 bits wide and signed unless a U suffix or an overflow of int64 makes them unsigned. One thread.
#pragma once

#include "ptx/text/ast.h"
#include "ptx/text/lexer.h"

namespace vg::ptx {

struct Constant {
  Operand::Literal literal = Operand::Literal::Integer;
  bool isUnsigned = false;
  uint64_t bits = 0;
};

// Whether an expression may begin with it; '!' does too, where no predicate can stand.
bool startsConstant(char c);
// Reads an expression. False on a syntax error, division by zero or nesting beyond a fixed depth; *why then says what.
bool parseExpression(Lexer& in, Constant& value, const char** why);
// The same for an expression that must be an integer.
bool parseInteger(Lexer& in, int64_t& value, const char** why);

// A float literal as the bits of `type` (F16, BF16, F32 or F64), rounded to nearest even; an integer constant for a
// float type is its value. For integer types the bits as they are.
uint64_t bitsAs(const Constant& constant, Type type);

}  // namespace vg::ptx
