// Barriers of a block that the lanes of a warp come to in several groups: from two branches, with different barriers,
// with counts, arriving and waiting, combining predicates, when lanes have ended, and in loops that lanes leave after
// different rounds. What an H100 answers is written here (noted_cases.h): the barrier waits for all lanes of a warp
// that have not ended, wherever they come to it; the aligned forms want them at one instruction; lanes of one warp that
// name different barriers are an error; what else lanes of the warp wait for meanwhile never comes.
#include "noted_cases.h"

// The two forms of each instruction: of lanes that are together, and of any.
template <bool kAligned>
struct Form {
  static __device__ void sync(unsigned id) {
    if (kAligned)
      asm volatile("bar.sync %0;" ::"r"(id) : "memory");
    else
      asm volatile("barrier.sync %0;" ::"r"(id) : "memory");
  }
  static __device__ void sync(unsigned id, unsigned threads) {
    if (kAligned)
      asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
    else
      asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
  }
  static __device__ void arrive(unsigned id, unsigned threads) {
    if (kAligned)
      asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
    else
      asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
  }
  static __device__ unsigned count(unsigned id, unsigned threads, bool p) {
    unsigned result;
    if (kAligned)
      asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; bar.red.popc.u32 %0, %1, %2, p; }"
                   : "=r"(result)
                   : "r"(id), "r"(threads), "r"(unsigned(p))
                   : "memory");
    else
      asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; barrier.red.popc.u32 %0, %1, %2, p; }"
                   : "=r"(result)
                   : "r"(id), "r"(threads), "r"(unsigned(p))
                   : "memory");
    return result;
  }
  static __device__ unsigned all(unsigned id, unsigned threads, bool p) {
    unsigned result;
    if (kAligned)
      asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %3, 0; bar.red.and.pred q, %1, %2, p; selp.u32 %0, 1, 0, q; }"
                   : "=r"(result)
                   : "r"(id), "r"(threads), "r"(unsigned(p))
                   : "memory");
    else
      asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %3, 0; barrier.red.and.pred q, %1, %2, p; selp.u32 %0, 1, 0, q; }"
                   : "=r"(result)
                   : "r"(id), "r"(threads), "r"(unsigned(p))
                   : "memory");
    return result;
  }
  static __device__ unsigned any(unsigned id, unsigned threads, bool p) {
    unsigned result;
    if (kAligned)
      asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %3, 0; bar.red.or.pred q, %1, %2, p; selp.u32 %0, 1, 0, q; }"
                   : "=r"(result)
                   : "r"(id), "r"(threads), "r"(unsigned(p))
                   : "memory");
    else
      asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %3, 0; barrier.red.or.pred q, %1, %2, p; selp.u32 %0, 1, 0, q; }"
                   : "=r"(result)
                   : "r"(id), "r"(threads), "r"(unsigned(p))
                   : "memory");
    return result;
  }
};
using Any = Form<false>;
using Together = Form<true>;

// --- Arriving in groups
// ---------------------------------------------------------------------------------------------

