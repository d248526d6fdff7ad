// The object files that debuggers are given, read back.
#include "backend/cpu/debug/debug_object.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "base/system/line_table.h"

namespace vg::backend::cpu {
namespace {

struct Section {
  Elf64_Shdr header;
  std::string content;
};

std::map<std::string, Section> sectionsOf(const std::vector<std::byte>& file) {
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  EXPECT_EQ(std::memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
  const auto at = [&](uint16_t n) {
    Elf64_Shdr section;
    std::memcpy(&section, file.data() + header.e_shoff + n * sizeof section, sizeof section);
    return section;
  };
  const char* const names = reinterpret_cast<const char*>(file.data()) + at(header.e_shstrndx).sh_offset;
  std::map<std::string, Section> sections;
  for (uint16_t n = 1; n < header.e_shnum; ++n) {
    Section section{at(n), {}};
    if (section.header.sh_type != SHT_NOBITS) {
      EXPECT_LE(section.header.sh_offset + section.header.sh_size, file.size());
      section.content.assign(reinterpret_cast<const char*>(file.data()) + section.header.sh_offset,
                             section.header.sh_size);
    }
    sections.emplace(names + section.header.sh_name, std::move(section));
  }
  return sections;
}

DebugFunction example() {
  return {"_Z4bothPii",
          0x7000'0000'1000,
          0x345,
          {"/a/b.cu", "/a/c.h"},
          {{0x7000'0000'1000, 1, 7}, {0x7000'0000'1100, 2, 300}, {0x7000'0000'1101, 1, 6}}};
}

TEST(DebugObject, LinesAreThoseOfTheFunction) {
  const DebugFunction f = example();
  const std::string section = sectionsOf(makeDebugObject(f)).at(".debug_line").content;
  DwarfCursor units(section);
  LineTable table(units, {section, {}, {}});
  EXPECT_TRUE(units.good() && units.atEnd());
  LineRow row;
  for (const DebugRow& expected : f.rows) {
    ASSERT_TRUE(table.next(row) && !row.ends);
    EXPECT_EQ(row.address, expected.address);
    EXPECT_EQ(row.file, expected.file);
    EXPECT_EQ(row.line, int64_t{expected.line});
    EXPECT_EQ(table.fileOf(row), f.files[expected.file - 1]);
  }
  ASSERT_TRUE(table.next(row) && row.ends);
  EXPECT_EQ(row.address, f.start + f.size);
  EXPECT_FALSE(table.next(row));
}

TEST(DebugObject, TheSymbolIsWhereTheCodeIs) {
  const DebugFunction f = example();
  const auto sections = sectionsOf(makeDebugObject(f));
  EXPECT_EQ(sections.at(".text").header.sh_addr, f.start);
  EXPECT_EQ(sections.at(".text").header.sh_size, f.size);
  Elf64_Sym symbol;
  std::memcpy(&symbol, sections.at(".symtab").content.data() + sizeof symbol, sizeof symbol);
  EXPECT_EQ(symbol.st_value, f.start);
  EXPECT_EQ(sections.at(".strtab").content.c_str() + symbol.st_name, f.name);
}

TEST(DebugObject, NamesAreAsPeopleWriteThem) {
  const std::string names = sectionsOf(makeDebugObject(example())).at(".debug_info").content;
  EXPECT_NE(names.find(std::string("\0both\0", 6).substr(1)), std::string::npos);
  EXPECT_NE(names.find("_Z4bothPii"), std::string::npos);
}

TEST(DebugObject, FramesAreWholeEntries) {
  const std::string frames = sectionsOf(makeDebugObject(example())).at(".debug_frame").content;
  size_t entries = 0;
  for (size_t at = 0; at < frames.size(); ++entries) {
    uint32_t bytes;
    ASSERT_LE(at + sizeof bytes, frames.size());
    std::memcpy(&bytes, frames.data() + at, sizeof bytes);
    at += sizeof bytes + bytes;
    EXPECT_EQ(at % 8, 0u);
    ASSERT_LE(at, frames.size());
  }
  EXPECT_EQ(entries, 2u);
}

}  // namespace
}  // namespace vg::backend::cpu
