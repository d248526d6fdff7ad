#include "backend/cpu/debug/debug_facts.h"

#include <algorithm>
#include <utility>

#include "ptx/facts/kept_registers.h"
#include "ptx/facts/layout.h"

namespace vg::backend::cpu {
namespace {

// Names of PTX have no character that JSON would want otherwise.
std::string quoted(const std::string& name) { return '"' + name + '"'; }

// What has been put between the brackets so far is followed by a comma.
class List {
 public:
  explicit List(char open) : text_(1, open) {}
  void add(const std::string& item) { text_ += (text_.size() > 1 ? "," : "") + item; }
  void add(const std::string& name, const std::string& value) { add(quoted(name) + ':' + value); }
  void add(const std::string& name, uint64_t value) { add(name, std::to_string(value)); }
  std::string end() { return text_ + (text_[0] == '[' ? ']' : '}'); }

 private:
  std::string text_;
};

std::string pairOf(const void* address, size_t count) {
  return '[' + std::to_string(reinterpret_cast<uint64_t>(address)) + ',' + std::to_string(count) + ']';
}

const char* kindOf(ptx::Type type) {
  if (type == ptx::Type::Pred) return "p";
  if (ptx::isSigned(type)) return "s";
  return type == ptx::Type::F16 || type == ptx::Type::F32 || type == ptx::Type::F64 ? "f" : "b";
}

std::string registersOf(const ptx::Function& f, const std::vector<uint32_t>& offsets) {
  List list('[');
  for (size_t r = 0; r < f.registers.size(); ++r) {
    List one('[');
    one.add(quoted(f.registers[r].name));
    one.add(std::to_string(offsets[r]));
    one.add(std::to_string(ptx::bitsOf(f.registers[r].type)));
    one.add(quoted(kindOf(f.registers[r].type)));
    list.add(one.end());
  }
  return list.end();
}

std::string functionsOf(const ptx::Module& module, const ptx::kept::Layout& layout) {
  List list('[');
  for (size_t n = 0; n < layout.functions.size(); ++n) {
    const ptx::Function& f = module.functions[layout.functions[n]];
    uint32_t last = f.line;
    for (const ptx::Instruction& i : f.body) last = std::max(last, i.line);
    List one('{');
    one.add("name", quoted(f.name));
    one.add("first", f.line);
    one.add("last", last);
    one.add("registers", registersOf(f, layout.offsets[n]));
    list.add(one.end());
  }
  return list.end();
}

std::string parametersOf(const ptx::Function& entry) {
  List list('{');
  const std::vector<ptx::ParameterSlot> slots = ptx::parameterLayout(entry);
  for (size_t n = 0; n < slots.size(); ++n) list.add(entry.parameters[n].name, slots[n].offset);
  return list.end();
}

std::string sharedOf(const ptx::Module& module, uint32_t entry) {
  List list('{');
  for (const ptx::SharedLayout::Slot& slot : ptx::sharedLayout(module, entry).slots) {
    const ptx::Variable& v =
        slot.moduleScope ? module.variables[slot.variable] : module.functions[slot.function].variables[slot.variable];
    list.add(v.name, slot.offset);
  }
  return list.end();
}

std::string globalsOf(const ptx::Module& module, uint32_t entry) {
  List list('{');
  const std::vector<uint32_t> globals = ptx::references(module, entry).globals;
  for (size_t n = 0; n < globals.size(); ++n) list.add(module.variables[globals[n]].name, n);
  return list.end();
}

}  // namespace

std::string debugFacts(const LoadedKernel& kernel, const ptx::Module& module, uint32_t function,
                       const std::vector<std::string>& texts) {
  ptx::kept::Layout layout = ptx::kept::layoutOf(module, function);
  if (layout.bytes != kernel.traits.keptBytes) layout = {};
  List listed('[');
  for (const std::string& text : texts) listed.add(pairOf(text.data(), text.size()));
  List facts('{');
  facts.add("bytes", layout.bytes);
  facts.add("functions", functionsOf(module, layout));
  facts.add("parameters", parametersOf(module.functions[function]));
  facts.add("shared", sharedOf(module, function));
  facts.add("globals", globalsOf(module, function));
  facts.add("texts", listed.end());
  facts.add("lines", pairOf(kernel.lines().data(), kernel.lines().size()));
  return facts.end();
}

}  // namespace vg::backend::cpu
