// Which lanes are together, as __activemask tells, where lanes part and meet again: in loops that they leave after
// different rounds, behind conditions, in groups that a vote or a match makes, in switches and functions. What an H100
// answers is written here; the masks of compiled and of interpreted code are the same. Argument: print, for what they
// are.
#include "check.h"

__host__ __device__ unsigned mix(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

// Memory that is asked for keeps a compiler from making one instruction of both ways of a condition.
struct Lane {
  unsigned value;
  unsigned* record;
  unsigned recorded = 0;
  __device__ void note(unsigned word) { record[recorded++ * blockDim.x] = word; }
  __device__ void noteMask() { note(__activemask()); }
};
constexpr int kWords = 64;
using Body = void (*)(Lane&);

template <Body kBody>
__global__ void masks(const unsigned* values, unsigned* record) {
  Lane lane{values[blockIdx.x * blockDim.x + threadIdx.x], record + blockIdx.x * blockDim.x * kWords + threadIdx.x};
  kBody(lane);
}

// Each lane its own rounds.
__device__ void rounds(Lane& lane) {
#pragma unroll 1
  for (unsigned n = 0; n <= (lane.value & 7); ++n) lane.noteMask();
  lane.noteMask();
}
// Some lanes leave from the middle, others begin the next round early.
__device__ void breaks(Lane& lane) {
#pragma unroll 1
  for (unsigned n = 0; n < 8; ++n) {
    lane.noteMask();
    if ((lane.value >> n & 3) == 1) continue;
    lane.noteMask();
    if ((lane.value >> n & 15) == 2) break;
    lane.noteMask();
  }
  lane.noteMask();
}
__device__ void loopsInLoops(Lane& lane) {
#pragma unroll 1
  for (unsigned n = 0; n <= (lane.value & 3); ++n) {
#pragma unroll 1
    for (unsigned k = 0; k <= (lane.value >> (n + 2) & 3); ++k) lane.noteMask();
    lane.noteMask();
  }
}
__device__ void conditions(Lane& lane) {
#pragma unroll 1
  for (unsigned n = 0; n < 4; ++n) {
    if (lane.value >> n & 1) {
      lane.noteMask();
      if (lane.value >> (n + 4) & 1) lane.noteMask();
    } else {
      lane.noteMask();
    }
    lane.noteMask();
  }
}
// Groups of lanes vote, one after another perhaps, and are together again.
__device__ void groups(Lane& lane) {
#pragma unroll 1
  for (unsigned n = 0; n < 4; ++n) {
    if (lane.value >> n & 1) {
      const unsigned here = __activemask(), alike = __match_any_sync(here, lane.value >> 4 & 3);
      lane.note(here);
      lane.note(alike);
      lane.note(__ballot_sync(alike, lane.value >> 9 & 1));
      lane.noteMask();
    }
    lane.noteMask();
  }
}
__device__ void shuffles(Lane& lane) {
#pragma unroll 1
  for (unsigned n = 0; n <= (lane.value & 3); ++n) {
    const unsigned alike = __match_any_sync(__activemask(), lane.value >> (n + 3) & 1);
    lane.note(__shfl_sync(alike, lane.value, __ffs(alike) - 1));
    __syncwarp(alike);
    lane.noteMask();
  }
}
__device__ void cases(Lane& lane) {
#pragma unroll 1
  for (unsigned n = 0; n < 3; ++n) {
    switch (lane.value >> 2 * n & 3) {
      case 0:
        lane.noteMask();
        break;
      case 1:
        lane.note(n);
        lane.noteMask();
        break;
      case 2:
        lane.noteMask();
        lane.note(lane.value);
        break;
    }
    lane.noteMask();
  }
}
__device__ __noinline__ void calledByAll(Lane& lane) { lane.noteMask(); }
__device__ void functions(Lane& lane) {
#pragma unroll 1
  for (unsigned n = 0; n <= (lane.value & 3); ++n) {
    if (lane.value >> (n + 3) & 1) calledByAll(lane);
    lane.noteMask();
    calledByAll(lane);
  }
}
__device__ void someEnd(Lane& lane) {
  lane.noteMask();
  if (lane.value % 5 == 1) return;
  lane.noteMask();
#pragma unroll 1
  for (unsigned n = 0; n < 3; ++n) {
    if ((lane.value >> n & 7) == 3) return;
    lane.noteMask();
  }
}

constexpr int kBlocks = 3;
constexpr int kSizes[] = {64, 33, 128};

struct Case {
  const char* name;
  void (*kernel)(const unsigned*, unsigned*);
  unsigned answers[3];  // of an H100, by size
};
const Case kCases[] = {
    {"rounds", masks<rounds>, {0x817ae25f, 0x8c47f312, 0x0ccc4e2b}},
    {"breaks", masks<breaks>, {0xb39ddf68, 0x5ff4d15e, 0x0d466613}},
    {"loopsInLoops", masks<loopsInLoops>, {0xfad5de31, 0xc6e373af, 0x9c3cca85}},
    {"conditions", masks<conditions>, {0x23190ea5, 0x7abba64d, 0x1c1c8000}},
    {"groups", masks<groups>, {0xd3fb2d50, 0xcd8aedce, 0x6cca527f}},
    {"shuffles", masks<shuffles>, {0x24d17805, 0x69c5a9b3, 0x377af791}},
    {"cases", masks<cases>, {0x826789b0, 0x194897fe, 0x6116707a}},
    {"functions", masks<functions>, {0x4060b367, 0x1f39a3e7, 0x5e51ab53}},
    {"someEnd", masks<someEnd>, {0x60fc9a7e, 0x92976f9b, 0x911f40f8}},
};

int main(int argc, char** argv) {
  const bool prints = argc > 1 && !std::strcmp(argv[1], "print");
  for (const Case& c : kCases) {
    if (prints) std::printf("    {\"%s\", masks<%s>, {", c.name, c.name);
    for (int size = 0; size < 3; ++size) {
      const size_t threads = static_cast<size_t>(kBlocks) * kSizes[size];
      std::vector<unsigned> values;
      for (size_t n = 0; n < threads; ++n) values.push_back(mix(static_cast<unsigned>(n) * 77 + kSizes[size]));
      const DeviceArray<unsigned> in(values);
      DeviceArray<unsigned> record(threads * kWords);
      record.clear();
      c.kernel<<<kBlocks, kSizes[size]>>>(in, record);
      CHECK_LAUNCH();
      unsigned sum = 1;
      for (const unsigned word : record.host()) sum = (sum ^ word) * 16777619u;
      if (prints) std::printf("%s0x%08x", size ? ", " : "", sum);
      if (!prints && sum != c.answers[size]) {
        std::fprintf(stderr, "%s, blocks of %d: %08x, not %08x\n", c.name, kSizes[size], sum, c.answers[size]);
        return 1;
      }
    }
    if (prints) std::puts("}},");
  }
  return passed();
}
