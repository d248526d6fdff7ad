// The reader of ELF files of 64 bits, whoever made them: native GPU code, programs and libraries of the host, what LLVM
// compiles. Nothing is read that the bytes do not hold. Names and contents are views into the bytes that were read.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vg {

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
};

class ElfReader {
 public:
  // Whether bytes begin as such a file does.
  static bool isElf(std::string_view bytes);
  // Reads headers and names. Where problem() says something, there is what could be read before it.
  explicit ElfReader(std::string_view bytes);

  // What the headers promise and the bytes do not hold, as in "ends before its section headers"; empty: nothing.
  const std::string& problem() const { return problem_; }

  const Elf64_Ehdr& header() const { return header_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  // Null: there is none of that name.
  const ElfSection* find(std::string_view name) const;
  // The bytes of a section; empty for NOBITS, none when the file does not hold them.
  std::optional<std::string_view> contents(const ElfSection& section) const;

  std::vector<Elf64_Phdr> segments() const;
  // Where the bytes of an address lie in the file, by its segments.
  std::optional<uint64_t> offsetOf(uint64_t address) const;
  // The text that begins at an offset and ends with a zero, or with the file.
  std::string_view textAt(uint64_t offset) const;

  // Which section is the symbol table, the first of them; 0: none.
  uint32_t symbolTable() const;
  // Those of the symbol table, by their numbers in the file; none when there is no table. Why not, where there is one
  // that cannot be read.
  std::vector<ElfSymbol> symbols(std::string& whyNot) const;

  // The rows of a table, such as relocations (Elf64_Rela); as many as the file holds whole.
  template <class Row>
  std::vector<Row> rows(const ElfSection& section) const {
    const std::string_view bytes = contents(section).value_or(std::string_view());
    std::vector<Row> rows(bytes.size() / sizeof(Row));
    for (size_t n = 0; n < rows.size(); ++n) readAt(bytes, n * sizeof(Row), rows[n]);
    return rows;
  }

 private:
  template <class T>
  static bool readAt(std::string_view bytes, uint64_t offset, T& out) {
    if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return false;
    bytes.copy(reinterpret_cast<char*>(&out), sizeof(T), offset);
    return true;
  }
  void readSections();
  void nameSections(uint32_t table);

  std::string_view bytes_;
  Elf64_Ehdr header_{};
  std::vector<ElfSection> sections_;
  std::unordered_map<std::string_view, uint32_t> byName_;  // the first of each name
  std::string problem_;
};

}  // namespace vg
