#include "check/reports/host_lines.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/system/elf_reader.h"
#include "base/system/mapped_file.h"

namespace vg::check {
namespace {

// Reads what it is given from the front. Beyond the end there are zeros, and good() is false.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  bool good() const { return good_; }
  bool atEnd() const { return !good_ || bytes_.empty(); }
  std::string_view take(uint64_t count) {
    if (count > bytes_.size()) {
      good_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  uint64_t number(uint32_t bytes) {
    uint64_t value = 0;
    const std::string_view taken = take(bytes);
    std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  uint64_t uleb() {
    uint64_t value = 0;
    for (uint32_t shift = 0; good_; shift += 7) {
      const uint64_t byte = number(1);
      if (shift < 64) value |= (byte & 0x7f) << shift;
      if (!(byte & 0x80)) break;
    }
    return value;
  }
  int64_t sleb() {
    uint64_t value = 0;
    uint32_t shift = 0;
    for (uint64_t byte = 0x80; good_ && (byte & 0x80); shift += 7) {
      byte = number(1);
      if (shift < 64) value |= (byte & 0x7f) << shift;
      if (!(byte & 0x80) && (byte & 0x40) && shift + 7 < 64) value |= ~uint64_t{0} << (shift + 7);
    }
    return static_cast<int64_t>(value);
  }
  std::string_view text() {
    const size_t end = bytes_.find('\0');
    const std::string_view taken = take(end == std::string_view::npos ? bytes_.size() + 1 : end + 1);
    return taken.substr(0, taken.empty() ? 0 : taken.size() - 1);
  }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

struct Sections {
  std::string_view lines, lineTexts, texts;
};

std::string_view textAt(std::string_view section, uint64_t offset) {
  return offset < section.size() ? Cursor(section.substr(offset)).text() : std::string_view();
}

Sections sectionsOf(std::string_view file) {
  if (!ElfReader::isElf(file)) return {};
  const ElfReader elf(file);
  const auto contents = [&](std::string_view name) -> std::string_view {
    const ElfSection* const section = elf.find(name);
    if (!section || (section->header.sh_flags & SHF_COMPRESSED)) return {};
    return elf.contents(*section).value_or(std::string_view());
  };
  return {contents(".debug_line"), contents(".debug_line_str"), contents(".debug_str")};
}

// The programme of one unit that makes its line table.
class LineProgram {
 public:
  LineProgram(std::string_view unit, uint32_t offsetBytes, const Sections& sections)
      : cursor_(unit), offsetBytes_(offsetBytes), sections_(sections) {
    readHeader();
  }

  // The line of the code at an address.
  std::optional<std::string> find(uint64_t wanted) {
    if (!lineRange_) return {};
    Row row, last;
    bool begun = false;
    while (!cursor_.atEnd()) {
      const Event event = step(row);
      if (event == Event::None) continue;
      if (begun && wanted >= last.address && wanted < row.address) return nameOf(last);
      begun = event != Event::EndOfSequence;
      last = row;
      if (!begun) row = Row();
    }
    return {};
  }

 private:
  struct Row {
    uint64_t address = 0, file = 1;
    int64_t line = 1;
  };
  enum class Event : uint8_t { None, Row, EndOfSequence };
  static constexpr uint64_t kPath = 1;  // DW_LNCT_path

  void readHeader() {
    version_ = cursor_.number(2);
    if (version_ < 2 || version_ > 5) return;
    if (version_ >= 5) cursor_.take(2);
    const uint64_t length = cursor_.number(offsetBytes_);
    Cursor behind = cursor_;
    behind.take(length);
    minimum_ = cursor_.number(1);
    if (version_ >= 4) cursor_.take(1);
    cursor_.take(1);
    lineBase_ = static_cast<int8_t>(cursor_.number(1));
    lineRange_ = cursor_.number(1);
    opcodeBase_ = cursor_.number(1);
    for (uint64_t k = 1; k < opcodeBase_; ++k) operands_.push_back(static_cast<uint8_t>(cursor_.number(1)));
    version_ >= 5 ? readTables() : readOldTables();
    cursor_ = behind;
  }

  void readOldTables() {
    while (!cursor_.atEnd() && !cursor_.text().empty()) {
    }
    files_.push_back({});  // they are counted from 1
    while (!cursor_.atEnd()) {
      const std::string_view name = cursor_.text();
      if (name.empty()) break;
      files_.push_back(name);
      for (int k = 0; k < 3; ++k) cursor_.uleb();
    }
  }

  void readTables() {
    readTable();  // folders
    files_ = readTable();
  }

  std::vector<std::string_view> readTable() {
    std::vector<std::pair<uint64_t, uint64_t>> forms;
    for (uint64_t left = cursor_.number(1); left && cursor_.good(); --left) {
      const uint64_t content = cursor_.uleb();
      forms.emplace_back(content, cursor_.uleb());
    }
    std::vector<std::string_view> names;
    for (uint64_t left = cursor_.uleb(); left && cursor_.good(); --left) {
      std::string_view name;
      for (const auto& [content, form] : forms) {
        const std::string_view text = readForm(form);
        if (content == kPath) name = text;
      }
      names.push_back(name);
    }
    return names;
  }

  // The text that it is, if it is one. An unknown form ends everything.
  std::string_view readForm(uint64_t form) {
    switch (form) {
      case 0x08:  // DW_FORM_string
        return cursor_.text();
      case 0x1f:  // DW_FORM_line_strp
        return textAt(sections_.lineTexts, cursor_.number(offsetBytes_));
      case 0x0e:  // DW_FORM_strp
        return textAt(sections_.texts, cursor_.number(offsetBytes_));
      case 0x0f:  // DW_FORM_udata
        cursor_.uleb();
        return {};
      case 0x0b:  // DW_FORM_data1, 2, 4, 8, 16
        return cursor_.take(1), std::string_view();
      case 0x05:
        return cursor_.take(2), std::string_view();
      case 0x06:
        return cursor_.take(4), std::string_view();
      case 0x07:
        return cursor_.take(8), std::string_view();
      case 0x1e:
        return cursor_.take(16), std::string_view();
      case 0x09:  // DW_FORM_block
        return cursor_.take(cursor_.uleb()), std::string_view();
      default:
        cursor_.take(UINT64_MAX);
        return {};
    }
  }

  Event step(Row& row) {
    const uint64_t opcode = cursor_.number(1);
    if (opcode >= opcodeBase_) {
      advance(row, opcode - opcodeBase_);
      row.line += lineBase_ + static_cast<int64_t>((opcode - opcodeBase_) % lineRange_);
      return Event::Row;
    }
    switch (opcode) {
      case 0:
        return extended(row);
      case 1:  // DW_LNS_copy
        return Event::Row;
      case 2:  // DW_LNS_advance_pc
        row.address += cursor_.uleb() * minimum_;
        return Event::None;
      case 3:  // DW_LNS_advance_line
        row.line += cursor_.sleb();
        return Event::None;
      case 4:  // DW_LNS_set_file
        row.file = cursor_.uleb();
        return Event::None;
      case 8:  // DW_LNS_const_add_pc
        advance(row, 255 - opcodeBase_);
        return Event::None;
      case 9:  // DW_LNS_fixed_advance_pc
        row.address += cursor_.number(2);
        return Event::None;
      default:
        for (uint8_t left = operands_[opcode - 1]; left; --left) cursor_.uleb();
        return Event::None;
    }
  }

  Event extended(Row& row) {
    Cursor inside(cursor_.take(cursor_.uleb()));
    switch (inside.number(1)) {
      case 1:  // DW_LNE_end_sequence
        return Event::EndOfSequence;
      case 2:  // DW_LNE_set_address
        row.address = inside.number(8);
        return Event::None;
      default:
        return Event::None;
    }
  }

  void advance(Row& row, uint64_t adjusted) const { row.address += adjusted / lineRange_ * minimum_; }

  std::optional<std::string> nameOf(const Row& row) const {
    if (row.file >= files_.size() || row.line <= 0) return {};
    const std::string_view path = files_[row.file];
    return std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(row.line);
  }

  Cursor cursor_;
  const uint32_t offsetBytes_;
  const Sections& sections_;
  uint64_t version_ = 0, minimum_ = 1, lineRange_ = 0, opcodeBase_ = 1;
  int64_t lineBase_ = 0;
  std::vector<uint8_t> operands_;  // of standard opcodes
  std::vector<std::string_view> files_;
};

}  // namespace

std::string hostLine(const std::string& file, uint64_t address) {
  const MappedFile mapping(file);
  const Sections sections = sectionsOf(mapping.bytes());
  for (Cursor all(sections.lines); !all.atEnd();) {
    uint64_t length = all.number(4);
    const bool isLong = length == 0xffffffff;
    if (isLong) length = all.number(8);
    if (const auto line = LineProgram(all.take(length), isLong ? 8 : 4, sections).find(address)) return *line;
  }
  return "";
}

}  // namespace vg::check
