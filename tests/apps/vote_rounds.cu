// Votes, shuffles, matches, sums and barriers of a warp that lanes come to by different instructions with one mask: in
// loops that each lane leaves after rounds of its own, whose mask shrinks and which compilers unroll, so that some
// lanes are in the unrolled loop while others are in the one for the last rounds; alone, in two branches, and through
// a pointer. And such that lanes of one branch come to, while the others go round them to the next one. What an H200
// answers is written here (noted_cases.h): operations of one kind and mask are one, wherever the lanes are.
#include <cooperative_groups.h>

#include "noted_cases.h"

namespace cg = cooperative_groups;

// The same loop as the compiler likes it, never unrolled, and unrolled.
#define ROUNDS(kUnrolling, ...)                                \
  if constexpr (kUnrolling == 0) {                             \
    for (unsigned k = 0;; ++k) __VA_ARGS__                     \
  } else if constexpr (kUnrolling == 1) {                      \
    _Pragma("unroll 1") for (unsigned k = 0;; ++k) __VA_ARGS__ \
  } else {                                                     \
    _Pragma("unroll 4") for (unsigned k = 0;; ++k) __VA_ARGS__ \
  }

// Each: what a lane that stays for `n` rounds sees of lanes of `mask`.
using Rounds = unsigned (*)(unsigned mask, unsigned n);

template <int kUnrolling>
__noinline__ __device__ unsigned ballots(unsigned mask, unsigned n) {
  unsigned sum = 0;
  ROUNDS(kUnrolling, {
    mask = __ballot_sync(mask, k < n);
    sum = sum * 33 + __popc(mask);
    if (k >= n) return sum;
  })
}
template <int kUnrolling>
__noinline__ __device__ unsigned breaks(unsigned mask, unsigned n) {
  unsigned sum = 0;
  ROUNDS(kUnrolling, {
    const bool stays = k < n;
    mask = __ballot_sync(mask, stays);
    if (!stays) break;
    sum = sum * 33 + mask;
  })
  return sum;
}
template <int kUnrolling>
__noinline__ __device__ unsigned shuffles(unsigned mask, unsigned n) {
  unsigned sum = threadIdx.x;
  ROUNDS(kUnrolling, {
    mask = __ballot_sync(mask, k < n);
    if (k >= n) break;
    sum = sum * 5 + __shfl_sync(mask, sum, __ffs(mask) - 1);
  })
  return sum;
}
template <int kUnrolling>
__noinline__ __device__ unsigned matches(unsigned mask, unsigned n) {
  unsigned sum = 0;
  ROUNDS(kUnrolling, {
    sum = sum * 33 + __match_any_sync(mask, n >> 1);
    mask = __ballot_sync(mask, k < n);
    if (k >= n) break;
  })
  return sum;
}
template <int kUnrolling>
__noinline__ __device__ unsigned anyOf(unsigned mask, unsigned n) {
  unsigned sum = 0;
  ROUNDS(kUnrolling, {
    sum = sum * 3 + (__any_sync(mask, n == k + 2) ? 7 : 1);
    const unsigned next = __ballot_sync(mask, k < n);
    if (k >= n) return sum + __popc(next);
    mask = next;
  })
}
template <int kUnrolling>
__noinline__ __device__ unsigned sums(unsigned mask, unsigned n) {
  unsigned sum = 1;
  ROUNDS(kUnrolling, {
    sum += __reduce_add_sync(mask, n + k) * 3;
    mask = __ballot_sync(mask, k < n);
    if (!(mask >> (threadIdx.x & 31) & 1)) break;
  })
  return sum;
}
template <int kUnrolling>
__noinline__ __device__ unsigned barriers(unsigned mask, unsigned n) {
  __shared__ unsigned words[8];
  unsigned sum = 0, mine = (threadIdx.x >> 5) * 2 + (__ffs(mask) > 1);
  words[mine] = 0;
  __syncwarp(mask);
  ROUNDS(kUnrolling, {
    mask = __ballot_sync(mask, k < n);
    if (k >= n) break;
    atomicAdd(&words[mine], 1u);
    __syncwarp(mask);
    sum = sum * 31 + *static_cast<volatile unsigned*>(&words[mine]);
    __syncwarp(mask);
  })
  return sum;
}

