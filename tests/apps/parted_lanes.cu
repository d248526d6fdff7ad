// What lanes of a warp do together when some of them have ended, left a loop, or went another way: barriers and
// operations of the warp, cooperative groups, barrier objects that threads drop out of, locks, clusters, and named
// barriers between warps that produce and consume. What an H100 answers is written here (noted_cases.h).
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cuda/barrier>

#include "noted_cases.h"

namespace cg = cooperative_groups;

// --- Barriers of a warp
// ---------------------------------------------------------------------------------------------

__device__ void masksInLoops(Lane& l) {  // two groups of one warp, each with its own rounds
  const unsigned mine = l.lane & 1 ? 0xaaaaaaaau : 0x55555555u;
#pragma unroll 1
  for (unsigned n = 0; n < (l.lane & 1 ? 5u : 3u); ++n) {
    if (l.lane == (l.lane & 1)) l.box[l.lane & 1] = n * 10 + (l.lane & 1);
    __syncwarp(mine);
    l.see(l.lane & 1);
    __syncwarp(mine);
  }
}
__device__ void masksThatShrink(Lane& l) {  // lanes leave; the mask is that of those that stay
  unsigned mask = ~0u;
#pragma unroll 1
  for (unsigned n = 0; n < 8; ++n) {
    const bool stays = (l.lane & 7) >= n;
    mask = __ballot_sync(mask, stays);
    if (!stays) break;
    l.note(mask);
    l.add(l.warp);
    __syncwarp(mask);
    l.see(l.warp);
    __syncwarp(mask);
  }
  __syncwarp();
  l.note(99);
}
__device__ void meetingsInBranches(Lane& l) {  // one barrier from three places
  if (l.lane < 8) {
    l.late();
    l.add(l.warp);
    __syncwarp();
    l.see(l.warp);
  } else if (l.lane < 20) {
    l.add(l.warp);
    __syncwarp();
    l.note(1);
    l.see(l.warp);
  } else {
    l.add(l.warp);
#pragma unroll 1
    for (unsigned n = 0; n < 2; ++n) {
      __syncwarp();
      l.see(l.warp);
    }
    return;
  }
  __syncwarp();
  l.note(7);
}
__device__ void endedAndFullMask(Lane& l) {  // lanes of the mask have ended
  if (l.lane % 3 == 2) return;
  l.add(l.warp);
  __syncwarp();
  l.see(l.warp);
}
__device__ void endLateAndFullMask(Lane& l) {
  if (l.lane % 3 == 2) {
    l.late();
    l.add(l.warp);
    return;
  }
  l.add(l.warp);
  __syncwarp();
  l.see(l.warp);
}

// --- Operations of a warp
// -------------------------------------------------------------------------------------------

