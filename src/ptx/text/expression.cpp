#include "ptx/text/expression.h"

#include <bit>
#include <charconv>
#include <cmath>

#include "ptx/operations/half.h"

namespace vg::ptx {
namespace {

using Literal = Operand::Literal;
constexpr int kDepthLimit = 64;

int digitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

class Parser {
 public:
  Parser(Lexer& in, const char** why) : in_(in), why_(why) {}

  bool ternary(Constant& value, int depth) {
    if (depth > kDepthLimit) return error("expression nested too deeply");
    if (!binary(value, 1, depth)) return false;
    if (in_.peek() != '?') return true;
    in_.take('?');
    Constant yes, no;
    if (!ternary(yes, depth + 1)) return false;
    if (!in_.take(':')) return error("':' expected");
    if (!ternary(no, depth + 1)) return false;
    value = truth(value) ? yes : no;
    return true;
  }

 private:
  enum class Operator { None, OrOr, AndAnd, Or, Xor, And, Eq, Ne, Lt, Le, Gt, Ge, Shl, Shr, Add, Sub, Mul, Div, Rem };
  struct Found {
    Operator op;
    int precedence, length;
  };

  bool error(const char* what) {
    *why_ = what;
    return false;
  }

  Found operatorHere() {
    const char c = in_.peek(), d = in_.raw(1);
    switch (c) {
      case '|':
        return d == '|' ? Found{Operator::OrOr, 1, 2} : Found{Operator::Or, 3, 1};
      case '&':
        return d == '&' ? Found{Operator::AndAnd, 2, 2} : Found{Operator::And, 5, 1};
      case '^':
        return {Operator::Xor, 4, 1};
      case '=':
        return d == '=' ? Found{Operator::Eq, 6, 2} : Found{Operator::None, 0, 0};
      case '!':
        return d == '=' ? Found{Operator::Ne, 6, 2} : Found{Operator::None, 0, 0};
      case '<':
        return d == '<' ? Found{Operator::Shl, 8, 2} : d == '=' ? Found{Operator::Le, 7, 2} : Found{Operator::Lt, 7, 1};
      case '>':
        return d == '>' ? Found{Operator::Shr, 8, 2} : d == '=' ? Found{Operator::Ge, 7, 2} : Found{Operator::Gt, 7, 1};
      case '+':
        return {Operator::Add, 9, 1};
      case '-':
        return {Operator::Sub, 9, 1};
      case '*':
        return {Operator::Mul, 10, 1};
      case '/':
        return {Operator::Div, 10, 1};
      case '%':
        return isNameCharacter(d) && !isDigit(d) ? Found{Operator::None, 0, 0} : Found{Operator::Rem, 10, 1};
      default:
        return {Operator::None, 0, 0};
    }
  }

  bool binary(Constant& left, int least, int depth) {
    if (depth > kDepthLimit) return error("expression nested too deeply");
    if (!unary(left, depth)) return false;
    for (;;) {
      const Found found = operatorHere();
      if (found.op == Operator::None || found.precedence < least) return true;
      in_.advance(static_cast<size_t>(found.length));
      Constant right;
      if (!binary(right, found.precedence + 1, depth + 1)) return false;
      if (!apply(found.op, left, right)) return false;
    }
  }

  static bool truth(const Constant& c) { return c.literal == Literal::Integer ? c.bits != 0 : asDouble(c) != 0; }
  static double asDouble(const Constant& c) {
    if (c.literal == Literal::F64) return std::bit_cast<double>(c.bits);
    if (c.literal == Literal::F32) return std::bit_cast<float>(static_cast<uint32_t>(c.bits));
    return c.isUnsigned ? static_cast<double>(c.bits) : static_cast<double>(static_cast<int64_t>(c.bits));
  }

  bool apply(Operator op, Constant& left, const Constant& right) {
    if (left.literal == Literal::Integer && right.literal == Literal::Integer) return applyInteger(op, left, right);
    const double a = asDouble(left), b = asDouble(right);
    double result = 0;
    switch (op) {
      case Operator::Add:
        result = a + b;
        break;
      case Operator::Sub:
        result = a - b;
        break;
      case Operator::Mul:
        result = a * b;
        break;
      case Operator::Div:
        result = b != 0 ? a / b : std::copysign(HUGE_VAL, a) * std::copysign(1.0, b);
        break;
      default:
        return error("operator needs integers");
    }
    left = {Literal::F64, false, std::bit_cast<uint64_t>(result)};
    return true;
  }

