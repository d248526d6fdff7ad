// Sixteen bytes as the processor moves them whole, in the order that an access asks for: a single load or store of that
// size has none on processors that reorder. Racing programs race here on purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace vg::ptx::interpreter {

using PairOfWords = uint64_t __attribute__((vector_size(16), aligned(1)));

// `order`: __ATOMIC_ACQUIRE or __ATOMIC_RELAXED.
[[gnu::no_sanitize("thread")]] inline void loadPair(const std::byte* at, void* to, int order) {
  const PairOfWords value = *reinterpret_cast<const volatile PairOfWords*>(at);
  std::memcpy(to, &value, sizeof value);
  if (order == __ATOMIC_ACQUIRE) __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

// `order`: __ATOMIC_RELEASE or __ATOMIC_RELAXED.
[[gnu::no_sanitize("thread")]] inline void storePair(std::byte* at, const void* from, int order) {
  PairOfWords value;
  std::memcpy(&value, from, sizeof value);
  if (order == __ATOMIC_RELEASE) __atomic_thread_fence(__ATOMIC_RELEASE);
  *reinterpret_cast<volatile PairOfWords*>(at) = value;
}

}  // namespace vg::ptx::interpreter
