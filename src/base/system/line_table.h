// The reader of line tables of debugging information (DWARF 2 to 5, .debug_line): which line of which file each piece
// of code is from. Of programs and libraries of the host and of what LLVM compiles. Nothing is read that the bytes do
// not hold: rows end before what cannot be read.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace vg {

// Reads what it is given from the front. Beyond the end there are zeros, and good() is false.
class DwarfCursor {
 public:
  explicit DwarfCursor(std::string_view bytes) : bytes_(bytes) {}

  bool good() const { return good_; }
  bool atEnd() const { return !good_ || bytes_.empty(); }
  const char* place() const { return bytes_.data(); }
  std::string_view take(uint64_t count);
  uint64_t number(uint32_t bytes);
  uint64_t uleb();  // seven bits a byte
  int64_t sleb();
  std::string_view text();  // up to a zero

 private:
  std::string_view bytes_;
  bool good_ = true;
};

// The sections of a file; the last two are used by DWARF 5 alone.
struct LineSections {
  std::string_view lines, lineTexts, texts;
};

struct LineRow {
  uint64_t address = 0, file = 1;
  int64_t line = 1;
  bool ends = false;  // nothing is at this address: code that lies together ends before it
};

// The table of one unit.
class LineTable {
 public:
  // Which address stands at an offset of the section, in object files that are not linked.
  using AddressAt = std::function<uint64_t(uint64_t offset)>;

  // Takes the unit that begins at `from` off its front. `addressAt`: none, where addresses stand in the section.
  LineTable(DwarfCursor& from, const LineSections& sections, const AddressAt* addressAt = nullptr);

  // The next row, in the order of the table; false: there is none.
  bool next(LineRow& row);
  // The path that the table has for the file of a row; empty: none.
  std::string_view fileOf(const LineRow& row) const;

 private:
  enum class Step : uint8_t { Nothing, Row, End };

  void readHeader(uint32_t offsetBytes);
  void readOldTables();
  std::vector<std::string_view> readTable();
  std::string_view readForm(uint64_t form);
  Step step();
  Step extended();
  void advance(uint64_t adjusted) { row_.address += adjusted / lineRange_ * minimum_; }

  const LineSections sections_;
  const AddressAt* const addressAt_;
  uint32_t offsetBytes_ = 4;
  DwarfCursor cursor_;
  LineRow row_;
  uint64_t version_ = 0, minimum_ = 1, lineRange_ = 0, opcodeBase_ = 1;
  int64_t lineBase_ = 0;
  std::vector<uint8_t> operands_;  // how many standard opcodes have
  std::vector<std::string_view> files_;
};

}  // namespace vg
