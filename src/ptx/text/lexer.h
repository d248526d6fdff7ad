// A cursor over PTX text: skips space and comments, counts lines, reads the tokens that the parser asks for. Never
// reads beyond the text; views returned point into it. One thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace vg::ptx {

class Lexer {
 public:
  explicit Lexer(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  // Skips space, comments and preprocessor lines; the next character, or 0 at the end of the text.
  char peek() {
    skipSpace();
    return at_ < end_ ? *at_ : '\0';
  }
  // The character `ahead` of the cursor, nothing skipped; 0 beyond the end.
  char raw(size_t ahead = 0) const { return ahead < static_cast<size_t>(end_ - at_) ? at_[ahead] : '\0'; }
  void advance(size_t characters) { at_ += characters; }
  bool atEnd() { return peek() == '\0' && at_ >= end_; }
  bool take(char c) {
    if (peek() != c || at_ >= end_) return false;
    ++at_;
    return true;
  }
  uint32_t line() const { return line_; }
  const char* position() const { return at_; }
  const char* end() const { return end_; }

  // [A-Za-z_$%][A-Za-z0-9_$]*; empty when there is none here.
  std::string_view identifier();
  // An identifier and, when it follows, one ".suffix": %tid.x, %r1.b0, v.y. Space may stand before the dot.
  std::string_view operandName();
  // An identifier with all its dot-words: ld.shared::cta.v2.f32. Space and comments may stand before each dot.
  std::string_view mnemonic();
  // The word after a dot, with "::" and digits first allowed: global, v4, shared::cta. Empty when no dot-word is here.
  std::string_view dotWord();
  // The text of a quoted string; false when it is not one or not closed.
  bool string(std::string_view& text);

  // A plain decimal number below 10^18 that no operator, letter or parenthesis follows; else nothing is read.
  bool plainNumber(uint64_t& value);

  // What is left of the line, without reading it.
  std::string_view restOfLine() const;
  // Skips to the end of the line.
  void skipLine();
  // Skips a balanced {...} that starts here; false when it never closes.
  bool skipBraces();
  // Skips an unknown directive: to its ';', its closing brace, or the line end before the next directive.
  void skipDirective();

 private:
  void skipSpace();
  void skipDotWord();
  bool isLineMarker() const;
  void skipComment();

  const char* at_;
  const char* end_;
  uint32_t line_ = 1;
};

bool isNameCharacter(char c);  // [A-Za-z0-9_$]
bool isDigit(char c);

}  // namespace vg::ptx
