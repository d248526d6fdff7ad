// Graphs that kernels launch, and nodes that kernels change: a loop that launches itself again until it is done, a
// dispatcher that launches a graph for each packet of work, the order of tail launches, and a graph whose first kernel
// decides how much the next ones do.
#include <algorithm>
#include <tuple>
#include <type_traits>

#include "check.h"

namespace {

template <class... Parameters>
cudaGraphNode_t addKernel(cudaGraph_t graph, std::vector<cudaGraphNode_t> after, dim3 blocks, int threads,
                          void (*kernel)(Parameters...), std::common_type_t<Parameters>... arguments) {
  void* pointers[] = {&arguments..., nullptr};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(kernel);
  params.gridDim = blocks;
  params.blockDim = dim3(threads);
  params.kernelParams = pointers;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
  return node;
}

cudaGraph_t newGraph() {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  return graph;
}

// An executable graph that kernels may launch.
cudaGraphExec_t launchable(cudaGraph_t graph, cudaStream_t stream) {
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
  CHECK(cudaGraphUpload(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphDestroy(graph));
  return exec;
}

__device__ void require(bool holds, int* wrong) {
  if (!holds) atomicAdd(wrong, 1);
}

// --- A loop: a row of cells spreads its heat until it is even enough, each round a launch of the same graph ---------

constexpr int kCells = 1024, kThreads = 256;

struct Rod {
  float cells[2][kCells];
  int round, most, unrest, wrong;
};

__global__ void spread(Rod* rod) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float* from = rod->cells[rod->round % 2];
  float* to = rod->cells[(rod->round + 1) % 2];
  const float left = from[max(i - 1, 0)], right = from[min(i + 1, kCells - 1)];
  to[i] = 0.25f * left + 0.5f * from[i] + 0.25f * right;
  if (fabsf(to[i] - from[i]) > 1e-4f) atomicAdd(&rod->unrest, 1);
}

__global__ void again(Rod* rod) {
  ++rod->round;
  const bool goesOn = rod->unrest && rod->round < rod->most;
  rod->unrest = 0;
  if (!goesOn) return;
  require(cudaGetCurrentGraphExec() != nullptr, &rod->wrong);
  require(cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch) == cudaSuccess, &rod->wrong);
}

__global__ void outsideOfGraphs(Rod* rod) { require(cudaGetCurrentGraphExec() == nullptr, &rod->wrong); }

int spreadOnHost(std::vector<float>& cells, int most) {
  for (int round = 1;; ++round) {
    const std::vector<float> from = cells;
    bool unrest = false;
    for (int i = 0; i < kCells; ++i) {
      const float left = from[std::max(i - 1, 0)], right = from[std::min(i + 1, kCells - 1)];
      cells[i] = 0.25f * left + 0.5f * from[i] + 0.25f * right;
      unrest |= std::fabs(cells[i] - from[i]) > 1e-4f;
    }
    if (!unrest || round == most) return round;
  }
}

