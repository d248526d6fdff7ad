// ELF files of native GPU code (machine 190): sections and symbols with their names. Nothing is read that the file does
// not hold. The views point into the bytes that were read.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace vg::images {

struct ElfSection {
  std::string_view name;
  Elf64_Shdr header{};
};

struct ElfSymbol {
  std::string_view name;
  Elf64_Sym raw{};
  uint32_t section = 0;  // index into sections(); 0: none (undefined, absolute, common)

  uint8_t type() const { return ELF64_ST_TYPE(raw.st_info); }
  bool weak() const { return ELF64_ST_BIND(raw.st_info) == STB_WEAK; }
  bool kernel() const { return type() == STT_FUNC && (raw.st_other & 0x10); }
};

class ElfFile {
 public:
  // True for ELF headers of machine 190.
  static bool isCubin(const std::byte* bytes, size_t available);
  // Bytes an ELF file spans by its own headers: the end of the last section, section header or program header.
  // Requires: the 64 header bytes are readable. CUDA_ERROR_INVALID_IMAGE when the headers contradict each other.
  static Result<size_t> headerExtent(const std::byte* header);
  static Result<size_t> extent(const std::byte* bytes, size_t available);
  // Reads headers and names. CUDA_ERROR_INVALID_IMAGE when the headers promise more than there is.
  static Result<ElfFile> read(const std::byte* bytes, size_t size);

  const Elf64_Ehdr& header() const { return header_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  // Null: there is none of that name.
  const ElfSection* find(std::string_view name) const;
  // The bytes of a section; empty for NOBITS. CUDA_ERROR_INVALID_IMAGE when the file does not hold them.
  Result<std::string_view> contents(const ElfSection& section) const;
  // Which section is the symbol table, the first of them; 0: none.
  uint32_t symbolTable() const;
  // Those of the symbol table, by their numbers in the file; none when there is no table.
  Result<std::vector<ElfSymbol>> symbols() const;

 private:
  ElfFile(const std::byte* bytes, size_t size) : bytes_(reinterpret_cast<const char*>(bytes), size) {}
  CUresult readSections();

  template <class T>
  bool readAt(uint64_t offset, T& out) const;

  std::string_view bytes_;
  Elf64_Ehdr header_{};
  std::vector<ElfSection> sections_;
  std::unordered_map<std::string_view, uint32_t> byName_;  // the first of each name
};

}  // namespace vg::images