__device__ unsigned roundsOf(unsigned thread) { return thread * 2654435761u >> 29; }
__device__ bool isOdd(unsigned thread) { return thread * 40503u >> 7 & 1; }

template <Rounds kRounds>
__device__ void alone(Lane& l) {
  l.note(kRounds(~0u, roundsOf(threadIdx.x)));
}
template <Rounds kRounds>
__device__ void branches(Lane& l) {
  const bool odd = isOdd(threadIdx.x);
  const unsigned mask = __match_any_sync(~0u, odd), n = roundsOf(threadIdx.x);
  unsigned result;
  if (odd)
    result = kRounds(mask, n) * 3;
  else
    result = kRounds(mask, n + 2) + 1;
  l.note(result);
  l.note(__shfl_sync(~0u, result, threadIdx.x * 7 & 31));
}
template <Rounds kRounds, Rounds kOther>
__device__ void pointers(Lane& l) {
  const bool odd = isOdd(threadIdx.x);
  const Rounds rounds = odd ? kRounds : kOther;
  l.note(rounds(__match_any_sync(~0u, odd), roundsOf(threadIdx.x)));
}

// --- Round a meeting
// ---------------------------------------------------------------------------------------------------

__device__ void ballotRound(Lane& l) {
  if (l.lane < 8) l.note(__ballot_sync(~0u, l.lane & 1));
  l.note(__ballot_sync(~0u, l.lane & 2));
}
__device__ void ballotRoundLate(Lane& l) {
  if (l.lane < 8) {
    l.late();
    l.note(__ballot_sync(~0u, l.lane & 1));
  }
  l.note(__ballot_sync(~0u, l.lane & 2));
}
__device__ void ballotOthersLate(Lane& l) {
  if (l.lane < 8)
    l.note(__ballot_sync(~0u, l.lane & 1));
  else
    l.late();
  l.note(__ballot_sync(~0u, l.lane & 2));
}
__device__ void ballotOfMask(Lane& l) {
  const unsigned mask = l.seen(0) - 1;  // no constant
  if (l.lane < 8) l.note(__ballot_sync(mask, l.lane & 1));
  l.note(__ballot_sync(mask, l.lane & 2));
}
__device__ void ballotAndEnd(Lane& l) {
  if (l.lane < 8) {
    l.note(__ballot_sync(~0u, l.lane & 1));
    l.note(5);
  } else {
    l.note(6);
  }
  l.note(__ballot_sync(~0u, l.lane & 2));
  if (l.lane >= 8) return;
  l.note(__ballot_sync(~0u, l.lane & 4));
}
__device__ void shuffleRound(Lane& l) {
  if (l.lane < 8) l.note(__shfl_sync(~0u, l.lane * 3, 9));
  l.note(__shfl_sync(~0u, l.lane * 5, 2));
}
__device__ void matchRound(Lane& l) {
  if (l.lane < 8) l.note(__match_any_sync(~0u, l.lane & 1));
  l.note(__match_any_sync(~0u, l.lane & 2));
}
__device__ void sumRound(Lane& l) {
  if (l.lane < 8) l.note(__reduce_add_sync(~0u, l.lane & 1));
  l.note(__reduce_add_sync(~0u, l.lane & 2));
}
__device__ void barrierRound(Lane& l) {
  if (l.lane == 9) {
    l.late();
    l.add(l.warp);
  }
  if (l.lane < 8) {
    __syncwarp();
    l.see(l.warp);
  }
  __syncwarp();
  l.see(l.warp);
}
__device__ void twoAndOne(Lane& l) {
  if (l.lane < 8) {
    l.note(__ballot_sync(~0u, l.lane & 1));
    l.note(__ballot_sync(~0u, l.lane & 1));
  } else {
    l.note(__ballot_sync(~0u, l.lane & 2));
  }
  l.note(__ballot_sync(~0u, 1));
}
template <int kUnrolling>
__device__ void wholeMask(Lane& l) {  // all name all in every round
  const unsigned n = l.lane & 7;
  if constexpr (kUnrolling == 1) {
#pragma unroll 1
    for (unsigned k = 0; k <= n; ++k) l.note(__ballot_sync(~0u, k & 1));
  } else {
#pragma unroll 4
    for (unsigned k = 0; k <= n; ++k) l.note(__ballot_sync(~0u, k & 1));
  }
}
__device__ void wholeMaskAndBehind(Lane& l) {
  wholeMask<1>(l);
  l.note(__ballot_sync(~0u, (l.lane & 7) == 2));
}
// Others come to fewer operations, and to as many behind.
__device__ void oneAndTwoBehind(Lane& l) {
  if (l.lane < 8) l.note(__ballot_sync(~0u, l.lane & 1));
  l.note(__ballot_sync(~0u, l.lane & 2));
  l.note(__ballot_sync(~0u, l.lane & 4));
}
__device__ void threeAndOne(Lane& l) {
  if (l.lane < 8) {
    l.note(__ballot_sync(~0u, l.lane & 1));
    l.note(__ballot_sync(~0u, l.lane & 2));
    l.note(__ballot_sync(~0u, l.lane & 4));
  } else {
    l.note(__ballot_sync(~0u, l.lane & 8));
  }
  l.note(__ballot_sync(~0u, l.lane & 16));
  l.note(__ballot_sync(~0u, l.lane != 5));
}
__device__ void wholeMaskAndTwoBehind(Lane& l) {
  wholeMask<1>(l);
  l.note(__ballot_sync(~0u, (l.lane & 7) == 2));
  l.note(__ballot_sync(~0u, (l.lane & 7) == 3));
}
__device__ void twoAndOneInRounds(Lane& l) {
#pragma unroll 1
  for (unsigned k = 1; k < 4; ++k) {
    if (l.lane < 8) {
      l.note(__ballot_sync(~0u, l.lane & k));
      l.note(__ballot_sync(~0u, l.lane & (k + 1)));
    } else {
      l.note(__ballot_sync(~0u, l.lane & (k + 2)));
    }
  }
  l.note(__ballot_sync(~0u, l.lane & 4));
}
__device__ void shufflesTwoAndOne(Lane& l) {
  if (l.lane < 8) {
    l.note(__shfl_sync(~0u, l.lane * 3, 9));
    l.note(__shfl_sync(~0u, l.lane * 5, 10));
  } else {
    l.note(__shfl_sync(~0u, l.lane * 7, 2));
  }
  l.note(__shfl_sync(~0u, l.lane * 11, 3));
}
// Operations of different kinds are none together.
__device__ void shufflesOfTwoKinds(Lane& l) {
  if (l.lane < 8)
    l.note(__shfl_xor_sync(~0u, l.lane * 3, 9));
  else
    l.note(__shfl_sync(~0u, l.lane * 5, 2));
}
__device__ void votesOfTwoKinds(Lane& l) {
  if (l.lane < 8)
    l.note(__ballot_sync(~0u, l.lane & 1));
  else
    l.note(__any_sync(~0u, l.lane == 40));
}
__device__ void barrierAndVote(Lane& l) {
  if (l.lane < 8)
    __syncwarp();
  else
    l.note(__ballot_sync(~0u, l.lane & 2));
  l.note(4);
}