template <class F>
__device__ void arriveHalves(Lane& l) {  // the barrier waits for both
  if (l.warp == 1) {
    F::sync(1, 64);
    l.see();
  } else if (l.lane < 16) {
    l.add();
    F::arrive(1, 64);
  } else {
    l.late();
    l.add();
    F::arrive(1, 64);
  }
}
template <class F>
__device__ void arriveHalvesSameLate(Lane& l) {  // one instruction that the halves come to at different times
  if (l.warp == 1) {
    F::sync(1, 64);
    l.see();
    return;
  }
#pragma unroll 1
  for (unsigned n = 0; n < 2; ++n) {
    if ((l.lane < 16) == (n == 0)) {
      if (n) l.late();
      l.add();
      F::arrive(1, 64);
    }
  }
}
template <class F>
__device__ void arriveQuarters(Lane& l) {
  if (l.warp == 2) {
    F::sync(1, 96);
    l.see();
    return;
  }
#pragma unroll 1
  for (unsigned n = 0; n < 4; ++n) {
    if (l.lane / 8 == n) {
      if (n) l.late();
      l.add();
      F::arrive(1, 96);
    }
  }
}
// Others of the warp end, or wait for the lanes that arrived.
template <class F>
__device__ void arriveOneOthersEnd(Lane& l) {
  if (l.warp == 1) {
    F::sync(1, 64);
    l.see();
  } else if (l.lane == 3) {
    l.add();
    F::arrive(1, 64);
  }
}
template <class F>
__device__ void arriveOneOthersWait(Lane& l) {
  if (l.warp == 1) {
    F::sync(1, 64);
    l.see();
  } else {
    if (l.lane == 3) {
      l.add();
      F::arrive(1, 64);
    }
    __syncwarp();
    l.add();
    l.see();
  }
}
template <class F>
__device__ void arriveOneOthersAreLate(Lane& l) {  // and then end without the barrier
  if (l.warp == 1) {
    F::sync(1, 64);
    l.see();
  } else if (l.lane == 3) {
    l.add();
    F::arrive(1, 64);
  } else {
    l.late();
    l.add();
  }
}
template <class F>
__device__ void arriveRounds(Lane& l) {  // a producer whose lanes come in two groups, round by round
#pragma unroll 1
  for (unsigned n = 0; n < 6; ++n) {
    if (l.warp == 0) {
      if ((l.lane + n) & 4) {
        l.add();
        F::arrive(1, 64);
      } else {
        __nanosleep(3000);
        l.add();
        F::arrive(1, 64);
      }
      F::sync(2, 64);
    } else {
      F::sync(1, 64);
      l.see();
      F::sync(2, 64);
    }
  }
}
template <class F>
__device__ void arriveDifferent(Lane& l) {  // each half at a barrier of its own
  if (l.warp == 0) {
    if (l.lane < 16) {
      l.add();
      F::arrive(1, 64);
    } else {
      l.late();
      l.add(1);
      F::arrive(2, 64);
    }
  } else {
    F::sync(1, 64);
    l.see();
    F::sync(2, 64);
    l.see(1);
  }
}
template <class F>
__device__ void arriveAndSync(Lane& l) {  // one half arrives, the other waits
  l.add();
  if (l.warp == 1) {
    F::sync(1, 64);
    l.see();
  } else if (l.lane < 16) {
    F::arrive(1, 64);
  } else {
    F::sync(1, 64);
    l.see();
  }
}
template <class F>
__device__ void syncAndLateArrive(Lane& l) {
  if (l.warp == 1) {
    l.add();
    F::sync(1, 64);
    l.see();
  } else if (l.lane < 16) {
    l.late();
    l.add();
    F::arrive(1, 64);
    l.see();
  } else {
    l.add();
    F::sync(1, 64);
    l.see();
  }
}
template <class F>
__device__ void arriveAndSyncThree(Lane& l) {
  l.add();
  if (l.warp) {
    F::sync(1, 96);
    l.see();
  } else if (l.lane & 1) {
    F::arrive(1, 96);
  } else {
    F::sync(1, 96);
    l.see();
  }
}
template <class F>
__device__ void arriveHalfEnded(Lane& l) {
  if (l.warp == 1) {
    F::sync(1, 64);
    l.see();
    return;
  }
  if (l.lane < 16) return;
  l.late();
  l.add();
  F::arrive(1, 64);
}

// --- One barrier from several places
// --------------------------------------------------------------------------------

