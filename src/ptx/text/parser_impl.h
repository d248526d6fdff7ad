// The state of one parse, shared by the parser's parts: module level (parser.cpp), declarations and initialisers
// (parser_variables.cpp), function bodies (parser_body.cpp) and operands (parser_operands.cpp). Methods return false
// after the first error, which is in the log.
#pragma once

#include <cuda.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/text/ast.h"
#include "ptx/text/expression.h"
#include "ptx/text/lexer.h"
#include "ptx/text/name_table.h"
#include "ptx/text/parse_options.h"

namespace vg::ptx {

class ParserImpl {
 public:
  ParserImpl(std::string_view text, std::string* log, const ParseOptions& options)
      : in_(text), log_(log), options_(options), textSize_(text.size()) {}

  // CUDA_SUCCESS with the module complete, or why not.
  CUresult run();
  Module& module() { return module_; }

 private:
  friend class Initialiser;   // parser_variables.cpp
  friend class ArrayElement;  // parser_operands.cpp

  // What a declaration says before its name: .align, type, vector width, .ptr.
  struct Mnemonic {
    Instruction model;
    bool known = true;
  };
  // A use of a name that only a later label, branch table or prototype can define.
  struct Pending {
    enum class Where : uint8_t { Operand, TableEntry };
    Where where;
    uint32_t name, line;
    uint32_t first, second;  // operand index; table and entry index
  };

  // parser.cpp
  bool moduleStatement();
  bool version();
  bool target();
  bool addressSize();
  bool file();
  bool alias();
  bool linkageThenDeclaration();
  bool function(bool isEntry, Linkage linkage);
  bool functionDirectives(Function& f);
  bool dimensions(uint32_t (&values)[3]);
  bool placeFunction(Function&& f, std::string_view name, bool hasBody, uint32_t& index);
  bool finish();

  // parser_variables.cpp
  bool variableType(Variable& v);
  bool variableList(Space space, Linkage linkage, std::vector<Variable>& into, SymbolKind kind, NameTable& names);
  bool parameterList(std::vector<Variable>& into, Function* f, SymbolKind kind);
  bool arrayBounds(Variable& v, std::vector<uint64_t>& bounds);
  bool attributes(bool* managed);

  // parser_body.cpp
  bool body(Function& f);
  bool statement();
  bool bodyDirective();
  bool registers();
  bool location();
  bool numbers(std::initializer_list<uint32_t*> fields);
  bool labelOrTable(std::string_view name);
  bool branchTargets(std::string_view name, bool functions);
  bool callPrototype(std::string_view name);
  bool instruction(int32_t guard, bool guardNegated, std::string_view mnemonic);
  bool callOperands(Instruction& i);
  const Mnemonic& decode(std::string_view mnemonic);
  bool closeScope();
  bool declareLabel(std::string_view name, SymbolKind kind, uint32_t index);
  uint32_t addRegister(std::string_view name, Type type);

  // parser_operands.cpp
  bool operand(Operand& o);
  bool namedOperand(Operand& o);
  bool bracket();
  bool braces(Operand& o);
  bool resolve(std::string_view name, Operand& o, bool inVector);
  bool resolveRegister(std::string_view name, Operand& o);
  bool suffixed(std::string_view name, Operand& o);
  bool immediate(Operand& o);
  bool negatedRegister(Operand& o);
  bool parenthesised(Operand& o);
  void commitOperands(Instruction& i);

  bool error(const char* format, ...) __attribute__((format(printf, 2, 3)));
  bool errorAt(uint32_t line, const char* format, ...) __attribute__((format(printf, 3, 4)));
  void note(uint32_t line, const char* text);
  bool expect(char c);

  Lexer in_;
  std::string* log_;
  ParseOptions options_;
  size_t textSize_;
  CUresult code_ = CUDA_SUCCESS;
  Module module_;
  NameTable globals_;  // module scope: variables and functions
  std::unordered_map<std::string_view, Mnemonic> mnemonics_;
  struct Alias {
    std::string name, target;
    uint32_t line;
  };
  std::vector<Alias> aliases_;

  struct ScratchPending {
    uint32_t operand, name;
    bool inVector;
  };
  // Of the function being parsed.
  struct OfFunction {
    Function* function = nullptr;
    NameTable names;
    NameTable ranges;  // of registers: `a<2>` and `a` are different names
    RegisterNumbers rangeRegisters;
    bool digitNames = false;  // some register is declared by itself with a name that ends in a digit
    std::vector<Pending> pending;
    std::vector<size_t> pendingStarts;
    std::vector<Operand> scratch;  // operands of the instruction being read
    std::vector<ScratchPending> scratchPending;
    bool isElement = false;            // the operand read last is an element of an array
    Space elementSpace = Space::None;  // of an array of the instruction whose index is a register
    uint32_t location = 0;
    uint32_t statementLine = 0;
  } here_;
};

}  // namespace vg::ptx
