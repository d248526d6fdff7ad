// Native code of a real GPU, taken apart: what of an ELF file (machine 190) goes where in device memory, which kernels
// and variables it holds, and what has to be known to launch one.
//
// Both dialects: OSABI 0x41 (CUDA 13) and 0x33 (CUDA 12 and before), linked code and relocatable code alike. Every
// offset, size, index and symbol is checked against the bytes at hand, so that damaged files give an error and nothing
// else. A Cubin owns all that it describes, is constant after parsing and may be read by any number of threads.
//
// How a backend loads one:
//   1. parse() it, or take the Cubin that core selected and compiled;
//   2. layOut() each Kind into one piece of device memory and note the address of each section;
//   3. managed variables live where ImageSource::resolveManaged says: note their addresses too;
//   4. relocate() every section but those of Kind::Zeroes, and upload the bytes; `external` answers the addresses of
//      the functions that a driver supplies (device_functions.h);
//   5. a launch points the queue's descriptor at kernel.section's address + kernel.offset, binds the banks of
//      kernel.banks, and fills bank 0 (kernel.bank0Bytes, parameters from kernel.parameterBase on, then the numbers of
//      kernel.references).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vg::cubin {

inline constexpr uint32_t kNone = ~uint32_t{0};
// Of an entry of the tables in which kernels look up what a texture, sampler or surface is; the driver's choice.
inline constexpr uint32_t kDescriptionBytes = 64;

enum class Kind : uint8_t {
  Code,      // .text.*; the address of the whole piece 128-byte aligned and 4 KiB of mapped memory behind it
  Data,      // .nv.global.init
  Zeroes,    // .nv.global: no bytes in the file
  Constant,  // .nv.constant<bank> but bank 0; 256-byte aligned
};

// What is to have an address in device memory.
struct Section {
  std::string name;
  Kind kind = Kind::Code;
  uint32_t bank = 0;          // Constant: 2 a kernel's own, 3 __constant__ variables, 4 addresses
  uint32_t function = kNone;  // Constant: the symbol of the only function that sees it; kNone: all do
  uint64_t size = 0;          // bytes
  uint64_t alignment = 1;     // a power of two
};

struct Parameter {
  uint32_t offset, size;  // bytes from parameterBase
};

// A constant bank that a kernel reads, other than bank 0.
struct Bank {
  uint32_t number;   // 0 to 17, of the hardware
  uint32_t section;  // index into Cubin::sections
};

// A texture, sampler or surface that a kernel names: where its number goes, 32 bits of bank 0.
struct Reference {
  enum class Kind : uint8_t { Texture, Sampler, Surface };
  Kind kind = Kind::Texture;
  uint32_t symbol = 0;
  uint32_t offset = 0;  // bytes in bank 0; the word lies within bank0Bytes
};

// What a module says of a sampler of its own.
struct SamplerMode {
  static constexpr uint8_t kUnsaid = 0xFF;
  uint8_t addressing[3] = {kUnsaid, kUnsaid, kUnsaid};  // by axis: 0 wraps, 1 mirrors, 2 and 3 clamp, 4 has a border
  uint8_t filter = kUnsaid;                             // 1: linear
};

// Code that may be called: what it needs.
struct Function {
  std::string name;
  uint32_t symbol = 0;      // of the file
  uint32_t section = 0;     // index into Cubin::sections
  uint64_t offset = 0;      // of its first instruction there; bytes
  uint64_t size = 0;        // bytes; 0 where the file does not say
  uint32_t registers = 0;   // a thread
  uint32_t frameBytes = 0;  // local memory of the function itself (FRAME_SIZE), a thread
  uint32_t stackBytes = 0;  // with all that it calls, as far as known (MIN_STACK_SIZE); at least frameBytes
};

