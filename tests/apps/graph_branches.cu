// Graphs of many kernels of which some may run side by side: what a level has written is there for the next one, again
// and again, after updates, with nodes switched off, in captured graphs, and beside other kinds of nodes.
#include <algorithm>
#include <vector>

#include "check.h"

constexpr int kWidth = 37, kLevels = 8, kWords = 256;

// What a node makes of a word of all nodes of the level before it.
__host__ __device__ inline unsigned mixed(unsigned sum, int level, int node, int word, unsigned salt) {
  return sum * 1664525u + unsigned(level * 8191 + node * 131 + word) + salt;
}

__global__ void mix(const unsigned* before, unsigned* after, int width, int level, int node, unsigned salt) {
  for (int word = threadIdx.x + blockIdx.x * blockDim.x; word < kWords; word += blockDim.x * gridDim.x) {
    unsigned sum = 0;
    for (int i = 0; i < width; ++i) sum += before[i * kWords + word];
    after[node * kWords + word] = mixed(sum, level, node, word, salt);
  }
}

// Runs on for a while, so that a level that did not wait would be seen.
__global__ void late(unsigned* word, long long clocks) {
  const long long begin = clock64();
  while (clock64() - begin < clocks) {
  }
  *word += 1;
}

struct Node {
  cudaGraphNode_t handle;
  const unsigned* before;
  unsigned* after;
  int width, level, number;
  unsigned salt = 0;

  // Calls `use` with the node's parameters.
  template <class Use>
  void with(Use use) {
    void* arguments[] = {&before, &after, &width, &level, &number, &salt};
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(mix);
    parameters.gridDim = dim3(unsigned(1 + number % 5));
    parameters.blockDim = dim3(unsigned(32 + 32 * (number % 8)));
    parameters.kernelParams = arguments;
    use(parameters);
  }
};

// All of a level need all of the level before.
struct Layers {
  DeviceArray<unsigned> words[2];
  std::vector<Node> nodes;
  cudaGraph_t graph;
  cudaGraphExec_t exec;

  Layers() : words{DeviceArray<unsigned>(kWidth * kWords), DeviceArray<unsigned>(kWidth * kWords)} {
    CHECK(cudaGraphCreate(&graph, 0));
    std::vector<cudaGraphNode_t> before, now;
    for (int level = 0; level < kLevels; ++level, before.swap(now), now.clear())
      for (int number = 0; number < kWidth; ++number) {
        Node node{nullptr, words[level % 2], words[(level + 1) % 2], kWidth, level, number};
        node.with([&](const cudaKernelNodeParams& parameters) {
          CHECK(cudaGraphAddKernelNode(&node.handle, graph, before.data(), before.size(), &parameters));
        });
        now.push_back(node.handle);
        nodes.push_back(node);
      }
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
  }
  ~Layers() {
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
  }
  void change(int level, int number, unsigned salt) {
    Node& node = nodes[size_t(level * kWidth + number)];
    node.salt = salt;
    node.with([&](const cudaKernelNodeParams& parameters) {
      CHECK(cudaGraphExecKernelNodeSetParams(exec, node.handle, &parameters));
    });
  }
  // What a launch makes of `from`.
  std::vector<unsigned> model(std::vector<unsigned> from) const {
    std::vector<unsigned> to(from.size());
    for (int level = 0; level < kLevels; ++level, from.swap(to))
      for (int word = 0; word < kWords; ++word) {
        unsigned sum = 0;
        for (int i = 0; i < kWidth; ++i) sum += from[size_t(i * kWords + word)];
        for (int i = 0; i < kWidth; ++i)
          to[size_t(i * kWords + word)] = mixed(sum, level, i, word, nodes[size_t(level * kWidth + i)].salt);
      }
    return from;
  }
};

static void levelsSeeWhatTheOneBeforeWrote() {
  Layers layers;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  std::vector<unsigned> values = randomWords(kWidth * kWords);
  CHECK(cudaMemcpy(layers.words[0], values.data(), values.size() * sizeof(unsigned), cudaMemcpyHostToDevice));
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 2; ++i) {
      CHECK(cudaGraphLaunch(layers.exec, stream));
      values = layers.model(values);
    }
    if (round % 2) CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < 5; ++i) layers.change(round, i * 7, unsigned(round * 100 + i));
  }
  CHECK(cudaStreamSynchronize(stream));
  expectEqual(layers.words[kLevels % 2].host(), values, "layers");
  CHECK(cudaStreamDestroy(stream));
}

