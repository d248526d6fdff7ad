// The table of entry points as data: what cuGetProcAddress searches and what the coverage figure counts.
#pragma once

#include <cstddef>
#include <string_view>

namespace vg::api {

// An exported symbol split into the name programs ask for and which version of it this is.
struct SymbolName {
  std::string_view base;
  int version;  // 1 for a name without _vN
};

constexpr SymbolName splitSymbol(std::string_view symbol) {
  size_t digits = symbol.size();
  while (digits > 0 && symbol[digits - 1] >= '0' && symbol[digits - 1] <= '9') --digits;
  if (digits == symbol.size() || digits < 2 || symbol.substr(digits - 2, 2) != "_v") return {symbol, 1};
  int version = 0;
  for (char digit : symbol.substr(digits)) version = version * 10 + (digit - '0');
  return {symbol.substr(0, digits - 2), version};
}

struct EntryPoint {
  const char* symbol;
  int since;  // 0: not offered by cuGetProcAddress
  void* function;
  void* twin;  // null when there is none
  bool live;

  SymbolName name() const { return splitSymbol(symbol); }
  // Twins came with CUDA 7.0.
  int twinSince() const { return since > 7000 ? since : 7000; }
};

// Those of the rows, which are sorted by base name, then version.
EntryPoint entryPoint(size_t row);
extern const size_t kEntryPointCount;
// entryPoint(row).name().base, as fast as searches want it.
std::string_view baseNameOf(size_t row);

// The symbols by number: of each row that of the entry point, and behind it that of its twin or null.
const char* entryName(unsigned number);
extern const unsigned kEntryNameCount;

struct Coverage {
  unsigned live, stubs;
};
Coverage coverage();

}  // namespace vg::api
