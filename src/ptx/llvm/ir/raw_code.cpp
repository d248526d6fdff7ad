#include "ptx/llvm/ir/raw_code.h"
#include "ptx/text/op.h"

#include <iterator>

namespace vg::ptx::gen {

RawCode::RawCode(Program& program, uint32_t granule)
    : carry(newVariable(Class::Pred)), program_(program), granule_(granule) {
  blocks.emplace_back();  // kEnd
  made_.function = &program_.made->function;
  made_.functionIndex = kNone;
}

uint32_t RawCode::newVariable(Class type) {
  variableTypes.push_back(type);
  return static_cast<uint32_t>(variableTypes.size() - 1);
}

Instance* RawCode::newInstance(uint32_t functionIndex, const Instance* caller) {
  instances_.push_back(std::make_unique<Instance>());
  Instance* instance = instances_.back().get();
  instance->function = &program_.module->functions[functionIndex];
  instance->functionIndex = functionIndex;
  instance->caller = caller;
  if (caller) instance->recursion = caller->recursion;
  instance->firstVariable = static_cast<uint32_t>(variableTypes.size());
  for (const Register& r : instance->function->registers) newVariable(integerClass(ptx::bitsOf(r.type)));
  return instance;
}

ParamObject* RawCode::newObject() {
  objects_.push_back(std::make_unique<ParamObject>());
  return objects_.back().get();
}

uint32_t RawCode::newBlock() {
  blocks.emplace_back();
  return static_cast<uint32_t>(blocks.size() - 1);
}

void RawCode::jump(uint32_t from, uint32_t to) {
  blocks[from].terminator = Block::Jump;
  blocks[from].successors = {to};
}

ParamObject* RawCode::objectOf(Instance& instance, const Operand& o, uint32_t line) {
  switch (o.symbolKind) {
    case SymbolKind::FunctionVariable: {
      ParamObject*& object = instance.locals[o.symbol];
      if (!object) object = newObject();
      return object;
    }
    case SymbolKind::Parameter:
      if (o.symbol < instance.parameters.size()) return instance.parameters[o.symbol];
      break;
    case SymbolKind::ReturnParameter:
      if (o.symbol < instance.returns.size()) return instance.returns[o.symbol];
      break;
    default:
      break;
  }
  unsupportedConstruct(line, "this use of .param space");
}

// So that the widths of all pieces are known before anything is made of them.
void RawCode::declarePieces(const ptx::Instruction& i, Instance& instance) {
  const Function& f = *instance.function;
  const bool load = i.op == Op::Ld;
  const Operand &address = f.operands[i.first + (load ? 1 : 0)], &data = f.operands[i.first + (load ? 0 : 1)];
  const uint32_t bits = ptx::bitsOf(i.type()), count = data.kind == Operand::Kind::Vector ? data.count : 1;
  ParamObject& object = *objectOf(instance, address, i.line);
  for (uint32_t k = 0; k < count; ++k) piecesOf(object, address.offset + k * (bits / 8), bits);
}

// The piece at an offset, which may be wider than asked for.
uint32_t RawCode::pieceOf(ParamObject& object, int64_t offset, uint32_t bits) {
  auto [at, inserted] = object.pieces.try_emplace(offset);
  const auto next = std::next(at);
  const bool overlaps = next != object.pieces.end() && offset + bits / 8 > next->first;
  if (inserted) {
    at->second = {newVariable(integerClass(bits)), bits};
    if (at != object.pieces.begin()) {
      auto before = std::prev(at);
      if (before->first + before->second.bits / 8 > offset) throw MixedPieces();
    }
    if (overlaps) throw MixedPieces();
  } else if (at->second.bits < bits) {
    // While functions are expanded, the widest access decides; later all are known.
    if (settled_ || overlaps) throw MixedPieces();
    at->second.bits = bits;
    variableTypes[at->second.variable] = integerClass(bits);
  }
  return at->second.variable;
}

std::vector<uint32_t> RawCode::piecesOf(ParamObject& object, int64_t offset, uint32_t bits) {
  const uint32_t each = granule_ && bits > granule_ * 8 ? granule_ * 8 : bits;
  std::vector<uint32_t> pieces;
  for (uint32_t done = 0; done < bits; done += each) pieces.push_back(pieceOf(object, offset + done / 8, each));
  return pieces;
}

bool RawCode::isParamAccess(const ptx::Instruction& ast, const Instance& instance) {
  if (ast.op != Op::Ld && ast.op != Op::St) return false;
  if (ast.space != Space::Param && ast.space != Space::ParamFunction) return false;
  const Operand& address = instance.function->operands[ast.first + (ast.op == Op::Ld ? 1 : 0)];
  if (address.kind != Operand::Kind::Address || address.isBaseRegister) return false;
  if (address.symbolKind == SymbolKind::Parameter) return instance.caller != nullptr;
  if (address.symbolKind == SymbolKind::ReturnParameter) return true;
  return address.symbolKind == SymbolKind::FunctionVariable &&
         instance.function->variables[address.symbol].space == Space::Param;
}

uint32_t granuleOf(const Program& program) {
  constexpr uint64_t kLargest = 8;  // so that all that is wider has parts that instructions know
  uint64_t places = kLargest;
  const auto add = [&](const Function& f) {
    const bool isEntry = &f == &program.module->functions[program.entry];
    for (const ptx::Instruction& i : f.body) {
      if (i.op != Op::Ld && i.op != Op::St) continue;
      const Operand& address = f.operands[i.first + (i.op == Op::Ld ? 1 : 0)];
      const bool own = address.symbolKind == SymbolKind::Parameter && isEntry;
      const bool isParam = i.space == Space::Param || i.space == Space::ParamFunction;
      if (isParam && !own) places |= static_cast<uint64_t>(address.offset) | ptx::bitsOf(i.type()) / 8;
    }
    for (const std::vector<Variable>* formals : {&f.parameters, &f.returns})
      for (const Variable& formal : *formals)
        if (const uint64_t bytes = ptx::bitsOf(formal.type) / 8; !isEntry && formal.size == bytes) places |= bytes;
  };
  add(program.module->functions[program.entry]);
  for (uint32_t function : program.references.functions) add(program.module->functions[function]);
  return static_cast<uint32_t>(places & -places);
}

}  // namespace vg::ptx::gen
