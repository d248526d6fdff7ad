// ELF files of native GPU code (machine 190), as base/system/elf_reader.h reads them: what is wrong is
// CUDA_ERROR_INVALID_IMAGE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/system/elf_reader.h"

namespace vg::images {

using vg::ElfSection;
using vg::ElfSymbol;

// Whether a symbol of GPU code is a function that can be launched.
inline bool isKernel(const ElfSymbol& symbol) { return symbol.type() == STT_FUNC && (symbol.raw.st_other & 0x10); }

class ElfFile {
 public:
  // True for ELF headers of machine 190.
  static bool isCubin(const std::byte* bytes, size_t available);
  // Bytes an ELF file spans by its own headers: the end of the last section, section header or program header.
  // Requires: the 64 header bytes are readable. CUDA_ERROR_INVALID_IMAGE when the headers contradict each other.
  static Result<size_t> headerExtent(const std::byte* header);
  static Result<size_t> extent(const std::byte* bytes, size_t available);
  // Reads headers and names. Fails when the headers promise more than there is.
  static Result<ElfFile> read(const std::byte* bytes, size_t size);

  const Elf64_Ehdr& header() const { return reader_.header(); }
  const std::vector<ElfSection>& sections() const { return reader_.sections(); }
  // Null: there is none of that name.
  const ElfSection* find(std::string_view name) const { return reader_.find(name); }
  // The bytes of a section; empty for NOBITS. Fails when the file does not hold them.
  Result<std::string_view> contents(const ElfSection& section) const;
  // Which section is the symbol table, the first of them; 0: none.
  uint32_t symbolTable() const { return reader_.symbolTable(); }
  // Those of the symbol table, by their numbers in the file; none when there is no table.
  Result<std::vector<ElfSymbol>> symbols() const;

 private:
  explicit ElfFile(ElfReader reader) : reader_(std::move(reader)) {}

  ElfReader reader_;
};

}  // namespace vg::images
