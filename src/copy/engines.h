// The loops that move bytes, one set for each instruction set. Which one runs, and when streaming stores or `rep movsb`
// are better, is decided in copy.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::copy {

inline constexpr size_t kShortRow = 64;

struct Engines {
  const char* name;
  bool (*supported)();
  // memmove.
  void (*move)(std::byte* destination, const std::byte* source, size_t bytes);
  // memcpy past the caches; whoever calls it ends with streamFence(). Requires: no overlap.
  void (*stream)(std::byte* destination, const std::byte* source, size_t bytes);
  // The same, but the source is left in the caches.
  void (*streamKeptSource)(std::byte* destination, const std::byte* source, size_t bytes);
  // memcpy of `rows` rows of up to kShortRow bytes each. Requires: no overlap between the sides.
  void (*moveShortRows)(std::byte* destination, size_t destinationPitch, const std::byte* source, size_t sourcePitch,
                        size_t bytes, size_t rows);
  // Repeats the 4 bytes of `pattern`. Requires: `destination` and `bytes` are multiples of the element that the pattern
  // repeats, so that every 4-byte boundary has the same phase.
  void (*fill)(std::byte* destination, size_t bytes, uint32_t pattern);
  // The same past the caches.
  void (*streamFill)(std::byte* destination, size_t bytes, uint32_t pattern);
};

// All of them, the widest first; for tests and benches. Every processor has the last one.
#if defined(__x86_64__)
extern const Engines kBaselineEngines, kAvx2Engines, kAvx512Engines;
inline constexpr const Engines* kAllEngines[] = {&kAvx512Engines, &kAvx2Engines, &kBaselineEngines};
#else
extern const Engines kNeonEngines;
inline constexpr const Engines* kAllEngines[] = {&kNeonEngines};
#endif

// The ones in use: named by VERDIGRIS_ISA when the processor has them, else the widest.
const Engines& engines();

void streamFence();

}  // namespace vg::copy
