#include "ptx/text/parser.h"

#include <cstdarg>
#include <cstdio>

#include "base/float_environment.h"
#include "ptx/facts/contraction.h"
#include "ptx/facts/limits.h"
#include "ptx/text/parser_impl.h"

namespace vg::ptx {
namespace {

constexpr size_t kAliasLimit = 4u << 20;  // things copied for aliases

}  // namespace

Result<Module> parse(std::string_view text, std::string* log, const ParseOptions& options) {
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) text = text.substr(0, nul);
  if (log) log->clear();
  const DefaultFloatEnvironment ofConstants;
  ParserImpl parser(text, log, options);
  if (const CUresult code = parser.run(); code != CUDA_SUCCESS) return code;
  contract(parser.module(), options.joinsQuotients);
  return std::move(parser.module());
}

CUresult ParserImpl::run() {
  bool ok = version() && target();
  while (ok && !in_.atEnd()) ok = moduleStatement();
  if (!ok || !finish()) return code_;
  return CUDA_SUCCESS;
}

void ParserImpl::note(uint32_t line, const char* text) {
  if (!log_ || log_->size() > 64 * 1024) return;
  *log_ += "line " + std::to_string(line) + ": " + text;
  if (here_.function && !here_.function->name.empty()) *log_ += " (in " + here_.function->name + ")";
  *log_ += "\n";
}

bool ParserImpl::error(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  note(in_.line(), text);
  if (code_ == CUDA_SUCCESS) code_ = CUDA_ERROR_INVALID_PTX;
  return false;
}

bool ParserImpl::errorAt(uint32_t line, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  note(line, text);
  if (code_ == CUDA_SUCCESS) code_ = CUDA_ERROR_INVALID_PTX;
  return false;
}

bool ParserImpl::expect(char c) {
  if (in_.take(c)) return true;
  if (in_.atEnd()) return error("'%c' expected at the end of the text", c);
  const char found = in_.peek();
  return error("'%c' expected, found '%c'", c, found >= ' ' && found < 127 ? found : '?');
}

bool ParserImpl::version() {
  if (in_.dotWord() != "version") return error(".version expected");
  uint32_t parts[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    if (!isDigit(in_.peek())) return error("version number expected");
    for (; isDigit(in_.raw()); in_.advance(1))
      if (parts[i] < 1000) parts[i] = parts[i] * 10 + static_cast<uint32_t>(in_.raw() - '0');
    if (i == 0 && !in_.take('.')) return error("version number expected");
  }
  module_.version = parts[0] * 10 + parts[1];
  if (parts[0] > 9 || parts[1] > 9) {
    code_ = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    // In ptxas's words: programs read the newest version from them.
    return error("Unsupported .version %u.%u; current version is '9.9'", parts[0], parts[1]);
  }
  return parts[0] > 0 || error("bad PTX version");
}

bool ParserImpl::target() {
  if (in_.dotWord() != "target") return error(".target expected");
  do {
    const std::string_view word = in_.identifier();
    if (word.empty()) return error("target name expected");
    if (word == "debug") module_.debug = true;
    if (!word.starts_with("sm_")) continue;
    uint32_t number = 0;
    size_t at = 3;
    for (; at < word.size() && isDigit(word[at]) && number < 10000; ++at)
      number = number * 10 + static_cast<uint32_t>(word[at] - '0');
    module_.target = number;
    if (at < word.size()) module_.targetSuffix = word[at];
  } while (in_.take(','));
  if (module_.target == 0) return error("target sm_<number> expected");
  if (options_.maxTarget && module_.target > options_.maxTarget)
    return error("target sm_%u is above the device's sm_%u", module_.target, options_.maxTarget);
  return true;
}

bool ParserImpl::addressSize() {
  int64_t size = 0;
  const char* why = nullptr;
  if (!parseInteger(in_, size, &why)) return error("%s", why);
  if (size != 64) return error("address size %lld is not supported", static_cast<long long>(size));
  return true;
}

bool ParserImpl::file() {
  int64_t index = 0;
  const char* why = nullptr;
  if (!parseInteger(in_, index, &why)) return error("%s", why);
  std::string_view name;
  if (!in_.string(name)) return error("file name expected");
  if (index < 0 || index > 1 << 20 || static_cast<uint64_t>(index) > textSize_) return error("bad file number");
  if (module_.files.size() <= static_cast<size_t>(index)) module_.files.resize(static_cast<size_t>(index) + 1);
  module_.files[static_cast<size_t>(index)] = name;
  while (in_.take(',')) {  // time stamp and size
    int64_t ignored = 0;
    if (!parseInteger(in_, ignored, &why)) return error("%s", why);
  }
  return true;
}

