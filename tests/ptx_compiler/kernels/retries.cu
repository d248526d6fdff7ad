// Loops that begin where the loop around them begins, so that both go back to the same place: lanes that try again and
// lanes that go on are then in different rounds of the outer one. The source of retries.ptx:
//   nvcc -arch=sm_90 -fmad=false -ptx -o retries.ptx retries.cu
#include <cstdint>

#include "kernel.h"

__device__ uint32_t next(uint32_t& state) {
  state = state * 1664525 + 1013904223;
  return state >> 8;
}

// Each lane draws until it likes the number, as many times as all others.
KERNEL drawn(ARGS) {
  uint32_t state = in[linear() % n], sum = 0, tries = 0;
  uint32_t* const mine = out + 8 * linear();
  int kept = 0;
  while (true) {
    const uint32_t x = next(state);
    ++tries;
    if (x % 3 != 0) continue;
    mine[kept % 5] = x;
    sum = sum * 31 + kept;
    if (++kept >= 11) break;
  }
  mine[5] = sum, mine[6] = tries, mine[7] = kept;
}

// The same where only some lanes come.
KERNEL drawnBySome(ARGS) {
  if (in[linear() % n] % 2 == 0) return;
  uint32_t state = in[linear() % n];
  uint32_t* const mine = out + 8 * linear();
  for (int kept = 0; kept < 8; ++kept) {
    uint32_t x;
    do {
      x = next(state);
    } while (x % 5 > 1);
    mine[kept] = x + kept;
  }
}

// Three loops that begin at the same place, each with a counter that all lanes have in step.
KERNEL drawnThrice(ARGS) {
  uint32_t state = in[linear() % n], tries = 0, sum = 0;
  uint32_t* const mine = out + 8 * linear();
  int outer = 0;
  while (true) {
    int inner = 0;
    while (true) {
      uint32_t x;
      do {
        x = next(state), ++tries;
      } while ((x & 3) == 0);
      sum = sum * 7 + (x & 15) + inner;
      if (++inner == 3) break;
      if ((x & 28) == 4) break;
    }
    if ((sum & 3) == 1 && tries < 200) continue;
    mine[outer % 4] = sum + outer;
    if (++outer >= 6) break;
  }
  mine[4] = tries, mine[5] = outer;
}

// What lanes share outside stays shared where all ways of a round meet before its end.
KERNEL skipped(ARGS) {
  uint32_t state = in[linear() % n], sum = 0;
  int round = 0;
#pragma unroll 1
  do {
    const uint32_t x = next(state);
    if (x % 4 == 0) continue;
    sum += in[round % n] ^ x;
  } while (++round < 20);
  out[8 * linear()] = sum, out[8 * linear() + 1] = round;
}
