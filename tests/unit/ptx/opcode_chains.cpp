// Kernels of several cases in a row, made at random: what one makes another takes, some of it behind branches and in
// loops. They show what the cases by themselves cannot: bits that a later instruction sees and an optimizer forgot.
// OPCODE_CHAINS in the environment is how many there are; the first ones are always the same.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

#include "unit/ptx/opcode_matrix.h"

namespace vg::ptx::matrix {
namespace {

bool isFloat(const Case& c) {
  const auto has = [&](const char* part) { return c.name.find(part) != std::string::npos; };
  return has("f16") || has("f32") || has("f64");
}
bool makesF64(const Case& c) {
  return c.name.size() > 3 && c.name.compare(c.name.size() - 4, 4, ".f64") == 0 && c.results[0].first == 64;
}

// Sums and products without rounding may be joined by the compiler, one way or the other.
bool mayBeContracted(const Case& c) {
  const bool sum = c.name.compare(0, 4, "add.") == 0 || c.name.compare(0, 4, "sub.") == 0 ||
                   c.name.compare(0, 4, "mul.") == 0 || c.name.compare(0, 4, "mad.") == 0;
  if (!sum || !isFloat(c)) return false;
  for (const char* rounding : {".rn", ".rz", ".rm", ".rp"})
    if (c.name.find(rounding) != std::string::npos) return false;
  return true;
}

// Products that are flushed before or after they are rounded, see Match::FlushedF32.
bool mayBeFlushed(const Case& c) {
  const bool product =
      c.name.compare(0, 3, "mul") == 0 || c.name.compare(0, 3, "fma") == 0 || c.name.compare(0, 3, "mad") == 0;
  return product && c.name.find(".ftz") != std::string::npos;
}

// The compiler of an H100's driver (580) gets these wrong where their results meet others: floats it takes for integers
// and the other way round, and words for halves.
bool isMiscompiled(const Case& c) {
  if (c.name.compare(0, 4, "set.") != 0) return false;
  const std::string types = c.name.substr(c.name.rfind('.', c.name.rfind('.') - 1));
  return types[1] == 'f' || types[1] == 'b' || types.find("16") != std::string::npos;
}

// Of values alone, the same whatever thread computes it, and exact.
bool canBeChained(const Case& c) {
  if (c.cluster || c.map || !c.module.empty() || c.parameters || c.object || c.oneNaN) return false;
  if (c.operands.empty() || c.results.empty() || c.relative != 0 || c.absolute != 0 || mayBeContracted(c) ||
      mayBeFlushed(c) || isMiscompiled(c))
    return false;
  for (const auto& [bits, match] : c.results) switch (match) {
      case Match::Bits:
      case Match::F16:
      case Match::Bf16:
      case Match::F16x2:
      case Match::Bf16x2:
      case Match::F32:
      case Match::F64:
        break;
      default:
        return false;
    }
  for (const char* part :
       {"[",   "$",    "{ .reg", ".sync", "%",   "lane", "thread", "raw",    "wide32", "wide16", "slot",
        "bar", "div.", "rem.",   "fns",   "ret", "exit", "call",   "membar", "fence",  "mma",    "bra"})
    if (c.text.find(part) != std::string::npos) return false;
  return true;
}

class Chain {
 public:
  Chain(const std::vector<Case>& links, uint64_t seed) : links_(links), state_(seed * 2 + 1) {}

  Case make(const std::string& name) {
    static constexpr Domain kInputs[] = {Domain::Int32,  Domain::Int64,  Domain::F32,   Domain::F64,
                                         Domain::F16x2,  Domain::Int16,  Domain::Int32, Domain::EdgeF32,
                                         Domain::Bf16x2, Domain::EdgeF16};
    Case chain;
    chain.name = name;
    for (uint32_t k = 0; k < kOperands; ++k) {
      chain.operands.push_back(kInputs[below(std::size(kInputs))]);
      values_.push_back({std::string(1, static_cast<char>('a' + k)), bitsOf(chain.operands.back())});
      chain.loads += typeOf(values_.back().bits);
    }
    for (uint32_t n = 4 + below(10); n > 0; --n) statement(0);
    std::string ends;
    for (uint32_t k = 0; k < kResults; ++k) {
      const Value& value = values_[values_.size() - 1 - (k ? below(4) : 0)];
      const std::string result(1, static_cast<char>('x' + k));
      ends += (value.bits == 1 ? "mov.pred " : "mov.b" + std::to_string(value.bits) + " ") + result + ", " +
              value.name + "; ";
      chain.results.push_back({value.bits, Match::Bits});
    }
    chain.text = declarations_ + text_ + ends;
    return chain;
  }

