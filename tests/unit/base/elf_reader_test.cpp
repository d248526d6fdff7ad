#include "base/system/elf_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "base/system/machine.h"
#include "base/system/mapped_file.h"

namespace vg {
namespace {

TEST(ElfReader, ReadsSectionsSegmentsAndSymbolsOfThisProgram) {
  const MappedFile program("/proc/self/exe");
  ASSERT_TRUE(ElfReader::isElf(program.bytes()));
  const ElfReader elf(program.bytes());
  EXPECT_EQ(elf.problem(), "");
  EXPECT_EQ(elf.header().e_machine, machine::kElf);
  const ElfSection* const text = elf.find(".text");
  ASSERT_TRUE(text);
  EXPECT_EQ(elf.contents(*text)->size(), text->header.sh_size);
  EXPECT_EQ(elf.offsetOf(text->header.sh_addr), text->header.sh_offset);
  EXPECT_FALSE(elf.offsetOf(~uint64_t{0}));
  std::string whyNot;
  const std::vector<ElfSymbol> symbols = elf.symbols(whyNot);
  EXPECT_EQ(whyNot, "");
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.name != "main") continue;
    EXPECT_EQ(symbol.type(), STT_FUNC);
  }
}

TEST(ElfReader, WhatIsNoFileOrEmptyHasNoBytes) {
  EXPECT_EQ(MappedFile("/").bytes(), "");
  EXPECT_EQ(MappedFile("/nowhere/at/all").bytes(), "");
  EXPECT_FALSE(ElfReader::isElf(""));
  EXPECT_EQ(ElfReader("").problem(), "is shorter than an ELF header");
}

// A file of three sections, small enough to be cut and changed at each of its bytes. It lies in memory of just its
// length, so that a sanitizer sees what is read behind it.
class SmallFile : public testing::Test {
 protected:
  SmallFile() {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shoff = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 1;
    Elf64_Shdr sections[3] = {};
    const uint64_t behind = sizeof header + sizeof sections;
    sections[1] = {1, SHT_STRTAB, 0, 0, behind, 16, 0, 0, 1, 0};
    sections[2] = {7, SHT_SYMTAB, 0, 0, behind + 16, 2 * sizeof(Elf64_Sym), 1, 0, 8, sizeof(Elf64_Sym)};
    Elf64_Sym symbols[2] = {};
    symbols[1].st_name = 7;
    symbols[1].st_shndx = 2;
    add(header);
    add(sections);
    bytes_.append("\0name\0\0symbols\0\0", 16);
    add(symbols);
  }
  template <class T>
  void add(const T& part) {
    bytes_.append(reinterpret_cast<const char*>(&part), sizeof part);
  }
  static void read(const std::string& file) {
    const std::unique_ptr<char[]> copy(new char[file.size()]);
    file.copy(copy.get(), file.size());
    const ElfReader elf(std::string_view(copy.get(), file.size()));
    size_t bytes = 0;
    for (const ElfSection& section : elf.sections()) {
      bytes += section.name.size();
      for (const char c : elf.contents(section).value_or(std::string_view())) bytes += c != 0;
    }
    std::string whyNot;
    for (const ElfSymbol& symbol : elf.symbols(whyNot))
      bytes += symbol.name.size() + elf.textAt(symbol.raw.st_value).size();
    EXPECT_LE(bytes, 1000 * file.size() + 1000);
  }

  std::string bytes_;
};

TEST_F(SmallFile, IsReadWhole) {
  const ElfReader elf(bytes_);
  EXPECT_EQ(elf.problem(), "");
  ASSERT_EQ(elf.sections().size(), 3u);
  EXPECT_EQ(elf.sections()[2].name, "symbols");
  std::string whyNot;
  const std::vector<ElfSymbol> symbols = elf.symbols(whyNot);
  ASSERT_EQ(symbols.size(), 2u);
  EXPECT_EQ(symbols[1].name, "symbols");
  EXPECT_EQ(symbols[1].section, 2u);
}

TEST_F(SmallFile, CutOffAnywhereNothingBehindItIsRead) {
  for (size_t length = 0; length < bytes_.size(); ++length) read(bytes_.substr(0, length));
  EXPECT_EQ(ElfReader(std::string_view(bytes_).substr(0, 200)).problem(), "ends before its section header 2");
}

TEST_F(SmallFile, WithAnyByteChangedNothingOutsideIsRead) {
  for (size_t at = 0; at < bytes_.size(); ++at)
    for (const int with : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string changed = bytes_;
      changed[at] = static_cast<char>(with);
      read(changed);
    }
}

}  // namespace
}  // namespace vg
