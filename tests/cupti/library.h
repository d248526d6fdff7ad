// The functions of libcupti.so.13 as a profiler finds them, and a small program of the driver API to profile.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "cupti/cupti.h"
#include "cupti/records/records.h"

namespace vg::cupti::test {

using Handle = void*;

inline void* library() {
  static void* const opened = dlopen("libcupti.so.13", RTLD_NOW);
  return opened;
}

template <class... Args>
CUptiResult cupti(const char* name, Args... args) {
  const auto function = reinterpret_cast<CUptiResult (*)(Args...)>(library() ? dlsym(library(), name) : nullptr);
  return function ? function(args...) : CUPTI_ERROR_UNKNOWN;
}

// What a profiler does with its buffers: it keeps copies of the records.
struct Kept {
  std::mutex mutex;
  std::vector<std::vector<uint8_t>> buffers;
  size_t bufferBytes = 1 << 16;
  unsigned requests = 0, completions = 0;
};
// Never destroyed: a program looks at its records while it exits.
inline Kept& kept() {
  static Kept& all = *new Kept;
  return all;
}

inline void requestBuffer(uint8_t** buffer, size_t* size, size_t* most) {
  const std::lock_guard lock(kept().mutex);
  *size = kept().bufferBytes;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
  *most = 0;
  ++kept().requests;
}
inline void completeBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  const std::lock_guard lock(kept().mutex);
  kept().buffers.emplace_back(buffer, buffer + valid);
  std::free(buffer);
  ++kept().completions;
}

// Visits what has come since the last time, in order.
template <class Visit>
void eachRecord(Visit visit) {
  cupti("cuptiActivityFlushAll", uint32_t{0});
  std::vector<std::vector<uint8_t>> buffers;
  {
    const std::lock_guard lock(kept().mutex);
    buffers.swap(kept().buffers);
  }
  for (auto& buffer : buffers) {
    CUpti_Activity* record = nullptr;
    while (cupti("cuptiActivityGetNextRecord", buffer.data(), buffer.size(), &record) == CUPTI_SUCCESS) visit(record);
  }
}

template <class Record>
std::vector<Record> recordsOf(CUpti_ActivityKind kind) {
  std::vector<Record> found;
  eachRecord([&](const CUpti_Activity* record) {
    if (record->kind == kind) found.push_back(*reinterpret_cast<const Record*>(record));
  });
  return found;
}

inline constexpr const char* kPtx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry addOne(.param .u64 at, .param .u32 count)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [at];
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 ret;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r3, [%rd3];
  add.u32 %r4, %r3, 1;
  st.global.u32 [%rd3], %r4;
  ret;
}
)";

}  // namespace vg::cupti::test