template <class F>
__device__ void branches(Lane& l) {
  if (l.lane < 16) {
    l.add();
    F::sync(0);
    l.see();
  } else {
    l.late();
    l.add();
    F::sync(0);
    l.see();
    l.note(7);
  }
}
template <class F>
__device__ void branchesCounted(Lane& l) {
  if (l.lane % 3 == 1) {
    l.late();
    l.add();
    F::sync(5, 96);
    l.see();
  } else {
    l.add();
    F::sync(5, 96);
    l.see();
    l.note(7);
  }
}
template <class F>
__device__ void branchesOfOneWarp(Lane& l) {
  if (l.warp == 1) {
    l.add();
    F::sync(0);
    l.note(3);
    l.see();
  } else if (l.lane < 9) {
    l.add();
    F::sync(0);
    l.see();
  } else {
    l.late();
    l.add();
    F::sync(0);
    l.note(7);
    l.see();
  }
}
template <class F>
__device__ void branchesOfSwitch(Lane& l) {
  switch (l.lane & 3) {
    case 0:
      l.add();
      F::sync(3);
      l.note(1);
      l.see();
      break;
    case 1:
      l.add();
      F::sync(3);
      l.see();
      break;
    case 2:
      l.late();
      l.add();
      F::sync(3);
      l.see();
      l.note(2);
      break;
    case 3:
      l.add();
      l.note(9);
      F::sync(3);
      l.see();
      l.note(3);
      break;
  }
  F::sync(3);
  l.add();
  F::sync(3);
  l.see();
}
template <class F>
__device__ void branchesInLoop(Lane& l) {
#pragma unroll 1
  for (unsigned n = 0; n < 5; ++n) {
    l.add();
    if ((l.lane >> n & 1) != 0) {
      F::sync(0);
      l.see();
    } else {
      if (n & 1) __nanosleep(4000);
      F::sync(0);
      l.note(n);
      l.see();
    }
    F::sync(0);
  }
}
template <class F>
__device__ void branchAndBehind(Lane& l) {  // one half in a branch, the other behind it; then the other way round
  if (l.lane < 16) {
    l.add();
    F::sync(0);
    l.see();
  }
  l.late();
  l.add(1);
  F::sync(0);
  l.see();
  l.see(1);
  if (l.lane >= 16) {
    l.add(2);
    F::sync(0);
    l.see(2);
  }
}
template <class F>
__device__ void oneMoreOfOneWarp(Lane& l) {  // half a warp comes once more than the other, which has ended
  l.add();
  F::sync(0);
  l.see();
  if (l.warp == 0 && l.lane >= 16) return;
  l.add(1);
  F::sync(0);
  l.see(1);
}
template <class F>
__device__ void condition(Lane& l) {  // half of one warp goes round the barrier of all, and ends later
  l.add();
  if (l.warp || l.lane < 16) {
    F::sync(0);
    l.see();
  } else {
    l.late();
    l.add();
  }
}
template <class F>
__device__ __noinline__ void meetInside(Lane& l, unsigned number) {
  l.add();
  F::sync(number);
  l.see();
}
template <class F>
__device__ void function(Lane& l) {  // called from two branches, once more behind them
  if (l.lane & 1) {
    meetInside<F>(l, 0);
    l.note(1);
  } else {
    l.late();
    meetInside<F>(l, 0);
  }
  meetInside<F>(l, 0);
}
template <class F>
__device__ __noinline__ unsigned recursion(Lane& l, unsigned depth) {
  if (depth == 0) return 1;
  l.add();
  const unsigned below = recursion<F>(l, depth - 1);
  F::sync(0);
  l.see();
  l.add(1);
  F::sync(0);
  return below * 3 + *static_cast<volatile unsigned*>(l.box + 1);
}
template <class F>
__device__ void recursive(Lane& l) {
  const unsigned result = recursion<F>(l, 2 + (l.warp & 0));
  l.note(result);
}
template <class F>
__device__ void recursiveDepths(Lane& l) {  // lanes of different depths; the same number of barriers in all
  const unsigned depth = 1 + (l.lane & 1);
  l.note(recursion<F>(l, depth));
#pragma unroll 1
  for (unsigned n = depth; n < 2; ++n) {
    F::sync(0);
    F::sync(0);
  }
  l.see(1);
}

// --- Different barriers
// ---------------------------------------------------------------------------------------------

