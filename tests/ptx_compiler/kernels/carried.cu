// Loops that carry values from round to round only to combine them: squares of an orbit, with one latch and with
// several, in a loop and after one that leaves in the middle, and some that are needed besides. The source of
// carried.ptx:
//   nvcc -arch=sm_90 -fmad=false -ptx -o carried.ptx carried.cu
#include <cstdint>

#include "kernel.h"

__device__ float from(uint32_t word) { return static_cast<float>(static_cast<int>(word % 4001) - 2000) / 1000; }
__device__ void give(uint32_t* out, uint32_t number, float x, float y) {
  uint32_t* const mine = out + 8 * linear();
  mine[0] = number, mine[1] = __float_as_uint(x), mine[2] = __float_as_uint(y);
}

KERNEL orbit(ARGS) {
  const float cx = from(in[linear() % n]), cy = from(in[(linear() * 7 + 3) % n]);
  float x = 0, y = 0, xx = 0, yy = 0;
  uint32_t i = 0;
  for (; i < 60 && xx + yy <= 4; ++i) {
    y = 2 * x * y + cy, x = xx - yy + cx;
    xx = x * x, yy = y * y;
  }
  give(out, i, x, y);
}

// The squares are needed after the loop.
KERNEL orbitThatIsKept(ARGS) {
  const float cx = from(in[linear() % n]), cy = from(in[(linear() * 5 + 1) % n]);
  float x = 0, y = 0, xx = 0, yy = 0;
  uint32_t i = 0;
  for (; i < 60; ++i) {
    y = 2 * x * y + cy, x = xx - yy + cx;
    if (x > 3) break;
    xx = x * x, yy = y * y;
    if (xx + yy > 4) break;
  }
  give(out, i, xx, yy);
}

// Several ways back to the head, one of them past half of the body.
KERNEL orbitWithLatches(ARGS) {
  const float cx = from(in[linear() % n]), cy = from(in[(linear() * 3 + 2) % n]);
  float x = cx, y = cy, xx = cx * cx, yy = cy * cy;
  uint32_t i = linear() % 3, round = 0;
  while (round < 80) {
    const float difference = xx - yy;
    ++round;
    if ((in[(linear() + round) % n] & 3) == 0) {
      xx = difference * 0.5f, yy = x;
      continue;
    }
    y = 2 * x * y + cy, x = difference + cx;
    if (x * x + y * y > 9) {
      if ((i += 5) > 40) break;
      x = cx, y = cy;
      xx = x, yy = y;
      continue;
    }
    xx = x * x, yy = y * y;
    ++i;
  }
  give(out, i, x, y);
}

// A loop in a loop, and the smaller and the sum of doubles.
KERNEL rowsOfOrbits(ARGS) {
  uint32_t total = 0;
  double low = 1e9, a = 1, b = 2;
  for (uint32_t row = 0; row < 1 + linear() % 4; ++row) {
    const float cx = from(in[(linear() + row) % n]), cy = from(in[(linear() * 3 + row) % n]);
    float x = 0, y = 0, xx = 0, yy = 0;
    for (uint32_t i = 0; i < 30; ++i, ++total) {
      y = 2 * x * y + cy, x = xx - yy + cx;
      xx = x * x, yy = y * y;
      if (xx + yy > 4) break;
    }
    low = fmin(low, a + b);
    a = x * 0.25 + row, b = fmin(b, double(y)) + a;
  }
  give(out, total, static_cast<float>(low), static_cast<float>(a - b));
}

// One thread alone, whose loop is uniform.
KERNEL uniformOrbit(ARGS) {
  const float cx = from(n), cy = from(n * 3);
  float x = 0, y = 0, xx = 0, yy = 0;
  uint32_t i = 0;
  for (; i < 50 && xx + yy <= 4; ++i) {
    y = 2 * x * y + cy, x = xx - yy + cx;
    xx = x * x, yy = y * y;
  }
  give(out, i, x, y);
}
