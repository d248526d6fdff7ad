// Lanes of a warp that stand in different branches and loops and meet there by __syncwarp, whose mask names all of them
// or a group: each must find what the others wrote before the meeting, and nothing of what they write behind it.
// Shuffles, votes, matches and reductions with one mask in different branches are one operation of all lanes that it
// names, as the PTX manual has it. On an H200 this program fails: in ten of these kernels, those with loops in three
// branches or in one lane's and the others', each branch gets a ballot of its own (2026-11-28; with -Xcicc -O1 none).
#include "check.h"

enum class By { Parity, Thirds, First, Nested };             // which branch a lane takes
enum class Named { Constant, Given, Eights, Alike, Alive };  // whom a meeting names
enum class Loops { None, Own, OfGroup };                     // how often lanes meet
enum class Way { Inlined, Called };

template <By kBy>
__device__ __forceinline__ int branchOf(int lane) {
  switch (kBy) {
    case By::Parity:
      return lane & 1;
    case By::Thirds:
      return lane % 3;
    case By::First:
      return lane == 0;
    default:
      return lane < 20 ? lane & 1 : 2;
  }
}

__device__ __forceinline__ int keyOf(int lane) { return lane * 5 % 7; }

template <Named kNamed>
__device__ __forceinline__ unsigned members(unsigned given, int lane) {
  switch (kNamed) {
    case Named::Eights:
      return 0xFFu << (lane & 24);
    case Named::Alike:
      return __match_any_sync(~0u, keyOf(lane));
    default:
      return given;
  }
}

// Another member of the lane's meeting: the next one, or the one after the last.
__device__ __forceinline__ int partnerOf(unsigned mask, int lane) {
  const unsigned above = mask & ~((2u << lane) - 1);
  return __ffs(above && lane < 31 ? above : mask) - 1;
}

__device__ __forceinline__ int written(int lane, int round, int branch) {
  return lane * 1000 + round * 7 + branch * 131 + 1;
}

__device__ __noinline__ void meetCalled(unsigned mask) { __syncwarp(mask); }

template <Named kNamed, Way kWay>
__device__ __forceinline__ void meet(unsigned mask) {
  if constexpr (kWay == Way::Called)
    meetCalled(mask);
  else if constexpr (kNamed == Named::Constant)
    __syncwarp();
  else
    __syncwarp(mask);
}

template <int kBranch, By kBy, Named kNamed, Way kWay>
__device__ __forceinline__ int rounds(int* place, unsigned mask, int lane, int count) {
  const int partner = partnerOf(mask, lane);
  int wrong = 0;
  for (int n = 0; n < count; ++n) {
    place[lane] = written(lane, n, kBranch);
    meet<kNamed, kWay>(mask);
    wrong += place[partner] != written(partner, n, branchOf<kBy>(partner));
    meet<kNamed, kWay>(mask);
  }
  return wrong;
}

template <By kBy, Named kNamed, Loops kLoops, Way kWay>
__global__ void groups(unsigned given, int* out) {
  __shared__ int places[3][32];
  const int lane = threadIdx.x % 32;
  int* const place = places[threadIdx.x / 32];
  place[lane] = 0;
  const unsigned mask = members<kNamed>(given, lane);
  __syncwarp();
  if (kNamed == Named::Alive && !(mask >> lane & 1)) return;
  const int count = kLoops == Loops::None ? 1 : kLoops == Loops::Own ? 5 : 1 + lane / 8;
  int wrong;
  switch (branchOf<kBy>(lane)) {
    case 0:
      wrong = rounds<0, kBy, kNamed, kWay>(place, mask, lane, count);
      break;
    case 1:
      wrong = rounds<1, kBy, kNamed, kWay>(place, mask, lane, count);
      break;
    default:
      wrong = rounds<2, kBy, kNamed, kWay>(place, mask, lane, count);
  }
  atomicAdd(out, 1);
  atomicAdd(out + 1, wrong);
}

// --- Operations of lanes in different branches

