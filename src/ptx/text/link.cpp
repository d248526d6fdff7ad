// Links relocatable modules: decides for every symbol which definition holds, then renumbers all references.
#include <algorithm>
#include <unordered_map>

#include "ptx/abi/system_calls.h"
#include "ptx/text/parser.h"

namespace vg::ptx {
namespace {

// How strongly a symbol claims its name.
enum class Strength : uint8_t { Declaration, Common, Weak, Strong };

Strength strengthOf(const Variable& v) {
  switch (v.linkage) {
    case Linkage::Extern:
      return Strength::Declaration;
    case Linkage::Common:
      return Strength::Common;
    case Linkage::Weak:
      return Strength::Weak;
    default:
      return Strength::Strong;
  }
}

Strength strengthOf(const Function& f) {
  if (f.isDeclaration) return Strength::Declaration;
  return f.linkage == Linkage::Weak ? Strength::Weak : Strength::Strong;
}

// Which functions or module variables something refers to, by their numbers.
std::vector<bool> used(const Module& module, SymbolKind wanted) {
  std::vector<bool> used(wanted == SymbolKind::Function ? module.functions.size() : module.variables.size());
  const auto use = [&](SymbolKind kind, uint32_t symbol) {
    if (kind == wanted) used[symbol] = true;
  };
  for (const Function& f : module.functions)
    for (const Operand& o : f.operands) use(o.symbolKind, o.symbol);
  for (const Variable& v : module.variables)
    for (const Variable::Reference& r : v.references) use(r.kind, r.symbol);
  return used;
}

std::vector<std::string_view> openVariables(const Module& module) {
  const std::vector<bool> wanted = used(module, SymbolKind::ModuleVariable);
  std::vector<std::string_view> open;
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const Variable& v = module.variables[i];
    if (wanted[i] && v.linkage == Linkage::Extern && !(v.space == Space::Shared && v.unsizedArray))
      open.push_back(v.name);
  }
  return open;
}

class Linker {
 public:
  Linker(std::vector<Module> modules, std::string* log) : modules_(std::move(modules)), log_(log) {}

  Result<Module> run() {
    for (Module& m : modules_) {
      Maps& maps = maps_.emplace_back();
      for (Variable& v : m.variables)
        if (!place(v, out_.variables, variables_, maps.variables)) return CUDA_ERROR_INVALID_PTX;
      for (Function& f : m.functions)
        if (!place(f, out_.functions, functions_, maps.functions)) return CUDA_ERROR_INVALID_PTX;
    }
    mergeHeaders();
    for (size_t i = 0; i < out_.functions.size(); ++i) renumber(out_.functions[i], functionOrigin_[i]);
    for (size_t i = 0; i < out_.variables.size(); ++i)
      for (Variable::Reference& r : out_.variables[i].references) renumber(r, variableOrigin_[i]);
    if (!resolved()) return CUDA_ERROR_INVALID_PTX;
    return std::move(out_);
  }

 private:
  struct Maps {
    std::vector<uint32_t> variables, functions;  // index in the module -> index in the result
    uint32_t firstFile = 0, firstLocation = 0;
  };
  using Names = std::unordered_map<std::string, uint32_t>;

  void note(const std::string& text) {
    if (log_ && log_->size() < 64 * 1024) *log_ += text + "\n";
  }

  std::vector<uint32_t>& origins(const std::vector<Variable>&) { return variableOrigin_; }
  std::vector<uint32_t>& origins(const std::vector<Function>&) { return functionOrigin_; }

  static bool isInternal(const Variable& v) { return v.linkage == Linkage::Internal; }
  static bool isInternal(const Function& f) { return f.linkage == Linkage::Internal && !f.isDeclaration; }

