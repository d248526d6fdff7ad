// When work runs: at once on the thread that gives it, from a copy of what it reads, or in its stream's queue. All
// limits of that choice stand here.
#pragma once

#include <cstddef>

namespace vg::core::when {

struct Limit {
  size_t bytes;   // together
  size_t pieces;  // of work
};
inline constexpr size_t kKiB = size_t{1} << 10, kMiB = size_t{1} << 20;

// What an idle stream does at once where the host reaches the device's memory; all else is queued.
inline constexpr Limit kCopy{16 * kKiB, 1};             // a copy or a fill: about a microsecond
inline constexpr Limit kBatch{256 * kKiB, ~size_t{0}};  // copies of one call: some microseconds
inline constexpr Limit kGraph{64 * kKiB, 4096};         // an executable graph of copies and fills alone

// Pageable bytes that a busy stream will need later are set aside, so that the call need not wait for the stream: so
// many a copy and together, as it shows from outside the vendor's driver.
inline constexpr Limit kStaged{2 * kMiB, 1};
inline constexpr size_t kStagedTogether = 4 * kMiB;

// What one thread runs through as one command of a graph; longer copies and fills are commands of their own, which the
// device's threads share.
inline constexpr Limit kTogether{256 * kKiB, ~size_t{0}};

constexpr bool within(const Limit& limit, size_t bytes, size_t pieces = 1) {
  return bytes <= limit.bytes && pieces <= limit.pieces;
}

}  // namespace vg::core::when
