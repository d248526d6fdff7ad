// Copies and fills as methods of the copy engine. Both sides are addresses that the GPU knows and do not overlap.
//
// A box may need more launches than one submission holds: write() adds as many as fit and remembers how far it came.
// Every launch starts when the one before it is done. The last one may say that it is, which is sooner than anything
// behind it could.
#pragma once

#include "backend/nvidia/channel/push.h"
#include "copy/shape.h"

namespace vg::backend::nvidia {

// What the last launch of a box releases, and whether it writes the time 8 bytes behind it.
struct CopyEnd {
  host::Semaphore semaphore;
  bool timestamp = false;
};

class CopyPieces {
 public:
  explicit CopyPieces(const copy::Shape& shape);
  bool done() const { return slice_ == shape_.depth; }
  void write(Push& push, const CopyEnd* atEnd = nullptr);

 private:
  void launch(Push& push, size_t bytes, size_t rows, const CopyEnd* atEnd);
  void advance(size_t bytes, size_t rows);

  copy::Shape shape_;
  size_t rowsAtOnce_;
  size_t slice_ = 0, row_ = 0, column_ = 0;  // what comes next
};

class FillPieces {
 public:
  explicit FillPieces(const copy::Fill& fill);
  bool done() const { return row_ == fill_.height; }
  void write(Push& push, const CopyEnd* atEnd = nullptr);

 private:
  void launch(Push& push, size_t bytes, size_t rows, const CopyEnd* atEnd);

  copy::Fill fill_;
  size_t rowsAtOnce_;
  size_t row_ = 0, column_ = 0;
};

namespace ce {
// As host::release(), but by the copy engine itself, when all that it was given before is done and visible: the host
// engine takes longer to wait until it is idle.
void release(Push& push, const host::Semaphore& semaphore);
// The same without the time: one word.
void releaseWord(Push& push, const host::Semaphore& semaphore);
inline constexpr size_t kReleaseWords = 8;
}  // namespace ce

}  // namespace vg::backend::nvidia