struct Kernel : Function {
  uint32_t barriers = 0;       // named barriers
  uint32_t sharedBytes = 0;    // static shared memory of the application, without the reserve
  uint32_t reservedBytes = 0;  // shared memory that the system keeps at the start of a block's: 0x400 from sm_80 on.
                               // The hardware is told reservedBytes + sharedBytes + dynamic bytes
  uint32_t maxThreads = 0;     // a block; 0: no limit given (device's)
  std::array<uint32_t, 3> requiredThreads{};  // .reqntid; zeroes: none
  std::array<uint32_t, 3> cluster{};          // required shape in blocks; zeroes: none
  bool explicitCluster = false;               // launched in clusters whose shape the launch gives
  uint32_t maxClusterBlocks = 0;              // 0: none given
  std::vector<Parameter> parameters;          // by ordinal
  uint32_t parameterBase = 0;                 // offset in bank 0: 0x210 on sm_90
  uint32_t parameterBytes = 0;
  uint32_t bank0Bytes = 0;  // driver's words and parameters; parameterBase + parameterBytes
  std::vector<Bank> banks;
  std::vector<Reference> references;
  std::vector<std::string> externals;  // functions of the driver that it calls itself
  bool unknownStack = false;           // it recurses or calls through pointers: stackBytes is a lower bound
};

// A variable that the host may ask for by name. In a section of Kind::Constant it is a __constant__ one.
struct Variable {
  std::string name;
  uint32_t symbol = 0;
  uint32_t section = 0;  // index into Cubin::sections
  uint64_t offset = 0, size = 0;
  bool managed = false;
};

// A place where an address is written into a section's bytes.
struct Relocation {
  uint64_t offset;  // bytes in the section
  uint32_t type;    // of the hardware's ABI
  uint32_t symbol;
  int64_t addend;
  bool addendInPlace;  // the addend is what the field holds
};

struct Symbol {
  std::string name;
  uint32_t section = kNone;  // index into Cubin::sections; kNone: no address of its own, the value is all
  uint64_t value = 0;
  bool undefined = false;  // to be resolved by name; weak ones are their value
  bool weak = false;
};

struct Cubin {
  uint32_t architecture = 0;  // 90 for sm_90
  uint32_t ptxTarget = 0;     // of the PTX it was made of: 75 for compute_75
  bool relocatable = false;   // of nvcc -dc; needs no linking when it misses nothing
  uint32_t abiVersion = 0;    // of the ELF header
  uint32_t apiVersion = 0;    // CUDA_API_VERSION attribute: 130; 0: not said
  std::vector<Kernel> kernels;
  std::vector<Function> functions;  // code that is no kernel but has a name and a size
  std::vector<Variable> variables;
  std::map<uint32_t, Reference::Kind> textures;  // textures, samplers and surfaces, read or not; by symbol
  std::map<uint32_t, SamplerMode> samplers;      // how those of them read that say so; by symbol
  std::vector<Section> sections;
  std::vector<std::string> externals;  // undefined functions, each once

  const Kernel* kernel(std::string_view name) const;  // null: none
  const Function* function(std::string_view name) const;
  const Variable* variable(std::string_view name) const;
  // The bytes of a section as the file has them; empty for Kind::Zeroes.
  std::string_view contents(uint32_t section) const;

  // For relocate().
  std::vector<Symbol> symbols;
  std::vector<std::vector<Relocation>> relocations;  // by section
  std::string bytes;
  std::vector<uint64_t> fileOffsets;  // by section
};

// CUDA_ERROR_INVALID_IMAGE for damaged files and for what is no cubin.
Result<Cubin> parse(std::string bytes);

// Offsets for all sections of one kind in one piece of memory.
struct Layout {
  std::vector<uint64_t> offsets;  // by section; of other kinds: 0
  uint64_t bytes = 0, alignment = 1;
};
Layout layOut(const Cubin& cubin, Kind kind);

struct Addresses {
  std::vector<uint64_t> sections;          // device addresses, by section
  std::map<uint32_t, uint64_t> variables;  // by symbol: variables, and functions, that live outside of their section
};
// Answers the device address of a function (or variable) that the file does not define.
using External = std::function<Result<uint64_t>(const std::string& name)>;

// The bytes of a section (not of Kind::Zeroes) with all addresses in place.
// CUDA_ERROR_INVALID_IMAGE for relocations that do not fit their section, CUDA_ERROR_NOT_SUPPORTED for kinds of
// relocations that only a linker knows, and what `external` fails with.
Result<std::string> relocate(const Cubin& cubin, uint32_t section, const Addresses& addresses,
                             const External& external);

}  // namespace vg::cubin
