// What a debugger is told of a compiled kernel: an object file of its function, whose code is elsewhere in memory, with
// DWARF line tables and how to find the caller's frame. Kernels are compiled with frame pointers for this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vg::backend::cpu {

struct DebugRow {
  uint64_t address;  // from here on ...
  uint32_t file;     // ... this file of the list, counted from 1, ...
  uint32_t line;     // ... and line
};

struct DebugFunction {
  std::string name;                // as the text has it, which may be mangled
  uint64_t start = 0, size = 0;    // of its code
  std::vector<std::string> files;  // paths
  std::vector<DebugRow> rows;      // by address; the first is of the start
  // Where code begins that was made of the same text as code before it: debuggers set a breakpoint in each copy.
  std::vector<uint64_t> copies;
};

// A complete ELF file.
std::vector<std::byte> makeDebugObject(const DebugFunction& function);

}  // namespace vg::backend::cpu
