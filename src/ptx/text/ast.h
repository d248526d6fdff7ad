// A parsed PTX module: plain data, made by the parser, read by the reference interpreter, the linker of relocatable
// modules, the module loader and the code generator.
//
// Instructions keep PTX's own words: a base opcode, its types in order of appearance, and the set of all other
// dot-words (`Mod`), so that consumers ask `i.has(Mod::Ftz)`. Register types are what `.reg` declared; instruction
// types decide the operation. Immutable after parsing; safe to read from any thread.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vg::ptx {

// Base opcodes: the first dot-separated word of a mnemonic. Who names one includes op.h, so that a new row of ops.inc
// rebuilds nobody else.
enum class Op : uint16_t;

// Every dot-word that is neither base opcode, type, state space nor vector width.
enum class Mod : uint16_t {
#define VG_PTX_MOD(name, text) name,
#include "ptx/text/mods.inc"
#undef VG_PTX_MOD
  Count
};
using ModSet = std::bitset<static_cast<size_t>(Mod::Count)>;

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F32x2,
  F64,
  E4M3,
  E5M2,
  E4M3x2,
  E5M2x2,
  E2M3x2,
  E3M2x2,
  E2M1x2,
  UE8M0x2,
  U16x2,
  S16x2,
  U8x4,
  S8x4,
  TexRef,
  SamplerRef,
  SurfRef,
  B1,
  S4,
  U4,
  E2M1,
  E3M2,
  E2M3,
  UE8M0,
  UE4M3,
  E4M3x4,
  E5M2x4,
  E3M2x4,
  E2M3x4,
  E2M1x4,
  F16x4,
  S2,
  U2,
};

enum class Space : uint8_t { None, Const, Global, Local, Param, Shared, SharedCluster, ParamFunction };

// Bits of a value of the type (Pred: 1; opaque references: 64).
uint32_t bitsOf(Type type);
bool isFloat(Type type);   // F16 ... F64, packed ones included
bool isSigned(Type type);  // S8 ... S64
const char* nameOf(Type type);
const char* nameOf(Op op);
const char* nameOf(Space space);
const char* nameOf(Mod mod);

// The other direction. Words without dots; an unknown one gives Op::Invalid, Type::None, Space::None or Mod::Count.
Op findOp(std::string_view word);
Type findType(std::string_view word);
Space findSpace(std::string_view word);
Mod findMod(std::string_view word);

enum class Special : uint8_t {
  None,
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NWarpId,
  SmId,
  NSmId,
  GridId,
  LanemaskEq,
  LanemaskLt,
  LanemaskLe,
  LanemaskGt,
  LanemaskGe,
  Clock,
  ClockHi,
  Clock64,
  GlobalTimer,
  GlobalTimerLo,
  GlobalTimerHi,
  DynamicSmemSize,
  TotalSmemSize,
  AggrSmemSize,
  ReservedSmemOffsetBegin,
  ReservedSmemOffsetEnd,
  ReservedSmemOffsetCap,
  ReservedSmemOffset0,
  ReservedSmemOffset1,
  IsExplicitCluster,
  ClusteridX,
  ClusteridY,
  ClusteridZ,
  NclusteridX,
  NclusteridY,
  NclusteridZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtarank,
  ClusterNctarank,
  CurrentGraphExec,
  Envreg0,  // %envreg<n> is Envreg0 + n, n < 32
  EnvregLast = Envreg0 + 31,
  Pm0,
  PmLast = Pm0 + 15,
};
// `name` as written, with % ("%tid.x"); Special::None for anything else.
Special findSpecial(std::string_view name);

// What a name in an operand refers to.
enum class SymbolKind : uint8_t {
  None,
  ModuleVariable,    // Module::variables[index]
  FunctionVariable,  // Function::variables[index]: .shared, .local or .param declared in the body
  Parameter,         // Function::parameters[index] of the enclosing function or entry
  ReturnParameter,   // Function::returns[index] of the enclosing function
  Function,          // Module::functions[index]
  Label,             // Function::labels[index]
  BranchTable,       // Function::branchTables[index]
  Prototype,         // Function::prototypes[index]
};

struct Operand {
  enum class Kind : uint8_t { None, Register, Immediate, Special, Symbol, Address, Vector, Sink };
  enum class Literal : uint8_t { Integer, F32, F64 };  // of an immediate; decimal floating literals are F64

  Kind kind = Kind::None;
  Literal literal = Literal::Integer;
  Special special = Special::None;
  SymbolKind symbolKind = SymbolKind::None;  // Symbol; Address with a symbolic base
  bool negated = false;                      // !p
  uint16_t selector = 0;                     // video instructions: kSelector* of `%r1.b0`, `%r1.h1`, `%r1.b3210`
  bool isBaseRegister = false;               // Address: the base is `reg`
  uint32_t reg = 0;                          // Register; Address: index into Function::registers
  uint32_t symbol = 0;                       // index, by symbolKind
  uint32_t first = 0, count = 0;             // Vector: elements are Function::operands[first .. first+count)
  uint64_t bits = 0;                         // Immediate: two's complement, or the bits of the float literal
  int64_t offset = 0;                        // Address, Symbol (`sym+4`): byte offset
};

// Operand::selector: 0 none; kSelectorByte + n for .b0 to .b3, kSelectorHalf + n for .h0 and .h1; for the SIMD video
// instructions kSelectorBytes | d3 << 9 | d2 << 6 | d1 << 3 | d0 for .bdddd and kSelectorHalves | d1 << 2 | d0 for
// .hdd. Destinations of two and three of four bytes, such as .b310: kSelectorMask | a bit for each.
inline constexpr uint16_t kSelectorByte = 0x10, kSelectorHalf = 0x20, kSelectorBytes = 0x8000, kSelectorHalves = 0x4000,
                          kSelectorMask = 0x2000;

