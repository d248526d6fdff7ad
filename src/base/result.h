// The one error type of the library, and how failures are reported.
//
// CUresult is the error code inside and out; a function that produces a value returns Result<T>. A failure is
// reported once, where the fact is known, with the numbers: `return fail(CUDA_ERROR_INVALID_VALUE, "pitch %zu", p)`
// writes the reason to the log and yields the code. `VG_TRY(value, expression)` passes a failure on.
#pragma once

#include <cuda.h>

#include <new>
#include <type_traits>
#include <utility>

namespace vg {

namespace detail {

struct Nothing {};

// What a Result holds. Of what registers may hold, the whole returns in two of them: that wants trivial copies.
template <class T, bool = std::is_trivially_copyable_v<T>>
struct ResultStorage {
  ResultStorage(T from) : value(from), error(CUDA_SUCCESS) {}
  ResultStorage(CUresult code) : nothing(), error(code) {}
  union {
    Nothing nothing;
    T value;
  };
  CUresult error;
};

template <class T>
struct ResultStorage<T, false> {
  ResultStorage(T from) : value(std::move(from)), error(CUDA_SUCCESS) {}
  ResultStorage(CUresult code) : nothing(), error(code) {}
  ResultStorage(ResultStorage&& other) noexcept : nothing(), error(other.error) {
    if (error == CUDA_SUCCESS) new (&value) T(std::move(other.value));
  }
  ~ResultStorage() {
    if (error == CUDA_SUCCESS) value.~T();
  }
  union {
    Nothing nothing;
    T value;
  };
  CUresult error;
};

}  // namespace detail

// A value, or the CUresult that says why there is none. Never holds CUDA_SUCCESS without a value.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::move(value)) {}
  Result(CUresult error) : held_(error) {}
  Result(Result&&) noexcept = default;
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;

  bool ok() const { return held_.error == CUDA_SUCCESS; }
  explicit operator bool() const { return ok(); }
  CUresult error() const { return held_.error; }
  // Requires: ok().
  T& value() & { return held_.value; }
  const T& value() const& { return held_.value; }
  T&& value() && { return std::move(held_.value); }
  T* operator->() { return &held_.value; }
  T& operator*() & { return held_.value; }

 private:
  detail::ResultStorage<T> held_;
};

template <class T>
class [[nodiscard]] Result<T&> {
 public:
  Result(T& value) : value_(&value) {}
  Result(CUresult error) : error_(error) {}
  bool ok() const { return value_; }
  explicit operator bool() const { return ok(); }
  CUresult error() const { return error_; }
  T& value() const { return *value_; }
  T* operator->() const { return value_; }
  T& operator*() const { return *value_; }

 private:
  T* value_ = nullptr;
  CUresult error_ = CUDA_SUCCESS;
};

// Logs the reason and returns `code`. Bad input and refusals: level info.
[[gnu::cold, gnu::format(printf, 2, 3)]] CUresult fail(CUresult code, const char* reason, ...);

// The three words for gaps. unsupported: the caller asked for what we do not claim. unimplemented: we claim it and it
// is missing. unreachable: a bug of ours. Level warn, error and critical.
[[gnu::cold, gnu::format(printf, 1, 2)]] CUresult unsupported(const char* what, ...);        // CUDA_ERROR_NOT_SUPPORTED
[[gnu::cold, gnu::format(printf, 1, 2)]] CUresult unimplemented(const char* what, ...);      // CUDA_ERROR_NOT_SUPPORTED
[[noreturn, gnu::cold, gnu::format(printf, 1, 2)]] void unreachable(const char* what, ...);  // aborts

namespace detail {
inline CUresult errorOf(CUresult r) { return r; }
template <class T>
CUresult errorOf(const Result<T>& r) {
  return r.error();
}
template <class T>
decltype(auto) valueOf(Result<T>& r) {
  if constexpr (std::is_reference_v<T>) {
    return r.value();
  } else {
    return std::move(r).value();
  }
}
}  // namespace detail

#define VG_CONCAT_(a, b) a##b
#define VG_CONCAT(a, b) VG_CONCAT_(a, b)
// VG_TRY(auto x, f()): declares or assigns x from a Result, or returns its error from the enclosing function.
#define VG_TRY(target, expression) VG_TRY_(VG_CONCAT(vgResult, __LINE__), target, expression)
#define VG_TRY_(result, target, expression) \
  auto result = (expression);               \
  if (!result.ok()) [[unlikely]]            \
    return result.error();                  \
  target = ::vg::detail::valueOf(result)
// VG_CHECK(f()): returns the error of a CUresult or Result expression from the enclosing function.
#define VG_CHECK(expression)                                                                        \
  do {                                                                                              \
    if (CUresult vgError = ::vg::detail::errorOf(expression); vgError != CUDA_SUCCESS) [[unlikely]] \
      return vgError;                                                                               \
  } while (0)

}  // namespace vg
