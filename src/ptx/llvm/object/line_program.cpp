#include "ptx/llvm/object/line_program.h"

#include <algorithm>
#include <cstring>

namespace vg::ptx::gen {

uint64_t readUleb(const uint8_t*& p, const uint8_t* end) {
  uint64_t value = 0;
  for (unsigned shift = 0; p < end; shift += 7) {
    const uint8_t byte = *p++;
    if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (!(byte & 0x80)) break;
  }
  return value;
}

namespace {

int64_t readSleb(const uint8_t*& p, const uint8_t* end) {
  int64_t value = 0;
  unsigned shift = 0;
  while (p < end) {
    const uint8_t byte = *p++;
    if (shift < 64) value |= static_cast<int64_t>(byte & 0x7f) << shift;
    shift += 7;
    if (!(byte & 0x80)) {
      if (shift < 64 && (byte & 0x40)) value |= -(int64_t{1} << shift);
      break;
    }
  }
  return value;
}

class LineProgram {
 public:
  LineProgram(const uint8_t* section, size_t size, const std::function<uint64_t(uint64_t)>& addressAt)
      : start_(section), end_(section + size), addressAt_(addressAt) {}

  std::vector<LineEntry> run() {
    if (!readHeader()) return {};
    while (p_ < end_ && step()) {
    }
    std::stable_sort(lines_.begin(), lines_.end(),
                     [](const LineEntry& a, const LineEntry& b) { return a.codeOffset < b.codeOffset; });
    return std::move(lines_);
  }

 private:
  // As DWARF numbers them.
  enum Opcode : uint8_t { Extended = 0, Copy = 1, AdvancePc = 2, AdvanceLine = 3, ConstAddPc = 8, FixedAdvancePc = 9 };
  enum ExtendedOpcode : uint8_t { EndSequence = 1, SetAddress = 2 };

  bool readHeader() {
    if (end_ - start_ < 16) return false;
    uint16_t version;
    uint32_t headerLength;
    std::memcpy(&version, start_ + 4, 2);
    std::memcpy(&headerLength, start_ + 6, 4);
    if (version != 4 || 10 + uint64_t{headerLength} > static_cast<uint64_t>(end_ - start_)) return false;
    minimum_ = start_[10];
    lineBase_ = static_cast<int8_t>(start_[13]);
    lineRange_ = start_[14];
    opcodeBase_ = start_[15];
    p_ = start_ + 10 + headerLength;
    const bool wholeTable = 15u + opcodeBase_ <= 10 + headerLength;
    return lineRange_ && opcodeBase_ && wholeTable;
  }

  void addRow() {
    if (line_ == 0 || (!lines_.empty() && lines_.back().ptxLine == line_)) return;
    if (!lines_.empty() && lines_.back().codeOffset == address_) lines_.pop_back();
    lines_.push_back({static_cast<uint32_t>(address_), static_cast<uint32_t>(line_)});
  }

  void advanceBy(uint8_t adjusted) { address_ += static_cast<uint64_t>(adjusted / lineRange_) * minimum_; }

  // One opcode; false where no other can be read behind it.
  bool step() {
    const uint8_t op = *p_++;
    if (op >= opcodeBase_) {
      const uint8_t adjusted = op - opcodeBase_;
      advanceBy(adjusted);
      line_ += lineBase_ + adjusted % lineRange_;
      addRow();
      return true;
    }
    switch (op) {
      case Extended:
        return extendedStep();
      case Copy:
        addRow();
        return true;
      case AdvancePc:
        address_ += readUleb(p_, end_) * minimum_;
        return true;
      case AdvanceLine:
        line_ += static_cast<uint64_t>(readSleb(p_, end_));
        return true;
      case ConstAddPc:
        advanceBy(255 - opcodeBase_);
        return true;
      case FixedAdvancePc:
        return fixedAdvance();
      default:  // the header tells how many numbers follow
        for (uint8_t n = 0; n < start_[15 + op]; ++n) readUleb(p_, end_);
        return true;
    }
  }

  bool extendedStep() {
    const uint64_t length = readUleb(p_, end_);
    if (length == 0 || length > static_cast<uint64_t>(end_ - p_)) return false;
    const uint8_t* const next = p_ + length;
    if (*p_ == EndSequence) {
      address_ = 0;
      line_ = 1;
    } else if (*p_ == SetAddress) {
      address_ = addressAt_(static_cast<uint64_t>(p_ + 1 - start_));
    }
    p_ = next;
    return true;
  }

  bool fixedAdvance() {
    if (end_ - p_ < 2) return false;
    uint16_t delta;
    std::memcpy(&delta, p_, 2);
    address_ += delta;
    p_ += 2;
    return true;
  }

  const uint8_t* const start_;
  const uint8_t* const end_;
  const std::function<uint64_t(uint64_t)>& addressAt_;
  const uint8_t* p_ = nullptr;
  uint8_t minimum_ = 1, lineRange_ = 1, opcodeBase_ = 1;
  int8_t lineBase_ = 0;
  uint64_t address_ = 0, line_ = 1;
  std::vector<LineEntry> lines_;
};

}  // namespace

std::vector<LineEntry> linesOf(const uint8_t* section, size_t size,
                               const std::function<uint64_t(uint64_t offset)>& addressAt) {
  return LineProgram(section, size, addressAt).run();
}

}  // namespace vg::ptx::gen
