#include "check/reports/host_lines.h"

#include <string_view>

#include "base/system/elf_reader.h"
#include "base/system/line_table.h"
#include "base/system/mapped_file.h"

namespace vg::check {
namespace {

LineSections sectionsOf(std::string_view file) {
  if (!ElfReader::isElf(file)) return {};
  const ElfReader elf(file);
  const auto contents = [&](std::string_view name) -> std::string_view {
    const ElfSection* const section = elf.find(name);
    if (!section || (section->header.sh_flags & SHF_COMPRESSED)) return {};
    return elf.contents(*section).value_or(std::string_view());
  };
  return {contents(".debug_line"), contents(".debug_line_str"), contents(".debug_str")};
}

std::string textOf(const LineTable& table, const LineRow& row) {
  const std::string_view path = table.fileOf(row);
  if (path.empty() || row.line <= 0) return "";
  return std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(row.line);
}

// Whether the table has the code at an address. `of` is then the row that it is from.
bool find(LineTable& table, uint64_t address, LineRow& of) {
  of.ends = true;
  for (LineRow row; table.next(row); of = row)
    if (!of.ends && address >= of.address && address < row.address) return true;
  return false;
}

}  // namespace

std::string hostLine(const std::string& file, uint64_t address) {
  const MappedFile mapping(file);
  const LineSections sections = sectionsOf(mapping.bytes());
  for (DwarfCursor units(sections.lines); !units.atEnd();) {
    LineTable table(units, sections);
    LineRow row;
    if (!find(table, address, row)) continue;
    if (std::string line = textOf(table, row); !line.empty()) return line;
  }
  return "";
}

}  // namespace vg::check
