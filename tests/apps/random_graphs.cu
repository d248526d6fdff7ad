// Random graphs of kernels, launched again and again: each kernel mixes what those before it have left, so that an edge
// that is not kept, or a run that begins before the one before has ended, changes what is left at the end.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "check.h"

namespace {

constexpr int kMostBefore = 3, kThreads = 64;

struct Before {
  int count;
  int nodes[kMostBefore];
};

__host__ __device__ uint32_t mix(uint32_t a, uint32_t b) { return (a ^ b * 0x9e3779b1u) * 0x85ebca6bu + (a >> 13); }

// Values of a node: kThreads of device memory, and one that the host sees.
__global__ void node(uint32_t* values, uint32_t* seen, int self, uint32_t salt, Before before) {
  uint32_t value = mix(values[self * kThreads + threadIdx.x], salt + threadIdx.x);
  for (int i = 0; i < before.count; ++i)
    value = mix(value, values[before.nodes[i] * kThreads + (threadIdx.x + 7 * i) % kThreads]);
  values[self * kThreads + threadIdx.x] = value;
  if (threadIdx.x == 0) seen[self] = value;
}

struct RandomGraph {
  RandomGraph(unsigned seed, int count)
      : random(seed), before(count), salts(count), nodes(count), expected(count * kThreads) {
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaMalloc(&values, expected.size() * sizeof(uint32_t)));
    CHECK(cudaMemset(values, 0, expected.size() * sizeof(uint32_t)));
    CHECK(cudaMallocHost(&seen, count * sizeof(uint32_t)));
    for (int i = 0; i < count; ++i) add(i);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
  }
  ~RandomGraph() {
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(values));
    CHECK(cudaFreeHost(seen));
  }
  cudaKernelNodeParams paramsOf(int i) {
    index = i;
    arguments[0] = &values, arguments[1] = &seen, arguments[2] = &index, arguments[3] = &salts[i],
    arguments[4] = &before[i];
    cudaKernelNodeParams params{};
    params.func = reinterpret_cast<void*>(node);
    params.gridDim = dim3(1);
    params.blockDim = dim3(kThreads);
    params.kernelParams = arguments;
    return params;
  }
  // Chains, with joins and forks here and there.
  void add(int i) {
    salts[i] = random();
    std::vector<cudaGraphNode_t> edges;
    const int wanted = random() % 4 ? 1 : static_cast<int>(random() % (kMostBefore + 1));
    Before& mine = before[i];
    for (int k = 0; k < wanted && i; ++k) {
      const int other =
          random() % 3 ? i - 1 - static_cast<int>(random() % std::min(i, 5)) : static_cast<int>(random() % i);
      bool known = false;
      for (int j = 0; j < mine.count; ++j) known |= mine.nodes[j] == other;
      if (!known) mine.nodes[mine.count++] = other;
    }
    for (int k = 0; k < mine.count; ++k) edges.push_back(nodes[mine.nodes[k]]);
    const cudaKernelNodeParams params = paramsOf(i);
    CHECK(cudaGraphAddKernelNode(&nodes[i], graph, edges.data(), edges.size(), &params));
  }
  void change(int i) {
    salts[i] = random();
    const cudaKernelNodeParams params = paramsOf(i);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, nodes[i], &params));
  }
  void runOnHost() {
    for (size_t self = 0; self < before.size(); ++self) {
      std::vector<uint32_t> now(kThreads);
      for (int t = 0; t < kThreads; ++t) {
        uint32_t value = mix(expected[self * kThreads + t], salts[self] + t);
        for (int i = 0; i < before[self].count; ++i)
          value = mix(value, expected[before[self].nodes[i] * kThreads + (t + 7 * i) % kThreads]);
        now[t] = value;
      }
      std::copy(now.begin(), now.end(), expected.begin() + static_cast<long>(self * kThreads));
    }
  }
  void launch(cudaStream_t stream, int times) {
    for (int i = 0; i < times; ++i) {
      CHECK(cudaGraphLaunch(exec, stream));
      runOnHost();
    }
  }
  void compare() {
    for (size_t i = 0; i < before.size(); ++i) EXPECT(seen[i] == expected[i * kThreads]);
    std::vector<uint32_t> found(expected.size());
    CHECK(cudaMemcpy(found.data(), values, found.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    EXPECT(found == expected);
  }

  std::mt19937 random;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  std::vector<Before> before;
  std::vector<uint32_t> salts;
  std::vector<cudaGraphNode_t> nodes;
  std::vector<uint32_t> expected;
  uint32_t *values, *seen;
  int index = 0;
  void* arguments[5];
};

}  // namespace

int main(int argc, char** argv) {
  const unsigned rounds = argc > 1 ? std::atoi(argv[1]) : 3;
  cudaStream_t streams[2];
  CHECK(cudaStreamCreate(&streams[0]));
  CHECK(cudaStreamCreateWithPriority(&streams[1], cudaStreamNonBlocking, -5));
  for (unsigned seed = 0; seed < rounds; ++seed)
    for (const int count : {3, 8, 40, 150}) {
      RandomGraph one(seed * 1000 + count, count);
      if (seed % 2) CHECK(cudaGraphUpload(one.exec, streams[0]));
      one.launch(streams[0], 1);
      CHECK(cudaStreamSynchronize(streams[0]));
      one.compare();
      one.launch(streams[0], 5);                                  // one behind the other
      for (int i = 0; i < 6; ++i) one.launch(streams[i % 2], 2);  // and so in two streams
      CHECK(cudaDeviceSynchronize());
      one.compare();
      for (int k = 0; k < 4; ++k) {
        one.change(static_cast<int>(one.random() % count));
        one.launch(streams[1], 3);
      }
      CHECK(cudaDeviceSynchronize());
      one.compare();
    }
  puts("random_graphs: passed");
}