  bool applyInteger(Operator op, Constant& left, const Constant& right) {
    const bool isUnsigned = left.isUnsigned || right.isUnsigned;
    const uint64_t a = left.bits, b = right.bits;
    const bool divides = op == Operator::Div || op == Operator::Rem;
    if (divides && b == 0) return error("division by zero");
    uint64_t result = 0;
    if (op >= Operator::Eq && op <= Operator::Ge) {
      result = isUnsigned ? compared(op, a, b) : compared(op, static_cast<int64_t>(a), static_cast<int64_t>(b));
    } else if (op == Operator::Shr) {
      result = shiftedRight(left, b);
    } else if (divides) {
      result = isUnsigned ? (op == Operator::Div ? a / b : a % b)
                          : signedQuotient(op, static_cast<int64_t>(a), static_cast<int64_t>(b));
    } else {
      result = ofWords(op, a, b);
    }
    left = {Literal::Integer, isUnsigned, result};
    return true;
  }

  template <class T>
  static bool compared(Operator op, T a, T b) {
    switch (op) {
      case Operator::Eq:
        return a == b;
      case Operator::Ne:
        return a != b;
      case Operator::Lt:
        return a < b;
      case Operator::Le:
        return a <= b;
      case Operator::Gt:
        return a > b;
      default:
        return a >= b;
    }
  }

  static uint64_t shiftedRight(const Constant& value, uint64_t places) {
    if (value.isUnsigned) return places < 64 ? value.bits >> places : 0;
    return static_cast<uint64_t>(static_cast<int64_t>(value.bits) >> (places < 64 ? places : 63));
  }

  // The smallest number by -1 is itself.
  static uint64_t signedQuotient(Operator op, int64_t a, int64_t b) {
    if (b == -1) return op == Operator::Div ? 0 - static_cast<uint64_t>(a) : 0;
    return static_cast<uint64_t>(op == Operator::Div ? a / b : a % b);
  }

  // What is the same for signed and unsigned numbers.
  static uint64_t ofWords(Operator op, uint64_t a, uint64_t b) {
    switch (op) {
      case Operator::OrOr:
        return a || b;
      case Operator::AndAnd:
        return a && b;
      case Operator::Or:
        return a | b;
      case Operator::Xor:
        return a ^ b;
      case Operator::And:
        return a & b;
      case Operator::Shl:
        return b < 64 ? a << b : 0;
      case Operator::Add:
        return a + b;
      case Operator::Sub:
        return a - b;
      case Operator::Mul:
        return a * b;
      default:
        return 0;
    }
  }

  bool unary(Constant& value, int depth) {
    if (depth > kDepthLimit) return error("expression nested too deeply");
    const char c = in_.peek();
    if (c == '-' || c == '+' || c == '~' || c == '!') {
      in_.advance(1);
      return unary(value, depth + 1) && applyUnary(c, value);
    }
    if (c == '(') return parenthesis(value, depth);
    if (isDigit(c)) return number(value);
    if (c == '.') return decimalFloat(value);
    if (c == 'W') {
      if (in_.identifier() != "WARP_SZ") return error("constant expected");
      value = {Literal::Integer, false, 32};
      return true;
    }
    return error("constant expected");
  }

  bool applyUnary(char op, Constant& value) {
    if (value.literal != Literal::Integer) {
      if (op == '~' || op == '!') return error("operator needs an integer");
      if (op == '-') value.bits ^= value.literal == Literal::F64 ? 1ull << 63 : 1ull << 31;
      return true;
    }
    if (op == '-') value.bits = 0 - value.bits;
    if (op == '~') value.bits = ~value.bits;
    if (op == '!') value.bits = !value.bits;
    return true;
  }

  bool parenthesis(Constant& value, int depth) {
    in_.take('(');
    if (in_.peek() == '.') {  // a cast
      const std::string_view type = in_.dotWord();
      if (type != "s64" && type != "u64") return error("a cast is (.s64) or (.u64)");
      if (!in_.take(')')) return error("')' expected");
      if (!unary(value, depth + 1)) return false;
      value.isUnsigned = type == "u64";
      return true;
    }
    if (!ternary(value, depth + 1)) return false;
    return in_.take(')') || error("')' expected");
  }