void loops(cudaStream_t stream) {
  constexpr int kMost = 400;
  std::vector<Rod> start(1);
  std::memset(&start[0], 0, sizeof start[0]);
  std::vector<float> expected(kCells);
  for (int i = 0; i < kCells; ++i) expected[i] = start[0].cells[0][i] = i / 64 % 2 ? 1.0f : 0.0f;
  start[0].most = kMost;
  const int rounds = spreadOnHost(expected, kMost);
  EXPECT(rounds > 20);

  DeviceArray<Rod> rod(start);
  const cudaGraph_t graph = newGraph();
  const cudaGraphNode_t first = addKernel(graph, {}, dim3(kCells / kThreads), kThreads, spread, rod);
  addKernel(graph, {first}, dim3(1), 1, again, rod);
  const cudaGraphExec_t exec = launchable(graph, stream);
  for (int launch = 0; launch < 3; ++launch) {
    // The stream goes on when the last of them is over.
    std::vector<Rod> end(1);
    CHECK(cudaMemcpyAsync(rod, start.data(), sizeof(Rod), cudaMemcpyHostToDevice, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    outsideOfGraphs<<<1, 1, 0, stream>>>(rod);
    CHECK(cudaMemcpyAsync(end.data(), rod, sizeof(Rod), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(end[0].wrong == 0);
    EXPECT(end[0].round == rounds);
    for (int i = 0; i < kCells; ++i) EXPECT(std::fabs(end[0].cells[rounds % 2][i] - expected[i]) < 1e-5f);
  }
  CHECK(cudaGraphExecDestroy(exec));
}

// --- A dispatcher: packets of two kinds of work, each done by a graph of its own -------------------------------------

constexpr int kPackets = 60, kSlots = 4, kPacketSize = 512;

struct Packet {
  int kind, first;  // of kPacketSize numbers
};
struct Slot {
  Packet packet;
  int busy;
};
struct Board {
  Slot slots[kSlots];
  int next, wrong, rounds;
};

__global__ void square(int* numbers, const Slot* slot) {
  numbers[slot->packet.first + threadIdx.x] *= numbers[slot->packet.first + threadIdx.x];
}

// Two nodes: a copy of the packet's numbers, then each becomes the sum of itself and its mirror image.
__global__ void gather(const int* numbers, const Slot* slot, int* scratch) {
  scratch[threadIdx.x] = numbers[slot->packet.first + threadIdx.x];
}
__global__ void mirror(int* numbers, const Slot* slot, const int* scratch) {
  numbers[slot->packet.first + threadIdx.x] = scratch[threadIdx.x] + scratch[kPacketSize - 1 - threadIdx.x];
}

// Launches the graphs of as many packets as there are slots; the next round begins when all of them are over.
__global__ void dispatch(Board* board, const Packet* packets, cudaGraphExec_t* squares, cudaGraphExec_t* mirrors) {
  ++board->rounds;
  for (int slot = 0; slot < kSlots && board->next < kPackets; ++slot) {
    const Packet packet = packets[board->next++];
    board->slots[slot].packet = packet;
    const cudaGraphExec_t graph = packet.kind ? mirrors[slot] : squares[slot];
    require(cudaGraphLaunch(graph, cudaStreamGraphFireAndForget) == cudaSuccess, &board->wrong);
  }
  if (board->next < kPackets)
    require(cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch) == cudaSuccess, &board->wrong);
}

void dispatches(cudaStream_t stream) {
  RandomWords random(7);
  std::vector<Packet> packets(kPackets);
  std::vector<int> numbers(kPackets * kPacketSize), expected(numbers.size());
  for (int& number : numbers) number = int(random() % 1000);
  for (int i = 0; i < kPackets; ++i) packets[i] = {int(random() % 2), (i * 7 % kPackets) * kPacketSize};
  for (const Packet& packet : packets)
    for (int i = 0; i < kPacketSize; ++i) {
      const int* own = &numbers[packet.first];
      expected[packet.first + i] = packet.kind ? own[i] + own[kPacketSize - 1 - i] : own[i] * own[i];
    }

  DeviceArray<Packet> work(packets);
  DeviceArray<int> data(numbers), scratch(kSlots * kPacketSize);
  DeviceArray<Board> board(1);
  board.clear();
  Slot* const slots = reinterpret_cast<Slot*>(static_cast<Board*>(board));
  std::vector<cudaGraphExec_t> squares, mirrors;
  for (int i = 0; i < kSlots; ++i) {
    cudaGraph_t graph = newGraph();
    addKernel(graph, {}, dim3(1), kPacketSize, square, data, slots + i);
    squares.push_back(launchable(graph, stream));
    graph = newGraph();
    int* const own = scratch + i * kPacketSize;
    const cudaGraphNode_t first = addKernel(graph, {}, dim3(1), kPacketSize, gather, data, slots + i, own);
    addKernel(graph, {first}, dim3(1), kPacketSize, mirror, data, slots + i, own);
    mirrors.push_back(launchable(graph, stream));
  }
  DeviceArray<cudaGraphExec_t> squareGraphs(squares), mirrorGraphs(mirrors);
  const cudaGraph_t graph = newGraph();
  addKernel(graph, {}, dim3(1), 1, dispatch, board, work, squareGraphs, mirrorGraphs);
  const cudaGraphExec_t dispatcher = launchable(graph, stream);
  CHECK(cudaGraphLaunch(dispatcher, stream));
  CHECK(cudaStreamSynchronize(stream));
  std::vector<Board> end(1);
  CHECK(cudaMemcpy(end.data(), board, sizeof(Board), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(numbers.data(), data, numbers.size() * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(end[0].wrong == 0);
  EXPECT(end[0].rounds == (kPackets + kSlots - 1) / kSlots);
  EXPECT(numbers == expected);
  for (cudaGraphExec_t exec : squares) CHECK(cudaGraphExecDestroy(exec));
  for (cudaGraphExec_t exec : mirrors) CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphExecDestroy(dispatcher));
}

// --- Order -----------------------------------------------------------------------------------------------------------

struct Log {
  int count, entries[64], wrong;
};

__device__ void append(Log* log, int entry) { log->entries[atomicAdd(&log->count, 1)] = entry; }

__global__ void note(Log* log, int entry) { append(log, entry); }
__global__ void slowly(Log* log, int entry) {
  const long long start = clock64();
  while (clock64() - start < 20'000'000) {
  }
  append(log, entry);
}
// When there are so many entries before it, or after a second or two.
__global__ void behind(Log* log, int entry, int others) {
  const long long start = clock64();
  while (atomicAdd(&log->count, 0) < others && clock64() - start < 3'000'000'000) {
  }
  append(log, entry);
}
// Launches up to two graphs as its tail, and one beside or below itself.
__global__ void launchOthers(Log* log, int entry, cudaGraphExec_t first, cudaGraphExec_t second, cudaGraphExec_t child,
                             bool sibling) {
  append(log, entry);
  const cudaStream_t beside = sibling ? cudaStreamGraphFireAndForgetAsSibling : cudaStreamGraphFireAndForget;
  if (first) require(cudaGraphLaunch(first, cudaStreamGraphTailLaunch) == cudaSuccess, &log->wrong);
  if (second) require(cudaGraphLaunch(second, cudaStreamGraphTailLaunch) == cudaSuccess, &log->wrong);
  if (child) require(cudaGraphLaunch(child, beside) == cudaSuccess, &log->wrong);
}

std::vector<int> entriesOf(Log* log, cudaGraph_t graph, cudaStream_t stream) {
  cudaGraphExec_t exec;
  Log end;
  CHECK(cudaMemset(log, 0, sizeof(Log)));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  note<<<1, 1, 0, stream>>>(log, 99);
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(&end, log, sizeof end, cudaMemcpyDeviceToHost));
  EXPECT(end.wrong == 0);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  return std::vector<int>(end.entries, end.entries + end.count);
}

void orders(cudaStream_t stream) {
  DeviceArray<Log> memory(1);
  Log* const log = memory;
  std::vector<cudaGraphExec_t> made;
  const auto graphOf = [&](auto... arguments) {
    const cudaGraph_t graph = newGraph();
    addKernel(graph, {}, dim3(1), 1, arguments...);
    return graph;
  };
  const auto notes = [&](int entry) { return made.emplace_back(launchable(graphOf(note, log, entry), stream)); };
  const auto launches = [&](int entry, cudaGraphExec_t first, cudaGraphExec_t second, cudaGraphExec_t child,
                            bool sibling) { return graphOf(launchOthers, log, entry, first, second, child, sibling); };
  const cudaGraphExec_t slow = made.emplace_back(launchable(graphOf(slowly, log, 50), stream));
  const cudaGraphExec_t last = made.emplace_back(launchable(graphOf(behind, log, 50, 2), stream));
  const cudaGraphExec_t one = notes(1), two = notes(2), three = notes(3), four = notes(4);

  // The tails of a tail come before the rest of the tails.
  const cudaGraphExec_t left = made.emplace_back(launchable(launches(11, one, two, nullptr, false), stream));
  const cudaGraphExec_t right = made.emplace_back(launchable(launches(12, three, four, nullptr, false), stream));
  EXPECT(entriesOf(log, launches(10, left, right, nullptr, false), stream) ==
         (std::vector<int>{10, 11, 1, 2, 12, 3, 4, 99}));
  // Tails wait for children of their graph, and not for its siblings; the stream waits for all.
  EXPECT(entriesOf(log, launches(10, one, nullptr, slow, false), stream) == (std::vector<int>{10, 50, 1, 99}));
  EXPECT(entriesOf(log, launches(10, one, nullptr, last, true), stream) == (std::vector<int>{10, 1, 50, 99}));
  for (cudaGraphExec_t exec : made) CHECK(cudaGraphExecDestroy(exec));
}

// --- Nodes that kernels change: a first kernel finds what there is to do, the next ones do as much -------------------

constexpr int kInputs = 20'000, kUnit = 128;

struct Found {
  int count, wrong, blocks;
};

__global__ void collect(const int* inputs, Found* found, int* chosen) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kInputs && inputs[i] % 5 == 0) chosen[atomicAdd(&found->count, 1)] = inputs[i];
}

__global__ void plan(Found* found, cudaGraphDeviceNode_t each, cudaGraphDeviceNode_t sometimes, int limit) {
  const int blocks = (found->count + kUnit - 1) / kUnit;
  require(cudaGraphKernelNodeSetParam(each, 2 * sizeof(void*), found->count) == cudaSuccess, &found->wrong);
  require(cudaGraphKernelNodeSetGridDim(each, dim3(max(blocks, 1))) == cudaSuccess, &found->wrong);
  cudaGraphKernelNodeUpdate updates[2] = {{}, {}};
  updates[0].node = each;
  updates[0].field = cudaGraphKernelNodeFieldEnabled;
  updates[0].updateData.isEnabled = found->count > 0;
  updates[1].node = sometimes;
  updates[1].field = cudaGraphKernelNodeFieldEnabled;
  updates[1].updateData.isEnabled = found->count > limit;
  require(cudaGraphKernelNodeUpdatesApply(updates, 2) == cudaSuccess, &found->wrong);
}

__global__ void increment(int* chosen, Found* found, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (!threadIdx.x) atomicAdd(&found->blocks, 1);
  if (i < count) ++chosen[i];
}

__global__ void mark(Found* found) { found->blocks += 1'000'000; }

cudaGraphDeviceNode_t changeable(cudaGraphNode_t node) {
  cudaLaunchAttributeValue value{};
  value.deviceUpdatableKernelNode.deviceUpdatable = 1;
  CHECK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &value));
  CHECK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &value));
  EXPECT(value.deviceUpdatableKernelNode.deviceUpdatable == 1);
  EXPECT(value.deviceUpdatableKernelNode.devNode != nullptr);
  return value.deviceUpdatableKernelNode.devNode;
}

