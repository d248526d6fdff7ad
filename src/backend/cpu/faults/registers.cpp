#include <algorithm>
#include <utility>
#include <vector>

#include "backend/cpu/code/program.h"

namespace vg::backend::cpu {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Operand;

constexpr uint32_t kReserved = 8;  // for addresses of parameters, the return address and the like
constexpr uint32_t kFewest = 16;

struct Range {
  uint32_t first = ~0u, last = 0;  // instructions
  void touch(uint32_t at) {
    first = std::min(first, at);
    last = std::max(last, at);
  }
};

void touch(const Function& function, const Operand& operand, uint32_t at, std::vector<Range>& ranges) {
  const bool named =
      operand.kind == Operand::Kind::Register || (operand.kind == Operand::Kind::Address && operand.isBaseRegister);
  if (named && operand.reg < ranges.size()) ranges[operand.reg].touch(at);
  if (operand.kind == Operand::Kind::Vector)
    for (uint32_t i = 0; i < operand.count; ++i) touch(function, function.operands[operand.first + i], at, ranges);
}

// Where each loop ends last, by where it begins; 0 where none begins. Of several ways back to one place the last
// decides: what an earlier one would extend, it extends further.
std::vector<uint32_t> loopsOf(const Function& function) {
  std::vector<uint32_t> ends(function.body.size() + 1);
  for (uint32_t at = 0; at < function.body.size(); ++at) {
    const Instruction& instruction = function.body[at];
    for (uint32_t i = 0; i < instruction.count; ++i) {
      const Operand& operand = function.operands[instruction.first + i];
      if (operand.kind != Operand::Kind::Symbol || operand.symbolKind != ptx::SymbolKind::Label) continue;
      const uint32_t target = function.labels[operand.symbol].instruction;
      if (target <= at) ends[target] = at;
    }
  }
  return ends;
}

// A register that lives when a loop begins lives until it ends. Inner loops end first.
void extendOverLoops(const Function& function, std::vector<Range>& ranges) {
  std::vector<std::pair<uint32_t, uint32_t>> loops;  // end, begin
  const std::vector<uint32_t> ends = loopsOf(function);
  for (uint32_t target = 0; target < ends.size(); ++target)
    if (ends[target]) loops.emplace_back(ends[target], target);
  std::sort(loops.begin(), loops.end());
  for (const auto& [end, target] : loops)
    for (Range& range : ranges)
      if (range.first < target && range.last >= target) range.last = std::max(range.last, end);
}

}  // namespace

uint32_t estimateRegisters(const Function& function) {
  std::vector<Range> ranges(function.registers.size());
  for (uint32_t at = 0; at < function.body.size(); ++at) {
    const Instruction& instruction = function.body[at];
    for (uint32_t i = 0; i < instruction.count; ++i)
      touch(function, function.operands[instruction.first + i], at, ranges);
  }
  extendOverLoops(function, ranges);
  std::vector<int> change(function.body.size() + 1);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint32_t bits = ptx::bitsOf(function.registers[i].type);
    if (ranges[i].first == ~0u || bits == 1) continue;  // predicates have registers of their own
    const int words = static_cast<int>((bits + 31) / 32);
    change[ranges[i].first] += words;
    change[ranges[i].last + 1] -= words;
  }
  int live = 0, most = 0;
  for (const int step : change) most = std::max(most, live += step);
  return std::max(kFewest, static_cast<uint32_t>(most) + kReserved);
}

}  // namespace vg::backend::cpu
