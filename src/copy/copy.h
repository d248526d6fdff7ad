// Runs a copy or a fill on the calling thread, or, when it is large and `parallel` is given, on several.
//
// Overlap: a one-dimensional copy behaves as memmove whatever its size. Rows of a pitched copy are copied in the order
// that keeps overlapping boxes of one buffer (equal pitches) right; other overlaps give unspecified bytes inside the
// destination and touch nothing else. Any thread may call; nothing is allocated and no lock is taken.
//
// False: memory was not there or could not be written, and it is unknown which bytes arrived. Requires: faults are
// passed to throwOut (copy/guard.h), or they end the process. Locked memory that the host has protected is reached all
// the same, as a device does; fills only know such memory.
#pragma once

#include "copy/parallel.h"
#include "copy/shape.h"

namespace vg::copy {

[[nodiscard]] bool copy(const Shape& shape, Parallel* parallel = nullptr);
[[nodiscard]] bool fill(const Fill& fill, Parallel* parallel = nullptr);

// One row: memmove with the chosen engine. For small sizes this is what an inline copy should call.
[[nodiscard]] bool copyBytes(void* destination, const void* source, size_t bytes);

// From this size on several threads are worth their start.
inline constexpr size_t kParallelBytes = size_t{4} << 20;

// How a context calls what these have met.
inline constexpr char kFault[] = "a copy or fill touched memory that is not there";

// The name of the instruction set in use: baseline, avx2, avx512 or neon. Chosen at the first call from the processor
// and VERDIGRIS_ISA.
const char* engineName();

}  // namespace vg::copy
