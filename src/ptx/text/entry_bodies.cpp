#include "ptx/text/entry_bodies.h"

#include "ptx/text/lexer.h"

namespace vg::ptx {
namespace {

// Goes to the brace that begins a body; false at the end of a declaration.
bool reachBody(Lexer& in) {
  for (;;) {
    std::string_view ignored;
    switch (in.peek()) {
      case '{':
        return true;
      case ';':
      case '\0':
        return false;
      case '"':
        if (!in.string(ignored)) return false;
        break;
      default:
        in.advance(1);
    }
  }
}

// Reads past something outside of functions.
bool skip(Lexer& in) {
  std::string_view ignored;
  switch (in.peek()) {
    case '{':
      return in.skipBraces();
    case '"':
      return in.string(ignored);
    default:
      if (in.identifier().empty()) in.advance(1);
      return true;
  }
}

}  // namespace

EntryBodies::EntryBodies(std::string_view text) : text_(text) {
  Lexer in(text);
  const auto at = [&] { return static_cast<size_t>(in.position() - text.data()); };
  while (!in.atEnd()) {
    if (in.peek() != '.') {
      if (!skip(in)) return;
      continue;
    }
    if (const std::string_view word = in.dotWord(); word != "entry") {
      if (word.empty()) in.advance(1);
      continue;
    }
    const std::string_view name = in.identifier();
    if (!reachBody(in)) continue;
    const size_t begin = at();
    const uint32_t line = in.line();
    if (!in.skipBraces()) return;
    bodies_.push_back({name, begin, at(), in.line() - line});
  }
}

std::string EntryBodies::withOnly(std::string_view kept) const {
  std::string out;
  size_t from = 0;
  for (const Body& body : bodies_) {
    if (body.name == kept) continue;
    out.append(text_, from, body.begin - from);
    out += "{ret;";
    out.append(body.lines, '\n');
    out += '}';
    from = body.end;
  }
  return out.append(text_, from);
}

}  // namespace vg::ptx
