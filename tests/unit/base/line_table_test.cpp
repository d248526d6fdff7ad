// Line tables of every version of DWARF, written here by the standard, and cut off at every byte.
#include "base/system/line_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <tuple>

namespace vg {
namespace {

using Expected = std::tuple<uint64_t, std::string, int64_t, bool>;  // address, file, line, whether it ends

class Bytes {
 public:
  std::string data;

  template <class T>
  Bytes& put(T value) {
    data.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& bytes(std::initializer_list<int> values) {
    for (const int value : values) data += static_cast<char>(value);
    return *this;
  }
  Bytes& text(const std::string& value) {
    data += value;
    return bytes({0});
  }
};

// Counts the operands of the standard opcodes: one more than the standard has, with two.
const std::initializer_list<int> kOperands = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 2};
constexpr int kOpcodeBase = 14, kLineBase = -3, kLineRange = 12;

int special(int addressUnits, int line) { return line - kLineBase + kLineRange * addressUnits + kOpcodeBase; }

void putFiles(Bytes& head, int version, bool isLong, Bytes& texts) {
  if (version < 5) {
    head.text("/include").bytes({0});
    head.text("a.c").bytes({0, 0, 0}).text("b.h").bytes({1, 0, 0}).bytes({0});
    return;
  }
  head.bytes({1, 1, 0x08, 1}).text("/");                // one folder
  head.bytes({4, 1, 0x1f, 2, 0x0b, 5, 0x1e, 3, 0x0f});  // path, folder, checksum, time
  head.bytes({3});
  for (const char* name : {"unused.c", "a.c", "b.h"}) {  // file 0 is the unit itself
    isLong ? head.put(uint64_t{texts.data.size()}) : head.put(static_cast<uint32_t>(texts.data.size()));
    head.bytes({0});
    head.data.append(16, '#');
    head.bytes({0x83, 0x01});
    texts.text(name);
  }
}

// Two sequences; every standard opcode, one that is unknown, and both kinds of extended ones.
Bytes programOf() {
  Bytes p;
  p.bytes({0, 9, 2}).put(uint64_t{0x1000});
  p.bytes({3, 9, 1});                                 // line 10
  p.bytes({special(2, 5)});                           // 8 bytes on, line 15
  p.bytes({4, 2, 2, 0x81, 0x01, 3, 0x7c, 1});         // b.h, 129 units, line 11
  p.bytes({8, 9}).put(uint16_t{6}).bytes({1});        // as a special opcode of 255 would; 6 bytes
  p.bytes({6, 7, 10, 11, 12, 3, 13, 0x80, 0x01, 5});  // nothing that is kept
  p.bytes({0, 3, 0x80, 1, 2});                        // unknown, extended
  p.bytes({2, 1, 0, 1, 1});
  p.bytes({0, 9, 2}).put(uint64_t{0x9000}).bytes({1, 2, 4, 0, 1, 1});
  return p;
}

std::vector<Expected> rowsExpected() {
  const uint64_t third = 0x1008 + 129 * 4, fourth = third + (255 - kOpcodeBase) / kLineRange * 4 + 6;
  return {{0x1000, "a.c", 10, false}, {0x1008, "a.c", 15, false},    {third, "b.h", 11, false},
          {fourth, "b.h", 11, false}, {fourth + 4, "b.h", 11, true}, {0x9000, "a.c", 1, false},
          {0x9010, "a.c", 1, true}};
}

struct Table {
  std::string lines, texts;
};

Table tableOf(int version, bool isLong) {
  Bytes texts, head;
  head.bytes({4});
  if (version >= 4) head.bytes({1});
  head.bytes({1, kLineBase, kLineRange, kOpcodeBase}).bytes(kOperands);
  putFiles(head, version, isLong, texts);
  Bytes unit;
  unit.put(static_cast<uint16_t>(version));
  if (version >= 5) unit.bytes({8, 0});
  const auto putLength = [&](Bytes& to, size_t length) {
    isLong ? to.put(uint64_t{length}) : to.put(static_cast<uint32_t>(length));
  };
  putLength(unit, head.data.size());
  unit.data += head.data + programOf().data;
  Bytes whole;
  if (isLong) whole.put(~uint32_t{0});
  putLength(whole, unit.data.size());
  return {whole.data + unit.data, texts.data};
}

std::vector<Expected> read(const Table& table, const LineTable::AddressAt* addressAt = nullptr) {
  std::vector<Expected> rows;
  for (DwarfCursor units(table.lines); !units.atEnd();) {
    LineTable unit(units, {table.lines, table.texts, {}}, addressAt);
    for (LineRow row; unit.next(row);) rows.emplace_back(row.address, unit.fileOf(row), row.line, row.ends);
  }
  return rows;
}

TEST(LineTable, RowsOfEveryVersionAreRead) {
  for (const int version : {2, 3, 4, 5}) EXPECT_EQ(read(tableOf(version, false)), rowsExpected()) << version;
  for (const int version : {3, 4, 5}) EXPECT_EQ(read(tableOf(version, true)), rowsExpected()) << version;
}

TEST(LineTable, UnitsFollowEachOther) {
  Table two = tableOf(5, false);
  two.lines += tableOf(4, true).lines;
  std::vector<Expected> expected = rowsExpected();
  for (const Expected& row : rowsExpected()) expected.push_back(row);
  EXPECT_EQ(read(two), expected);
}

TEST(LineTable, VersionsThatAreUnknownHaveNoRows) {
  EXPECT_TRUE(read(tableOf(1, false)).empty());
  EXPECT_TRUE(read(tableOf(6, false)).empty());
}

TEST(LineTable, AddressesOfObjectsThatAreNotLinkedAreAskedFor) {
  const Table table = tableOf(4, false);
  const LineTable::AddressAt halved = [&](uint64_t offset) {
    uint64_t address;
    std::memcpy(&address, &table.lines[offset], sizeof address);
    return address / 2;
  };
  const std::vector<Expected> rows = read(table, &halved);
  ASSERT_EQ(rows.size(), rowsExpected().size());
  EXPECT_EQ(std::get<0>(rows.front()), 0x800u);
  EXPECT_EQ(std::get<0>(rows[5]), 0x4800u);
}

// What is cut off does not matter to the rows before it; nothing is read beyond the end.
TEST(LineTable, ATableThatIsCutOffHasTheRowsBeforeThat) {
  for (const int version : {2, 5}) {
    const Table whole = tableOf(version, false);
    for (size_t size = 0; size < whole.lines.size(); ++size) {
      const std::vector<char> exact(whole.lines.begin(), whole.lines.begin() + static_cast<ptrdiff_t>(size));
      Table cut{std::string(exact.begin(), exact.end()), whole.texts};
      EXPECT_TRUE(read(cut).empty()) << size;  // the unit's length says more than there is
      if (size < 4) continue;
      const auto length = static_cast<uint32_t>(size - 4);
      std::memcpy(cut.lines.data(), &length, sizeof length);
      const std::vector<Expected> rows = read(cut), all = rowsExpected();
      ASSERT_LE(rows.size(), all.size());
      EXPECT_TRUE(std::equal(rows.begin(), rows.end(), all.begin())) << version << " " << size;
    }
  }
}

}  // namespace
}  // namespace vg