// Diamonds in a row, whose sides end at different times; at last with the slow side switched off.
static void joinsWaitForTheSlowSide() {
  constexpr int kDiamonds = 50;
  DeviceArray<unsigned> counts(4);
  counts.clear();
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  std::vector<cudaGraphNode_t> slow;
  cudaGraphNode_t top = nullptr;
  const auto add = [&](int counter, long long clocks, std::vector<cudaGraphNode_t> after) {
    unsigned* word = counts + counter;
    void* arguments[] = {&word, &clocks};
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(late);
    parameters.gridDim = parameters.blockDim = dim3(1);
    parameters.kernelParams = arguments;
    cudaGraphNode_t node;
    CHECK(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &parameters));
    return node;
  };
  for (int i = 0; i < kDiamonds; ++i) {
    top = add(0, 0, top ? std::vector<cudaGraphNode_t>{top} : std::vector<cudaGraphNode_t>{});
    const cudaGraphNode_t quick = add(1, 0, {top});
    slow.push_back(add(2, 20000, {top}));
    top = add(2, 0, {quick, slow.back()});  // the same word as the slow side's
    if (i % 10 == 5) {                      // what is no kernel lies between
      cudaMemcpy3DParms copy{};
      copy.srcPtr = make_cudaPitchedPtr(counts + 2, 4, 1, 1);
      copy.dstPtr = make_cudaPitchedPtr(counts + 3, 4, 1, 1);
      copy.extent = make_cudaExtent(4, 1, 1);
      copy.kind = cudaMemcpyDeviceToDevice;
      CHECK(cudaGraphAddMemcpyNode(&top, graph, &top, 1, &copy));
    }
  }
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaStreamSynchronize(nullptr));
  expectEqual(counts.host(), {kDiamonds, kDiamonds, 2 * kDiamonds, 2 * (kDiamonds - 4)}, "diamonds");
  for (cudaGraphNode_t node : slow) CHECK(cudaGraphNodeSetEnabled(exec, node, 0));
  CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaStreamSynchronize(nullptr));
  expectEqual(counts.host(), {2 * kDiamonds, 2 * kDiamonds, 3 * kDiamonds, 3 * kDiamonds - 4}, "half diamonds");
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

// Streams that fork from one and join it, captured.
static void capturedBranches() {
  constexpr int kBranches = 9, kLength = 25;
  DeviceArray<unsigned> counts(kBranches + 1);
  counts.clear();
  CHECK(cudaDeviceSynchronize());  // the streams below do not wait for the default stream
  cudaStream_t streams[kBranches];
  cudaEvent_t fork, joins[kBranches];
  for (cudaStream_t& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&fork));
  for (cudaEvent_t& join : joins) CHECK(cudaEventCreate(&join));
  CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, streams[0]));
  for (int i = 1; i < kBranches; ++i) CHECK(cudaStreamWaitEvent(streams[i], fork));
  for (int i = 0; i < kBranches; ++i)
    for (int k = 0; k < kLength; ++k) late<<<1, 1, 0, streams[i]>>>(counts + i, 100 * i);
  for (int i = 1; i < kBranches; ++i) {
    CHECK(cudaEventRecord(joins[i], streams[i]));
    CHECK(cudaStreamWaitEvent(streams[0], joins[i]));
  }
  late<<<1, 1, 0, streams[0]>>>(counts + kBranches, 0);
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(streams[0], &graph));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin, streams[0]));
  for (int i = 0; i < 20; ++i) CHECK(cudaGraphLaunch(exec, streams[0]));
  CHECK(cudaEventRecord(end, streams[0]));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  EXPECT(milliseconds > 0);
  std::vector<unsigned> expected(kBranches + 1, 20 * kLength);
  expected.back() = 20;
  expectEqual(counts.host(), expected, "branches");
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  for (cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
  for (cudaEvent_t event : joins) CHECK(cudaEventDestroy(event));
  for (cudaEvent_t event : {fork, begin, end}) CHECK(cudaEventDestroy(event));
}

int main() {
  levelsSeeWhatTheOneBeforeWrote();
  joinsWaitForTheSlowSide();
  capturedBranches();
  return passed();
}
