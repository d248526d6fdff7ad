// Copies that overlap with work: pipelines of a block and of a thread, groups that copy together, producer and consumer
// warps that meet at barriers.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "check.h"

namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init

constexpr int kBatch = 256, kStages = 3;

// The sum of every position's elements over all batches, through a pipeline that the block shares.
__global__ void sumBatches(const int* in, int batches, int* out) {
  __shared__ int stage[kStages][kBatch];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  const cg::thread_block block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0, fetched = 0;
  for (int batch = 0; batch < batches; ++batch) {
    for (; fetched < batches && fetched < batch + kStages; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, stage[fetched % kStages], in + fetched * kBatch, sizeof(int) * kBatch, pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum += stage[batch % kStages][kBatch - 1 - threadIdx.x];
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}

// Half of the warps fetch, the others add up.
__global__ void fetchAndAdd(const int* in, int batches, int* out) {
  __shared__ int stage[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  const cg::thread_block block = cg::this_thread_block();
  const bool produces = threadIdx.x < 64;
  auto pipeline =
      cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  if (produces) {
    for (int batch = 0; batch < batches; ++batch) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&stage[batch % 2][threadIdx.x], in + batch * 64 + threadIdx.x, sizeof(int), pipeline);
      pipeline.producer_commit();
    }
    return;
  }
  int sum = 0;
  for (int batch = 0; batch < batches; ++batch) {
    pipeline.consumer_wait();
    sum = sum * 3 + stage[batch % 2][threadIdx.x - 64];
    pipeline.consumer_release();
  }
  out[threadIdx.x - 64] = sum;
}

// A thread's own pipeline, and copies of a group with a wait for all but the last.
__global__ void reverse(const int* in, int* out) {
  __shared__ int mine[2][128];
  cuda::pipeline<cuda::thread_scope_thread> pipeline = cuda::make_pipeline();
  pipeline.producer_acquire();
  cuda::memcpy_async(&mine[0][threadIdx.x], &in[threadIdx.x], cuda::aligned_size_t<4>(4), pipeline);
  pipeline.producer_commit();
  const cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, mine[1], in + 128, sizeof mine[1]);
  pipeline.consumer_wait();
  cg::wait(block);
  __syncthreads();
  out[threadIdx.x] = mine[1][127 - threadIdx.x];
  out[128 + threadIdx.x] = mine[0][127 - threadIdx.x];
  pipeline.consumer_release();
}

// One barrier object after the other in the same place, without a barrier between the last wait and the next object:
// the first thread sets it up again while other warps may not have asked yet. On a GPU all have been woken long before.
__global__ void objectsInARow(int rounds, int* out) {
  __shared__ unsigned long long object;
  const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(&object));
  int seen = 0;
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) {
      if (round % 3 == 2) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(place) : "memory");
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(place), "r"(blockDim.x) : "memory");
    }
    __syncthreads();
    unsigned long long token;
    unsigned done = 0;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(place) : "memory");
    for (int polls = 0; !done && polls < 100000; ++polls)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(place), "l"(token)
                   : "memory");
    seen += done;
  }
  out[threadIdx.x] = seen;
}

// A copy in bulk each round into a buffer of its own, and one barrier object for all: the first thread starts the next
// copy as soon as it has seen the last one come, and nothing tells it that the other warps have seen it, too. On a GPU
// they have long before the next copy arrives.
constexpr int kRounds = 8, kRow = 128;
__global__ void copiesInARow(const int* in, int* out) {
  __shared__ alignas(128) int rows[kRounds][kRow];
  __shared__ unsigned long long object;
  const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(&object));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(place) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(place), "r"(kRow * 4) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                       static_cast<unsigned>(__cvta_generic_to_shared(rows[round]))),
                   "l"(in + round * kRow), "r"(kRow * 4), "r"(place)
                   : "memory");
    }
    unsigned done = 0;
    for (int polls = 0; !done && polls < 100000; ++polls)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(place), "r"(round & 1)
                   : "memory");
    sum += done ? rows[round][kRow - 1 - threadIdx.x] * (round + 1) : -1'000'000;
  }
  out[threadIdx.x] = sum;
}

int main() {
  const int batches = 13;
  std::vector<int> in(batches * kBatch), sums(kBatch), mixed(64), reversed(256);
  for (size_t i = 0; i < in.size(); ++i) in[i] = int(i * 7 % 1009);
  DeviceArray<int> deviceIn(in), out(size_t{kBatch});
  for (int batch = 0; batch < batches; ++batch)
    for (int i = 0; i < kBatch; ++i) sums[kBatch - 1 - i] += in[batch * kBatch + i];
  sumBatches<<<1, kBatch>>>(deviceIn, batches, out);
  CHECK_LAUNCH();
  expectEqual(out.host(), sums, "pipeline of a block");

  for (int batch = 0; batch < batches; ++batch)
    for (int i = 0; i < 64; ++i) mixed[i] = mixed[i] * 3 + in[batch * 64 + i];
  DeviceArray<int> outMixed(64);
  fetchAndAdd<<<1, 128>>>(deviceIn, batches, outMixed);
  CHECK_LAUNCH();
  expectEqual(outMixed.host(), mixed, "producers and consumers");

  for (int i = 0; i < 256; ++i) reversed[i] = in[255 - i];
  reverse<<<1, 128>>>(deviceIn, out);
  CHECK_LAUNCH();
  expectEqual(out.host(), reversed, "a thread's pipeline");

  objectsInARow<<<1, kBatch>>>(10, out);
  CHECK_LAUNCH();
  expectEqual(out.host(), std::vector<int>(kBatch, 10), "barrier objects in a row");

  std::vector<int> weighed(kRow);
  for (int round = 0; round < kRounds; ++round)
    for (int i = 0; i < kRow; ++i) weighed[kRow - 1 - i] += in[round * kRow + i] * (round + 1);
  DeviceArray<int> outWeighed(size_t{kRow});
  copiesInARow<<<1, kRow>>>(deviceIn, outWeighed);
  CHECK_LAUNCH();
  expectEqual(outWeighed.host(), weighed, "copies in a row");
  return passed();
}