template <class F, int kFirst>
__device__ void different(Lane& l) {  // lanes of warp 0 at two barriers; warp 1 comes to both, in either order
  if (l.warp == 0) {
    if (l.lane < 16) {
      l.add();
      F::sync(1, 64);
      l.see(2);
    } else {
      l.late();
      l.add(1);
      F::sync(2, 64);
      l.see(3);
    }
  } else {
    l.add(1 + kFirst);
    F::sync(kFirst, 64);
    l.see(kFirst - 1);
    l.add(4 - kFirst);
    F::sync(3 - kFirst, 64);
    l.see(2 - kFirst);
  }
}
template <class F>
__device__ void differentThree(Lane& l) {  // a warp for each barrier
  if (l.warp == 0) {
    if (l.lane < 16) {
      l.add();
      F::sync(1, 64);
      l.see();
    } else {
      l.late();
      l.add(1);
      F::sync(2, 64);
      l.see(1);
    }
  } else if (l.warp == 1) {
    l.add();
    F::sync(1, 64);
    l.see();
  } else {
    l.add(1);
    F::sync(2, 64);
    l.see(1);
  }
}
template <class F>
__device__ void differentBoth(Lane& l) {  // both warps in halves
  if (l.lane < 16) {
    if (l.warp) l.late();
    l.add();
    F::sync(1, 64);
    l.see();
  } else {
    if (!l.warp) l.late();
    l.add(1);
    F::sync(2, 64);
    l.see(1);
  }
}
template <class F>
__device__ void differentNumber(Lane& l) {  // one instruction whose lanes name two barriers
  const unsigned number = 1 + (l.lane >> 4);
  if (l.warp && l.lane >= 16) l.late();
  l.add(number);
  F::sync(number, 64);
  l.see(number);
}
template <class F>
__device__ void differentOfAll(Lane& l) {  // without counts
  if (l.lane < 16) {
    l.add();
    F::sync(1);
    l.see();
  } else {
    l.late();
    l.add(1);
    F::sync(2);
    l.see(1);
  }
}
template <class F>
__device__ void differentOfOneWarp(Lane& l) {  // a block of one warp
  if (l.lane < 16) {
    l.add();
    F::sync(1, 32);
    l.see();
    l.see(1);
  } else {
    l.late();
    l.add(1);
    F::sync(2, 32);
    l.see();
    l.see(1);
  }
}
template <class F>
__device__ void differentThenSame(Lane& l) {  // groups of lanes hand work to each other by barriers
  if (l.warp == 0) {
    if (l.lane < 16) {
      F::sync(1, 64);
      l.see();
    } else {
      F::sync(2, 64);
      l.see(1);
    }
  } else {
    l.add();
    F::arrive(1, 64);
    l.late();
    l.add(1);
    F::arrive(2, 64);
  }
  F::sync(3, 64);
  l.note(5);
}

// --- Parts of warps
// -------------------------------------------------------------------------------------------------

template <class F>
__device__ void halfOf32(Lane& l) {  // half a warp, 32 threads wanted; the other half waits for it behind the branch
  if (l.lane < 16) {
    l.add();
    F::sync(1, 32);
    l.see();
  }
  __syncwarp();
  l.add(1);
  l.see();
}
template <class F>
__device__ void halvesOf32(Lane& l) {  // both, one after the other
  if (l.lane < 16) {
    l.add();
    F::sync(1, 32);
    l.see();
  } else {
    l.late();
    l.add();
    F::sync(1, 32);
    l.see();
    l.note(7);
  }
}
template <class F>
__device__ void halvesOfTwoWarps(Lane& l) {  // 64 threads wanted, 16 of each of two warps
  if (l.lane < 16) {
    if (l.warp) l.late();
    l.add();
    F::sync(1, 64);
    l.see();
  }
  __syncwarp();
  l.note(1);
}
template <class F>
__device__ void halvesOfTwoWarps32(Lane& l) {  // 32 threads wanted
  if (l.lane < 16) {
    if (l.warp) l.late();
    l.add();
    F::sync(1, 32);
    l.see();
  }
  __syncwarp();
  l.note(1);
}
template <class F>
__device__ void oneLaneOfTwoWarps(Lane& l) {
  if (l.lane == 5) {
    if (l.warp) l.late();
    l.add();
    F::sync(1, 64);
    l.see();
  }
  __syncwarp();
  l.note(1);
}
template <class F>
__device__ void oneLaneOthersEnd(Lane& l) {
  if (l.lane != 5) return;
  if (l.warp) l.late();
  l.add();
  F::sync(1, 64);
  l.see();
}
template <class F>
__device__ void halfOthersSpin(Lane& l) {  // the other half waits in a loop for what comes behind the barrier
  if (l.lane < 16) {
    l.add();
    F::sync(1, 64);
    l.add(1);
  } else {
    while (*static_cast<volatile unsigned*>(l.box + 1) != 32) __nanosleep(100);
  }
  l.see();
}
template <class F>
__device__ void odd48(Lane& l) {  // a block of 48 threads: the last warp is half
  if (l.warp) l.late();
  l.add();
  F::sync(1, 64);
  l.see();
}
template <class F>
__device__ void odd48Count(Lane& l) {  // a count that is no multiple of 32
  if (l.warp) l.late();
  l.add();
  F::sync(1, 48);
  l.see();
}

