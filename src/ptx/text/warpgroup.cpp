#include "ptx/text/warpgroup.h"

#include "ptx/abi/more_barriers.h"
#include "ptx/text/op.h"

namespace vg::ptx {

void addOfWarpgroup(Function& f, Instruction i) {
  std::vector<Operand>& operands = f.operands;
  if (i.has(Mod::Fence) || i.has(Mod::CommitGroup)) return;
  const auto number = [](uint64_t value) {
    Operand o;
    o.kind = Operand::Kind::Immediate;
    o.bits = value;
    return o;
  };
  const auto take = [&](Instruction& made, std::initializer_list<Operand> list) {
    made.first = static_cast<uint32_t>(operands.size());
    made.count = static_cast<uint32_t>(list.size());
    operands.insert(operands.end(), list);
    f.body.push_back(made);
  };
  if (i.has(Mod::WaitGroup)) {
    i.op = Op::Barrier;
    i.mods.reset();
    i.mods.set(static_cast<size_t>(Mod::Aligned));
    return take(i, {number(0), number(kThreadsOfWarpgroup)});
  }
  // Its predicate says whether the accumulators, which are read as well, count: as a number.
  std::vector<Operand> all(operands.begin() + i.first, operands.begin() + i.first + i.count);
  for (size_t k = 1; k < all.size(); ++k) {
    if (all[k].kind != Operand::Kind::Register || f.registers[all[k].reg].type != Type::Pred) continue;
    Instruction choice;
    choice.op = Op::Selp;
    choice.types[choice.typeCount++] = Type::U32;
    choice.line = i.line;
    choice.location = i.location;
    Operand result;
    result.kind = Operand::Kind::Register;
    result.reg = static_cast<uint32_t>(f.registers.size());
    f.registers.push_back({"%accumulates", Type::U32});
    take(choice, {result, number(1), number(0), all[k]});
    all[k] = result;
  }
  all.push_back(all.front());
  i.first = static_cast<uint32_t>(operands.size());
  i.count = static_cast<uint32_t>(all.size());
  operands.insert(operands.end(), all.begin(), all.end());
  f.body.push_back(i);
}

}  // namespace vg::ptx
