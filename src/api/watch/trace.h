// The call trace of VERDIGRIS_TRACE: one line a call, with the arguments decoded.
//
//   [4711] cuMemAlloc_v2(dptr=0x7ffd01f0 -> 0x700000000000, bytesize=4096) = CUDA_SUCCESS 0.9 us
//
// Off, it costs an entry point one relaxed load. On, each call formats a line in a buffer on its own stack and writes
// it with one system call, so that lines of different threads do not mix. Memory behind the application's pointers is
// read through the kernel: a bad pointer prints as an address and cannot fault. Any thread may trace.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "api/entry/enum_names.h"
#include "base/memory/safe_read.h"

namespace vg::api {

extern std::atomic<bool> traceOn;

// Reads VERDIGRIS_TRACE and opens its file. Called by cuInit, and cuInit is the first call that is traced.
void startTrace();
// Nanoseconds of the monotonic clock.
uint64_t traceClock();

// One line in the making.
class TraceLine {
 public:
  // `names` is the argument list as the table has it: "(dptr, bytesize)".
  TraceLine(const char* symbol, const char* names, CUresult result);
  // Requires: called once for each argument, in order.
  template <class T>
  void argument(T value) {
    nextName();
    print(value);
  }
  // Completes the line and writes it.
  void finish(uint64_t nanoseconds);

 private:
  template <class T>
  void print(T value);
  template <class T>
  void printPointer(T* pointer);
  void print(CUfunction function);  // with the kernel's name

  void nextName();
  [[gnu::format(printf, 2, 3)]] void append(const char* format, ...);
  void appendString(const char* address);
  void appendInteger(unsigned long long value, bool isSigned, size_t size);

  void describe(const CUDA_MEMCPY2D& copy);
  void describe(const CUDA_MEMCPY3D& copy);
  void describe(const CUlaunchConfig& config);
  void describe(const CUmemLocation& location);
  void describe(const CUmemAccessDesc& access);
  void describe(const CUmemAllocationProp& properties);
  void describe(const CUmemPoolProps& properties);
  void describe(const CUDA_ARRAY_DESCRIPTOR& array);
  void describe(const CUDA_ARRAY3D_DESCRIPTOR& array);
  void describe(const CUuuid& uuid);

  static constexpr size_t kLimit = 1600;
  char text_[kLimit];
  size_t length_ = 0;
  std::string_view names_;
  std::string_view name_;
  CUresult result_;
};

namespace detail {
template <class T>
inline constexpr bool kDescribed =
    std::is_same_v<T, CUDA_MEMCPY2D> || std::is_same_v<T, CUDA_MEMCPY3D> || std::is_same_v<T, CUlaunchConfig> ||
    std::is_same_v<T, CUmemLocation> || std::is_same_v<T, CUmemAccessDesc> || std::is_same_v<T, CUmemAllocationProp> ||
    std::is_same_v<T, CUmemPoolProps> || std::is_same_v<T, CUDA_ARRAY_DESCRIPTOR> ||
    std::is_same_v<T, CUDA_ARRAY3D_DESCRIPTOR> || std::is_same_v<T, CUuuid>;
}  // namespace detail

template <class T>
void TraceLine::print(T value) {
  if constexpr (std::is_enum_v<T>) {
    if (const char* name = enumName(value)) {
      append("%s", name);
    } else {
      append("%lld", static_cast<long long>(value));
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    append("%g", static_cast<double>(value));
  } else if constexpr (std::is_integral_v<T>) {
    appendInteger(static_cast<unsigned long long>(value), std::is_signed_v<T>, sizeof(T));
  } else if constexpr (std::is_pointer_v<T>) {
    printPointer(value);
  } else if constexpr (detail::kDescribed<T>) {
    describe(value);
  } else {
    append("{%zu bytes}", sizeof(T));
  }
}

template <class T>
void TraceLine::printPointer(T* pointer) {
  using Pointee = std::remove_const_t<T>;
  if constexpr (std::is_function_v<T> || std::is_void_v<T>) {
    append("%p", reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(pointer)));
  } else if constexpr (std::is_same_v<Pointee, char>) {
    // What the caller passes is text; what it receives is text once the call has succeeded.
    if (std::is_const_v<T> || result_ == CUDA_SUCCESS) {
      appendString(pointer);
    } else {
      append("%p", static_cast<const void*>(pointer));
    }
  } else {
    append("%p", static_cast<const void*>(pointer));
    constexpr bool kIsOutput = !std::is_const_v<T>;
    if constexpr (detail::kDescribed<Pointee>) {
      Pointee copy;
      if ((!kIsOutput || result_ == CUDA_SUCCESS) && safe_read::all(&copy, pointer, sizeof copy)) {
        append(" ");
        describe(copy);
      }
    } else if constexpr (kIsOutput && std::is_scalar_v<Pointee>) {
      Pointee copy;
      if (result_ == CUDA_SUCCESS && safe_read::all(&copy, pointer, sizeof copy)) {
        append(" -> ");
        if constexpr (std::is_same_v<Pointee, const char*>) {
          appendString(copy);
        } else if constexpr (std::is_pointer_v<Pointee>) {
          append("%p", reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(copy)));
        } else {
          print(copy);
        }
      }
    }
  }
}

}  // namespace vg::api