__device__ void votesOfSome(Lane& l) {
  if (l.lane % 5 == 1) return;
  l.note(__ballot_sync(~0u, l.lane & 1));
  l.note(__all_sync(~0u, l.lane != 1));
  l.note(__any_sync(~0u, l.lane == 6));
  if (l.lane < 10) l.note(__ballot_sync(__activemask(), 1));
}
__device__ void matchesOfSome(Lane& l) {
#if __CUDA_ARCH__ >= 700
  if (l.lane % 5 == 1) return;
  l.note(__match_any_sync(~0u, l.lane % 3));
  int all = 7;
  l.note(__match_all_sync(~0u, 5, &all));
  l.note(static_cast<unsigned>(all));
  l.note(__match_all_sync(__activemask(), l.lane == 30, &all));
  l.note(static_cast<unsigned>(all));
#endif
}
__device__ void shufflesOfSome(Lane& l) {
  if (l.lane >= 20) return;
  const unsigned mask = __activemask();
  l.note(mask);
  l.note(__shfl_sync(mask, l.lane * 3, (l.lane + 1) % 20));
  l.note(__shfl_up_sync(mask, l.lane * 3, 4));
  if (l.lane < 16) l.note(__shfl_xor_sync(0xffff, l.lane * 3, 5));
  if (l.lane < 16) l.note(__shfl_down_sync(0xffff, l.lane * 3, 2, 8));
}
__device__ void sumsOfSome(Lane& l) {
#if __CUDA_ARCH__ >= 800
  if (l.lane % 7 == 3) return;
  const unsigned mask = __activemask();
  l.note(__reduce_add_sync(mask, l.lane));
  l.note(__reduce_max_sync(mask, l.lane * 5 % 32));
  l.note(__reduce_xor_sync(mask, 1u << l.lane));
  if (l.lane & 1)
    l.note(__reduce_min_sync(mask & 0xaaaaaaaa, l.lane ^ 9));
  else
    l.note(__reduce_min_sync(mask & 0x55555555, l.lane ^ 9));
#endif
}
__device__ void shufflesInRounds(Lane& l) {
  unsigned mask = ~0u, value = l.lane;
#pragma unroll 1
  for (unsigned n = 0; n < 6; ++n) {
    const bool stays = l.lane * 7 % 32 >= 5 * n;
    mask = __ballot_sync(mask, stays);
    if (!stays) break;
    const unsigned first = static_cast<unsigned>(__ffs(static_cast<int>(mask)) - 1);
    value += __shfl_sync(mask, value, static_cast<int>(first)) + 1;
    l.note(value);
  }
  l.note(value);
}
__device__ void electsOfSome(Lane& l) {
#if __CUDA_ARCH__ >= 900
  const auto elected = [](unsigned mask) {
    unsigned lane, is;
    asm volatile("{ .reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p; }" : "=r"(lane), "=r"(is) : "r"(mask));
    return lane * 2 + is;
  };
  if (l.lane < 3) return;
  l.note(elected(__activemask()));
  if (l.lane % 3)
    l.note(elected(0xb6db6db6u & ~7u));
  else
    l.note(elected(0x49249249u & ~7u));
#pragma unroll 1
  for (unsigned n = 0; n < 3; ++n) {
    if ((l.lane & 3) == n) continue;
    l.note(elected(__activemask()));
  }
#endif
}

// --- Cooperative groups
// ---------------------------------------------------------------------------------------------

__device__ void coalesced(Lane& l) {
  if (l.lane % 4 == 1) return;
  const auto group = cg::coalesced_threads();
  l.note(group.size() * 100 + group.thread_rank());
  l.note(group.shfl(l.lane, static_cast<int>(group.size()) - 1));
  l.note(group.shfl_down(l.lane, 3));
  if (l.lane & 2) {
    const auto inner = cg::coalesced_threads();
    l.note(inner.size() * 100 + inner.thread_rank());
    l.note(inner.ballot(l.lane > 9));
    l.note(static_cast<unsigned>(cg::reduce(inner, static_cast<int>(l.lane), cg::plus<int>())));
    l.note(static_cast<unsigned>(cg::exclusive_scan(inner, static_cast<int>(l.lane))));
    inner.sync();
  } else {
    const auto inner = cg::coalesced_threads();
    l.note(inner.size() * 100 + inner.thread_rank());
    l.note(inner.any(l.lane == 4));
  }
  group.sync();
  l.note(5);
}
__device__ void coalescedRounds(Lane& l) {
#pragma unroll 1
  for (unsigned n = 0; n <= l.lane % 5; ++n) {
    const auto group = cg::coalesced_threads();
    l.note(group.size() * 100 + group.thread_rank());
    l.note(static_cast<unsigned>(cg::reduce(group, static_cast<int>(l.lane + n), cg::greater<int>())));
  }
}
__device__ void labels(Lane& l) {
#if __CUDA_ARCH__ >= 700
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const auto group = cg::labeled_partition(tile, l.lane % 5);
  l.note(group.size() * 100 + group.thread_rank());
  l.note(static_cast<unsigned>(cg::reduce(group, static_cast<int>(l.lane), cg::plus<int>())));
  if (l.lane % 5 == 2) return;
  const auto rest = cg::coalesced_threads();
  const auto parted = cg::labeled_partition(rest, l.lane >> 3);
  l.note(parted.size() * 100 + parted.thread_rank());
  l.note(static_cast<unsigned>(cg::inclusive_scan(parted, static_cast<int>(l.lane))));
  const auto two = cg::binary_partition(rest, l.lane % 3 == 0);
  l.note(two.size() * 100 + two.thread_rank());
  l.note(two.shfl(l.lane, 0));
#endif
}
template <int kSize>
__device__ void tiles(Lane& l) {  // of blocks that they do not divide
  const auto tile = cg::tiled_partition<kSize>(cg::this_thread_block());
  l.note(tile.meta_group_rank() * 100 + tile.thread_rank());
  l.note(static_cast<unsigned>(cg::reduce(tile, static_cast<int>(l.lane), cg::plus<int>())));
  l.note(static_cast<unsigned>(cg::inclusive_scan(tile, static_cast<int>(l.lane))));
  if (tile.meta_group_rank() & 1) return;
  l.note(tile.shfl_xor(l.lane, 1));
  l.note(tile.ballot(l.lane % 3 == 0));
  if (tile.thread_rank() < kSize / 2) {
    const auto part = cg::coalesced_threads();
    l.note(part.size());
  }
  tile.sync();
  l.note(static_cast<unsigned>(tile.all(l.lane < 28)));
}