  bool number(Constant& value) {
    const char second = in_.raw(1);
    if (in_.raw() == '0') {
      if (second == 'f' || second == 'F') return hexadecimalFloat(value, 8, Literal::F32);
      if (second == 'd' || second == 'D') return hexadecimalFloat(value, 16, Literal::F64);
      if (second == 'x' || second == 'X') return in_.advance(2), digits(value, 16);
      if (second == 'b' || second == 'B') return in_.advance(2), digits(value, 2);
    }
    size_t length = 0;
    while (isDigit(in_.raw(length))) ++length;
    const char next = in_.raw(length);
    if (next == '.' || next == 'e' || next == 'E') return decimalFloat(value);
    return digits(value, in_.raw() == '0' && length > 1 ? 8 : 10);
  }

  bool hexadecimalFloat(Constant& value, int count, Literal literal) {
    in_.advance(2);
    uint64_t bits = 0;
    for (int i = 0; i < count; ++i, in_.advance(1)) {
      const int digit = digitOf(in_.raw());
      if (digit >= 16) return error("float literal with too few digits");
      bits = bits << 4 | static_cast<uint64_t>(digit);
    }
    if (isNameCharacter(in_.raw())) return error("float literal with too many digits");
    value = {literal, false, bits};
    return true;
  }

  bool decimalFloat(Constant& value) {
    double result = 0;
    const auto [end, status] = std::from_chars(in_.position(), in_.end(), result);
    if (status == std::errc::invalid_argument) return error("malformed number");
    if (status == std::errc::result_out_of_range) result = HUGE_VAL;
    in_.advance(static_cast<size_t>(end - in_.position()));
    if (isNameCharacter(in_.raw())) return error("malformed number");
    value = {Literal::F64, false, std::bit_cast<uint64_t>(result)};
    return true;
  }

  bool digits(Constant& value, unsigned base) {
    uint64_t bits = 0;
    bool any = false;
    for (int digit; (digit = digitOf(in_.raw())) < static_cast<int>(base); in_.advance(1)) {
      const unsigned __int128 wide = static_cast<unsigned __int128>(bits) * base + static_cast<unsigned>(digit);
      if (wide >> 64) return error("integer does not fit 64 bits");
      bits = static_cast<uint64_t>(wide);
      any = true;
    }
    bool isUnsigned = bits >> 63;
    if (in_.raw() == 'U') {
      isUnsigned = true;
      in_.advance(1);
    }
    if (!any || isNameCharacter(in_.raw())) return error("malformed number");
    value = {Literal::Integer, isUnsigned, bits};
    return true;
  }

  Lexer& in_;
  const char** why_;
};

}  // namespace

bool startsConstant(char c) { return isDigit(c) || c == '.' || c == '-' || c == '+' || c == '~' || c == '('; }

bool parseExpression(Lexer& in, Constant& value, const char** why) { return Parser(in, why).ternary(value, 0); }

bool parseInteger(Lexer& in, int64_t& value, const char** why) {
  Constant constant;
  if (!parseExpression(in, constant, why)) return false;
  if (constant.literal != Literal::Integer) {
    *why = "integer expected";
    return false;
  }
  value = static_cast<int64_t>(constant.bits);
  return true;
}

uint64_t bitsAs(const Constant& constant, Type type) {
  if (!isFloat(type)) return constant.bits;
  double value;
  if (constant.literal == Literal::F32) {
    if (type == Type::F32) return constant.bits;
    value = std::bit_cast<float>(static_cast<uint32_t>(constant.bits));
  } else if (constant.literal == Literal::F64) {
    if (type == Type::F64) return constant.bits;
    value = std::bit_cast<double>(constant.bits);
  } else if (bitsOf(type) < 32) {
    return constant.bits;  // an integer for a half is its bits
  } else {
    value = constant.isUnsigned ? static_cast<double>(constant.bits)
                                : static_cast<double>(static_cast<int64_t>(constant.bits));
  }
  if (type == Type::F64) return std::bit_cast<uint64_t>(value);
  if (type == Type::F32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == Type::F16) return halfOf(value);
  if (type == Type::BF16) return bfloatOf(value);
  return constant.bits;
}

}  // namespace vg::ptx