void changes(cudaStream_t stream) {
  DeviceArray<int> inputs(kInputs), chosen(kInputs);
  DeviceArray<Found> found(1);
  const int limit = kInputs / 4;
  const cudaGraph_t graph = newGraph();
  cudaMemsetParams clear{};
  clear.dst = found;
  clear.elementSize = 1;
  clear.width = sizeof(Found);
  clear.height = 1;
  cudaGraphNode_t cleared;
  CHECK(cudaGraphAddMemsetNode(&cleared, graph, nullptr, 0, &clear));
  const cudaGraphNode_t collected =
      addKernel(graph, {cleared}, dim3((kInputs + kThreads - 1) / kThreads), kThreads, collect, inputs, found, chosen);
  // The nodes to be changed are there before the one that is told of them.
  const cudaGraphNode_t incremented = addKernel(graph, {}, dim3(1), kUnit, increment, chosen, found, 0);
  const cudaGraphNode_t marked = addKernel(graph, {incremented}, dim3(1), 1, mark, found);
  const cudaGraphDeviceNode_t each = changeable(incremented), sometimes = changeable(marked);
  const cudaGraphNode_t planned = addKernel(graph, {collected}, dim3(1), 1, plan, found, each, sometimes, limit);
  CHECK(cudaGraphAddDependencies(graph, &planned, &incremented, nullptr, 1));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphUpload(exec, stream));

  for (const int modulus : {1000, 7, 5}) {
    std::vector<int> numbers(kInputs);
    for (int i = 0; i < kInputs; ++i) numbers[i] = modulus == 5 ? 5 * i : modulus == 7 ? 5 * i + 1 : i * 37 % modulus;
    std::vector<int> expected;
    for (int number : numbers)
      if (number % 5 == 0) expected.push_back(number + 1);
    CHECK(cudaMemcpyAsync(inputs, numbers.data(), kInputs * sizeof(int), cudaMemcpyHostToDevice, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    Found end;
    CHECK(cudaMemcpy(&end, found, sizeof end, cudaMemcpyDeviceToHost));
    EXPECT(end.wrong == 0);
    EXPECT(end.count == int(expected.size()));
    const int blocks = (end.count + kUnit - 1) / kUnit;
    EXPECT(end.blocks == blocks + (end.count > limit ? 1'000'000 : 0));
    std::vector<int> results(expected.size() + 1);
    CHECK(cudaMemcpy(results.data(), chosen, expected.size() * sizeof(int), cudaMemcpyDeviceToHost));
    results.pop_back();
    std::sort(results.begin(), results.end());
    std::sort(expected.begin(), expected.end());
    EXPECT(results == expected);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

}  // namespace

int main() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  loops(stream);
  dispatches(stream);
  orders(stream);
  changes(stream);
  CHECK(cudaStreamDestroy(stream));
  return passed();
}
