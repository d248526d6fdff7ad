// Cuts a box into boxes of a bounded size, in order, each without a second slice. A row that is too long is cut as
// well.
#pragma once

#include <algorithm>

#include "copy/shape.h"

namespace vg::backend::nvidia {

class BoxPieces {
 public:
  BoxPieces(const copy::Shape& box, size_t most) : box_(box), most_(most) {
    if (!box_.bytes()) slice_ = box_.depth;
  }
  bool done() const { return slice_ == box_.depth; }

  // Requires: !done().
  copy::Shape next() {
    copy::Shape piece = box_;
    piece.depth = 1;
    piece.width = std::min(box_.width - column_, most_);
    piece.height = piece.width < box_.width ? 1 : std::min(box_.height - row_, std::max<size_t>(most_ / box_.width, 1));
    piece.source = box_.source.moved(column_, row_, slice_);
    piece.destination = box_.destination.moved(column_, row_, slice_);
    column_ += piece.width;
    if (column_ < box_.width) return piece;
    column_ = 0;
    row_ += piece.height;
    if (row_ < box_.height) return piece;
    row_ = 0;
    ++slice_;
    return piece;
  }

 private:
  copy::Shape box_;
  const size_t most_;
  size_t slice_ = 0, row_ = 0, column_ = 0;
};

}  // namespace vg::backend::nvidia
