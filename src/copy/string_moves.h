// The processor's own instructions that move or fill a range, where it has them and they are fast. On ARM, those of
// ARMv8.8 are not used yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include "base/system/processor.h"
#endif

namespace vg::copy::string_moves {

#if defined(__x86_64__)
inline bool movesFast() { return processor::has(processor::kFastRepMove); }
inline bool fillsFast() { return movesFast() && processor::isIntel(); }
// Requires: no overlap.
inline void move(std::byte* destination, const std::byte* source, size_t bytes) {
  asm volatile("rep movsb" : "+D"(destination), "+S"(source), "+c"(bytes) : : "memory");
}
// Returns where it ended.
inline std::byte* fill(std::byte* destination, uint64_t value, size_t words) {
  asm volatile("rep stosq" : "+D"(destination), "+c"(words) : "a"(value) : "memory");
  return destination;
}
#else
inline bool movesFast() { return false; }
inline bool fillsFast() { return false; }
inline void move(std::byte* destination, const std::byte* source, size_t bytes) {
  std::memcpy(destination, source, bytes);
}
inline std::byte* fill(std::byte* destination, uint64_t value, size_t words) {
  for (; words; --words, destination += sizeof value) std::memcpy(destination, &value, sizeof value);
  return destination;
}
#endif

}  // namespace vg::copy::string_moves