// --- Barrier objects
// ------------------------------------------------------------------------------------------------

using Barrier = cuda::barrier<cuda::thread_scope_block>;

template <class Function>
__device__ void withBarrier(Function function) {
#if __CUDA_ARCH__ >= 700
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  function(barrier);
#endif
}
__device__ void dropOneByOne(Lane& l) {
  withBarrier([&](Barrier& barrier) {
#pragma unroll 1
    for (unsigned n = 0; n < 6; ++n) {
      l.add(n);
      if (l.lane % 7 == n) {
        if (n & 1) l.late();
        barrier.arrive_and_drop();
        return;
      }
      barrier.arrive_and_wait();
      l.see(n);
    }
  });
}
__device__ void dropInBranches(Lane& l) {
  withBarrier([&](Barrier& barrier) {
    l.add(0);
    if (l.lane < 11) {
      barrier.arrive_and_drop();
    } else if (l.lane & 1) {
      auto token = barrier.arrive();
      barrier.wait(std::move(token));
      l.see(0);
    } else {
      l.late();
      barrier.arrive_and_wait();
      l.note(1);
    }
    if (l.lane >= 11) {
      l.add(1);
      barrier.arrive_and_wait();
      l.see(1);
    }
  });
}
__device__ void producersAndConsumers(Lane& l) {  // within warps: odd lanes make, even ones take
#if __CUDA_ARCH__ >= 700
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier full, empty;
  __shared__ unsigned made[64];
  if (threadIdx.x == 0) {
    init(&full, blockDim.x);
    init(&empty, blockDim.x);
  }
  __syncthreads();
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned n = 0; n < 10; ++n) {
    if (l.lane & 1) {
      made[threadIdx.x] = n * 64 + threadIdx.x;
      (void)full.arrive();
      empty.arrive_and_wait();
    } else {
      full.arrive_and_wait();
      sum = sum * 3 + made[threadIdx.x ^ 1];
      (void)empty.arrive();
    }
  }
  l.note(sum);
#endif
}

// --- Locks and flags
// ------------------------------------------------------------------------------------------------

__device__ void spinLock(Lane& l) {
  unsigned* const lock = l.box;
#pragma unroll 1
  for (unsigned n = 0; n < 3; ++n) {
    if (l.lane % 3 == n) continue;
    while (atomicCAS(lock, 0, 1)) {
#if __CUDA_ARCH__ >= 700
      __nanosleep(50);
#endif
    }
    __threadfence_block();
    l.box[1] = *static_cast<volatile unsigned*>(l.box + 1) + 1;
    __threadfence_block();
    atomicExch(lock, 0);
  }
  __syncthreads();
  l.see(1);
}
__device__ void lockAndBarrier(
    Lane& l) {  // one half of each warp takes turns while the other is at the block's barrier
  if (l.lane < 16) {
    while (atomicCAS(l.box, 0, 1)) continue;
    l.box[1] = *static_cast<volatile unsigned*>(l.box + 1) + 1;
    __threadfence_block();
    atomicExch(l.box, 0);
    asm volatile("barrier.sync 0;" ::: "memory");
    l.see(1);
  } else {
    asm volatile("barrier.sync 0;" ::: "memory");
    l.note(3);
    l.see(1);
  }
}
__device__ void tokens(Lane& l) {  // lane after lane, then a barrier of the block
  while (l.seen(l.warp) != l.lane) {
#if __CUDA_ARCH__ >= 700
    __nanosleep(20);
#endif
  }
  atomicAdd(l.box + l.warp, 1u);
  __syncthreads();
  l.see(0);
}

// --- Named barriers between warps
// -----------------------------------------------------------------------------------