 private:
  struct Value {
    std::string name;
    int bits;
  };

  uint64_t next() { return state_ = mix(state_); }
  uint32_t below(size_t n) { return static_cast<uint32_t>((next() >> 20) % n); }
  bool chance(uint32_t percent) { return below(100) < percent; }

  std::string declare(int bits) {
    const std::string name = "v" + std::to_string(count_++);
    declarations_ += (bits == 1 ? ".reg .pred " : ".reg .b" + std::to_string(bits) + " ") + name + "; ";
    return name;
  }
  std::string made(int bits) {
    values_.push_back({declare(bits), bits});
    return values_.back().name;
  }

  // The letter of a type that loads and stores of so many bits may have.
  char typeOf(int bits) { return bits < 32 ? "bus"[below(3)] : "bfffus"[below(6)]; }

  // A value of so many bits, one of the last ones more often than others; made of another where there is none.
  std::string take(int bits) {
    std::vector<size_t> fits;
    for (size_t k = 0; k < values_.size(); ++k)
      if (values_[k].bits == bits) fits.push_back(k);
    if (!fits.empty() && !chance(8))
      return values_[fits[fits.size() - 1 - below(chance(60) ? std::min<size_t>(3, fits.size()) : fits.size())]].name;
    const Value from = values_[values_.size() - 1 - below(std::min<size_t>(4, values_.size()))];
    return convert(from, bits);
  }
  // Each another one: what is made of a value and itself may be known to a compiler.
  void takeOperands(const Case& c, std::vector<std::string>& operands) {
    for (Domain domain : c.operands) {
      const int bits = bitsOf(domain);
      std::string name = take(bits);
      for (uint32_t n = 0; n < 4 && std::find(operands.begin(), operands.end(), name) != operands.end(); ++n)
        name = take(bits);
      if (std::find(operands.begin(), operands.end(), name) != operands.end()) name = convert({name, bits}, bits);
      operands.push_back(name);
    }
  }
  // Two draws, one after the other: in one expression each processor's compiler has an order of its own, and the
  // records are of these chains.
  std::string conversion(const std::string& source, const std::string& target) {
    const char* const from = chance(50) ? ".u" : ".s";
    const char* const to = chance(50) ? "u" : "s";
    return std::string("cvt.") + to + target + from + source + " ";
  }
  std::string convert(const Value& from, int bits) {
    const std::string to = declare(bits);
    const std::string source = std::to_string(from.bits), target = std::to_string(bits);
    if (from.bits == bits)
      text_ += (bits == 1 ? "not.pred " : "not.b" + target + " ") + to + ", " + from.name + "; ";
    else if (from.bits == 1)
      text_ += "selp.b" + target + " " + to + ", 3, 0, " + from.name + "; ";
    else if (bits == 1)
      text_ += "setp.lt.s" + source + " " + to + ", " + from.name + ", 5; ";
    else
      text_ += conversion(source, target) + to + ", " + from.name + "; ";
    return to;
  }

  // The case's text with names for its operands and results.
  static std::string renamed(const std::string& text, const std::vector<std::string>& operands,
                             const std::vector<std::string>& results) {
    std::string out;
    for (size_t at = 0; at < text.size(); ++at) {
      const auto isPart = [](char ch) {
        return std::isalnum(static_cast<unsigned char>(ch)) || ch == '_' || ch == '%' || ch == '.';
      };
      const char ch = text[at];
      const bool alone =
          (at == 0 || !isPart(text[at - 1])) && (at + 1 == text.size() || text[at + 1] == '.' || !isPart(text[at + 1]));
      const bool isOpcode = at + 1 < text.size() && text[at + 1] == '.' && (at < 2 || text[at - 2] == ';');
      if (alone && !isOpcode && ch >= 'a' && ch < static_cast<char>('a' + operands.size()))
        out += operands[static_cast<size_t>(ch - 'a')];
      else if (alone && !isOpcode && ch >= 'x' && ch < static_cast<char>('x' + results.size()))
        out += results[static_cast<size_t>(ch - 'x')];
      else
        out += ch;
    }
    return out;
  }

  void link(int depth) {
    const Case& c = links_[below(links_.size())];
    std::vector<std::string> operands, results;
    takeOperands(c, operands);
    for (const auto& [bits, match] : c.results) results.push_back(declare(bits));
    text_ += renamed(c.text, operands, results) + " ";
    if (makesF64(c)) settle(results[0]);
    for (size_t k = 0; k < results.size(); ++k) {
      const int bits = c.results[k].first;
      if (depth == 0) {
        values_.push_back({results[k], bits});
        continue;
      }
      // Behind a branch only what exists already may change.
      for (size_t back = values_.size(); back > 0; --back) {
        const Value& value = values_[back - 1];
        if (value.bits != bits || value.name.size() < 2) continue;
        text_ +=
            (bits == 1 ? "mov.pred " : "mov.b" + std::to_string(bits) + " ") + value.name + ", " + results[k] + "; ";
        break;
      }
    }
  }