bool ParserImpl::alias() {
  const uint32_t line = in_.line();
  const std::string_view name = in_.identifier();
  if (name.empty() || !expect(',')) return error("alias name expected");
  const std::string_view target = in_.identifier();
  if (target.empty()) return error("alias target expected");
  aliases_.push_back({std::string(name), std::string(target), line});
  return expect(';');
}

bool ParserImpl::moduleStatement() {
  const char c = in_.peek();
  if (c == ';') return in_.take(';');
  if (c == '#') return error("a line for a preprocessor; run the text through one before it is loaded");
  if (c != '.') return error("directive expected, found '%c'", c >= ' ' && c < 127 ? c : '?');
  const Lexer start = in_;
  const std::string_view word = in_.dotWord();
  if (word == "address_size") return addressSize();
  if (word == "file") return file();
  if (word == "alias") return alias();
  if (word == "target") {
    in_ = start;
    return target();
  }
  if (word == "version") return error("a second .version");
  if (word == "include") return error(".include is not for the driver; put the text of the file here");
  if (word == "loc") {
    in_.skipLine();
    return true;
  }
  if (word == "section") {
    if (in_.peek() != '{') (in_.peek() == '.' ? in_.dotWord() : in_.identifier());
    return in_.peek() == '{' ? in_.skipBraces() || error("section is not closed") : error("'{' expected");
  }
  in_ = start;
  return linkageThenDeclaration();
}

bool ParserImpl::linkageThenDeclaration() {
  Linkage linkage = Linkage::Internal;
  for (;;) {
    const Lexer start = in_;
    const std::string_view word = in_.dotWord();
    if (word == "visible")
      linkage = Linkage::Visible;
    else if (word == "extern")
      linkage = Linkage::Extern;
    else if (word == "weak")
      linkage = Linkage::Weak;
    else if (word == "common")
      linkage = Linkage::Common;
    else if (word == "entry" || word == "func")
      return function(word == "entry", linkage);
    else if (word == "global" || word == "const" || word == "shared" || word == "local")
      return variableList(findSpace(word), linkage, module_.variables, SymbolKind::ModuleVariable, globals_);
    else if (word == "tex")
      return variableList(Space::Global, linkage, module_.variables, SymbolKind::ModuleVariable, globals_);
    else if (word.empty())
      return error("declaration expected");
    else {
      in_ = start;
      in_.advance(1);
      in_.skipDirective();
      return true;
    }
    if (in_.peek() != '.') return error("declaration expected");
  }
}

bool ParserImpl::dimensions(uint32_t (&values)[3]) {
  values[0] = values[1] = values[2] = 1;
  for (int i = 0; i < 3; ++i) {
    int64_t value = 0;
    const char* why = nullptr;
    if (!parseInteger(in_, value, &why)) return error("%s", why);
    if (value <= 0 || value > INT32_MAX) return error("bad dimension");
    values[i] = static_cast<uint32_t>(value);
    if (!in_.take(',')) break;
  }
  return true;
}

bool ParserImpl::functionDirectives(Function& f) {
  while (in_.peek() == '.') {
    const std::string_view word = in_.dotWord();
    uint32_t values[3];
    if (word.empty()) return error("directive expected");
    if (word == "maxntid") {
      if (!dimensions(f.maxThreads)) return false;
    } else if (word == "reqntid") {
      if (!dimensions(f.requiredThreads)) return false;
    } else if (word == "reqnctapercluster") {
      if (!dimensions(f.clusterSize)) return false;
    } else if (word == "explicitcluster") {
      f.explicitCluster = true;
    } else if (word == "minnctapersm") {
      if (!dimensions(values)) return false;
      f.minBlocks = values[0];
    } else if (word == "maxnreg") {
      if (!dimensions(values)) return false;
      f.maxRegisters = values[0];
    } else if (word == "maxclusterrank") {
      if (!dimensions(values)) return false;
      f.maxClusterRank = values[0];
    } else if (word == "noreturn") {
      f.noreturn = true;
    } else if (word == "pragma") {
      std::string_view ignored;
      if (!in_.string(ignored) || !expect(';')) return error("string expected");
    } else if (word == "attribute") {
      if (!attributes(nullptr)) return false;
    } else {  // unknown: a word and at most a list of numbers, or a text as in .language "CUDA C++"
      std::string_view ignored;
      if (in_.peek() == '"' && !in_.string(ignored)) return error("string expected");
      while (isDigit(in_.peek()) || in_.peek() == ',') in_.advance(1);
    }
  }
  if (f.maxThreads[0] && f.requiredThreads[0]) return error(".maxntid and .reqntid of one function");
  return true;
}