// --- Predicates
// -----------------------------------------------------------------------------------------------------

template <class F>
__device__ void countBranches(Lane& l) {
  if (l.lane < 16) {
    l.note(F::count(0, blockDim.x, l.lane & 1));
  } else {
    l.late();
    l.note(F::count(0, blockDim.x, l.lane % 4 == 0));
    l.note(7);
  }
}
template <class F>
__device__ void allBranches(Lane& l) {
  if (l.lane < 16) {
    l.note(F::all(0, blockDim.x, true));
  } else {
    l.late();
    l.note(F::all(0, blockDim.x, l.lane != 20));
    l.note(7);
  }
}
template <class F>
__device__ void anyBranches(Lane& l) {
  if (l.lane < 16) {
    l.note(F::any(0, blockDim.x, false));
  } else {
    l.late();
    l.note(F::any(0, blockDim.x, l.lane == 20));
    l.note(7);
  }
}
template <class F>
__device__ void countAndSync(Lane& l) {  // one half combines, the other waits only
  if (l.lane < 16) {
    l.note(F::count(1, 64, true));
  } else {
    F::sync(1, 64);
    l.note(100);
  }
}
template <class F>
__device__ void countAndArrive(Lane& l) {
  if (l.warp || l.lane < 16) {
    l.note(F::count(1, 64, true));
  } else {
    F::arrive(1, 64);
    l.note(100);
  }
}
template <class F>
__device__ void countAndAll(Lane& l) {  // different combinations
  if (l.lane < 16) {
    l.note(F::count(1, 64, true));
  } else {
    l.note(F::all(1, 64, l.lane != 20));
    l.note(7);
  }
}
template <class F>
__device__ void countEnded(Lane& l) {
  if (l.warp == 0 && l.lane >= 10) return;
  l.note(F::count(0, blockDim.x, true));
  l.note(F::all(0, blockDim.x, true));
  l.note(F::any(0, blockDim.x, l.lane > 10));
}
template <class F>
__device__ void countEndedWarp(Lane& l) {  // a whole warp has ended
  if (l.warp == 0) return;
  l.note(F::count(0, 64, true));
  l.note(F::all(0, 64, true));
}
template <class F>
__device__ void countHalf(Lane& l) {  // half a warp and a whole one; the others wait behind
  if (l.warp || l.lane < 16) l.note(F::count(1, 64, true));
  __syncwarp();
  l.note(3);
}
__device__ void countFunctions(Lane& l) {  // as CUDA has it
  if (l.lane < 16) {
    l.note(__syncthreads_count(l.lane < 3));
    l.note(__syncthreads_and(1));
    l.note(__syncthreads_or(0));
  } else {
    l.late();
    l.note(__syncthreads_count(l.lane == 30) + 1000);
    l.note(__syncthreads_and(l.lane != 31) + 1000);
    l.note(__syncthreads_or(l.lane == 31) + 1000);
  }
}

// --- Lanes that have ended
// ------------------------------------------------------------------------------------------

template <class F>
__device__ void halfEnded(Lane& l) {
  l.add(1);
  if (l.warp == 0 && l.lane >= 16) return;
  l.add();
  F::sync(0);
  l.see();
  l.see(1);
}
template <class F>
__device__ void halfEndsLate(Lane& l) {  // while the others wait already
  if (l.warp == 0 && l.lane >= 16) {
    l.late();
    l.add(1);
    return;
  }
  l.add();
  F::sync(0);
  l.see();
  l.see(1);
}
template <class F>
__device__ void halfEndsLateCounted(Lane& l) {
  if (l.warp == 0 && l.lane >= 16) {
    l.late();
    l.add(1);
    return;
  }
  l.add();
  F::sync(1, 64);
  l.see();
  l.see(1);
}
template <class F>
__device__ void warpEnds(Lane& l) {  // a warp that was counted on has ended
  if (l.warp == 2) return;
  l.add();
  F::sync(1, 96);
  l.see();
}
template <class F>
__device__ void warpEndsOfAll(Lane& l) {
  if (l.warp == 2) {
    l.late();
    l.add(1);
    return;
  }
  l.add();
  F::sync(1);
  l.see();
  l.see(1);
}
template <class F>
__device__ void oneLeft(Lane& l) {
  if (l.lane != 17 && l.warp != 1) return;
  l.add();
  F::sync(0);
  l.see();
  l.add(1);
  F::sync(0);
  l.see(1);
}
template <class F>
__device__ void lanesEndOneByOne(Lane& l) {
#pragma unroll 1
  for (unsigned n = 0; n < 6; ++n) {
    if ((l.lane & 7) == n) return;
    l.add(n);
    F::sync(0);
    l.see(n);
  }
}

