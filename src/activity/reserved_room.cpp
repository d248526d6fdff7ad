#include "activity/reserved_room.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace vg::activity {
namespace {

constexpr uint64_t kAtOnce = 8 << 20;

bool isInExt4(int file) {
  struct statfs found;
  return !fstatfs(file, &found) && found.f_type == EXT4_SUPER_MAGIC;
}

}  // namespace

ReservedRoom::ReservedRoom(int file) : file_(file), possible_(isInExt4(file)) {}

void ReservedRoom::reserve(uint64_t size, uint64_t more) {
  if (!possible_ || !size || size + more <= end_) return;
  possible_ = !fallocate(file_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size), kAtOnce);
  if (possible_) end_ = size + kAtOnce;
}

void ReservedRoom::giveBack(uint64_t size) {
  if (end_ > size) (void)!ftruncate(file_, static_cast<off_t>(size));
}

}  // namespace vg::activity
