// Tells whoever records what a program does (activity/recorder.h) of calls of the API. Arguments are kept as they were
// passed, not what pointers point to, and are written as text on the recorder's thread: a call costs two looks at the
// clock and a copy of some words.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "activity/json.h"
#include "activity/recorder.h"
#include "api/entry/enum_names.h"

namespace vg::api {

// Whether an argument says something by itself: numbers, handles (pointers to what no header defines) and addresses of
// untyped memory. Pointers to arguments and results do not, and structures are not kept.
template <class T, class = void>
inline constexpr bool kComplete = false;
template <class T>
inline constexpr bool kComplete<T, std::void_t<decltype(sizeof(T))>> = true;
template <class T>
inline constexpr bool kKept =
    std::is_pointer_v<T> ? std::is_void_v<std::remove_pointer_t<T>> || !kComplete<std::remove_pointer_t<T>>
                         : std::is_scalar_v<T>;

template <class T>
uint64_t rawArgument(const T& value) {
  uint64_t raw = 0;
  if constexpr (std::is_integral_v<T>) {
    raw = static_cast<uint64_t>(value);
  } else if constexpr (kKept<T>) {
    static_assert(sizeof(T) <= sizeof raw);
    std::memcpy(&raw, &value, sizeof value);
  }
  return raw;
}

template <class T>
void writeArgument(std::string& out, uint64_t raw) {
  if constexpr (std::is_enum_v<T>) {
    const auto value = static_cast<T>(static_cast<std::underlying_type_t<T>>(raw));
    if (const char* const name = enumName(value))
      activity::appendJsonText(out, name);
    else
      activity::appendNumber(out, static_cast<int64_t>(static_cast<int32_t>(raw)));
  } else if constexpr (std::is_floating_point_v<T>) {
    T value;
    std::memcpy(&value, &raw, sizeof value);
    activity::appendReal(out, static_cast<double>(value));
  } else if constexpr (std::is_pointer_v<T>) {
    activity::appendAddress(out, raw);
  } else if constexpr (std::is_signed_v<T>) {
    activity::appendNumber(out, static_cast<int64_t>(raw));
  } else if (raw >= uint64_t{1} << 40) {  // mostly an address; larger numbers would lose digits in a viewer
    activity::appendAddress(out, raw);
  } else {
    activity::appendNumber(out, raw);
  }
}

// Of a call with arguments of these types: activity::WriteArgument.
template <class... Args>
bool writeArgumentOf([[maybe_unused]] unsigned index, [[maybe_unused]] std::string& out,
                     [[maybe_unused]] uint64_t raw) {
  [[maybe_unused]] unsigned at = 0;
  bool written = false;
  [[maybe_unused]] const auto writeIfKept = [&]<class T>(T*) {
    if constexpr (kKept<T>) {
      writeArgument<T>(out, raw);
      written = true;
    }
  };
  ((at++ == index ? writeIfKept(static_cast<Args*>(nullptr)) : void()), ...);
  return written;
}

// The name of what a call answered; null: a number without one.
const char* nameOfResult(int result);

// `call` is the one that the thread is in. Out of line, what is the same for all.
void tellCall(activity::Call& call, const activity::InsideCall& inside, CUresult result);

template <class... Args>
void recordCall(activity::DescribeCall describe, const activity::InsideCall& inside, CUresult result,
                const Args&... args) {
  activity::Call call;
  call.describe = describe;
  unsigned i = 0;
  ((i < activity::Call::kMostArguments ? void(call.arguments[i++] = rawArgument(args)) : void()), ...);
  call.count = static_cast<uint16_t>(i);
  tellCall(call, inside, result);
}

}  // namespace vg::api
