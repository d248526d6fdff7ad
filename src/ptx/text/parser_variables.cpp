// Declarations of variables and parameters, with their initialisers.
#include <cstring>

#include "ptx/facts/texture_form.h"
#include "ptx/text/parser_impl.h"

namespace vg::ptx {
namespace {

constexpr uint64_t kVariableLimit = 1ull << 48;  // bytes
constexpr size_t kDimensionLimit = 16;

int length(std::string_view text) { return static_cast<int>(text.size()); }

uint64_t elementBytes(const Variable& v) { return std::max<uint64_t>(bitsOf(v.type) / 8, 1) * v.vectorWidth; }

}  // namespace

// .attribute(.managed, .unified(1, 2)) after the word itself.
bool ParserImpl::attributes(bool* managed) {
  if (!expect('(')) return false;
  for (int depth = 1; depth > 0;) {
    const char c = in_.peek();
    if (in_.atEnd()) return error("')' expected");
    if (c == '.') {
      const std::string_view word = in_.dotWord();
      if (word.empty()) return error("attribute expected");
      if (word == "managed" && managed) *managed = true;
      continue;
    }
    depth += c == '(';
    depth -= c == ')';
    in_.advance(1);
  }
  return true;
}

// Everything between the state space and the name.
bool ParserImpl::variableType(Variable& v) {
  while (in_.peek() == '.') {
    const std::string_view word = in_.dotWord();
    if (word.empty()) return error("type expected");
    if (word == "align") {
      int64_t alignment = 0;
      const char* why = nullptr;
      if (!parseInteger(in_, alignment, &why)) return error("%s", why);
      if (alignment <= 0 || alignment > (1 << 20) || (alignment & (alignment - 1))) return error("bad alignment");
      v.alignment = static_cast<uint32_t>(alignment);
    } else if (word == "ptr") {
      v.isPointer = true;  // what it points to (.global .align 16) is only a hint
      while (in_.peek() == '.') {
        Lexer ahead = in_;
        const std::string_view hint = ahead.dotWord();
        if (hint == "align") {
          int64_t ignored = 0;
          const char* why = nullptr;
          if (!parseInteger(ahead, ignored, &why)) return error("%s", why);
        } else if (findSpace(hint) == Space::None) {
          break;
        }
        in_ = ahead;
      }
    } else if (word == "attribute") {
      if (!attributes(&v.managed)) return false;
    } else if (const Type type = findType(word); type != Type::None) {
      if (v.type != Type::None) return error("two types");
      v.type = type;
    } else if (word == "v2" || word == "v4" || word == "v8") {
      v.vectorWidth = static_cast<uint8_t>(word[1] - '0');
    } else if (in_.peek() == '(') {  // an attribute unknown to us
      if (!attributes(nullptr)) return false;
    }
  }
  if (v.type != Type::None && v.alignment == 1 && v.type != Type::Pred)
    v.alignment = static_cast<uint32_t>(elementBytes(v));
  return true;
}

// [4][] after the name; fills the bounds, 0 for an open one, and the size of the variable.
bool ParserImpl::arrayBounds(Variable& v, std::vector<uint64_t>& bounds) {
  uint64_t size = elementBytes(v);
  while (in_.take('[')) {
    int64_t bound = 0;
    const char* why = nullptr;
    if (in_.peek() != ']') {
      if (!parseInteger(in_, bound, &why)) return error("%s", why);
      if (bound < 0) return error("negative array size");
    } else if (!bounds.empty()) {
      return error("only the first dimension may be open");
    } else {
      v.unsizedArray = true;
    }
    if (!expect(']')) return false;
    if (bounds.size() >= kDimensionLimit) return error("too many dimensions");
    bounds.push_back(static_cast<uint64_t>(bound));
    if (v.unsizedArray && bounds.size() == 1) continue;
    if (__builtin_mul_overflow(size, static_cast<uint64_t>(bound), &size) || size > kVariableLimit)
      return error("array too large");
  }
  v.size = v.unsizedArray ? 0 : size;
  return true;
}

// What stands behind the = of a variable.
class Initialiser {
 public:
  Initialiser(ParserImpl& parser, Variable& v, const std::vector<uint64_t>& bounds)
      : parser_(parser), in_(parser.in_), v_(v), bounds_(bounds) {}
  bool run();

 private:
  bool opaque();
  bool list(size_t level, uint64_t& offset);
  bool item(uint64_t& offset);
  bool address(uint64_t offset, uint8_t width, uint8_t shift);
  bool store(uint64_t offset, uint64_t bits, uint32_t bytes);