template <int kBranch, By kBy, Named kNamed>
__device__ __forceinline__ int operations(unsigned mask, int lane, int count) {
  const int partner = partnerOf(mask, lane);
  int wrong = 0;
  for (int n = 0; n < count; ++n) {
    const int mine = written(lane, n, kBranch);
    unsigned odd = 0, alike = 0, sum = 0;
    for (int other = 0; other < 32; ++other) {
      if (!(mask >> other & 1)) continue;
      const int theirs = written(other, n, branchOf<kBy>(other));
      odd |= (theirs & 1) << other;
      alike |= unsigned(theirs % 3 == mine % 3) << other;
      sum += theirs;
    }
    const int from = written(partner, n, branchOf<kBy>(partner));
    wrong += __shfl_sync(mask, mine, partner) != from;
    wrong += __shfl_sync(mask, 5ll * mine, partner) != 5ll * from;
    wrong += __ballot_sync(mask, mine & 1) != odd;
    wrong += (__any_sync(mask, mine & 1) != 0) != (odd != 0);
    wrong += (__all_sync(mask, mine & 1) != 0) != (odd == mask);
#if __CUDA_ARCH__ >= 700
    wrong += __match_any_sync(mask, mine % 3) != alike;
    wrong += __match_any_sync(mask, (unsigned long long)(mine % 3) << 40) != alike;
    int same;
    wrong += __match_all_sync(mask, n, &same) != mask || !same;
#endif
#if __CUDA_ARCH__ >= 800
    wrong += __reduce_add_sync(mask, unsigned(mine)) != sum;
#endif
  }
  return wrong;
}

template <By kBy, Named kNamed, Loops kLoops>
__global__ void operate(unsigned given, int* out) {
  const int lane = threadIdx.x % 32;
  const unsigned mask = members<kNamed>(given, lane);
  if (kNamed == Named::Alive && !(mask >> lane & 1)) return;
  const int count = kLoops == Loops::None ? 1 : kLoops == Loops::Own ? 3 : 1 + lane / 8;
  int wrong;
  switch (branchOf<kBy>(lane)) {
    case 0:
      wrong = operations<0, kBy, kNamed>(mask, lane, count);
      break;
    case 1:
      wrong = operations<1, kBy, kNamed>(mask, lane, count);
      break;
    default:
      wrong = operations<2, kBy, kNamed>(mask, lane, count);
  }
  atomicAdd(out, 1);
  atomicAdd(out + 1, wrong);
}

// The source is the same in all lanes of a branch.
__global__ void shuffleConstants(unsigned mask, int* out) {
  const int lane = threadIdx.x % 32;
  int got;
  if (lane < 16)
    got = __shfl_sync(mask, 3, 20);
  else
    got = __shfl_sync(mask, 4, 9);
  atomicAdd(out, 1);
  atomicAdd(out + 1, got != (lane < 16 ? 4 : 3));
}

// What lies beside a branch goes its own way.
__global__ void shuffleUpAndMore(unsigned mask, int* out) {
  const int lane = threadIdx.x % 32;
  int got = -1;
  if (lane % 5 == 0) {
    got = __shfl_up_sync(mask, lane * 3, 1);
  } else {
    for (int k = 0; k < lane; ++k) got += k;
    got = __shfl_up_sync(mask, lane * 3, 1);
  }
  atomicAdd(out, 1);
  atomicAdd(out + 1, got != (lane ? 3 * lane - 3 : 0));
}

template <class Kernel>
void expectRight(Kernel kernel, const char* name, unsigned given, int lanes,
                 std::initializer_list<int> sizes = {1, 3}) {
  for (int warps : sizes) {
    DeviceArray<int> out(2);
    out.clear();
    kernel<<<1, 32 * warps>>>(given, out);
    CHECK_LAUNCH();
    const std::vector<int> got = out.host();
    if (got[0] != lanes * warps) failAt(__FILE__, __LINE__, name, "lanes are missing");
    if (got[1]) failAt(__FILE__, __LINE__, name, "lanes read too early or too late");
  }
}

template <By kBy, Loops kLoops, Way kWay>
void checkGroups(const char* name) {
  expectRight(groups<kBy, Named::Constant, kLoops, kWay>, name, ~0u, 32);
  expectRight(groups<kBy, Named::Given, kLoops, kWay>, name, ~0u, 32);
  expectRight(groups<kBy, Named::Alive, kLoops, kWay>, name, 0x77777777u, 24);
  expectRight(groups<kBy, Named::Eights, kLoops, kWay>, name, ~0u, 32);
  expectRight(groups<kBy, Named::Alike, kLoops, kWay>, name, ~0u, 32);
}

