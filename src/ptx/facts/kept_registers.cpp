#include "ptx/facts/kept_registers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ptx/facts/layout.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::kept {
namespace {

constexpr uint32_t kPiece = 64;
constexpr uint32_t kMostBytes = 1 << 20;      // of a warp
constexpr size_t kMostInstructions = 20'000;  // beyond, kernels with three times as many would be interpreted

uint32_t roundedUp(uint32_t bytes) { return (bytes + kPiece - 1) / kPiece * kPiece; }
uint32_t bytesOf(Type type) { return type == Type::Pred ? 4 : 32 * std::max(bitsOf(type) / 8, 1u); }

// Beyond these, lanes may be elsewhere, or fewer.
bool ends(const Instruction& i) { return rowOf(i.op).has(Trait::Leaves) || i.op == Op::Call || i.op == Op::Trap; }
bool leavesKernel(const Instruction& i, bool isEntry) { return i.op == Op::Exit || (i.op == Op::Ret && isEntry); }
bool waits(const Instruction& i) { return i.op == Op::Bar || i.op == Op::Barrier || i.op == Op::Nanosleep; }

class Instrumentation {
 public:
  explicit Instrumentation(Function& f) : f_(f) {}

  void run() {
    std::vector<uint32_t> placed(f_.body.size() + 1);
    const std::vector<bool> begins = blocks();
    const std::vector<Instruction> before = std::move(f_.body);
    f_.body.clear();
    for (uint32_t n = 0; n < before.size(); ++n) {
      const Instruction& i = before[n];
      placed[n] = static_cast<uint32_t>(f_.body.size());
      if (begins[n] || ends(i) || waits(i)) note(i, i.line);
      if (leavesKernel(i, f_.isEntry)) note(i, kEnded, true);
      f_.body.push_back(i);
      keepResults(i);
    }
    placed[before.size()] = static_cast<uint32_t>(f_.body.size());
    for (Label& label : f_.labels) label.instruction = placed[std::min<size_t>(label.instruction, before.size())];
  }

 private:
  std::vector<bool> blocks() const {
    std::vector<bool> begins(f_.body.size() + 1, false);
    begins[0] = true;
    for (const Label& label : f_.labels) begins[std::min<size_t>(label.instruction, f_.body.size())] = true;
    for (size_t n = 0; n < f_.body.size(); ++n)
      if (ends(f_.body[n])) begins[n + 1] = true;
    return begins;
  }

  void add(const Instruction& beside, const Operand& operand, bool guarded) {
    Instruction i;
    i.op = Op::Pmevent;
    i.vectorWidth = kWidth;
    i.line = beside.line;
    i.location = beside.location;
    if (guarded) i.guard = beside.guard, i.guardNegated = beside.guardNegated;
    i.first = static_cast<uint32_t>(f_.operands.size());
    i.count = 1;
    f_.operands.push_back(operand);
    f_.body.push_back(i);
  }

  void note(const Instruction& beside, uint32_t line, bool guarded = false) {
    Operand number;
    number.kind = Operand::Kind::Immediate;
    number.bits = line;
    add(beside, number, guarded);
  }

  void keep(const Instruction& beside, const Operand& written) {
    if (written.kind == Operand::Kind::Register) {
      Operand same;
      same.kind = Operand::Kind::Register;
      same.reg = written.reg;
      add(beside, same, false);
    } else if (written.kind == Operand::Kind::Vector) {
      for (uint32_t e = 0; e < written.count; ++e) keep(beside, Operand(f_.operands[written.first + e]));
    }
  }

  void keepResults(const Instruction& i) {
    const uint32_t written = i.op == Op::Call ? std::min(i.count, 1u) : std::min(destinationCount(i), i.count);
    for (uint32_t k = 0; k < written; ++k) keep(i, Operand(f_.operands[i.first + k]));
  }

  Function& f_;
};

}  // namespace

bool keeps(const Instruction& i) { return i.op == Op::Pmevent && i.vectorWidth == kWidth; }

bool notes(const Instruction& i, const Function& f) {
  return keeps(i) && f.operands[i.first].kind == Operand::Kind::Immediate;
}

const std::vector<uint32_t>* Layout::of(uint32_t function) const {
  const auto found = std::ranges::find(functions, function);
  return found == functions.end() ? nullptr : &offsets[static_cast<size_t>(found - functions.begin())];
}

Layout layoutOf(const Module& module, uint32_t entry) {
  Layout layout;
  uint64_t bytes = roundedUp(sizeof(Head));
  size_t instructions = 0;
  for (const uint32_t index : references(module, entry).functions) {
    const Function& f = module.functions[index];
    if (f.isDeclaration) continue;
    instructions += f.body.size();
    std::vector<uint32_t> offsets;
    for (const Register& r : f.registers) {
      offsets.push_back(static_cast<uint32_t>(bytes));
      bytes += roundedUp(bytesOf(r.type));
    }
    if (bytes > kMostBytes || instructions > kMostInstructions) return {};
    layout.functions.push_back(index);
    layout.offsets.push_back(std::move(offsets));
  }
  layout.bytes = static_cast<uint32_t>(bytes);
  return layout;
}

uint64_t valueOf(const std::byte* warp, const Register& r, uint32_t offset, uint32_t lane, bool high) {
  uint64_t value = 0;
  if (r.type == Type::Pred) {
    std::memcpy(&value, warp + offset, sizeof(uint32_t));
    return value >> lane & 1;
  }
  const uint32_t bytes = std::max(bitsOf(r.type) / 8, 1u);
  std::memcpy(&value, warp + offset + size_t{bytes} * lane + (high ? sizeof value : 0),
              std::min<size_t>(bytes, sizeof value));
  return value;
}

void instrument(Module& module, const Layout& layout) {
  for (const uint32_t index : layout.functions) Instrumentation(module.functions[index]).run();
}

}  // namespace vg::ptx::kept
