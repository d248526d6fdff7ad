#include "base/system/line_table.h"

#include <cstring>

namespace vg {
namespace {

// As DWARF numbers them.
enum Opcode : uint8_t { Extended, Copy, AdvancePc, AdvanceLine, SetFile, ConstAddPc = 8, FixedAdvancePc = 9 };
enum ExtendedOpcode : uint8_t { EndSequence = 1, SetAddress = 2 };
enum Content : uint8_t { Path = 1 };
enum Form : uint8_t {
  TwoBytes = 0x05,
  FourBytes = 0x06,
  EightBytes = 0x07,
  String = 0x08,
  Block = 0x09,
  OneByte = 0x0b,
  OffsetOfText = 0x0e,
  Number = 0x0f,
  SixteenBytes = 0x1e,
  OffsetOfLineText = 0x1f
};

std::string_view textAt(std::string_view section, uint64_t offset) {
  return offset < section.size() ? DwarfCursor(section.substr(offset)).text() : std::string_view();
}

// The unit behind its length, and whether it has offsets of eight bytes.
DwarfCursor unitOf(DwarfCursor& from, uint32_t& offsetBytes) {
  constexpr uint64_t kLong = 0xffffffff;
  uint64_t length = from.number(4);
  offsetBytes = length == kLong ? 8 : 4;
  if (length == kLong) length = from.number(8);
  return DwarfCursor(from.take(length));
}

}  // namespace

std::string_view DwarfCursor::take(uint64_t count) {
  if (count > bytes_.size()) {
    good_ = false;
    bytes_ = {};
    return {};
  }
  const std::string_view taken = bytes_.substr(0, count);
  bytes_.remove_prefix(count);
  return taken;
}

uint64_t DwarfCursor::number(uint32_t bytes) {
  uint64_t value = 0;
  const std::string_view taken = take(bytes);
  if (!taken.empty()) std::memcpy(&value, taken.data(), taken.size());
  return value;
}

uint64_t DwarfCursor::uleb() {
  uint64_t value = 0;
  for (uint32_t shift = 0; good_; shift += 7) {
    const uint64_t byte = number(1);
    if (shift < 64) value |= (byte & 0x7f) << shift;
    if (!(byte & 0x80)) break;
  }
  return value;
}

int64_t DwarfCursor::sleb() {
  uint64_t value = 0;
  uint32_t shift = 0;
  for (uint64_t byte = 0x80; good_ && (byte & 0x80); shift += 7) {
    byte = number(1);
    if (shift < 64) value |= (byte & 0x7f) << shift;
    if (!(byte & 0x80) && (byte & 0x40) && shift + 7 < 64) value |= ~uint64_t{0} << (shift + 7);
  }
  return static_cast<int64_t>(value);
}

std::string_view DwarfCursor::text() {
  const size_t end = bytes_.find('\0');
  const std::string_view taken = take(end == std::string_view::npos ? bytes_.size() + 1 : end + 1);
  return taken.substr(0, taken.empty() ? 0 : taken.size() - 1);
}

LineTable::LineTable(DwarfCursor& from, const LineSections& sections, const AddressAt* addressAt)
    : sections_(sections), addressAt_(addressAt), cursor_(unitOf(from, offsetBytes_)) {
  readHeader(offsetBytes_);
}

void LineTable::readHeader(uint32_t offsetBytes) {
  version_ = cursor_.number(2);
  if (version_ < 2 || version_ > 5) return;
  if (version_ >= 5) cursor_.take(2);  // the sizes of an address and of a selector
  const uint64_t length = cursor_.number(offsetBytes);
  DwarfCursor behind = cursor_;
  behind.take(length);
  minimum_ = cursor_.number(1);
  if (version_ >= 4) cursor_.take(1);  // operations an instruction
  cursor_.take(1);                     // whether rows are statements
  const auto lineBase = static_cast<int64_t>(cursor_.number(1));
  lineBase_ = lineBase < 0x80 ? lineBase : lineBase - 0x100;
  const uint64_t lineRange = cursor_.number(1);
  opcodeBase_ = cursor_.number(1);
  for (uint64_t k = 1; k < opcodeBase_; ++k) operands_.push_back(static_cast<uint8_t>(cursor_.number(1)));
  if (!cursor_.good() || !behind.good() || !opcodeBase_) return;
  lineRange_ = lineRange;
  if (version_ >= 5) {
    readTable();  // folders
    files_ = readTable();
  } else {
    readOldTables();
  }
  cursor_ = behind;
}

void LineTable::readOldTables() {
  while (!cursor_.atEnd() && !cursor_.text().empty()) {
  }
  files_.push_back({});  // they are counted from 1
  while (!cursor_.atEnd()) {
    const std::string_view name = cursor_.text();
    if (name.empty()) break;
    files_.push_back(name);
    for (int k = 0; k < 3; ++k) cursor_.uleb();  // folder, time, size
  }
}

std::vector<std::string_view> LineTable::readTable() {
  std::vector<std::pair<uint64_t, uint64_t>> forms;
  for (uint64_t left = cursor_.number(1); left && cursor_.good(); --left) {
    const uint64_t content = cursor_.uleb();
    forms.emplace_back(content, cursor_.uleb());
  }
  std::vector<std::string_view> names;
  for (uint64_t left = cursor_.uleb(); left && !cursor_.atEnd() && !forms.empty(); --left) {
    std::string_view name;
    for (const auto& [content, form] : forms) {
      const std::string_view text = readForm(form);
      if (content == Path) name = text;
    }
    names.push_back(name);
  }
  return names;
}

// The text that it is, if it is one. An unknown form ends everything.
std::string_view LineTable::readForm(uint64_t form) {
  switch (form) {
    case String:
      return cursor_.text();
    case OffsetOfLineText:
      return textAt(sections_.lineTexts, cursor_.number(offsetBytes_));
    case OffsetOfText:
      return textAt(sections_.texts, cursor_.number(offsetBytes_));
    case Number:
      return cursor_.uleb(), std::string_view();
    case OneByte:
      return cursor_.take(1), std::string_view();
    case TwoBytes:
      return cursor_.take(2), std::string_view();
    case FourBytes:
      return cursor_.take(4), std::string_view();
    case EightBytes:
      return cursor_.take(8), std::string_view();
    case SixteenBytes:
      return cursor_.take(16), std::string_view();
    case Block:
      return cursor_.take(cursor_.uleb()), std::string_view();
    default:
      return cursor_.take(UINT64_MAX);
  }
}

bool LineTable::next(LineRow& row) {
  if (!lineRange_) return false;
  while (!cursor_.atEnd()) {
    const Step made = step();
    if (!cursor_.good()) return false;
    if (made == Step::Nothing) continue;
    row = row_;
    row.ends = made == Step::End;
    if (row.ends) row_ = {};
    return true;
  }
  return false;
}

std::string_view LineTable::fileOf(const LineRow& row) const {
  return row.file < files_.size() ? files_[row.file] : std::string_view();
}

LineTable::Step LineTable::step() {
  const uint64_t opcode = cursor_.number(1);
  if (opcode >= opcodeBase_) {
    advance(opcode - opcodeBase_);
    row_.line += lineBase_ + static_cast<int64_t>((opcode - opcodeBase_) % lineRange_);
    return Step::Row;
  }
  switch (opcode) {
    case Extended:
      return extended();
    case Copy:
      return Step::Row;
    case AdvancePc:
      row_.address += cursor_.uleb() * minimum_;
      return Step::Nothing;
    case AdvanceLine:
      row_.line += cursor_.sleb();
      return Step::Nothing;
    case SetFile:
      row_.file = cursor_.uleb();
      return Step::Nothing;
    case ConstAddPc:
      advance(255 - opcodeBase_);
      return Step::Nothing;
    case FixedAdvancePc:
      row_.address += cursor_.number(2);
      return Step::Nothing;
    default:  // the header tells how many numbers follow
      for (uint8_t left = operands_[opcode - 1]; left; --left) cursor_.uleb();
      return Step::Nothing;
  }
}

LineTable::Step LineTable::extended() {
  DwarfCursor inside(cursor_.take(cursor_.uleb()));
  switch (inside.number(1)) {
    case EndSequence:
      return Step::End;
    case SetAddress:
      row_.address =
          addressAt_ ? (*addressAt_)(static_cast<uint64_t>(inside.place() - sections_.lines.data())) : inside.number(8);
      return Step::Nothing;
    default:
      return Step::Nothing;
  }
}

}  // namespace vg
