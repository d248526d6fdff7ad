// The futex system call: sleeping until a 32-bit word changes. Private to this process.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>

namespace vg::futex {

// Sleeps while the word has the value `expected`; may return early for no reason. `nanoseconds` limits the sleep; false
// when the limit was reached.
inline bool wait(const std::atomic<uint32_t>& word, uint32_t expected, const uint64_t* nanoseconds = nullptr) {
  timespec limit;
  if (nanoseconds) limit = {time_t(*nanoseconds / 1'000'000'000), long(*nanoseconds % 1'000'000'000)};
  const long result = syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected,
                              nanoseconds ? &limit : nullptr, nullptr, 0);
  return result == 0 || errno != ETIMEDOUT;
}

inline void wake(const std::atomic<uint32_t>& word, int threads) {
  syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}
inline void wakeAll(const std::atomic<uint32_t>& word) { wake(word, INT_MAX); }

}  // namespace vg::futex
