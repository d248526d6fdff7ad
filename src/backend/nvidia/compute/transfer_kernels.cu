// Copies and fills inside video memory; scripts/gpu-kernels makes transfer_kernels.inc of them. A thread has one unit:
// 16 bytes of the destination from a multiple of 16 on, of which the first and the last of a row may hold less. The
// grid covers a row with its x; rows and slices that it does not cover come round again.
#include <cstdint>

namespace {

constexpr int kUnit = 16;
constexpr int kAtOnce = 4;                  // bytes of a unit that is not whole
constexpr int kThreads = 256, kBlocks = 8;  // all that a multiprocessor takes: so many loads are under way

// The part of a row that a unit holds, as offsets in the row.
struct Part {
  int64_t unit, first, end;
  __device__ Part(const char* row, uint64_t width, uint64_t number) {
    const auto head = static_cast<int64_t>(reinterpret_cast<uintptr_t>(row) % kUnit);
    unit = static_cast<int64_t>(number * kUnit) - head;
    first = max(unit, int64_t{0});
    end = min(unit + kUnit, static_cast<int64_t>(width));
  }
  __device__ bool whole() const { return end - first == kUnit; }
  __device__ bool holds(int byte) const { return unit + byte >= first && unit + byte < end; }
};

__device__ uint64_t unitOfThread() { return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

// 16 bytes from anywhere. Words that hold none of them are not touched.
__device__ uint4 load(const char* from) {
  const auto address = reinterpret_cast<uintptr_t>(from);
  if (address % kUnit == 0) return *reinterpret_cast<const uint4*>(from);
  const auto* const words = reinterpret_cast<const uint32_t*>(address & ~uintptr_t{3});
  const unsigned shift = address % 4 * 8;
  const uint32_t a = words[0], b = words[1], c = words[2], d = words[3], last = shift ? words[4] : 0;
  return {__funnelshift_r(a, b, shift), __funnelshift_r(b, c, shift), __funnelshift_r(c, d, shift),
          __funnelshift_r(d, last, shift)};
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    copyBox(char* to, const char* from, uint64_t toPitch, uint64_t fromPitch, uint64_t toSlice, uint64_t fromSlice,
            uint64_t width, uint32_t height, uint32_t depth) {
  for (uint32_t slice = blockIdx.z; slice < depth; slice += gridDim.z) {
    for (uint32_t row = blockIdx.y * blockDim.y + threadIdx.y; row < height; row += gridDim.y * blockDim.y) {
      char* const into = to + slice * toSlice + row * toPitch;
      const char* const outOf = from + slice * fromSlice + row * fromPitch;
      const Part part(into, width, unitOfThread());
      if (part.whole()) {
        *reinterpret_cast<uint4*>(into + part.unit) = load(outOf + part.unit);
        continue;
      }
      for (int at = 0; at < kUnit; at += kAtOnce) {
        char bytes[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i)
          if (part.holds(at + i)) bytes[i] = outOf[part.unit + at + i];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i)
          if (part.holds(at + i)) into[part.unit + at + i] = bytes[i];
      }
    }
  }
}

// One row, both sides of which begin at a unit. Nothing else is asked of a thread than its unit: while it computes
// where that is, memory has less to do. Plain loads and stores: with `.cs` nothing of 16 MiB stayed in the L2 cache of
// an H200, and copying it again took 8.5 us instead of 5.7.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    copyRow(char* to, const char* from, uint64_t units, uint32_t rest) {
  const uint64_t unit = unitOfThread();
  if (unit < units) {
    reinterpret_cast<uint4*>(to)[unit] = reinterpret_cast<const uint4*>(from)[unit];
  } else if (unit == units) {
#pragma unroll 1
    for (uint32_t i = 0; i < rest; ++i) to[units * kUnit + i] = from[units * kUnit + i];
  }
}

namespace {

// `word`: the pattern, repeated to four bytes. Requires: the row begins at a multiple of the pattern's size.
__device__ void fillPart(char* row, const Part& part, uint32_t word) {
  if (part.whole()) {
    *reinterpret_cast<uint4*>(row + part.unit) = make_uint4(word, word, word, word);
    return;
  }
#pragma unroll
  for (int i = 0; i < kUnit; ++i)
    if (part.holds(i)) row[part.unit + i] = static_cast<char>(word >> i % 4 * 8);
}

}  // namespace

// Stores alone leave a thread little to wait for: it has several units.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) fillRow(char* to, uint64_t width, uint32_t word) {
  constexpr int kUnits = 4;
  const uint64_t first = uint64_t{blockIdx.x} * kThreads * kUnits + threadIdx.x;
  const Part front(to, width, first), back(to, width, first + (kUnits - 1) * kThreads);
  if (front.whole() && back.whole()) {
    char* at = to + front.unit;
#pragma unroll
    for (int k = 0; k < kUnits; ++k)
      *reinterpret_cast<uint4*>(at + k * kThreads * kUnit) = make_uint4(word, word, word, word);
    return;
  }
  for (int k = 0; k < kUnits; ++k) fillPart(to, Part(to, width, first + k * kThreads), word);
}

// A block has `rowsOfThread` times its height of rows, one below the other.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    fillBox(char* to, uint64_t pitch, uint64_t width, uint32_t height, uint32_t word, uint32_t rowsOfThread) {
  const uint32_t rowsOfBlock = blockDim.y * rowsOfThread;
  for (uint32_t top = blockIdx.y * rowsOfBlock; top < height; top += gridDim.y * rowsOfBlock) {
    uint32_t row = top + threadIdx.y;
    const uint32_t end = min(top + rowsOfBlock, height);
    char* into = to + row * pitch;
    Part part(into, width, unitOfThread());
    for (; row < end; row += blockDim.y, into += blockDim.y * pitch) {
      if (pitch % kUnit) part = Part(into, width, unitOfThread());
      fillPart(into, part, word);
    }
  }
}
