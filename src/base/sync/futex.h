// The futex system call: sleeping until a 32-bit word changes.
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

// Shared: the word lies in memory that processes share, and any of them may wake or sleep.
enum class Scope : int { Private = FUTEX_PRIVATE_FLAG, Shared = 0 };

// Sleeps while the word has the value `expected`; may return early for no reason. `nanoseconds` limits the sleep; false
// when the limit was reached.
inline bool wait(const std::atomic<uint32_t>& word, uint32_t expected, const uint64_t* nanoseconds = nullptr,
                 Scope scope = Scope::Private) {
  timespec limit;
  if (nanoseconds) limit = {time_t(*nanoseconds / 1'000'000'000), long(*nanoseconds % 1'000'000'000)};
  const long result = syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAIT | static_cast<int>(scope),
                              expected, nanoseconds ? &limit : nullptr, nullptr, 0);
  return result == 0 || errno != ETIMEDOUT;
}

inline void wake(const std::atomic<uint32_t>& word, int threads, Scope scope = Scope::Private) {
  syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAKE | static_cast<int>(scope), threads, nullptr,
          nullptr, 0);
}
inline void wakeAll(const std::atomic<uint32_t>& word, Scope scope = Scope::Private) { wake(word, INT_MAX, scope); }

}  // namespace vg::futex
