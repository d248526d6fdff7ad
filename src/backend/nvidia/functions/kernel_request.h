// What a thread of a kernel asks the host while it runs: one place of a ring in pinned memory, which both sides write.
// Also read by the compiler of device code (launch_functions.cu).
//
// A thread takes the next number of a request, counted from 1, waits until the place is free and writes what it asks,
// 32 bits at a time, each with the number: so the host knows which of them have come, and the thread need not wait for
// one to arrive before it writes the next. The host looks at the places in order, answers, and writes number and result
// to a word of video memory, where each look of the thread is quick.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::backend::nvidia {

inline constexpr uint32_t kRequestPlaces = 1024;
// In place of a function: could the update of a node be made that the first argument points to?
inline constexpr uint32_t kCheckUpdate = 0x10000;
inline constexpr int kArgumentWords = 24, kPointedWords = 20, kAnswerWords = 14;

// The order of what is asked. The arguments lie as C would lay them out.
enum RequestWord { kFunction, kThread, kGrid, kBlock = kGrid + 2, kArguments = kBlock + 2 };
struct alignas(512) KernelRequest {
  uint64_t asked[kArguments + kArgumentWords];  // numberedWord()
  // What the host writes.
  uint64_t result;
  uint32_t answerWords;           // of the following
  uint32_t answer[kAnswerWords];  // to be written where the first argument points

  uint64_t pointed[kPointedWords];  // what an argument points to, where the function reads that
};
static_assert(sizeof(KernelRequest) == 512);

// The lower half of the number, and that of the value above it. For an answer's word that is all of the result, but for
// functions that answer with 64 bits.
constexpr uint64_t numberedWord(uint64_t number, uint64_t value) { return (number & 0xFFFFFFFF) | value << 32; }

// kFunction: a ptx::DeviceCall or kCheckUpdate, and how many words of arguments there are.
constexpr uint32_t functionWord(uint32_t function, uint32_t arguments) { return function | arguments << 24; }
constexpr uint32_t functionOf(uint32_t word) { return word & 0xFFFFFF; }
constexpr uint32_t argumentsOf(uint32_t word) { return word >> 24; }

// Parameters of launches, in pinned memory too. Threads take them by themselves; the host copies what it needs before
// it answers the launch.
inline constexpr uint32_t kParameterBuffers = 1024;
struct alignas(256) ParameterBuffer {
  std::byte bytes[4096];
};

// What both sides must agree on: made of the functions in their order, and of what is above.
constexpr uint64_t requestsFingerprint() {
  uint64_t value = 0xCBF29CE484222325;
  const auto add = [&value](const char* text) {
    for (; *text; ++text) value = (value ^ static_cast<unsigned char>(*text)) * 0x100000001B3;
    value *= 0x100000001B3;
  };
#define VG_DEVICE_CALL(name, ...) add(#name " " #__VA_ARGS__);
#include "ptx/abi/device_runtime.inc"
#undef VG_DEVICE_CALL
  add("numbered words");
  return value ^ kRequestPlaces ^ sizeof(KernelRequest) << 16 ^ uint64_t { kParameterBuffers } << 32 ^
         sizeof(ParameterBuffer) << 48;
}

}  // namespace vg::backend::nvidia