template <By kBy, Loops kLoops>
void checkOperations(const char* name) {
  expectRight(operate<kBy, Named::Constant, kLoops>, name, ~0u, 32);
  expectRight(operate<kBy, Named::Given, kLoops>, name, ~0u, 32);
  expectRight(operate<kBy, Named::Alive, kLoops>, name, 0x77777777u, 24);
  expectRight(operate<kBy, Named::Eights, kLoops>, name, ~0u, 32);
  expectRight(operate<kBy, Named::Alike, kLoops>, name, ~0u, 32);
}

// --- Together with waits for flags and locks

// The first eight wait for a flag that one of the others sets, who meet each other before.
__global__ void flagBehindMeeting(unsigned, int* out) {
  __shared__ volatile int flag, place[32];
  const int lane = threadIdx.x;
  if (lane == 0) flag = 0;
  __syncwarp();
  const unsigned mask = lane < 8 ? 0xFFu : ~0xFFu;
  int wrong;
  if (lane < 8) {
    while (flag == 0) {
    }
    place[lane] = lane + 1;
    __syncwarp(mask);
    wrong = place[7 - lane] != 8 - lane;
  } else if (lane & 1) {
    place[lane] = lane;
    __syncwarp(mask);
    wrong = place[lane ^ 1] != (lane ^ 1) * 3;
    __syncwarp(mask);
    if (lane == 31) flag = 1;
  } else {
    place[lane] = lane * 3;
    __syncwarp(mask);
    wrong = place[lane ^ 1] != (lane ^ 1);
    __syncwarp(mask);
  }
  atomicAdd(out, 1);
  atomicAdd(out + 1, wrong);
}

// All take a lock, in two branches, and meet when the last of them has given it back.
__global__ void meetingBehindLock(unsigned mask, int* out) {
  __shared__ int lock, sum;
  const int lane = threadIdx.x;
  if (lane == 0) lock = sum = 0;
  __syncwarp();
  const auto add = [&](int value) {
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    sum += value;
    __threadfence_block();
    atomicExch(&lock, 0);
  };
  int seen;
  if (lane & 1) {
    add(lane);
    __syncwarp(mask);
    seen = *static_cast<volatile int*>(&sum);
  } else {
    add(2 * lane);
    __syncwarp(mask);
    seen = *static_cast<volatile int*>(&sum);
  }
  atomicAdd(out, 1);
  atomicAdd(out + 1, seen != 256 + 2 * 240);
}

int main() {
  checkGroups<By::Parity, Loops::None, Way::Inlined>("by parity");
  checkGroups<By::Thirds, Loops::Own, Way::Inlined>("three ways, a loop each");
  checkGroups<By::First, Loops::Own, Way::Inlined>("one lane and the others");
  checkGroups<By::Nested, Loops::Own, Way::Called>("nested, in a function");
  expectRight(groups<By::Parity, Named::Eights, Loops::OfGroup, Way::Inlined>, "rounds by group", ~0u, 32);
  expectRight(groups<By::Thirds, Named::Eights, Loops::OfGroup, Way::Called>, "rounds by group, called", ~0u, 32);
  checkOperations<By::Parity, Loops::None>("operations by parity");
  checkOperations<By::Thirds, Loops::Own>("operations of three ways, a loop each");
  checkOperations<By::First, Loops::Own>("operations of one lane and the others");
  checkOperations<By::Nested, Loops::None>("nested operations");
  expectRight(operate<By::Thirds, Named::Eights, Loops::OfGroup>, "operations by group", ~0u, 32);
  expectRight(shuffleConstants, "shuffleConstants", ~0u, 32);
  expectRight(shuffleUpAndMore, "shuffleUpAndMore", ~0u, 32);
  expectRight(meetingBehindLock, "meetingBehindLock", ~0u, 32, {1});
  expectRight(flagBehindMeeting, "flagBehindMeeting", ~0u, 32, {1});
  return passed();
}
