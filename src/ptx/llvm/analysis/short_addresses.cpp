#include "ptx/llvm/analysis/short_addresses.h"

#include <algorithm>
#include <set>

#include "ptx/text/op.h"

namespace vg::ptx::gen {
namespace {

// Follows what an address is a sum of: a whole address among it makes it whole.
class Origins {
 public:
  explicit Origins(const Program& program) : program_(program) {}

  bool isShort(ValueId address) {
    visit(address);
    return short_ && !whole_;
  }

 private:
  void visit(ValueId id) {
    if (whole_ || id == kNone || !seen_.insert(id).second) return;
    const Value& v = program_.values[id];
    if (v.kind == Value::Constant || v.kind == Value::Undefined) return;
    if (bitsOf(v.type) <= 32) {
      short_ = true;
    } else if (v.kind == Value::Phi) {
      for (ValueId in : v.incoming) visit(in);
    } else if (v.kind != Value::Result || !visitSources(program_.instructions[v.instruction])) {
      whole_ = true;
    }
  }

  bool visitSources(const Instruction& i) {
    switch (i.ast->op) {
      case Op::Mov:
      case Op::Add:
      case Op::Sub:
      case Op::Selp:
        for (size_t n = 0; n < std::min<size_t>(i.sources.size(), 2); ++n) visit(i.sources[n]);
        break;
      case Op::Mad:
        if (!i.ast->has(Mod::Wide)) return false;
        visit(i.sources[2]);
        break;
      case Op::Mul:
        return i.ast->has(Mod::Wide);
      case Op::Cvt:
        visit(i.sources[0]);
        break;
      default:
        return false;
    }
    for (ValueId old : i.old) visit(old);
    return true;
  }

  const Program& program_;
  std::set<ValueId> seen_;
  bool short_ = false, whole_ = false;
};

bool isWindow(Space space) { return space == Space::Local || space == Space::Const || space == Space::Param; }

// Of a block's instructions, in which the conversions take their places.
class Widener {
 public:
  Widener(Program& program, BlockId block) : program_(program), block_(block) {}

  void run() {
    std::vector<uint32_t> order;
    for (uint32_t number : program_.blocks[block_].instructions) {
      const Instruction& i = program_.instructions[number];
      const bool access = i.ast->op == Op::Ld || i.ast->op == Op::St;
      if (access && isWindow(i.ast->space) && !i.sources.empty() && i.sources[0] != kNone &&
          isShortAddress(program_, i.sources[0])) {
        const ValueId whole = convert(*i.ast, i.sources[0]);
        order.push_back(program_.values[whole].instruction);
        program_.instructions[number].sources[0] = whole;
      }
      order.push_back(number);
    }
    program_.blocks[block_].instructions = std::move(order);
  }

 private:
  ValueId convert(const ptx::Instruction& access, ValueId address) {
    ptx::Instruction& ast = program_.made->body.emplace_back();
    ast.op = Op::Cvta;
    ast.typeCount = 1;
    ast.types[0] = Type::U64;
    ast.space = access.space;
    ast.line = access.line;
    const auto id = static_cast<ValueId>(program_.values.size());
    Value& value = program_.values.emplace_back();
    value.kind = Value::Result;
    value.type = Class::I64;
    value.block = block_;
    value.instruction = static_cast<uint32_t>(program_.instructions.size());
    Instruction& i = program_.instructions.emplace_back();
    i.ast = &ast;
    i.function = &program_.made->function;
    i.functionIndex = kNone;
    i.block = block_;
    i.sources = {address};
    i.offsets = {0};
    i.negated = {false};
    i.results = {id};
    i.old = {kNone};
    return id;
  }

  Program& program_;
  const BlockId block_;
};

}  // namespace

bool isShortAddress(const Program& program, ValueId address) { return Origins(program).isShort(address); }

void widenShortAddresses(Program& program) {
  for (BlockId b = 0; b < program.blocks.size(); ++b) Widener(program, b).run();
}

llvm::Value* addressBeside(llvm::IRBuilderBase& b, llvm::Value* base, llvm::Value* low) {
  llvm::Type* const type = low->getType();
  llvm::Type* const word = type->getWithNewBitWidth(32);
  return b.CreateAdd(base, b.CreateSExt(b.CreateTrunc(b.CreateSub(low, base), word), type));
}

}  // namespace vg::ptx::gen
