// What is known of each entry point and of its arguments: from the rows of api/entry/entry_points.inc, whose text has
// the types and names, and from the rules in record/rules.inc for what a type does not tell.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "record/recording.h"

namespace vg::record {

// What an argument is.
enum class Role : uint8_t {
  Word,
  Handle,   // of `kind`
  Address,  // device memory, or host memory that devices see
  Text,     // ends with a zero
  Memory,   // `pointee` bytes, as often as the companion says: read, written or both
  HostIn,   // host memory of the companion's number of bytes
  HostOut,
  Source,  // of a copy whose sides may be host or device memory
  Target,
  Image,      // a program for a device
  FileName,   // the same, in a file
  Kernel,     // kernelParams
  Packed,     // extra
  Options,    // names of settings of the compiler; the values are their companion
  Function,   // a host function; its argument is the companion
  Structure,  // of a type that record/structures.h knows
  Attribute,  // a value whose size nobody tells: eight bytes at most
  Unknown,    // passed as null
  Zero,       // passed as 0
};

struct Parameter {
  std::string_view type;  // without const and stars
  std::string_view name;
  unsigned stars = 0;
  bool constant = false;
  uint16_t size = 0;     // of the argument
  uint16_t pointee = 0;  // of what it points to; 0: nobody knows
  Role role = Role::Word;
  Kind kind{};         // of Handle, and of what Memory holds
  bool holds = false;  // Memory holds handles or addresses: `kind`
  bool input = false;  // the call reads them
  int companion = -1;  // the number of another argument
  int surplus = 0;     // is added to the companion's value
};

struct Entry {
  const char* symbol;
  const char* names;  // "(dptr, bytesize)"
  int since;
  Action action = Action::Call;
  bool told = true;  // false: not recorded at all
  bool async = false;
  bool launch = false;  // of kernels, or of a graph
  std::vector<Parameter> parameters;

  // The number of a parameter; -1: there is none.
  int find(std::string_view name) const;
};

// By number; twins lie behind their entry points, and those that do not exist have no symbol.
const std::vector<Entry>& entries();
unsigned entryNamed(std::string_view symbol);  // kNoEntry: none
inline constexpr unsigned kNoEntry = ~0u;

// Calls `function`, which is the entry point of that number, with arguments that lie in words.
int callEntry(unsigned number, void* function, const uint64_t* words);

inline constexpr unsigned kMostParameters = 20;

}  // namespace vg::record
