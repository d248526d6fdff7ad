// Variables of the process that are never destroyed, so that destructors and threads that run while the process exits
// may use them. They lie in the library's own variables: no memory is taken for them, and their first use under a
// shortage is like any other. In place of variables of functions that are allocated when they are first used.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "base/sync/mutex.h"

namespace vg {

// What `make()` returns, made by the first caller. What it throws comes out, and the next caller tries again. Each
// lambda has a variable of its own.
template <class T, class Make>
T& undyingFrom(Make make) {
  static_assert(std::is_class_v<Make>);
  alignas(T) static std::byte memory[sizeof(T)];
  static constinit Mutex mutex;
  static constinit std::atomic<T*> made{nullptr};
  if (T* const known = made.load(std::memory_order_acquire)) return *known;
  const MutexLock lock(mutex);
  if (T* const known = made.load(std::memory_order_relaxed)) return *known;
  T* const kept = new (memory) T(make());
  made.store(kept, std::memory_order_release);
  return *kept;
}

// Of a type whose constructor neither takes memory nor throws. `Tag` tells variables of one type apart.
template <class T, class Tag>
T& undying() noexcept {
  static_assert(std::is_nothrow_default_constructible_v<T>);
  return undyingFrom<T>([]() noexcept { return T(); });
}

// The same where making may fail: an error is returned and not kept.
template <class T, class Make>
Result<T&> undyingIfMade(Make make) {
  static_assert(std::is_class_v<Make>);
  alignas(T) static std::byte memory[sizeof(T)];
  static constinit Mutex mutex;
  static constinit std::atomic<T*> made{nullptr};
  if (T* const known = made.load(std::memory_order_acquire)) return *known;
  const MutexLock lock(mutex);
  if (T* const known = made.load(std::memory_order_relaxed)) return *known;
  Result<T> fresh = make();
  if (!fresh.ok()) return fresh.error();
  T* const kept = new (memory) T(std::move(fresh).value());
  made.store(kept, std::memory_order_release);
  return *kept;
}

}  // namespace vg