struct Instruction {
  Op op{};                     // Invalid
  Space space = Space::None;   // the first state space word, such as ld.global, cvta.to.shared, atom.shared
  Space space2 = Space::None;  // the second one: cp.async.bulk.shared::cluster.global
  uint8_t vectorWidth = 1;     // .v2 .v4 .v8
  uint8_t typeCount = 0;
  uint8_t columns8 = 0, depthLog2 = 0;  // wgmma: .m64n<8 * columns8>k<1 << depthLog2>
  Type types[5] = {};                   // in order of appearance; None where absent
  ModSet mods;
  int32_t guard = -1;         // @p: register index, or -1
  bool guardNegated = false;  // @!p
  // Function::operands[first .. first+count), destinations first, as written. `d|p` pairs (setp, shfl) are two
  // consecutive operands with `pair` set on this instruction. call: [0] Vector of return parameters, [1] target
  // (Symbol Function or Register), [2] Vector of arguments, [3] (indirect only) Symbol Prototype or BranchTable.
  // A bracket of several items, such as [tex, sampler, {x, y}], is its first item as Address and then the others as
  // operands of their own (names as Symbol, coordinates as Vector).
  uint32_t first = 0, count = 0;
  bool pair = false;
  uint32_t line = 0;      // line of the PTX text
  uint32_t location = 0;  // 1 + index into Module::locations, 0 when the PTX has no .loc

  bool has(Mod mod) const { return mods.test(static_cast<size_t>(mod)); }
  Type type() const { return types[0]; }
};

enum class Linkage : uint8_t { Internal, Visible, Extern, Weak, Common };

struct Variable {
  std::string name;
  Space space = Space::None;
  Type type = Type::None;   // element type
  uint8_t vectorWidth = 1;  // .v2 .v4 declarations
  Linkage linkage = Linkage::Internal;
  bool managed = false;                  // .attribute(.managed)
  bool unsizedArray = false;             // extern .shared x[]: dynamic shared memory; .param x[] of variadic functions
  bool isPointer = false;                // .ptr on an entry parameter
  uint32_t alignment = 1;                // bytes
  uint64_t size = 0;                     // bytes; 0 for an unsized array
  std::vector<std::byte> initial;        // initialiser bytes from offset 0, possibly shorter than size (rest zero)
  struct Reference {                     // an address in the initialiser
    uint64_t offset = 0;                 // byte offset of the 1, 2, 4 or 8 byte field
    uint8_t width = 8;                   // bytes stored
    uint8_t shift = 0;                   // mask() operator: store (address >> shift)
    SymbolKind kind = SymbolKind::None;  // ModuleVariable or Function
    uint32_t symbol = 0;
    int64_t addend = 0;
    bool generic = false;  // generic(x): the generic address (ours are equal for global and const)
  };
  std::vector<Reference> references;
};

struct Register {
  std::string name;
  Type type = Type::None;
};

struct Label {
  std::string name;
  uint32_t instruction = 0;  // index into Function::body; body.size() for a label at the end
};

struct Prototype {
  std::string name;
  std::vector<Variable> returns, parameters;
  bool noreturn = false;
};

struct BranchTable {
  std::string name;
  std::vector<uint32_t> labels;     // .branchtargets
  std::vector<uint32_t> functions;  // .calltargets
};

// A .func's .reg parameters and returns are Variables with Space::None; the register of that name is in registers.
struct Function {
  std::string name;
  bool isEntry = false;
  bool isDeclaration = false;  // no body
  bool noreturn = false;
  Linkage linkage = Linkage::Internal;
  std::vector<Variable> parameters;  // entry: laid out by layout.h's parameterOffsets
  std::vector<Variable> returns;
  std::vector<Variable> variables;  // .shared/.local/.param in any scope of the body, scopes resolved
  std::vector<Register> registers;
  std::vector<Label> labels;
  std::vector<Operand> operands;
  std::vector<Instruction> body;
  std::vector<Prototype> prototypes;
  std::vector<BranchTable> branchTables;
  uint32_t maxThreads[3] = {0, 0, 0};       // .maxntid, 0 = absent
  uint32_t requiredThreads[3] = {0, 0, 0};  // .reqntid
  uint32_t clusterSize[3] = {0, 0, 0};      // .reqnctapercluster
  bool explicitCluster = false;             // .explicitcluster
  uint32_t minBlocks = 0, maxRegisters = 0, maxClusterRank = 0;
  uint32_t line = 0;
};

struct SourceLocation {
  uint32_t file = 0;  // index into Module::files
  uint32_t line = 0, column = 0;
  uint32_t callerFile = 0, callerLine = 0;  // where the function was inlined that this is in; 0: it was not
  bool operator==(const SourceLocation&) const = default;
};

struct Module {
  uint32_t version = 0;   // 10 * major + minor of .version
  uint32_t target = 0;    // 90 for sm_90
  char targetSuffix = 0;  // 'a', 'f' or 0
  uint32_t addressSize = 64;
  bool debug = false;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<std::string> files;  // by .file number, 0 unused
  std::vector<SourceLocation> locations;
  struct Unknown {
    uint32_t line = 0;
    std::string text;
  };
  std::vector<Unknown> unknowns;  // the mnemonics of Op::Invalid instructions, ascending by line

  const Function* findFunction(const std::string& name) const;
  const Variable* findVariable(const std::string& name) const;
};

}  // namespace vg::ptx