  // The index in the result for one symbol, in the module read last.
  template <class Symbol>
  bool place(Symbol& symbol, std::vector<Symbol>& into, Names& names, std::vector<uint32_t>& map) {
    const uint32_t from = static_cast<uint32_t>(maps_.size() - 1), fresh = static_cast<uint32_t>(into.size());
    std::string name = symbol.name;
    if (isInternal(symbol)) {
      if (names.count(name)) name = symbol.name = name + "$" + std::to_string(from);
    } else if (const auto known = names.find(name); known != names.end()) {
      if (isInternal(into[known->second])) {  // a module's own symbol gives way to the shared name
        into[known->second].name += "$" + std::to_string(origins(into)[known->second]);
        names.erase(known);
      } else {
        map.push_back(known->second);
        return merge(symbol, into[known->second], origins(into)[known->second], from);
      }
    }
    names.emplace(std::move(name), fresh);
    map.push_back(fresh);
    origins(into).push_back(from);
    into.push_back(std::move(symbol));
    return true;
  }

  template <class Symbol>
  bool merge(Symbol& next, Symbol& held, uint32_t& origin, uint32_t from) {
    const Strength a = strengthOf(held), b = strengthOf(next);
    if (a == Strength::Strong && b == Strength::Strong) {
      note("symbol '" + next.name + "' is defined more than once");
      return false;
    }
    if (b > a || (a == Strength::Common && b == Strength::Common && isLarger(next, held))) {
      held = std::move(next);
      origin = from;
    }
    return true;
  }
  static bool isLarger(const Variable& a, const Variable& b) { return a.size > b.size; }
  static bool isLarger(const Function&, const Function&) { return false; }

  void mergeHeaders() {
    for (size_t i = 0; i < modules_.size(); ++i) {
      Module& m = modules_[i];
      out_.version = std::max(out_.version, m.version);
      if (m.target > out_.target) {
        out_.target = m.target;
        out_.targetSuffix = m.targetSuffix;
      }
      out_.debug |= m.debug;
      maps_[i].firstFile = static_cast<uint32_t>(out_.files.size());
      maps_[i].firstLocation = static_cast<uint32_t>(out_.locations.size());
      for (SourceLocation& l : m.locations) {
        l.file += maps_[i].firstFile;
        l.callerFile += maps_[i].firstFile;
      }
      out_.files.insert(out_.files.end(), m.files.begin(), m.files.end());
      out_.locations.insert(out_.locations.end(), m.locations.begin(), m.locations.end());
      out_.unknowns.insert(out_.unknowns.end(), m.unknowns.begin(), m.unknowns.end());
    }
  }

  void renumber(Function& f, uint32_t from) {
    const Maps& maps = maps_[from];
    for (Operand& o : f.operands) {
      if (o.symbolKind == SymbolKind::ModuleVariable) o.symbol = maps.variables[o.symbol];
      if (o.symbolKind == SymbolKind::Function) o.symbol = maps.functions[o.symbol];
    }
    for (BranchTable& table : f.branchTables)
      for (uint32_t& target : table.functions) target = maps.functions[target];
    for (Instruction& i : f.body)
      if (i.location) i.location += maps.firstLocation;
  }

  void renumber(Variable::Reference& r, uint32_t from) {
    r.symbol = r.kind == SymbolKind::Function ? maps_[from].functions[r.symbol] : maps_[from].variables[r.symbol];
  }

  // Whether every symbol that something refers to is defined here or provided at run time.
  bool resolved() {
    const std::vector<std::string_view> functions = openFunctions(out_), variables = openVariables(out_);
    for (const std::string_view name : functions) note("unresolved function '" + std::string(name) + "'");
    for (const std::string_view name : variables) note("unresolved variable '" + std::string(name) + "'");
    return functions.empty() && variables.empty();
  }

  std::vector<Module> modules_;
  std::string* log_;
  Module out_;
  std::vector<Maps> maps_;
  std::vector<uint32_t> variableOrigin_, functionOrigin_;  // which module a symbol of the result came from
  Names variables_, functions_;
};

}  // namespace

std::vector<std::string_view> openFunctions(const Module& module) {
  const std::vector<bool> wanted = used(module, SymbolKind::Function);
  std::vector<std::string_view> open;
  for (size_t i = 0; i < module.functions.size(); ++i) {
    const Function& f = module.functions[i];
    if (wanted[i] && f.isDeclaration && systemCallNamed(f.name) == SystemCall::None) open.push_back(f.name);
  }
  return open;
}

Result<Module> link(std::vector<Module> modules, std::string* log) {
  if (log) log->clear();
  return Linker(std::move(modules), log).run();
}

}  // namespace vg::ptx