__device__ void namedSync(unsigned id, unsigned threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ void namedArrive(unsigned id, unsigned threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ void stages(Lane& l) {  // a producer warp, two consumers, two buffers
  __shared__ unsigned made[2][32];
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned n = 0; n < 8; ++n) {
    const unsigned stage = n & 1;
    if (l.warp == 0) {
      if (n >= 2) namedSync(3 + stage, 96);  // empty
      if (l.lane % 3 == 0) l.add(0);
      made[stage][l.lane] = n * 32 + l.lane;
      __threadfence_block();
      namedArrive(1 + stage, 96);  // full
    } else {
      namedSync(1 + stage, 96);
      sum = sum * 3 + made[stage][(l.lane + l.warp) & 31];
      if (n < 6) namedArrive(3 + stage, 96);
    }
  }
  l.note(sum);
}
__device__ void oneLaneProduces(Lane& l) {  // one lane of the producer's warp works, the others go to the end
  __shared__ unsigned made[32];
  unsigned sum = 0;
  if (l.warp == 0) {
    if (l.lane == 0) {
#pragma unroll 1
      for (unsigned n = 0; n < 4; ++n) {
        asm volatile("barrier.sync 2, 64;" ::: "memory");
        for (unsigned k = 0; k < 32; ++k) made[k] = n * 32 + k;
        __threadfence_block();
        asm volatile("barrier.arrive 1, 64;" ::: "memory");
      }
    }
  } else {
#pragma unroll 1
    for (unsigned n = 0; n < 4; ++n) {
      asm volatile("barrier.arrive 2, 64;" ::: "memory");
      asm volatile("barrier.sync 1, 64;" ::: "memory");
      sum = sum * 3 + made[l.lane];
    }
  }
  l.note(sum);
}
__device__ void pingPong(Lane& l) {  // two groups of two warps in turn, as CUTLASS orders its math
  const unsigned group = l.warp >> 1;
#pragma unroll 1
  for (unsigned n = 0; n < 5; ++n) {
    if (group || n) namedSync(4 + group, 128);
    if (l.lane == 0 && !(l.warp & 1)) {
      l.box[0] = l.box[0] * 3 + group + 1;
      __threadfence_block();
    }
    if (n < 4 || !group) namedArrive(5 - group, 128);
  }
  __syncthreads();
  l.see(0);
}
__device__ void groupsHandOver(Lane& l) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM120_ALL)
  if (l.warp < 4)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 104;");
#endif
  if (l.warp < 4) {
    l.add(0);
    namedArrive(1, 256);
    namedSync(2, 256);
    l.see(1);
  } else {
    namedSync(1, 256);
    l.see(0);
    l.add(1);
    namedArrive(2, 256);
  }
}

// --- Clusters
// -------------------------------------------------------------------------------------------------------

#ifdef WITH_CLUSTERS
template <Body kBody>
__global__ __cluster_dims__(3) void cluster(unsigned* record) {
  __shared__ unsigned box[kBoxes];
  if (threadIdx.x < kBoxes) box[threadIdx.x] = 0;
  cg::this_cluster().sync();
  Lane lane{threadIdx.x & 31, threadIdx.x >> 5, record + blockIdx.x * blockDim.x * kWords + threadIdx.x, box};
  kBody(lane);
  cg::this_cluster().sync();
}
__device__ void clusterArrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
__device__ void clusterWait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }
__device__ void addInFirst(Lane& l, unsigned which) {
  atomicAdd(cg::this_cluster().map_shared_rank(l.box, 0) + which, 1u);
}
__device__ void seeInFirst(Lane& l, unsigned which) {
  l.note(*static_cast<volatile unsigned*>(cg::this_cluster().map_shared_rank(l.box, 0) + which));
}
__device__ void clusterBranches(Lane& l) {
  if (l.lane < 12) {
    l.late();
    addInFirst(l, 0);
    clusterArrive();
    clusterWait();
    seeInFirst(l, 0);
  } else {
    addInFirst(l, 0);
    clusterArrive();
    clusterWait();
    l.note(7);
    seeInFirst(l, 0);
  }
}
__device__ void clusterArriveBranches(Lane& l) {  // arrives apart, waits together, three times
#pragma unroll 1
  for (unsigned n = 0; n < 3; ++n) {
    if ((l.lane >> n & 1) != 0) {
      l.late();
      addInFirst(l, n);
      clusterArrive();
    } else {
      addInFirst(l, n);
      clusterArrive();
      l.note(n);
    }
    clusterWait();
    seeInFirst(l, n);
  }
}
__device__ void clusterAndBlock(Lane& l) {  // a barrier of the block between arriving and waiting, in branches
  addInFirst(l, 0);
  clusterArrive();
  if (l.lane & 1) {
    l.add(1);
    asm volatile("barrier.sync 0;" ::: "memory");
    l.see(1);
  } else {
    l.late();
    l.add(1);
    asm volatile("barrier.sync 0;" ::: "memory");
    l.note(3);
    l.see(1);
  }
  clusterWait();
  seeInFirst(l, 0);
}
#endif

