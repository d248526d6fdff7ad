// The bits of NaNs that arithmetic makes and that shuffles hand on, where a program looks at them: stored, as integers,
// in votes. One lane has a NaN, or none.
#include "check.h"

constexpr unsigned kAll = ~0u, kNaN = 0x7fffffff;
constexpr int kLanes = 32;

struct Seen {
  unsigned own, lower, sum, as_integer, alike;
};

__global__ void look(const float* in, Seen* seen) {
  const int lane = threadIdx.x;
  const float x = in[lane] - in[lane];  // an infinity makes a NaN
  float sum = x;
  for (int distance = kLanes / 2; distance; distance /= 2) sum += __shfl_xor_sync(kAll, sum, distance);
  const int bits = __shfl_sync(kAll, __float_as_int(x), (lane + 5) % kLanes);
  seen[lane] = {__float_as_uint(x * 3), __float_as_uint(__shfl_down_sync(kAll, x, 3)), __float_as_uint(sum),
                static_cast<unsigned>(bits) + 1, __match_any_sync(kAll, bits)};
}

static void expect(const Seen* seen, int which) {
  const auto bits = [&](int lane) { return lane == which ? kNaN : 0; };
  for (int lane = 0; lane < kLanes; ++lane) {
    const unsigned moved = bits((lane + 5) % kLanes);
    unsigned alike = 0;
    for (int other = 0; other < kLanes; ++other) alike |= unsigned{bits((other + 5) % kLanes) == moved} << other;
    EXPECT(seen[lane].own == bits(lane));
    EXPECT(seen[lane].lower == bits(lane + 3 < kLanes ? lane + 3 : lane));
    EXPECT(seen[lane].sum == (which < 0 ? 0 : kNaN));
    EXPECT(seen[lane].as_integer == moved + 1);
    EXPECT(seen[lane].alike == alike);
  }
}

int main() {
  float* in;
  Seen* seen;
  CHECK(cudaMallocManaged(&in, kLanes * sizeof *in));
  CHECK(cudaMallocManaged(&seen, kLanes * sizeof *seen));
  for (int which = -1; which < kLanes; ++which) {
    for (int lane = 0; lane < kLanes; ++lane) in[lane] = lane == which ? INFINITY : lane;
    look<<<1, kLanes>>>(in, seen);
    CHECK_LAUNCH();
    expect(seen, which);
  }
  return passed();
}