  // One instruction that lanes without its guard leave out, which keep what was there. Whether there was something.
  bool guarded() {
    const Case& c = links_[below(links_.size())];
    if (c.results.size() != 1 || c.text.find(';') + 1 != c.text.size()) return false;
    for (size_t back = values_.size(); back > 0; --back) {
      const Value old = values_[back - 1];
      if (old.bits != c.results[0].first || old.name.size() < 2) continue;
      std::vector<std::string> operands;
      takeOperands(c, operands);
      const std::string test = take(1);
      text_ += std::string("@") + (chance(50) ? "!" : "") + test + " " + renamed(c.text, operands, {old.name}) + " ";
      if (makesF64(c)) settle(old.name);
      return true;
    }
    return false;
  }

  // Which of two NaNs of f64 goes on is open.
  void settle(const std::string& wide) {
    const std::string isNaN = declare(1);
    text_ += "testp.notanumber.f64 " + isNaN + ", " + wide + "; selp.b64 " + wide + ", 0x7ff8000000000000, " + wide +
             ", " + isNaN + "; ";
  }

  // A value that is stored as one type and loaded as another.
  void memory() {
    static constexpr struct {
      const char *space, *address;
    } kSlots[] = {{"local", "lslot"}, {"shared", "sslot"}, {"global", "gslot"}};
    static constexpr int kBits[] = {16, 32, 32, 64};
    const int bits = kBits[below(4)];
    const auto& slot = kSlots[below(3)];
    const auto access = [&](const char* opcode) {
      return opcode + std::string(slot.space) + "." + typeOf(bits) + std::to_string(bits) + " ";
    };
    const std::string place = std::string("[") + slot.address + "]", from = take(bits);
    text_ += access("st.") + place + ", " + from + "; ";
    const std::string load = access("ld.");
    text_ += load + made(bits) + ", " + place + "; ";
  }

  void statement(int depth) {
    const uint32_t kind = below(100);
    if (depth == 0 && kind >= 92) return memory();
    if (depth < 2 && kind < 12) return branch(depth);
    if (depth < 2 && kind < 18) return loop(depth);
    if (depth == 0 && kind < 26) return choice();
    if (kind < 36 && guarded()) return;
    link(depth);
  }
  void body(int depth) {
    const size_t known = values_.size();
    for (uint32_t n = 1 + below(3); n > 0; --n) statement(depth + 1);
    values_.resize(known);
  }
  void branch(int depth) {
    const std::string test = take(1), label = "$L" + std::to_string(count_++);
    text_ += std::string("@") + (chance(50) ? "!" : "") + test + " bra " + label + "; ";
    body(depth);
    text_ += label + ": ";
  }
  void loop(int depth) {
    const std::string counter = declare(32), again = declare(1), label = "$L" + std::to_string(count_++);
    text_ += "mov.u32 " + counter + ", 0; " + label + ": ";
    body(depth);
    text_ += "add.u32 " + counter + ", " + counter + ", 1; setp.lt.u32 " + again + ", " + counter + ", " +
             std::to_string(1 + below(3)) + "; @" + again + " bra " + label + "; ";
  }
  void choice() {
    static constexpr int kBits[] = {16, 32, 64};
    const int bits = kBits[below(3)];
    const std::string test = take(1), one = take(bits), other = take(bits);
    text_ += "selp.b" + std::to_string(bits) + " " + made(bits) + ", " + one + ", " + other + ", " + test + "; ";
  }

  const std::vector<Case>& links_;
  uint64_t state_;
  uint32_t count_ = 0;
  std::vector<Value> values_;
  std::string declarations_, text_;
};

}  // namespace

void chains(Builder& m) {
  constexpr uint32_t kRecorded = 1000;
  const char* const wanted = std::getenv("OPCODE_CHAINS");
  const uint32_t count = wanted ? static_cast<uint32_t>(std::atoi(wanted)) : kRecorded;
  std::vector<Case> links;
  for (const Case& c : m.cases)
    if (canBeChained(c)) links.push_back(c);
  for (uint32_t seed = 0; seed < count; ++seed)
    m.cases.push_back(Chain(links, seed).make("chain " + std::to_string(seed)));
}

}  // namespace vg::ptx::matrix
