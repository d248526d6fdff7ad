// The shared memory of a running block, byte by byte: who touched it last, and whether it was ever written.
//
// Of the readers since the last write two are kept, of different warps where there are such: no report is ever false,
// and one that needs a third reader may be missed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "check/clocks.h"
#include "ptx/interpreter/observer.h"

namespace vg::check {

// Two accesses of different threads to the same byte that nothing orders.
struct Hazard {
  enum class Kind : uint8_t { ReadAfterWrite, WriteAfterRead, WriteAfterWrite };
  Kind kind = Kind::ReadAfterWrite;
  uint32_t offset = 0;  // of the first byte
  uint32_t thread = 0, other = 0;
  const ptx::Instruction *at = nullptr, *otherAt = nullptr;
};

class SharedMemory {
 public:
  // A new block with so many bytes.
  void reset(uint32_t bytes);
  // Notes an access. True when it is in conflict with an earlier one.
  bool touch(const ptx::Access& access, uint32_t offset, uint32_t thread, const Clocks& clocks, Hazard& hazard);
  // How many bytes from the first on were written.
  uint32_t writtenBytes(uint32_t offset, uint32_t bytes) const;
  void written(uint32_t offset, uint32_t bytes);

 private:
  struct Reader {
    uint32_t clock = 0;  // 0: none
    uint16_t thread = 0;
    bool strong = false;
    const ptx::Instruction* at = nullptr;
  };
  struct Byte {
    Reader writer;
    Reader readers[2];
  };
  static void addReader(Byte& byte, const Reader& reader, const Clocks& clocks);

  struct Touch;
  bool touchByte(Byte& byte, const Touch& touch, uint32_t offset, Hazard& hazard);
  void split(uint32_t word);

  std::vector<Byte> bytes_;
  std::vector<uint8_t>
      whole_;  // by word of 4 bytes: they have been touched together only, and the first stands for all
  std::vector<uint8_t> written_;
};

}  // namespace vg::check
