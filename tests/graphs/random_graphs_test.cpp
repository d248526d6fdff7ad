// Random graphs of copies, fills, kernels, memory operations, host functions and child graphs against a model that runs
// them in one order: every order that keeps the edges must give the same bytes, because nodes that touch the same bytes
// are connected. Some are changed while they are executable: parameters, switches, whole updates.
#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "fixture.h"

namespace {

constexpr size_t kBytes = 1 << 15;

struct Range {
  size_t at = 0, bytes = 0;
  bool meets(const Range& other) const { return at < other.at + other.bytes && other.at < at + bytes; }
};

struct Operation {
  enum Kind { Fill, Copy, Mix, Write, Host, Empty, Child } kind;
  Range to{}, from{};
  unsigned value = 0;
  bool enabled = true;
  CUgraphNode node = nullptr;
  struct Addition* call = nullptr;
  std::vector<Operation> inside;  // of a child graph, one after the other

  bool mustFollow(const Operation& before) const {
    const auto follows = [&](const Operation& inner) { return inner.mustFollow(before); };
    const auto precedes = [&](const Operation& inner) { return mustFollow(inner); };
    if (kind == Child) return std::any_of(inside.begin(), inside.end(), follows);
    if (before.kind == Child) return std::any_of(before.inside.begin(), before.inside.end(), precedes);
    return (kind == Host && before.kind == Host) || before.to.meets(to) || before.to.meets(from) ||
           to.meets(before.from);
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

  Operation draw(bool children = true) {
    const size_t bytes = 1 + pick(pick(8) ? 300 : 8000);
    const auto value = static_cast<unsigned>(pick(256));
    switch (pick(children ? 12 : 10)) {
      case 0:
        return {.kind = Operation::Host, .value = value};
      case 1:
        return {.kind = Operation::Empty};
      case 2:
        return {.kind = Operation::Write, .to = {4 * pick(kBytes / 4), 4}, .value = value * 0x01010107};
      case 3:
      case 4:
      case 5:
        return {.kind = Operation::Fill, .to = range(bytes), .value = value};
      case 6:
      case 7:
      case 8:
      case 9: {
        Operation moved{.kind = pick(3) ? Operation::Copy : Operation::Mix, .value = value};
        do moved.to = range(bytes), moved.from = range(bytes);
        while (moved.to.meets(moved.from));
        return moved;
      }
      default: {
        Operation child{.kind = Operation::Child};
        for (size_t i = 1 + pick(4); i > 0; --i) child.inside.push_back(draw(false));
        return child;
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

  void addMix(CUgraph to, Operation& operation, const Nodes& after) {
    CUdeviceptr target = memory + operation.to.at, source = memory + operation.from.at;
    auto bytes = static_cast<unsigned>(operation.to.bytes);
    void* arguments[] = {&target, &source, &bytes, &operation.value};
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = mix;
    params.gridDimX = (bytes + 63) / 64;
    params.blockDimX = 64;
    params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments;
    EXPECT_OK(cuGraphAddKernelNode(&operation.node, to, after.data(), after.size(), &params));
  }
  void addWrite(CUgraph to, Operation& operation, const Nodes& after) {
    CUstreamBatchMemOpParams write{};
    write.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    write.writeValue.address = memory + operation.to.at;
    write.writeValue.value = operation.value;
    const CUDA_BATCH_MEM_OP_NODE_PARAMS params{context, 1, &write, 0};
    EXPECT_OK(cuGraphAddBatchMemOpNode(&operation.node, to, after.data(), after.size(), &params));
  }
  void addChild(CUgraph to, Operation& operation, const Nodes& after) {
    CUgraph child;
    ASSERT_OK(cuGraphCreate(&child, 0));
    Nodes last;
    for (Operation& inner : operation.inside) {
      add(child, inner, last);
      last = {inner.node};
    }
    EXPECT_OK(cuGraphAddChildGraphNode(&operation.node, to, after.data(), after.size(), child));
    EXPECT_OK(cuGraphDestroy(child));
  }

  void add(CUgraph to, Operation& operation, const Nodes& after) {
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
      case Operation::Mix:
        addMix(to, operation, after);
        break;
      case Operation::Write:
        addWrite(to, operation, after);
        break;
      case Operation::Child:
        addChild(to, operation, after);
        break;
    }
  }

  void runModel(const std::vector<Operation>& list) {
    for (const Operation& o : list) {
      if (!o.enabled) continue;
      if (o.kind == Operation::Fill) std::memset(&model[o.to.at], static_cast<int>(o.value), o.to.bytes);
      if (o.kind == Operation::Copy) std::memcpy(&model[o.to.at], &model[o.from.at], o.to.bytes);
      if (o.kind == Operation::Write) std::memcpy(&model[o.to.at], &o.value, 4);
      if (o.kind == Operation::Host) modelSum = modelSum * 31 + o.value;
      if (o.kind == Operation::Child) runModel(o.inside);
      if (o.kind != Operation::Mix) continue;
      for (size_t i = 0; i < o.to.bytes; ++i)
        model[o.to.at + i] = static_cast<uint8_t>(model[o.from.at + i] * 3 + o.value);
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
    } else if (o.kind == Operation::Fill || o.kind == Operation::Copy || o.kind == Operation::Mix) {
      o.enabled = !o.enabled;
      EXPECT_OK(cuGraphNodeSetEnabled(exec, o.node, o.enabled));
    }
  }

  void SetUp() override {
    GraphTest::SetUp();
    const char ptx[] =
        ".version 6.5\n.target sm_50\n.address_size 64\n"
        ".visible .entry mix(.param .u64 to, .param .u64 from, .param .u32 bytes, .param .u32 value) {\n"
        "  .reg .u64 %t, %f, %i; .reg .u32 %x, %n, %b, %v; .reg .pred %p;\n"
        "  ld.param.u64 %t, [to]; ld.param.u64 %f, [from]; ld.param.u32 %b, [bytes]; ld.param.u32 %v, [value];\n"
        "  mov.u32 %x, %ctaid.x; mov.u32 %n, %ntid.x; mul.lo.u32 %x, %x, %n; mov.u32 %n, %tid.x; add.u32 %x, %x, %n;\n"
        "  setp.ge.u32 %p, %x, %b; @%p ret;\n"
        "  cvt.u64.u32 %i, %x; add.u64 %t, %t, %i; add.u64 %f, %f, %i;\n"
        "  ld.global.u8 %n, [%f]; mad.lo.u32 %n, %n, 3, %v; st.global.u8 [%t], %n; ret; }\n";
    ASSERT_OK(cuModuleLoadData(&module, ptx));
    ASSERT_OK(cuModuleGetFunction(&mix, module, "mix"));
  }
  void TearDown() override {
    EXPECT_OK(cuModuleUnload(module));
    GraphTest::TearDown();
  }

  std::mt19937 random{GetParam()};
  CUmodule module = nullptr;
  CUfunction mix = nullptr;
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
    add(graph, operations[i], dependencies(i));
  }
  CUgraphExec exec = instantiate(graph);
  for (int round = 0; round < 20; ++round) {
    for (size_t changes = pick(6); changes > 0; --changes) change(exec);
    for (size_t launches = 1 + pick(3); launches > 0; --launches) {
      EXPECT_OK(cuGraphLaunch(exec, stream));
      runModel(operations);
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