  ParserImpl& parser_;
  Lexer& in_;
  Variable& v_;
  const std::vector<uint64_t>& bounds_;
};

bool ParserImpl::variableList(Space space, Linkage linkage, std::vector<Variable>& into, SymbolKind kind,
                              NameTable& names) {
  if (space == Space::Const && in_.peek() == '[') {  // .const[2], an old bank number
    in_.skipLine();
  }
  Variable model;
  model.space = space;
  model.linkage = linkage;
  if (!variableType(model)) return false;
  if (model.type == Type::None || model.type == Type::Pred) return error("type of a variable expected");
  do {
    Variable v = model;
    const std::string_view name = in_.identifier();
    if (name.empty()) return error("variable name expected");
    v.name = name;
    if (in_.peek() == '<') return error("only registers have ranges");
    std::vector<uint64_t> bounds;
    if (!arrayBounds(v, bounds)) return false;
    if (in_.take('=') && !Initialiser(*this, v, bounds).run()) return false;
    if (v.unsizedArray && linkage != Linkage::Extern && space != Space::Shared && space != Space::Param)
      return error("'%.*s' has no size", length(name), name.data());

    Declaration* known = &names == &globals_ ? globals_.find(name) : nullptr;
    if (known) {  // a declaration and its definition
      if (known->symbol != SymbolKind::ModuleVariable)
        return error("'%.*s' is already defined", length(name), name.data());
      Variable& old = into[known->index];
      if (old.linkage != Linkage::Extern && v.linkage != Linkage::Extern)
        return error("'%.*s' is already defined", length(name), name.data());
      if (old.space != v.space) return error("'%.*s' is declared in another state space", length(name), name.data());
      if (old.linkage == Linkage::Extern && v.linkage != Linkage::Extern) old = std::move(v);
      continue;
    }
    Declaration d;
    d.symbol = kind;
    d.index = static_cast<uint32_t>(into.size());
    if (!names.declare(name, d)) return error("'%.*s' is already defined", length(name), name.data());
    into.push_back(std::move(v));
  } while (in_.take(','));
  return expect(';');
}

// (.param .u64 name, .reg .b32 name, ...). `f` is the function whose names these are; null for a prototype.
bool ParserImpl::parameterList(std::vector<Variable>& into, Function* f, SymbolKind kind) {
  if (!expect('(')) return false;
  if (in_.take(')')) return true;
  do {
    const std::string_view space = in_.dotWord();
    Variable v;
    if (space == "param")
      v.space = Space::Param;
    else if (space != "reg")
      return error(".param or .reg expected");
    if (!variableType(v)) return false;
    if (v.type == Type::None) return error("type of a parameter expected");
    const std::string_view name = in_.identifier();
    if (name.empty()) return error("parameter name expected");
    v.name = name;
    std::vector<uint64_t> bounds;
    if (!arrayBounds(v, bounds)) return false;
    if (f && name != "_") {
      Declaration d;
      d.symbol = kind;
      d.index = static_cast<uint32_t>(into.size());
      if (v.space == Space::None) {
        d.kind = Declaration::Kind::Register;
        d.index = static_cast<uint32_t>(f->registers.size());
        f->registers.push_back({v.name, v.type});
        here_.digitNames |= isDigit(name.back());
      }
      if (!here_.names.declare(name, d)) return error("'%.*s' is already defined", length(name), name.data());
    }
    into.push_back(std::move(v));
  } while (in_.take(','));
  return expect(')');
}

// { addr_mode_0 = clamp_to_border, filter_mode = nearest } of a sampler, as the bits of texture_form.h. Of textures and
// surfaces the host says everything: their fields are read over.
bool Initialiser::opaque() {
  static constexpr struct {
    std::string_view word;
    uint64_t value;
  } kWords[] = {{"wrap", 0},
                {"mirror", 1},
                {"clamp_ogl", 2},
                {"clamp_to_edge", 3},
                {"clamp_to_border", 4},
                {"nearest", 0},
                {"linear", kSamplerLinear}};
  if (!parser_.expect('{')) return false;
  uint64_t bits = kSamplerSet;
  do {
    if (in_.peek() == '}') break;
    const std::string_view field = in_.identifier();
    if (field.empty() || !parser_.expect('=')) return parser_.error("field of a sampler or texture expected");
    uint64_t value = 0;
    if (!in_.plainNumber(value)) {
      const std::string_view word = in_.identifier();
      if (word.empty()) return parser_.error("value of '%.*s' expected", length(field), field.data());
      for (const auto& known : kWords)
        if (known.word == word) value = known.value;
    }
    if (field.starts_with("addr_mode_") && field.size() == 11 && field[10] >= '0' && field[10] <= '2')
      bits |= (value & 7) << (static_cast<unsigned>(field[10] - '0') * kSamplerAddressBits);
    else if (field == "filter_mode")
      bits |= value;
    else if (field == "force_unnormalized_coords" && value)
      bits |= kSamplerUnnormalized;
  } while (in_.take(','));
  if (v_.type == Type::SamplerRef && !store(0, bits, sizeof bits)) return false;
  return parser_.expect('}');
}

bool Initialiser::run() {
  if (v_.type == Type::SamplerRef || v_.type == Type::TexRef || v_.type == Type::SurfRef) return opaque();
  uint64_t offset = 0;
  if (in_.peek() == '"') {
    std::string_view text;
    if (!in_.string(text)) return parser_.error("string is not closed");
    for (char c : text)
      if (!store(offset++, static_cast<uint8_t>(c), 1)) return false;
    ++offset;
  } else if (in_.peek() == '{') {
    if (!list(0, offset)) return false;
  } else if (!item(offset)) {
    return false;
  }
  if (v_.unsizedArray) {
    uint64_t row = elementBytes(v_);
    for (size_t i = 1; i < bounds_.size(); ++i) row *= bounds_[i];
    v_.size = row ? (offset + row - 1) / row * row : 0;
    v_.unsizedArray = false;
  }
  return offset <= v_.size || parser_.error("too many initialisers for '%s'", v_.name.c_str());
}

// {...} at the given dimension; inner braces are rows, and rows may be shorter than their bounds_.
bool Initialiser::list(size_t level, uint64_t& offset) {
  if (level > kDimensionLimit) return parser_.error("initialiser nested too deeply");
  if (!parser_.expect('{')) return false;
  if (in_.take('}')) return true;
  uint64_t row = elementBytes(v_);
  for (size_t i = level + 1; i < bounds_.size(); ++i) row *= bounds_[i];
  do {
    if (in_.peek() == '}') break;  // a trailing comma
    if (in_.peek() == '{') {
      const uint64_t start = offset;
      if (!list(level + 1, offset)) return false;
      if (offset - start > row) return parser_.error("too many initialisers in a row of '%s'", v_.name.c_str());
      offset = start + row;
    } else if (!item(offset)) {
      return false;
    }
  } while (in_.take(','));
  return parser_.expect('}');
}

bool Initialiser::store(uint64_t offset, uint64_t bits, uint32_t bytes) {
  if (!v_.unsizedArray && offset + bytes > v_.size)
    return parser_.error("too many initialisers for '%s'", v_.name.c_str());
  if (offset + bytes > (64u << 20) + 8 * parser_.textSize_)
    return parser_.error("initialiser of '%s' is too sparse", v_.name.c_str());
  if (v_.initial.size() < offset + bytes) v_.initial.resize(offset + bytes);
  std::memcpy(&v_.initial[offset], &bits, bytes);
  return true;
}

// A constant, an address, or mask(address).
bool Initialiser::item(uint64_t& offset) {
  const uint32_t bytes = std::max(bitsOf(v_.type) / 8, 1u);
  Constant value;
  if (!isFloat(v_.type) && in_.plainNumber(value.bits)) {
    if (!store(offset, value.bits, std::min(bytes, 8u))) return false;
    offset += bytes;
    return true;
  }
  const char c = in_.peek();
  if (!startsConstant(c) && c != '!') {
    if (!address(offset, static_cast<uint8_t>(std::min(bytes, 8u)), 0)) return false;
    if (!store(offset, 0, std::min(bytes, 8u))) return false;
    offset += bytes;
    return true;
  }
  const char* why = nullptr;
  if (!parseExpression(in_, value, &why)) return parser_.error("%s", why);
  if (in_.peek() == '(') {  // 0xFF00(name)
    in_.take('(');
    const uint64_t mask = value.bits;
    const int shift = mask ? __builtin_ctzll(mask) : 0;
    if (shift % 8 || mask != 0xFFull << shift) return parser_.error("the mask of an address is one byte of ones");
    if (!address(offset, 1, static_cast<uint8_t>(shift)) || !parser_.expect(')')) return false;
    if (!store(offset, 0, 1)) return false;
  } else if (!store(offset, bitsAs(value, v_.type), std::min(bytes, 8u))) {
    return false;
  }
  offset += bytes;
  return true;
}

// name+4 or generic(name)+4.
bool Initialiser::address(uint64_t offset, uint8_t width, uint8_t shift) {
  Variable::Reference r;
  r.offset = offset;
  r.width = width;
  r.shift = shift;
  std::string_view name = in_.identifier();
  if (name == "generic" && in_.peek() == '(') {
    in_.take('(');
    r.generic = true;
    name = in_.identifier();
    if ((in_.peek() == '+' || in_.peek() == '-')) {
      const char* why = nullptr;
      if (!parseInteger(in_, r.addend, &why)) return parser_.error("%s", why);
    }
    if (!parser_.expect(')')) return false;
  }
  if (name.empty()) return parser_.error("constant or name expected");
  const Declaration* d = parser_.globals_.find(name);
  if (!d && name == v_.name) {  // a variable that points to itself: it gets the next index of its list
    r.kind = SymbolKind::ModuleVariable;
    r.symbol = static_cast<uint32_t>(parser_.module_.variables.size());
  } else if (!d) {
    return parser_.error("'%.*s' is not defined", length(name), name.data());
  } else {
    r.kind = d->symbol;
    r.symbol = d->index;
  }
  if (in_.peek() == '+' || in_.peek() == '-') {
    int64_t more = 0;
    const char* why = nullptr;
    if (!parseInteger(in_, more, &why)) return parser_.error("%s", why);
    r.addend = static_cast<int64_t>(static_cast<uint64_t>(r.addend) + static_cast<uint64_t>(more));
  }
  v_.references.push_back(r);
  return true;
}

}  // namespace vg::ptx
