#include "record/entries.h"

#include <cstring>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "api/entry/interop.h"
#include "record/structures.h"

namespace vg::record {

namespace {

struct ArgumentRule {
  std::string_view name, companion;
  int surplus;
  Role role;
};
#define VG_ARGUMENT(name, companion, surplus, role) {name, companion, surplus, Role::role},
#define VG_COUNT(name, companion, surplus)
#define VG_ACTION(prefix, action)
constexpr ArgumentRule kArgumentRules[] = {
#include "record/rules.inc"
};
#undef VG_ARGUMENT
#undef VG_COUNT

#define VG_ARGUMENT(name, companion, surplus, role)
#define VG_COUNT(name, companion, surplus) {name, companion, surplus, Role::Memory},
constexpr ArgumentRule kCountRules[] = {
#include "record/rules.inc"
};
#undef VG_COUNT
#undef VG_ACTION

struct ActionRule {
  std::string_view prefix;
  Action action;
};
#define VG_COUNT(name, companion, surplus)
#define VG_ACTION(prefix, action) {prefix, Action::action},
constexpr ActionRule kActionRules[] = {
#include "record/rules.inc"
};
#undef VG_ARGUMENT
#undef VG_COUNT
#undef VG_ACTION

// Takes a parameter's text apart: "const CUDA_MEMCPY2D* pCopy".
Parameter parse(std::string_view text) {
  Parameter result;
  const size_t last = text.find_last_of(" *");
  result.name = text.substr(last + 1);
  text = text.substr(0, last + 1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '*')) {
    result.stars += text.back() == '*';
    text.remove_suffix(1);
  }
  if (text.starts_with("const ")) {
    result.constant = true;
    text.remove_prefix(6);
  }
  result.type = text;
  return result;
}

std::vector<Parameter> parseAll(std::string_view text) {
  std::vector<Parameter> result;
  for (text = text.substr(1, text.size() - 2); !text.empty();) {
    const size_t comma = text.find(',');
    result.push_back(parse(text.substr(0, comma)));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    while (text.starts_with(" ")) text.remove_prefix(1);
  }
  return result;
}

// What types do not tell in their text.
struct Sizes {
  uint16_t size, pointee;
};
template <class T>
constexpr uint16_t pointeeSize() {
  using Pointee = std::remove_pointer_t<T>;
  if constexpr (!std::is_pointer_v<T> || std::is_void_v<Pointee> || std::is_function_v<Pointee>) {
    return 0;
  } else if constexpr (requires { sizeof(Pointee); }) {
    return sizeof(Pointee);
  } else {
    return 0;
  }
}
template <class Function>
struct SizesOf;
template <class... Args>
struct SizesOf<CUresult (*)(Args...)> {
  static constexpr size_t kCount = sizeof...(Args);
  static constexpr Sizes kSizes[kCount + 1] = {{sizeof(Args), pointeeSize<Args>()}..., {0, 0}};
};

// A row as it stands in the table.
struct Row {
  const char* symbol;  // null: there is no such twin
  const char* parameters;
  const char* names;
  int since;
  const Sizes* sizes;
  size_t count;
};

bool kindOf(std::string_view type, Kind& kind) {
  if (type == "CUkernel") type = "CUfunction";
  if (type == "CUdeviceptr" || type == "CUdeviceptr_v1") return kind = Kind::Address, true;
  if (type == "CUtensorMap" || type == "CUdevResource") return kind = Kind::Opaque, true;
  for (size_t i = 0; i < std::size(kKindNames); ++i)
    if (type == kKindNames[i]) return kind = static_cast<Kind>(i), true;
  return false;
}

Role roleByType(Parameter& parameter) {
  const bool known = kindOf(parameter.type, parameter.kind);
  if (!parameter.stars) {
    if (!known) return Role::Word;
    return parameter.kind == Kind::Address ? Role::Address : Role::Handle;
  }
  if (parameter.type == "char" && parameter.stars == 1) return parameter.constant ? Role::Text : Role::Unknown;
  parameter.holds = known;
  if (isStructure(parameter.type) && parameter.stars == 1) return Role::Structure;
  return parameter.pointee && parameter.type != "void" ? Role::Memory : Role::Unknown;
}

bool apply(const ArgumentRule& rule, const Entry& entry, Parameter& parameter) {
  if (rule.name != parameter.name) return false;
  const int companion = rule.companion.empty() ? -1 : entry.find(rule.companion);
  if (companion < 0 && !rule.companion.empty()) return false;
  if (rule.role == Role::Attribute && parameter.type != "void") return false;
  const bool byValue =
      rule.role == Role::Function || rule.role == Role::Source || rule.role == Role::Target || rule.role == Role::Zero;
  if (!parameter.stars && !byValue) return false;
  parameter.companion = companion;
  parameter.surplus = rule.surplus;
  return true;
}

// Of these the type does not say what they hold.
void holdByName(Parameter& parameter) {
  parameter.holds |= parameter.name == "pp" || parameter.name == "cubinOut";
  if (parameter.name == "pp") parameter.kind = Kind::Address;
  if (parameter.name == "cubinOut") parameter.kind = Kind::Image;
}

void finishParameter(const Entry& entry, Parameter& parameter) {
  parameter.role = roleByType(parameter);
  for (const ArgumentRule& rule : kArgumentRules)
    if (apply(rule, entry, parameter)) {
      parameter.role = rule.role;
      return holdByName(parameter);
    }
  for (const ArgumentRule& rule : kCountRules)
    if (apply(rule, entry, parameter)) return;
}

bool tells(const Parameter& parameter) {
  return parameter.role == Role::Memory && !parameter.constant && parameter.holds;
}

Action actionOf(const Entry& entry) {
  const std::string_view symbol = entry.symbol;
  for (const ActionRule& rule : kActionRules)
    if (symbol.starts_with(rule.prefix)) return rule.action;
  for (const Parameter& parameter : entry.parameters)  // of addresses of 32 bits
    if (parameter.type == "CUdeviceptr_v1" ||
        (parameter.type.starts_with("CUDA_MEMCPY") && parameter.type.ends_with("_v1")))
      return Action::Missing;
  const bool asks = symbol.find("Get") != std::string_view::npos;
  for (const Parameter& parameter : entry.parameters)
    if (tells(parameter)) return Action::Call;
  return asks ? Action::List : Action::Call;
}

Entry make(const Row& row) {
  if (!row.symbol) return {nullptr, "", 0};
  Entry entry{row.symbol, row.names, row.since, {}, true, false, false, parseAll(row.parameters)};
  const std::string_view name = row.symbol;
  for (size_t i = 0; i < row.count; ++i) {
    entry.parameters[i].size = row.sizes[i].size;
    entry.parameters[i].pointee = row.sizes[i].pointee;
  }
  for (Parameter& parameter : entry.parameters) {
    finishParameter(entry, parameter);
    parameter.input = parameter.constant || parameter.name == "dptrs" || parameter.name == "resources" ||
                      name.starts_with("cuStreamUpdateCaptureDependencies");
  }
  entry.action = actionOf(entry);
  entry.async = name.find("Async") != std::string_view::npos;
  entry.launch = name.starts_with("cuLaunch") || name.starts_with("cuGraphLaunch");
  for (const char* prefix : {"cuGetProcAddress", "cuGetExportTable", "cuGetError"})
    if (name.starts_with(prefix)) entry.told = false;
  return entry;
}

}  // namespace
}  // namespace vg::record

