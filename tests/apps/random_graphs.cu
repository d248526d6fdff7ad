// Random graphs of kernels, fills and copies, launched again and again: each kernel mixes what those before it have
// left, so that an edge that is not kept, or a run that begins before the one before has ended, changes what is left at
// the end.
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

// Written by copies, read by some kernels.
__constant__ uint32_t constants[kThreads];
__global__ void constantNode(uint32_t* values, uint32_t* seen, int self, uint32_t salt, Before) {
  const uint32_t value = mix(mix(values[self * kThreads + threadIdx.x], salt), constants[threadIdx.x]);
  values[self * kThreads + threadIdx.x] = value;
  if (threadIdx.x == 0) seen[self] = value;
}

// Values of a node: kThreads of device memory, and one that the host sees.
__global__ void node(uint32_t* values, uint32_t* seen, int self, uint32_t salt, Before before) {
  uint32_t value = mix(values[self * kThreads + threadIdx.x], salt + threadIdx.x);
  for (int i = 0; i < before.count; ++i)
    value = mix(value, values[before.nodes[i] * kThreads + (threadIdx.x + 7 * i) % kThreads]);
  values[self * kThreads + threadIdx.x] = value;
  if (threadIdx.x == 0) seen[self] = value;
}

enum class Kind { Kernel, Fill, Copy, ConstantKernel, ConstantCopy };

struct RandomGraph {
  RandomGraph(unsigned seed, int count)
      : random(seed),
        before(count),
        salts(count),
        nodes(count),
        kinds(count),
        expected(count * kThreads),
        constantsNow(kThreads) {
    CHECK(cudaMemcpyToSymbol(constants, constantsNow.data(), sizeof constants));
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
    params.func = kinds[i] == Kind::Kernel ? reinterpret_cast<void*>(node) : reinterpret_cast<void*>(constantNode);
    params.gridDim = dim3(1);
    params.blockDim = dim3(kThreads);
    params.kernelParams = arguments;
    return params;
  }
  bool isKernel(int i) const { return kinds[i] == Kind::Kernel || kinds[i] == Kind::ConstantKernel; }
  bool usesConstants(int i) const { return kinds[i] == Kind::ConstantKernel || kinds[i] == Kind::ConstantCopy; }
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
    kinds[i] = static_cast<Kind>(std::max(0, static_cast<int>(random() % 12) - 7));
    const bool copies = kinds[i] == Kind::Copy || kinds[i] == Kind::ConstantCopy;
    if (copies && !mine.count) kinds[i] = Kind::Kernel;
    if (usesConstants(i)) {  // one behind the other
      bool known = lastConstant < 0;
      for (int j = 0; j < mine.count; ++j) known |= mine.nodes[j] == lastConstant;
      if (!known) edges.push_back(nodes[lastConstant]);
      lastConstant = i;
    }
    for (int k = 0; k < mine.count; ++k) edges.push_back(nodes[mine.nodes[k]]);
    if (isKernel(i)) {
      const cudaKernelNodeParams params = paramsOf(i);
      CHECK(cudaGraphAddKernelNode(&nodes[i], graph, edges.data(), edges.size(), &params));
    } else if (kinds[i] == Kind::Fill) {
      cudaMemsetParams params{};
      params.dst = values + i * kThreads, params.value = salts[i], params.elementSize = 4, params.width = kThreads;
      params.height = 1;
      CHECK(cudaGraphAddMemsetNode(&nodes[i], graph, edges.data(), edges.size(), &params));
    } else {
      void* to = values + i * kThreads;
      if (kinds[i] == Kind::ConstantCopy) CHECK(cudaGetSymbolAddress(&to, constants));
      CHECK(cudaGraphAddMemcpyNode1D(&nodes[i], graph, edges.data(), edges.size(), to,
                                     values + mine.nodes[0] * kThreads, kThreads * sizeof(uint32_t),
                                     cudaMemcpyDeviceToDevice));
    }
  }
  void change(int i) {
    if (!isKernel(i)) return;
    salts[i] = random();
    const cudaKernelNodeParams params = paramsOf(i);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, nodes[i], &params));
  }
  uint32_t* of(int i) { return expected.data() + i * kThreads; }
  void runNode(int self) {
    const Before& mine = before[self];
    std::vector<uint32_t> now(kThreads, salts[self]);
    for (int t = 0; t < kThreads && isKernel(self); ++t) {
      now[t] = mix(of(self)[t], kinds[self] == Kind::Kernel ? salts[self] + t : salts[self]);
      if (kinds[self] == Kind::ConstantKernel) now[t] = mix(now[t], constantsNow[t]);
      for (int i = 0; i < mine.count && kinds[self] == Kind::Kernel; ++i)
        now[t] = mix(now[t], of(mine.nodes[i])[(t + 7 * i) % kThreads]);
    }
    if (kinds[self] == Kind::Copy || kinds[self] == Kind::ConstantCopy)
      now.assign(of(mine.nodes[0]), of(mine.nodes[0]) + kThreads);
    std::copy(now.begin(), now.end(), kinds[self] == Kind::ConstantCopy ? constantsNow.data() : of(self));
  }
  void runOnHost() {
    for (size_t self = 0; self < before.size(); ++self) runNode(static_cast<int>(self));
  }
  void launch(cudaStream_t stream, int times) {
    for (int i = 0; i < times; ++i) {
      CHECK(cudaGraphLaunch(exec, stream));
      runOnHost();
    }
  }
  void compare() {
    for (size_t i = 0; i < before.size(); ++i)
      EXPECT(!isKernel(static_cast<int>(i)) || seen[i] == expected[i * kThreads]);
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
  std::vector<Kind> kinds;
  std::vector<uint32_t> expected, constantsNow;
  int lastConstant = -1;
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
