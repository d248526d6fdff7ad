// Graphs whose kernels decide what runs next: loops, branches with and without an alternative, switches, one inside
// another, run several times.
#include <tuple>

#include "check.h"

__global__ void countDown(int* left, int* rounds, cudaGraphConditionalHandle again) {
  ++*rounds;
  cudaGraphSetConditional(again, --*left > 0);
}

__global__ void choose(const int* value, cudaGraphConditionalHandle which) {
  if (threadIdx.x == 3) cudaGraphSetConditional(which, unsigned(*value));
}

__global__ void addTo(int* target, int amount) { *target += amount; }

// A step of Collatz: decides which of two bodies changes the value, and whether there is another round.
__global__ void inspect(const int* value, cudaGraphConditionalHandle odd) { cudaGraphSetConditional(odd, *value % 2); }
__global__ void halve(int* value) { *value /= 2; }
__global__ void triple(int* value) { *value = 3 * *value + 1; }
__global__ void finished(const int* value, int* steps, cudaGraphConditionalHandle again) {
  ++*steps;
  cudaGraphSetConditional(again, *value != 1);
}

template <class... Parameters, class... Arguments>
static cudaGraphNode_t addKernel(cudaGraph_t graph, std::vector<cudaGraphNode_t> after, int threads,
                                 void (*kernel)(Parameters...), Arguments... arguments) {
  std::tuple<Parameters...> values(arguments...);
  cudaGraphNode_t node;
  std::apply(
      [&](auto&... value) {
        void* pointers[] = {&value...};
        cudaKernelNodeParams params{};
        params.func = reinterpret_cast<void*>(kernel);
        params.gridDim = dim3(1);
        params.blockDim = dim3(threads);
        params.kernelParams = pointers;
        CHECK(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
      },
      values);
  return node;
}

struct Conditional {
  cudaGraphNode_t node;
  std::vector<cudaGraph_t> bodies;
};

static Conditional addConditional(cudaGraph_t graph, std::vector<cudaGraphNode_t> after,
                                  cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type, unsigned size) {
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = type;
  params.conditional.size = size;
  Conditional made;
  CHECK(cudaGraphAddNode(&made.node, graph, after.data(), nullptr, after.size(), &params));
  made.bodies.assign(params.conditional.phGraph_out, params.conditional.phGraph_out + size);
  return made;
}

static cudaGraphConditionalHandle makeHandle(cudaGraph_t graph, unsigned initial) {
  cudaGraphConditionalHandle handle;
  CHECK(cudaGraphConditionalHandleCreate(&handle, graph, initial, cudaGraphCondAssignDefault));
  return handle;
}

static void runTwice(cudaGraph_t graph, void (*between)(void*), void* data) {
  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int run = 0; run < 2; ++run) {
    between(data);
    CHECK(cudaGraphLaunch(executable, nullptr));
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
}

static void testLoop() {
  DeviceArray<int> words(2);
  words.clear();
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  const auto again = makeHandle(graph, 1);
  const Conditional loop = addConditional(graph, {}, again, cudaGraphCondTypeWhile, 1);
  addKernel(loop.bodies[0], {}, 1, countDown, static_cast<int*>(words), static_cast<int*>(words) + 1, again);
  runTwice(
      graph,
      [](void* data) {
        const int left = 9;
        CHECK(cudaMemcpy(data, &left, sizeof left, cudaMemcpyHostToDevice));
      },
      words);
  EXPECT(words.host()[0] == 0 && words.host()[1] == 18);
}

static void testBranches() {
  for (int value = 0; value < 5; ++value) {
    DeviceArray<int> words(std::vector<int>{value, 0, 0});
    int *const input = words, *const chosen = input + 1, *const switched = input + 2;
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    const auto when = makeHandle(graph, 0), which = makeHandle(graph, 0);
    const auto first = addKernel(graph, {}, 32, choose, input, when);
    const auto second = addKernel(graph, {}, 32, choose, input, which);
    const Conditional branch = addConditional(graph, {first}, when, cudaGraphCondTypeIf, 2);
    addKernel(branch.bodies[0], {}, 1, addTo, chosen, 100);
    addKernel(branch.bodies[1], {}, 1, addTo, chosen, 7);
    const Conditional cases = addConditional(graph, {second}, which, cudaGraphCondTypeSwitch, 3);
    for (int k = 0; k < 3; ++k) addKernel(cases.bodies[k], {}, 1, addTo, switched, 10 + k);
    runTwice(
        graph, [](void*) {}, nullptr);
    EXPECT(words.host()[1] == 2 * (value ? 100 : 7));
    EXPECT(words.host()[2] == 2 * (value < 3 ? 10 + value : 0));
  }
}

static void testNested() {
  DeviceArray<int> words(2);
  words.clear();
  int *const value = words, *const steps = value + 1;
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  const auto again = makeHandle(graph, 1);
  const Conditional loop = addConditional(graph, {}, again, cudaGraphCondTypeWhile, 1);
  const cudaGraph_t body = loop.bodies[0];
  const auto odd = makeHandle(body, 0);
  const auto look = addKernel(body, {}, 1, inspect, value, odd);
  const Conditional branch = addConditional(body, {look}, odd, cudaGraphCondTypeIf, 2);
  addKernel(branch.bodies[0], {}, 1, triple, value);
  addKernel(branch.bodies[1], {}, 1, halve, value);
  addKernel(body, {branch.node}, 1, finished, value, steps, again);
  runTwice(
      graph,
      [](void* data) {
        const int start = 27;
        CHECK(cudaMemcpy(data, &start, sizeof start, cudaMemcpyHostToDevice));
      },
      value);
  int expected = 0;
  for (int n = 27; n != 1; n = n % 2 ? 3 * n + 1 : n / 2) ++expected;
  EXPECT(words.host()[0] == 1 && words.host()[1] == 2 * expected);
}

// The handle of a graph serves a node in a body inside it. It has its first value once a launch, not in every round.
static void testHandleFromOutside() {
  DeviceArray<int> words(4);
  words.clear();
  int *const left = words, *const rounds = left + 1, *const taken = left + 2, *const zero = left + 3;
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  const auto again = makeHandle(graph, 1), once = makeHandle(graph, 1);
  const cudaGraph_t body = addConditional(graph, {}, again, cudaGraphCondTypeWhile, 1).bodies[0];
  const Conditional branch = addConditional(body, {}, once, cudaGraphCondTypeIf, 1);
  addKernel(branch.bodies[0], {}, 1, addTo, taken, 1);
  const auto spent = addKernel(body, {branch.node}, 32, choose, static_cast<const int*>(zero), once);
  addKernel(body, {spent}, 1, countDown, left, rounds, again);
  runTwice(
      graph,
      [](void* data) {
        const int start = 5;
        CHECK(cudaMemcpy(data, &start, sizeof start, cudaMemcpyHostToDevice));
      },
      left);
  EXPECT(words.host()[1] == 10 && words.host()[2] == 2);
}

// An executable graph takes over handles and their first values from the graph that it is brought up to date from.
static void testUpdate(bool byKernel) {
  DeviceArray<int> words(std::vector<int>{0, 1, 2, 0, 0, 0});
  int* const inputs = words;
  cudaGraphExec_t executable = nullptr;
  for (unsigned value = 0; value < 3; ++value) {
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    const auto which = makeHandle(graph, byKernel ? 5 : value);
    std::vector<cudaGraphNode_t> after;
    if (byKernel) after = {addKernel(graph, {}, 32, choose, static_cast<const int*>(inputs + value), which)};
    const Conditional cases = addConditional(graph, after, which, cudaGraphCondTypeSwitch, 3);
    for (int k = 0; k < 3; ++k) addKernel(cases.bodies[k], {}, 1, addTo, inputs + 3 + k, 1);
    cudaGraphExecUpdateResultInfo result;
    if (executable)
      CHECK(cudaGraphExecUpdate(executable, graph, &result));
    else
      CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    for (unsigned run = 0; run <= value; ++run) CHECK(cudaGraphLaunch(executable, nullptr));
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaGraphExecDestroy(executable));
  for (int k = 0; k < 3; ++k) EXPECT(words.host()[3 + k] == k + 1);
}

int main() {
  testHandleFromOutside();
  testUpdate(false);
  testUpdate(true);
  testLoop();
  testBranches();
  testNested();
  return passed();
}