// --- Loops that lanes leave
// -----------------------------------------------------------------------------------------

template <class F>
__device__ void roundsThenEnd(Lane& l) {
#pragma unroll 1
  for (unsigned n = 0; n <= (l.lane & 3); ++n) {
    l.add(n);
    F::sync(0);
    l.see(n);
  }
}
template <class F>
__device__ void roundsThenRest(Lane& l) {  // the rest behind the loop: as many for each lane
#pragma unroll 1
  for (unsigned n = 0; n <= (l.lane & 3); ++n) {
    l.add(n);
    F::sync(0);
    l.see(n);
  }
#pragma unroll 1
  for (unsigned n = (l.lane & 3) + 1; n < 4; ++n) {
    l.add(n);
    F::sync(0);
    l.note(n);
    l.see(n);
  }
}
template <class F>
__device__ void roundsThenMeet(Lane& l) {  // lanes that left wait for their warp
#pragma unroll 1
  for (unsigned n = 0; n <= (l.lane & 3); ++n) {
    l.add(n);
    F::sync(0);
    l.see(n);
  }
  __syncwarp();
  l.note(5);
}
template <class F>
__device__ void roundsThenBlock(Lane& l) {  // and for the block, at the same barrier
#pragma unroll 1
  for (unsigned n = 0; n <= (l.lane & 1); ++n) {
    l.add(n);
    F::sync(0);
    l.see(n);
  }
  l.add(5);
  F::sync(0);
  l.see(5);
}
template <class F>
__device__ void roundsThenOther(Lane& l) {  // at another one
#pragma unroll 1
  for (unsigned n = 0; n <= (l.lane & 1); ++n) {
    l.add(n);
    F::sync(0);
    l.see(n);
  }
  l.add(5);
  F::sync(1);
  l.see(5);
}
template <class F>
__device__ void roundsOfWarps(Lane& l) {  // whole warps leave
#pragma unroll 1
  for (unsigned n = 0; n <= l.warp; ++n) {
    l.add(n);
    F::sync(0);
    l.see(n);
  }
}
template <class F>
__device__ void roundsCounted(Lane& l) {
#pragma unroll 1
  for (unsigned n = 0; n <= (l.lane & 3); ++n) {
    l.add(n);
    F::sync(1, 64);
    l.see(n);
  }
}

// --- The table
// ------------------------------------------------------------------------------------------------------

// Never compared: what aligned barriers do for lanes that are apart. And countBranches, where an H100 gives the lanes
// of the first branch what was in the register of the result before; both should see 24 predicates that are true.
// Compared where kernels are interpreted only:
// - kernels that hang on a GPU because lanes of a warp wait for others that never come. Compiled code counts the warp.
// - function: a warp's lanes look at what others of it change with no barrier in between, which takes an order of them.
// - differentNumber: one instruction whose lanes name different barriers is no error.
// - functions that call themselves and have a barrier, which are not compiled.
constexpr Compared kAlways = Compared::Always, kInterpreted = Compared::Interpreted, kNever = Compared::Never;
#define BOTH(body, threads, any, anyCompared, together, togetherCompared)             \
  {#body, kernel<body<Any>>, threads, any, anyCompared}, {                            \
#body ".aligned", kernel < body < Together>>, threads, together, togetherCompared \
  }
