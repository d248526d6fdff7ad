// What a thread of a kernel asks the host while it runs: one place of a ring in pinned memory, which both sides write.
// Also read by the compiler of device code (launch_functions.cu).
//
// A thread takes the next number of a request, waits until the place is free, fills it and writes the number, counted
// from 1, to `asked`. The host looks at the places in order, answers and writes the number to `answered`, together with
// the result, because each look of the thread takes as long as all else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::backend::nvidia {

inline constexpr uint32_t kRequestPlaces = 1024;
// In place of a function: could the update of a node be made that the first argument points to?
inline constexpr uint32_t kCheckUpdate = 0x10000;
inline constexpr int kArgumentWords = 12, kPointedWords = 20, kAnswerWords = 14;

struct alignas(512) KernelRequest {
  uint64_t asked;
  uint64_t grid;      // %gridid
  uint64_t block;     // linear, in the grid
  uint32_t thread;    // linear, in the block
  uint32_t function;  // ptx::DeviceCall, or kCheckUpdate
  uint64_t arguments[kArgumentWords];
  // What the host writes.
  uint64_t answered;  // answeredWord()
  uint64_t result;
  uint32_t answerWords;           // of the following
  uint32_t answer[kAnswerWords];  // to be written where the first argument points

  uint64_t pointed[kPointedWords];  // what an argument points to, where the function reads that
};
static_assert(sizeof(KernelRequest) == 512 && offsetof(KernelRequest, answered) == 128);

// The lower half of the number, and that of the result above it: all of it but for functions that answer with 64 bits.
constexpr uint64_t answeredWord(uint64_t number, uint64_t result) { return (number & 0xFFFFFFFF) | result << 32; }

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
#include "ptx/device_runtime.inc"
#undef VG_DEVICE_CALL
  return value ^ kRequestPlaces ^ sizeof(KernelRequest) << 16 ^ uint64_t { kParameterBuffers } << 32 ^
         sizeof(ParameterBuffer) << 48;
}

}  // namespace vg::backend::nvidia