// Never compared: tiles.2 and tiles.8, whose last tile has lanes that do not exist, of which others ask.
// Compared where kernels are interpreted only: clusterBranches and clusterArriveBranches. In compiled code each group
// of a warp's lanes arrives at the cluster's barrier as the warp.
const Case kCases[] = {
    {"masksInLoops", kernel<masksInLoops>, 32, "sum da768719"},
    {"masksThatShrink", kernel<masksThatShrink>, 64, "sum f8900d0b"},
    {"meetingsInBranches", kernel<meetingsInBranches>, 64, "sum 346b851f"},
    {"endedAndFullMask", kernel<endedAndFullMask>, 64, "sum 6fbd147d"},
    {"endLateAndFullMask", kernel<endLateAndFullMask>, 64, "sum de726156"},
    {"votesOfSome", kernel<votesOfSome>, 48, "sum e22262d2"},
    {"matchesOfSome", kernel<matchesOfSome>, 48, "sum 84c1eac1"},
    {"shufflesOfSome", kernel<shufflesOfSome>, 64, "sum bd644e5e"},
    {"sumsOfSome", kernel<sumsOfSome>, 64, "sum 3829a7d8"},
    {"shufflesInRounds", kernel<shufflesInRounds>, 64, "sum 9f6a6a41"},
    {"electsOfSome", kernel<electsOfSome>, 64, "sum c61b7829"},
    {"coalesced", kernel<coalesced>, 48, "sum 00c5ba35"},
    {"coalescedRounds", kernel<coalescedRounds>, 32, "sum 2c57ce8d"},
    {"labels", kernel<labels>, 64, "sum 854eb456"},
    {"tiles.2", kernel<tiles<2>>, 33, "sum 6a95a86e", Compared::Never},
    {"tiles.8", kernel<tiles<8>>, 44, "sum 4864b571", Compared::Never},
    {"tiles.16", kernel<tiles<16>>, 40, "sum 86c12e4b"},
    {"tiles.32", kernel<tiles<32>>, 80, "sum 71ca1677"},
    {"dropOneByOne", kernel<dropOneByOne>, 64, "sum bb0b210f"},
    {"dropInBranches", kernel<dropInBranches>, 64, "sum 1d4e48d0"},
    {"producersAndConsumers", kernel<producersAndConsumers>, 64, "sum 3c8e0e4b"},
    {"spinLock", kernel<spinLock>, 64, "0-63:128"},
    {"lockAndBarrier", kernel<lockAndBarrier>, 64, "0-15:32 16-31:3 32-47:32 48-63:3; 16-31:32 48-63:32"},
    {"tokens", kernel<tokens>, 64, "0-63:32"},
    {"stages", kernel<stages>, 96, "sum b46de94e"},
    {"oneLaneProduces", kernel<oneLaneProduces>, 64, "sum fe44241e"},
    {"pingPong", kernel<pingPong>, 128, "0-127:36905"},
    {"groupsHandOver", kernel<groupsHandOver>, 256, "0-255:128"},
#ifdef WITH_CLUSTERS
    {"clusterBranches", cluster<clusterBranches>, 64, "0-11:192 12-31:7 32-43:192 44-63:7; 12-31:192 44-63:192",
     Compared::Interpreted},
    {"clusterArriveBranches", cluster<clusterArriveBranches>, 64, "sum a6c3afeb", Compared::Interpreted},
    {"clusterAndBlock", cluster<clusterAndBlock>, 64, "sum a56df221"},
#endif
};

int main(int argc, char** argv) { return runCases(kCases, argc, argv); }
