// Room on the disk for what a growing file is going to hold, where that makes writing cheaper: ext4 takes twice as long
// for bytes that it has no blocks for. Small files get no more than they need.
#pragma once

#include <cstdint>

namespace vg::activity {

class ReservedRoom {
 public:
  explicit ReservedRoom(int file);
  // So many bytes are about to be written behind so many. Where the room is refused the file does without.
  void reserve(uint64_t size, uint64_t more);
  // The file keeps its size.
  void giveBack(uint64_t size);

 private:
  const int file_;
  bool possible_;
  uint64_t end_ = 0;  // of the room
};

}  // namespace vg::activity
