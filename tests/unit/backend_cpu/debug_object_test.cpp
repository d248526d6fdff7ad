// The object files that debuggers are given, read back.
#include "backend/cpu/debug/debug_object.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

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

// A line program, as the DWARF standard has it, of the codes that are used here.
class LineProgram {
 public:
  explicit LineProgram(const std::string& section) : at_(section.data()), end_(at_ + section.size()) {
    EXPECT_EQ(read<uint32_t>() + sizeof(uint32_t), section.size());
    EXPECT_EQ(read<uint16_t>(), 4);
    const uint32_t header = read<uint32_t>();
    const char* const program = at_ + header;
    at_ += 18;
    EXPECT_EQ(*at_++, 0);
    while (*at_) {
      files.emplace_back(at_);
      at_ += files.back().size() + 4;
    }
    EXPECT_EQ(++at_, program);
    run();
  }

  std::vector<std::string> files;
  std::vector<DebugRow> rows;
  uint64_t end = 0;

 private:
  template <class T>
  T read() {
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  int64_t leb(bool isSigned) {
    int64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(*at_++);
      value |= static_cast<int64_t>(byte & 0x7f) << shift;
      if (byte & 0x80) continue;
      return isSigned && (byte & 0x40) ? value - (int64_t{1} << (shift + 7)) : value;
    }
  }
  void run() {
    DebugRow row{0, 1, 1};
    while (at_ < end_) switch (const int code = *at_++) {
        case 0:
          if (*at_++ == 1) {
            end = row.address;
            ++at_;
          } else {
            ++at_;
            row.address = read<uint64_t>();
          }
          break;
        case 1:
          rows.push_back(row);
          break;
        case 2:
          row.address += static_cast<uint64_t>(leb(false));
          break;
        case 3:
          row.line += static_cast<uint32_t>(leb(true));
          break;
        case 4:
          row.file = static_cast<uint32_t>(leb(false));
          break;
        default:
          ADD_FAILURE() << "code " << code;
          return;
      }
  }

  const char* at_;
  const char* const end_;
};

DebugFunction example() {
  return {"_Z4bothPii",
          0x7000'0000'1000,
          0x345,
          {"/a/b.cu", "/a/c.h"},
          {{0x7000'0000'1000, 1, 7}, {0x7000'0000'1100, 2, 300}, {0x7000'0000'1101, 1, 6}}};
}

TEST(DebugObject, LinesAreThoseOfTheFunction) {
  const DebugFunction f = example();
  const LineProgram lines(sectionsOf(makeDebugObject(f)).at(".debug_line").content);
  EXPECT_EQ(lines.files, f.files);
  ASSERT_EQ(lines.rows.size(), f.rows.size());
  for (size_t n = 0; n < f.rows.size(); ++n) {
    EXPECT_EQ(lines.rows[n].address, f.rows[n].address);
    EXPECT_EQ(lines.rows[n].file, f.rows[n].file);
    EXPECT_EQ(lines.rows[n].line, f.rows[n].line);
  }
  EXPECT_EQ(lines.end, f.start + f.size);
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
