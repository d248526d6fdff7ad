// Random graphs of copies, fills and host nodes against a model that runs them in one order: every order that keeps the
// edges must give the same bytes, because nodes that touch the same bytes are connected. Some are changed while they
// are executable: parameters, switches, whole updates.
#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "fixture.h"

namespace {

constexpr size_t kBytes = 1 << 15;

struct Range {
  size_t at, bytes;
  bool meets(const Range& other) const { return at < other.at + other.bytes && other.at < at + bytes; }
};

struct Operation {
  enum Kind { Fill, Copy, Host, Empty } kind;
  Range to{}, from{};
  unsigned value = 0;
  bool enabled = true;
  CUgraphNode node = nullptr;
  struct Addition* call = nullptr;

  bool mustFollow(const Operation& before) const {
    const bool host = kind == Host && before.kind == Host;
    const bool writes = to.bytes && (to.meets(before.to) || to.meets(before.from));
    return host || (before.to.bytes && (before.to.meets(to) || before.to.meets(from))) || writes;
  }
};

// Host nodes: a sum in which the order shows.
struct Addition {
  uint64_t* sum;
  unsigned value;
  static void call(void* data) {
    auto& a = *static_cast<Addition*>(data);
    *a.sum = *a.sum * 31 + a.value;
  }
};

class RandomGraphs : public GraphTest, public testing::WithParamInterface<unsigned> {
 protected:
  size_t pick(size_t below) { return random() % below; }
  Range range(size_t bytes) { return {pick(kBytes - bytes), bytes}; }

  Operation draw() {
    const size_t bytes = 1 + pick(pick(8) ? 300 : 8000);
    switch (pick(8)) {
      case 0:
        return {.kind = Operation::Host, .value = static_cast<unsigned>(pick(1000))};
      case 1:
        return {.kind = Operation::Empty};
      case 2:
      case 3:
      case 4:
        return {.kind = Operation::Fill, .to = range(bytes), .value = static_cast<unsigned>(pick(256))};
      default: {
        Operation copy{.kind = Operation::Copy, .to = range(bytes), .from = range(bytes)};
        while (copy.to.meets(copy.from)) copy.to = range(bytes), copy.from = range(bytes);
        return copy;
      }
    }
  }

  // Edges to all that it must follow, and a few more.
  Nodes dependencies(size_t index) {
    Nodes nodes;
    for (size_t i = 0; i < index; ++i)
      if (operations[index].mustFollow(operations[i]) || pick(40) == 0) nodes.push_back(operations[i].node);
    return nodes;
  }

  void add(CUgraph to, size_t index) {
    Operation& operation = operations[index];
    const Nodes after = dependencies(index);
    switch (operation.kind) {
      case Operation::Fill:
        operation.node = addFill(to, after, fillOf(memory + operation.to.at, operation.value, operation.to.bytes));
        break;
      case Operation::Copy:
        operation.node =
            addCopy(to, after, copyOf(memory + operation.to.at, memory + operation.from.at, operation.to.bytes));
        break;
      case Operation::Host:
        additions.push_back(std::make_unique<Addition>(Addition{&sum, operation.value}));
        operation.call = additions.back().get();
        operation.node = addHost(to, after, Addition::call, operation.call);
        break;
      case Operation::Empty:
        EXPECT_OK(cuGraphAddEmptyNode(&operation.node, to, after.data(), after.size()));
        break;
    }
  }

  void runModel() {
    for (const Operation& o : operations) {
      if (!o.enabled) continue;
      if (o.kind == Operation::Fill) std::memset(&model[o.to.at], static_cast<int>(o.value), o.to.bytes);
      if (o.kind == Operation::Copy) std::memmove(&model[o.to.at], &model[o.from.at], o.to.bytes);
      if (o.kind == Operation::Host) modelSum = modelSum * 31 + o.value;
    }
  }

  // Something of an executable graph that keeps what its edges say.
  void change(CUgraphExec exec) {
    Operation& o = operations[pick(operations.size())];
    if (o.kind == Operation::Host) {
      o.call->value = o.value = static_cast<unsigned>(pick(1000));
    } else if (o.kind == Operation::Fill && pick(2)) {
      o.value = static_cast<unsigned>(pick(256));
      o.to.bytes = 1 + pick(o.to.bytes);
      const CUDA_MEMSET_NODE_PARAMS fill = fillOf(memory + o.to.at, o.value, o.to.bytes);
      EXPECT_OK(cuGraphExecMemsetNodeSetParams(exec, o.node, &fill, context));
    } else if (o.kind == Operation::Copy && pick(2)) {
      o.to.bytes = o.from.bytes = 1 + pick(o.to.bytes);
      const CUDA_MEMCPY3D copy = copyOf(memory + o.to.at, memory + o.from.at, o.to.bytes);
      EXPECT_OK(cuGraphExecMemcpyNodeSetParams(exec, o.node, &copy, context));
    } else if (o.kind != Operation::Empty) {
      o.enabled = !o.enabled;
      EXPECT_OK(cuGraphNodeSetEnabled(exec, o.node, o.enabled));
    }
  }

  std::mt19937 random{GetParam()};
  std::vector<Operation> operations;
  std::vector<std::unique_ptr<Addition>> additions;
  CUdeviceptr memory = 0;
  std::vector<uint8_t> model = std::vector<uint8_t>(kBytes, 0);
  uint64_t sum = 1, modelSum = 1;
};

TEST_P(RandomGraphs, GiveTheBytesOfOneOrder) {
  memory = allocate(kBytes);
  for (size_t i = 0, count = 1 + pick(120); i < count; ++i) {
    operations.push_back(draw());
    add(graph, i);
  }
  CUgraphExec exec = instantiate(graph);
  for (int round = 0; round < 20; ++round) {
    for (size_t changes = pick(6); changes > 0; --changes) change(exec);
    for (size_t launches = 1 + pick(3); launches > 0; --launches) {
      EXPECT_OK(cuGraphLaunch(exec, stream));
      runModel();
    }
    ASSERT_OK(cuStreamSynchronize(stream));
    ASSERT_EQ(read(memory, kBytes), model) << "round " << round;
    ASSERT_EQ(sum, modelSum);
  }
  // The graph itself never changed: an update brings all parameters back, a clone is as good.
  CUgraph clone;
  ASSERT_OK(cuGraphClone(&clone, graph));
  CUgraphExecUpdateResultInfo info;
  EXPECT_OK(cuGraphExecUpdate(exec, pick(2) ? clone : graph, &info));
  CUgraphExec fresh = instantiate(clone);
  for (Operation& operation : operations)
    if (!operation.enabled) {
      EXPECT_OK(cuGraphNodeSetEnabled(exec, operation.node, 1));
    }
  ASSERT_OK(cuMemsetD8(memory, 3, kBytes));
  run(exec);
  const auto first = read(memory, kBytes);
  ASSERT_OK(cuMemsetD8(memory, 3, kBytes));
  run(fresh);
  EXPECT_EQ(read(memory, kBytes), first);
  EXPECT_OK(cuGraphExecDestroy(fresh));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(clone));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, testing::Range(1u, 61u));

}  // namespace