const Case kCases[] = {
    BOTH(arriveHalves, 64, "32-63:32", kAlways, "hang", kInterpreted),
    BOTH(arriveHalvesSameLate, 64, "32-63:32", kAlways, "32-63:32", kAlways),
    BOTH(arriveQuarters, 96, "64-95:64", kAlways, "64-95:64", kAlways),
    BOTH(arriveOneOthersEnd, 64, "32-63:1", kAlways, "32-63:1", kAlways),
    BOTH(arriveOneOthersWait, 64, "hang", kInterpreted, "hang", kInterpreted),
    BOTH(arriveOneOthersAreLate, 64, "32-63:32", kAlways, "32-63:32", kAlways),
    BOTH(arriveRounds, 64, "sum 0a17e220", kAlways, "hang", kInterpreted),
    BOTH(arriveDifferent, 64, "cudaErrorIllegalInstruction", kAlways, "hang", kInterpreted),
    BOTH(arriveAndSync, 64, "hang", kAlways, "hang", kInterpreted),
    BOTH(syncAndLateArrive, 64, "hang", kAlways, "hang", kInterpreted),
    BOTH(arriveAndSyncThree, 96, "hang", kAlways, "hang", kAlways),
    BOTH(arriveHalfEnded, 64, "32-63:16", kAlways, "32-63:16", kAlways),
    BOTH(branches, 64, "0-63:64; 16-31:7 48-63:7", kAlways, "hang", kInterpreted),
    {"branches.warp", kernel<branches<Any>>, 32, "0-31:32; 16-31:7"},
    {"branches.48", kernel<branches<Any>>, 48, "0-47:48; 16-31:7"},
    BOTH(branchesCounted, 96, "sum a4e594bf", kAlways, "hang", kInterpreted),
    BOTH(branchesOfOneWarp, 64, "0-8:64 9-31:7 32-63:3; 9-63:64", kAlways, "hang", kInterpreted),
    BOTH(branchesOfSwitch, 96, "sum 48826486", kAlways, "hang", kInterpreted),
    BOTH(branchesInLoop, 64, "sum b2ec6ea6", kAlways, "hang", kInterpreted),
    BOTH(branchAndBehind, 64, "0-63:32; 0-63:32; 0-15:64 16-31:32 32-47:64 48-63:32", kAlways, "hang", kInterpreted),
    BOTH(oneMoreOfOneWarp, 64, "0-63:64; 0-15:48 32-63:48", kAlways, "0-63:64; 0-15:48 32-63:48", kAlways),
    BOTH(condition, 64, "0-15:80 32-63:80", kAlways, "0-15:64 32-63:64", kNever),
    BOTH(function, 64, "sum 1f4ee0c9", kInterpreted, "sum 1f4ee0c9", kInterpreted),
    BOTH(recursive, 64, "0-63:128; 0-63:128; 0-63:329", kInterpreted, "0-63:128; 0-63:128; 0-63:329", kInterpreted),
    BOTH(recursiveDepths, 64, "sum ad5577f7", kInterpreted, "hang", kInterpreted),
    {"different.1", kernel<different<Any, 1>>, 64, "cudaErrorIllegalInstruction"},
    {"different.1.aligned", kernel<different<Together, 1>>, 64, "hang"},
    {"different.2", kernel<different<Any, 2>>, 64, "cudaErrorIllegalInstruction"},
    {"different.2.aligned", kernel<different<Together, 2>>, 64, "hang", kInterpreted},
    BOTH(differentThree, 96, "cudaErrorIllegalInstruction", kAlways, "hang", kInterpreted),
    BOTH(differentBoth, 64, "cudaErrorIllegalInstruction", kAlways, "hang", kInterpreted),
    BOTH(differentNumber, 64, "cudaErrorIllegalInstruction", kInterpreted, "cudaErrorIllegalInstruction", kInterpreted),
    BOTH(differentOfAll, 64, "cudaErrorIllegalInstruction", kAlways, "hang", kInterpreted),
    BOTH(differentOfOneWarp, 32, "cudaErrorIllegalInstruction", kAlways, "hang", kInterpreted),
    BOTH(differentThenSame, 64, "cudaErrorIllegalInstruction", kAlways, "hang", kInterpreted),
    BOTH(halfOf32, 32, "hang", kInterpreted, "hang", kInterpreted),
    BOTH(halvesOf32, 32, "0-31:32; 16-31:7", kAlways, "hang", kInterpreted),
    BOTH(halvesOfTwoWarps, 64, "hang", kInterpreted, "hang", kInterpreted),
    BOTH(halvesOfTwoWarps32, 64, "hang", kInterpreted, "hang", kInterpreted),
    BOTH(oneLaneOfTwoWarps, 64, "hang", kInterpreted, "hang", kInterpreted),
    BOTH(oneLaneOthersEnd, 64, "5-5:2 37-37:2", kAlways, "5-5:2 37-37:2", kAlways),
    BOTH(halfOthersSpin, 64, "hang", kAlways, "hang", kAlways),
    BOTH(odd48, 48, "0-47:48", kAlways, "0-47:48", kAlways),
    BOTH(odd48Count, 48, "cudaErrorIllegalInstruction", kAlways, "cudaErrorIllegalInstruction", kAlways),
    BOTH(countBranches, 64, "0-15:64 16-31:24 32-47:64 48-63:24; 16-31:7 48-63:7", kNever, "hang", kNever),
    BOTH(allBranches, 64, "0-63:0; 16-31:7 48-63:7", kAlways, "hang", kNever),
    BOTH(anyBranches, 64, "0-63:1; 16-31:7 48-63:7", kAlways, "hang", kNever),
    BOTH(countAndSync, 64, "hang", kAlways, "0-15:32 16-31:100 32-47:32 48-63:100", kAlways),
    BOTH(countAndArrive, 64, "hang", kAlways, "0-15:48 16-31:100 32-63:48", kAlways),
    BOTH(countAndAll, 64, "hang", kAlways, "hang", kNever),
    BOTH(countEnded, 64, "0-9:42 32-63:42; 0-9:1 32-63:1; 0-9:1 32-63:1", kAlways,
         "0-9:42 32-63:42; 0-9:1 32-63:1; 0-9:1 32-63:1", kAlways),
    BOTH(countEndedWarp, 96, "32-95:64; 32-95:1", kAlways, "32-95:64; 32-95:1", kAlways),
    BOTH(countHalf, 64, "hang", kInterpreted, "0-15:48 16-31:3 32-63:48; 0-15:3 32-63:3", kAlways),
    {"countFunctions", kernel<countFunctions>, 64, "hang", kNever},
    BOTH(halfEnded, 64, "0-15:48 32-63:48; 0-15:64 32-63:64", kAlways, "0-15:48 32-63:48; 0-15:64 32-63:64", kAlways),
    BOTH(halfEndsLate, 64, "0-15:48 32-63:48; 0-15:16 32-63:16", kAlways, "0-15:48 32-63:48; 0-15:16 32-63:16",
         kAlways),
    BOTH(halfEndsLateCounted, 64, "0-15:48 32-63:48; 0-15:16 32-63:16", kAlways, "0-15:48 32-63:48; 0-15:16 32-63:16",
         kAlways),
    BOTH(warpEnds, 96, "hang", kAlways, "hang", kAlways),
    BOTH(warpEndsOfAll, 96, "0-63:64; 0-63:32", kAlways, "0-63:64; 0-63:32", kAlways),
    BOTH(oneLeft, 64, "17-17:33 32-63:33; 17-17:33 32-63:33", kAlways, "17-17:33 32-63:33; 17-17:33 32-63:33", kAlways),
    BOTH(lanesEndOneByOne, 64, "sum 8ad62d15", kAlways, "sum 8ad62d15", kAlways),
    BOTH(roundsThenEnd, 64, "sum edbb3033", kAlways, "sum edbb3033", kAlways),
    BOTH(roundsThenRest, 64, "sum 3543ce7b", kAlways, "hang", kInterpreted),
    BOTH(roundsThenMeet, 64, "hang", kInterpreted, "hang", kInterpreted),
    {"roundsThenBlock.aligned", kernel<roundsThenBlock<Together>>, 64, "hang", kInterpreted},
    BOTH(roundsThenOther, 64, "cudaErrorIllegalInstruction", kAlways, "hang", kInterpreted),
    BOTH(roundsOfWarps, 96, "0-95:96; 32-95:64; 64-95:32", kAlways, "0-95:96; 32-95:64; 64-95:32", kAlways),
    BOTH(roundsCounted, 64, "sum edbb3033", kAlways, "sum edbb3033", kAlways),
};

int main(int argc, char** argv) { return runCases(kCases, argc, argv); }
