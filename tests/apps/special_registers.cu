// Special registers, clocks, nanosleep and inline PTX as programs write it.
#include "check.h"

struct Seen {
  unsigned lane, warp, blockSize, gridSize, multiprocessor;
  long long elapsed;
  unsigned long long globalElapsed;
};

__global__ void look(Seen* out) {
  Seen seen;
  unsigned long long before, after;
  const long long start = clock64();
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
  asm("mov.u32 %0, %%laneid;" : "=r"(seen.lane));
  seen.warp = threadIdx.x / warpSize;
  asm("mov.u32 %0, %%ntid.x;" : "=r"(seen.blockSize));
  asm("mov.u32 %0, %%nctaid.x;" : "=r"(seen.gridSize));
  asm("mov.u32 %0, %%smid;" : "=r"(seen.multiprocessor));
  __nanosleep(200);
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
  seen.elapsed = clock64() - start;
  seen.globalElapsed = after - before;
  out[blockIdx.x * blockDim.x + threadIdx.x] = seen;
}

__global__ void inlineAssembly(const unsigned* in, unsigned* out) {
  const unsigned value = in[threadIdx.x];
  unsigned low, high, result;
  asm("{\n\t.reg .u64 wide;\n\tmul.wide.u32 wide, %2, 2654435769;\n\tmov.b64 {%0, %1}, wide;\n\t}"
      : "=r"(low), "=r"(high)
      : "r"(value));
  asm("add.cc.u32 %0, %1, %2;" : "=r"(result) : "r"(low), "r"(high));
  asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 1000; @p add.u32 %0, %0, 1; }" : "+r"(result) : "r"(value));
  asm("bfe.u32 %0, %0, 3, 20;" : "+r"(result));
  asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(low) : "r"(result), "r"(high));
  out[threadIdx.x] = low;
}

int main() {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  DeviceArray<Seen> out(3 * 70);
  look<<<3, 70>>>(out);
  CHECK_LAUNCH();
  const auto seen = out.host();
  for (int i = 0; i < 3 * 70; ++i) {
    EXPECT(seen[i].lane == unsigned(i % 70 % 32) && seen[i].blockSize == 70 && seen[i].gridSize == 3);
    EXPECT(seen[i].multiprocessor < unsigned(properties.multiProcessorCount));
    EXPECT(seen[i].elapsed > 0 && seen[i].globalElapsed < 1000000000ull);
  }

  const auto in = randomWords(96, 0, 45);
  std::vector<unsigned> expected;
  for (unsigned value : in) {
    const unsigned long long wide = value * 2654435769ull;
    const unsigned low = unsigned(wide), high = unsigned(wide >> 32);
    const unsigned result = (low + high + (value > 1000)) >> 3 & ((1 << 20) - 1);
    expected.push_back((result & 0xffff) | (high & 0xffff) << 16);
  }
  DeviceArray<unsigned> deviceIn(in), words(in.size());
  inlineAssembly<<<1, 96>>>(deviceIn, words);
  CHECK_LAUNCH();
  expectEqual(words.host(), expected, "inline assembly");
  return passed();
}
