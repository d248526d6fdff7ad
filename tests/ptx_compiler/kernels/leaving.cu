// Loops that lanes leave one after the other and take values out of: by what each lane says, with a count of all lanes
// that must hold too or that is enough, either way round, alone and in a loop around. The source of leaving.ptx:
//   nvcc -arch=sm_90 -fmad=false -ptx -o leaving.ptx leaving.cu
#include <cstdint>

#include "kernel.h"

__device__ uint32_t mixed(uint32_t x) {
  x ^= x >> 15, x *= 0x2c1b3c6d, x ^= x >> 12, x *= 0x297a2d39;
  return x ^ (x >> 15);
}
__device__ void give(uint32_t* out, uint32_t a, uint32_t b, float c) {
  uint32_t* const mine = out + 8 * linear();
  mine[0] = a, mine[1] = b, mine[2] = __float_as_uint(c);
}

// Goes on while both hold.
KERNEL whileBoth(ARGS) {
  const uint32_t most = in[0] % 40 + 1;
  uint32_t x = in[linear() % n], round = 0;
  float sum = 0;
#pragma unroll 1
  do {
    x = mixed(x), sum = sum * 0.5f + static_cast<float>(x >> 20), ++round;
  } while (round < most && x % 16 != 0);
  give(out, round, x, sum);
}

// Goes on while either holds.
KERNEL whileEither(ARGS) {
  const uint32_t least = in[0] % 20;
  uint32_t x = in[linear() % n], round = 0;
  float sum = 0;
#pragma unroll 1
  do {
    x = mixed(x), sum = sum * 0.5f + static_cast<float>(x >> 20), ++round;
  } while (round < least || x % 8 != 0);
  give(out, round, x, sum);
}

// Ends once either holds, in a loop of which only some lanes come here.
KERNEL untilEither(ARGS) {
  uint32_t x = in[linear() % n], rounds = 0;
  float sum = 0;
#pragma unroll 1
  for (uint32_t turn = 0; turn < 4; ++turn) {
    if ((mixed(x) >> turn) % 3 == 0) continue;
    uint32_t round = 0;
#pragma unroll 1
    for (;;) {
      x = mixed(x + turn), sum = sum * 0.25f + static_cast<float>(x >> 24), ++round;
      if (round >= 9 + turn || x % 5 == 0) break;
    }
    rounds = rounds * 16 + round;
  }
  give(out, rounds, x, sum);
}

// Each lane for itself, the loop around included, which takes its next value from the inner one.
KERNEL untilAlone(ARGS) {
  uint32_t x = in[linear() % n], rounds = 0, before = 0;
#pragma unroll 1
  do {
    uint32_t y = x;
#pragma unroll 1
    do {
      before = y, y = mixed(y ^ rounds), rounds += 3;
    } while (y % 11 != 0 && (y >> 8) % 7 != 0);
    x = y;
  } while ((x >> 16) % 4 != 0);
  give(out, rounds, before, static_cast<float>(x >> 8));
}

// Rounds of a few instructions.
KERNEL shortRounds(ARGS) {
  uint32_t x = in[linear() % n] % 5000 + 1, round = 0;
#pragma unroll 1
  for (; x != 1 && round < 200; ++round) x = x % 2 ? 3 * x + 1 : x / 2;
  give(out, round, x, 0);
}
