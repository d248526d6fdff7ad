#include "ptx/text/lexer.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace vg::ptx {
namespace {

enum : uint8_t { kSpaceBit = 1, kNameBit = 2, kDigitBit = 4, kStartBit = 8 };

constexpr std::array<uint8_t, 256> characterClasses() {
  std::array<uint8_t, 256> classes{};
  for (char c : {' ', '\t', '\r', '\n', '\f', '\v'}) classes[static_cast<uint8_t>(c)] = kSpaceBit;
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = classes[c - 'a' + 'A'] = kNameBit | kStartBit;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kNameBit | kDigitBit;
  classes['_'] = classes['$'] = kNameBit | kStartBit;
  classes['%'] = kStartBit;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = characterClasses();

bool is(char c, uint8_t bit) { return kClasses[static_cast<uint8_t>(c)] & bit; }

}  // namespace

bool isNameCharacter(char c) { return is(c, kNameBit); }
bool isDigit(char c) { return is(c, kDigitBit); }

void Lexer::skipSpace() {
  while (at_ < end_) {
    const char c = *at_;
    if (is(c, kSpaceBit)) {
      line_ += c == '\n';
      ++at_;
    } else if (c == '/' && (raw(1) == '/' || raw(1) == '*')) {
      skipComment();
    } else if (c == '#' && isLineMarker()) {
      skipLine();
    } else {
      return;
    }
  }
}

// `# 12 "file"` or `#line 12 "file"`, as preprocessors leave them.
bool Lexer::isLineMarker() const {
  std::string_view rest = restOfLine().substr(1);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  return rest.starts_with("line") || (!rest.empty() && isDigit(rest[0]));
}

void Lexer::skipComment() {
  if (at_[1] == '/') return skipLine();
  at_ += 2;
  while (at_ < end_ && !(*at_ == '*' && raw(1) == '/')) line_ += *at_++ == '\n';
  at_ = end_ - at_ >= 2 ? at_ + 2 : end_;
}

std::string_view Lexer::restOfLine() const {
  const std::string_view rest(at_, static_cast<size_t>(end_ - at_));
  return rest.substr(0, rest.find('\n'));
}

void Lexer::skipLine() {
  const void* newline = std::memchr(at_, '\n', static_cast<size_t>(end_ - at_));
  at_ = newline ? static_cast<const char*>(newline) : end_;
}

std::string_view Lexer::identifier() {
  skipSpace();
  const char* const start = at_;
  if (at_ < end_ && is(*at_, kStartBit)) {
    ++at_;
    while (at_ < end_ && is(*at_, kNameBit)) ++at_;
  }
  return {start, static_cast<size_t>(at_ - start)};
}

std::string_view Lexer::operandName() {
  const std::string_view name = identifier();
  if (name.empty() || peek() != '.' || !isNameCharacter(raw(1))) return name;
  ++at_;
  while (at_ < end_ && is(*at_, kNameBit)) ++at_;
  return {name.data(), static_cast<size_t>(at_ - name.data())};
}

// What stands behind a dot: names joined by "::", and numbers joined by ':'.
void Lexer::skipDotWord() {
  const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  for (; at_ < end_; ++at_) {
    if (is(*at_, kNameBit)) continue;
    if (*at_ != ':') return;
    if (raw(1) == ':' && isNameCharacter(raw(2)))
      ++at_;
    else if (!isDigit(at_[-1]) || !isDigit(raw(1)))
      return;
  }
}

std::string_view Lexer::mnemonic() {
  const std::string_view name = identifier();
  if (name.empty()) return name;
  const char* end = at_;
  while (peek() == '.' && isNameCharacter(raw(1))) {
    ++at_;
    skipDotWord();
    end = at_;
  }
  return {name.data(), static_cast<size_t>(end - name.data())};
}

std::string_view Lexer::dotWord() {
  if (peek() != '.' || !isNameCharacter(raw(1))) return {};
  const char* const start = ++at_;
  skipDotWord();
  return {start, static_cast<size_t>(at_ - start)};
}

bool Lexer::plainNumber(uint64_t& value) {
  skipSpace();
  const char* p = at_;
  const char* const limit = end_ - p > 18 ? p + 18 : end_;
  uint64_t number = 0;
  if (p < limit && *p == '0' && limit - p > 1 && is(p[1], kNameBit)) return false;  // octal, hexadecimal, float
  while (p < limit && is(*p, kDigitBit)) number = number * 10 + static_cast<uint64_t>(*p++ - '0');
  if (p == at_ || p == end_ || (*p != ',' && *p != ';' && *p != '}' && *p != ']')) return false;
  value = number;
  at_ = p;
  return true;
}

bool Lexer::string(std::string_view& text) {
  if (peek() != '"') return false;
  const char* const start = ++at_;
  while (at_ < end_ && *at_ != '"') {
    if (*at_ == '\\' && raw(1)) ++at_;
    line_ += *at_++ == '\n';
  }
  if (at_ >= end_) return false;
  text = {start, static_cast<size_t>(at_ - start)};
  ++at_;
  return true;
}

bool Lexer::skipBraces() {
  uint64_t depth = 0;
  do {
    const char c = peek();
    if (at_ >= end_) return false;
    std::string_view ignored;
    if (c == '"') {
      if (!string(ignored)) return false;
      continue;
    }
    depth += c == '{';
    depth -= c == '}';
    ++at_;
  } while (depth);
  return true;
}

void Lexer::skipDirective() {
  while (at_ < end_) {
    const uint32_t line = line_;
    const char c = peek();
    std::string_view ignored;
    if (line != line_ && (c == '.' || c == '}')) return;
    if (c == '{') {
      skipBraces();
      return;
    }
    if (c == '}') return;
    if (c == '"') {
      if (!string(ignored)) return;
    } else if (at_ < end_) {
      ++at_;
      if (c == ';') return;
    }
  }
}

}  // namespace vg::ptx