// The prototypes of twins are those of their entry points.
#define CU_LIVE(name, since, needs, twin, params, args) extern "C" CUresult name params;
#define CU_STUB CU_LIVE
#include "api/entry/entry_points.inc"
#undef CU_LIVE
#undef CU_STUB

namespace vg::record {

int Entry::find(std::string_view name) const {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == name) return static_cast<int>(i);
  return -1;
}

#define VG_TWIN_None(name) nullptr
#define VG_TWIN_ptsz(name) #name "_ptsz"
#define VG_TWIN_ptds(name) #name "_ptds"
#define VG_ROW(symbol, since, name, params, args) \
  {symbol, #params, #args, since, SizesOf<decltype(&::name)>::kSizes, SizesOf<decltype(&::name)>::kCount},
#define CU_LIVE(name, since, needs, twin, params, args) \
  VG_ROW(#name, since, name, params, args)              \
  VG_ROW(VG_TWIN_##twin(name), since, name, params, args)
#define CU_STUB CU_LIVE
namespace {
constexpr Row kRows[] = {
#include "api/entry/entry_points.inc"
};
}  // namespace
#undef CU_LIVE

const std::vector<Entry>& entries() {
  static const std::vector<Entry>& all = *[] {
    auto* const made = new std::vector<Entry>;
    for (const Row& row : kRows) made->push_back(make(row));
    return made;
  }();
  return all;
}

unsigned entryNamed(std::string_view symbol) {
  static const auto& numbers = *[] {
    auto* const made = new std::unordered_map<std::string_view, unsigned>;
    for (unsigned i = 0; i < entries().size(); ++i)
      if (entries()[i].symbol) made->emplace(entries()[i].symbol, i);
    return made;
  }();
  const auto found = numbers.find(symbol);
  return found == numbers.end() ? kNoEntry : found->second;
}

namespace {

using Words = int (*)(void* function, const uint64_t* words);

template <class T>
T fromWord(const uint64_t* word) {
  T value;
  std::memcpy(&value, word, sizeof value < sizeof *word ? sizeof value : sizeof *word);
  return value;
}

// Arguments that are larger than a word are those of entry points that are never replayed.
template <class Function>
struct Caller;
template <class... Args>
struct Caller<CUresult (*)(Args...)> {
  template <size_t... kAt>
  static int call(void* function, const uint64_t* words, std::index_sequence<kAt...>) {
    return reinterpret_cast<CUresult (*)(Args...)>(function)(fromWord<Args>(words + kAt)...);
  }
  static int call(void* function, [[maybe_unused]] const uint64_t* words) {
    return call(function, words, std::index_sequence_for<Args...>());
  }
};

#define CU_LIVE(name, since, needs, twin, params, args) \
  &Caller<decltype(&::name)>::call, &Caller<decltype(&::name)>::call,
constexpr Words kCallers[] = {
#include "api/entry/entry_points.inc"
};

}  // namespace

int callEntry(unsigned number, void* function, const uint64_t* words) { return kCallers[number](function, words); }

}  // namespace vg::record