// Never compared: what hangs on a GPU, where here the lanes that are there go on.
const Case kCases[] = {
    {"ballots.alone.0", kernel<alone<ballots<0>>>, 128, "sum 6fa03eed"},
    {"ballots.alone.1", kernel<alone<ballots<1>>>, 128, "sum 6fa03eed"},
    {"ballots.alone.4", kernel<alone<ballots<4>>>, 128, "sum 6fa03eed"},
    {"ballots.branches.0", kernel<branches<ballots<0>>>, 128, "sum 0d1a0028"},
    {"ballots.branches.1", kernel<branches<ballots<1>>>, 128, "sum 0d1a0028"},
    {"ballots.branches.4", kernel<branches<ballots<4>>>, 128, "sum 0d1a0028"},
    {"ballots.pointers.01", kernel<pointers<ballots<0>, ballots<1>>>, 128, "sum b282a1b3"},
    {"ballots.pointers.14", kernel<pointers<ballots<1>, ballots<4>>>, 128, "sum b282a1b3"},
    {"breaks.alone.0", kernel<alone<breaks<0>>>, 128, "sum d951bfd8"},
    {"breaks.alone.1", kernel<alone<breaks<1>>>, 128, "sum d951bfd8"},
    {"breaks.alone.4", kernel<alone<breaks<4>>>, 128, "sum d951bfd8"},
    {"breaks.branches.0", kernel<branches<breaks<0>>>, 128, "sum 61a2eee2"},
    {"breaks.branches.1", kernel<branches<breaks<1>>>, 128, "sum 61a2eee2"},
    {"breaks.branches.4", kernel<branches<breaks<4>>>, 128, "sum 61a2eee2"},
    {"breaks.pointers.01", kernel<pointers<breaks<0>, breaks<1>>>, 128, "sum 9df8991b"},
    {"breaks.pointers.14", kernel<pointers<breaks<1>, breaks<4>>>, 128, "sum 9df8991b"},
    {"shuffles.alone.0", kernel<alone<shuffles<0>>>, 128, "sum 55167a7f"},
    {"shuffles.alone.1", kernel<alone<shuffles<1>>>, 128, "sum 55167a7f"},
    {"shuffles.alone.4", kernel<alone<shuffles<4>>>, 128, "sum 55167a7f"},
    {"shuffles.branches.0", kernel<branches<shuffles<0>>>, 128, "sum 4409db6c"},
    {"shuffles.branches.1", kernel<branches<shuffles<1>>>, 128, "sum 4409db6c"},
    {"shuffles.branches.4", kernel<branches<shuffles<4>>>, 128, "sum 4409db6c"},
    {"shuffles.pointers.01", kernel<pointers<shuffles<0>, shuffles<1>>>, 128, "sum 6818e168"},
    {"shuffles.pointers.14", kernel<pointers<shuffles<1>, shuffles<4>>>, 128, "sum 6818e168"},
    {"matches.alone.0", kernel<alone<matches<0>>>, 128, "sum 632e6b14"},
    {"matches.alone.1", kernel<alone<matches<1>>>, 128, "sum 632e6b14"},
    {"matches.alone.4", kernel<alone<matches<4>>>, 128, "sum 632e6b14"},
    {"matches.branches.0", kernel<branches<matches<0>>>, 128, "sum 3cec9598"},
    {"matches.branches.1", kernel<branches<matches<1>>>, 128, "sum 3cec9598"},
    {"matches.branches.4", kernel<branches<matches<4>>>, 128, "sum 3cec9598"},
    {"matches.pointers.01", kernel<pointers<matches<0>, matches<1>>>, 128, "sum c7ccc654"},
    {"matches.pointers.14", kernel<pointers<matches<1>, matches<4>>>, 128, "sum c7ccc654"},
    {"anyOf.alone.0", kernel<alone<anyOf<0>>>, 128, "sum 1de8dbea"},
    {"anyOf.alone.1", kernel<alone<anyOf<1>>>, 128, "sum 1de8dbea"},
    {"anyOf.alone.4", kernel<alone<anyOf<4>>>, 128, "sum 1de8dbea"},
    {"anyOf.branches.0", kernel<branches<anyOf<0>>>, 128, "sum d59338ac"},
    {"anyOf.branches.1", kernel<branches<anyOf<1>>>, 128, "sum d59338ac"},
    {"anyOf.branches.4", kernel<branches<anyOf<4>>>, 128, "sum d59338ac"},
    {"anyOf.pointers.01", kernel<pointers<anyOf<0>, anyOf<1>>>, 128, "sum c98b5208"},
    {"anyOf.pointers.14", kernel<pointers<anyOf<1>, anyOf<4>>>, 128, "sum c98b5208"},
    {"sums.alone.0", kernel<alone<sums<0>>>, 128, "sum 69ea7e7b"},
    {"sums.alone.1", kernel<alone<sums<1>>>, 128, "sum 69ea7e7b"},
    {"sums.alone.4", kernel<alone<sums<4>>>, 128, "sum 69ea7e7b"},
    {"sums.branches.0", kernel<branches<sums<0>>>, 128, "sum 16688c72"},
    {"sums.branches.1", kernel<branches<sums<1>>>, 128, "sum 16688c72"},
    {"sums.branches.4", kernel<branches<sums<4>>>, 128, "sum 16688c72"},
    {"sums.pointers.01", kernel<pointers<sums<0>, sums<1>>>, 128, "sum 7f36e8f8"},
    {"sums.pointers.14", kernel<pointers<sums<1>, sums<4>>>, 128, "sum 7f36e8f8"},
    {"barriers.alone.0", kernel<alone<barriers<0>>>, 128, "sum 78fb5965"},
    {"barriers.alone.1", kernel<alone<barriers<1>>>, 128, "sum 78fb5965"},
    {"barriers.alone.4", kernel<alone<barriers<4>>>, 128, "sum 78fb5965"},
    {"barriers.branches.0", kernel<branches<barriers<0>>>, 128, "sum 225ef968"},
    {"barriers.branches.1", kernel<branches<barriers<1>>>, 128, "sum 225ef968"},
    {"barriers.branches.4", kernel<branches<barriers<4>>>, 128, "sum 225ef968"},
    {"barriers.pointers.01", kernel<pointers<barriers<0>, barriers<1>>>, 128, "sum ceac5d45"},
    {"barriers.pointers.14", kernel<pointers<barriers<1>, barriers<4>>>, 128, "sum ceac5d45"},
    {"ballotRound", kernel<ballotRound>, 64, "0-63:3435973802; 0-7:204 32-39:204"},
    {"ballotRoundLate", kernel<ballotRoundLate>, 64, "0-63:3435973802; 0-7:204 32-39:204"},
    {"ballotOthersLate", kernel<ballotOthersLate>, 64, "0-63:3435973802; 0-7:204 32-39:204"},
    {"ballotOfMask", kernel<ballotOfMask>, 64, "0-63:3435973802; 0-7:204 32-39:204"},
    {"ballotAndEnd", kernel<ballotAndEnd>, 64, "sum 61322762"},
    {"shuffleRound", kernel<shuffleRound>, 64, "0-7:45 8-31:6 32-39:45 40-63:6; 0-7:10 32-39:10"},
    {"matchRound", kernel<matchRound>, 64, "sum 45e03ae4"},
    {"sumRound", kernel<sumRound>, 64, "0-63:28; 0-7:8 32-39:8"},
    {"barrierRound", kernel<barrierRound>, 64, "0-63:1; 0-7:1 32-39:1"},
    {"twoAndOne", kernel<twoAndOne>, 64, "0-63:3435973802; 0-63:4294967210; 0-7:255 32-39:255"},
    {"wholeMask.1", kernel<wholeMask<1>>, 64, "sum 2d4cd1ff"},
    {"wholeMask.4", kernel<wholeMask<4>>, 64, "sum 2d4cd1ff"},
    {"wholeMaskAndBehind", kernel<wholeMaskAndBehind>, 64, "sum cca1c6f6"},
    {"oneAndTwoBehind", kernel<oneAndTwoBehind>, 64, "0-63:3435973802; 0-63:4042322124; 0-7:240 32-39:240"},
    {"threeAndOne", kernel<threeAndOne>, 64, "sum f00ebd67"},
    {"wholeMaskAndTwoBehind", kernel<wholeMaskAndTwoBehind>, 64, "sum 150bdd6f"},
    {"twoAndOneInRounds", kernel<twoAndOneInRounds>, 64, "sum 46ca6aa5"},
    {"shufflesTwoAndOne", kernel<shufflesTwoAndOne>, 64, "sum 6aefa11d"},
    {"shufflesOfTwoKinds", kernel<shufflesOfTwoKinds>, 64, "hang", Compared::Never},
    {"votesOfTwoKinds", kernel<votesOfTwoKinds>, 64, "hang", Compared::Never},
    {"barrierAndVote", kernel<barrierAndVote>, 64, "hang", Compared::Never},
};

int main(int argc, char** argv) { return runCases(kCases, argc, argv); }
