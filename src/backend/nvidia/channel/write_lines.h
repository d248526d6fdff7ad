// Memory of the device that the CPU writes in lines of 64 bytes: whole ones, one behind the other, each leave it at
// once. Single words would leave it by themselves where writes to several places alternate.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace vg::backend::nvidia {

inline constexpr size_t kLineBytes = 64;

// Requires: both are at the beginning of a line, and `bytes` is a multiple of one.
inline void writeLines(std::byte* to, const std::byte* from, size_t bytes) {
#if defined(__x86_64__)
  auto* const words = reinterpret_cast<__m128i*>(to);
  for (size_t i = 0; i < bytes / sizeof(__m128i); ++i)
    _mm_stream_si128(words + i, _mm_load_si128(reinterpret_cast<const __m128i*>(from) + i));
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace vg::backend::nvidia