bool ParserImpl::function(bool isEntry, Linkage linkage) {
  Function f;
  f.isEntry = isEntry;
  f.linkage = linkage;
  here_.function = nullptr;
  here_.names.reset();
  here_.ranges.reset();
  here_.rangeRegisters.reset();
  here_.digitNames = false;
  while (in_.peek() == '.') {
    if (in_.dotWord() != "attribute" || !attributes(nullptr)) return error("function name expected");
  }
  if (in_.peek() == '(' && !parameterList(f.returns, &f, SymbolKind::ReturnParameter)) return false;
  f.line = in_.line();
  const std::string_view name = in_.identifier();
  if (name.empty()) return error("function name expected");
  f.name = name;
  if (in_.peek() == '(' && !parameterList(f.parameters, &f, SymbolKind::Parameter)) return false;
  if (!functionDirectives(f)) return false;
  const bool hasBody = in_.peek() == '{';
  if (!hasBody && !expect(';')) return false;
  uint32_t index = 0;
  if (!placeFunction(std::move(f), name, hasBody, index)) return false;
  if (!hasBody) return true;
  Function local = std::move(module_.functions[index]);  // the body may add module variables, never functions
  if (!body(local)) return false;
  module_.functions[index] = std::move(local);
  return true;
}

// Declarations and the definition of one name share one index.
// `name` is the function's name in the text, which outlives the name table.
bool ParserImpl::placeFunction(Function&& f, std::string_view name, bool hasBody, uint32_t& index) {
  f.isDeclaration = !hasBody;
  const Declaration* known = globals_.find(f.name);
  if (!known) {
    index = static_cast<uint32_t>(module_.functions.size());
    module_.functions.push_back(std::move(f));
    Declaration d;
    d.symbol = SymbolKind::Function;
    d.index = index;
    return globals_.declare(name, d);
  }
  if (known->symbol != SymbolKind::Function) return error("'%s' is already defined", f.name.c_str());
  index = known->index;
  Function& old = module_.functions[index];
  if (!hasBody) return true;
  if (!old.isDeclaration) return error("function '%s' is already defined", f.name.c_str());
  if (f.linkage == Linkage::Internal && old.linkage != Linkage::Extern) f.linkage = old.linkage;
  old = std::move(f);
  return true;
}

// Aliases become copies of the function they name.
bool ParserImpl::finish() {
  for (SourceLocation& at : module_.locations) {  // .file directives may follow their use
    if (at.file >= module_.files.size()) at.file = 0;
    if (at.callerFile >= module_.files.size()) at.callerFile = 0;
  }
  size_t copied = 0;
  for (const Alias& a : aliases_) {
    const Declaration* target = globals_.find(a.target);
    if (!target || target->symbol != SymbolKind::Function)
      return errorAt(a.line, "alias of '%s', which is not a function", a.target.c_str());
    const Function& original = module_.functions[target->index];
    copied += original.body.size() + original.operands.size() + original.registers.size() + original.variables.size();
    if (copied > kAliasLimit) return errorAt(a.line, "aliases of too many instructions");
    Function copy = original;
    const Declaration* known = globals_.find(a.name);
    if (known && known->symbol != SymbolKind::Function)
      return errorAt(a.line, "'%s' is already defined", a.name.c_str());
    copy.name = a.name;
    if (known) {
      copy.linkage = module_.functions[known->index].linkage;
      module_.functions[known->index] = std::move(copy);
    } else {
      module_.functions.push_back(std::move(copy));
    }
  }
  if (const std::optional<LimitFault> limit = exceededLimit(module_))
    return errorAt(limit->line, "%s", limit->text.c_str());
  return true;
}

}  // namespace vg::ptx
