// Launches from kernels on the fake GPU. Its hardware runs one grid at a time, so that a child never runs before its
// parent has ended, however long the host would wait for it; the test asks as functions of the device would.
#include "backend/nvidia/kernels/kernel_requests.h"

#include <algorithm>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "backend/device_side/graph_run.h"
#include "backend/device_side/updatable_node.h"
#include "backend/nvidia/kernels/gpu_kernel.h"
#include "backend/nvidia/kernels/kernel_services.h"
#include "backend/queue.h"
#include "base/sync/spin.h"
#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;
using ptx::DeviceCall;

constexpr size_t kWindow = 16 << 20;
constexpr uint64_t kTail = 3, kFired = 4;

// A program with the vendor's device runtime linked in, which "parent" and "grapher" call, this one for graphs alone;
// it takes the address of "child".
cubin::Cubin launchingModule() {
  cubin::Cubin c;
  c.architecture = fakeArchitecture();
  c.sections = {{".text.parent", cubin::Kind::Code, 0, cubin::kNone, 128, 128},
                {".text.child", cubin::Kind::Code, 0, cubin::kNone, 128, 128},
                {".text.vendors", cubin::Kind::Code, 0, cubin::kNone, 128, 128},
                {".nv.constant3", cubin::Kind::Constant, 3, cubin::kNone, 8, 8},
                {".text.grapher", cubin::Kind::Code, 0, cubin::kNone, 128, 128}};
  c.bytes.assign(5 * 128, '\0');
  c.fileOffsets = {0, 128, 256, 384, 512};
  c.symbols = {{"", cubin::kNone, 0, false, false},
               {"child", 1, 0, false, false},
               {"__cudaCDP2LaunchDeviceV2", 2, 0, false, false},
               {"__cuda_syscall_cnpv2LaunchDeviceV2", cubin::kNone, 0, true, false},
               {"__cudaCDP2GraphLaunch", 2, 0, false, false}};
  c.relocations = {{{0, 2, 2, 0, false}}, {}, {{0, 2, 3, 0, false}}, {{0, 2, 1, 0, false}}, {{0, 2, 4, 0, false}}};
  c.externals = {"__cuda_syscall_cnpv2LaunchDeviceV2"};
  for (const auto& [section, name] : {std::pair{0u, "parent"}, {1u, "child"}, {4u, "grapher"}}) {
    cubin::Kernel kernel;
    kernel.name = name;
    kernel.section = section;
    kernel.registers = 16;
    kernel.reservedBytes = 0x400;
    kernel.parameters = {{0, 4}};
    kernel.parameterBase = kDriverWords;
    kernel.parameterBytes = 4;
    kernel.bank0Bytes = kDriverWords + 4;
    kernel.maxThreads = 128;
    c.kernels.push_back(kernel);
  }
  return c;
}

struct Requests : ::testing::Test {
  Requests() {
    source.native = std::make_shared<const cubin::Cubin>(launchingModule());
    source.limits = &limits;
    source.memoryOwner = this;
    source.allocate = [](void* owner, size_t bytes, size_t alignment) -> Result<CUdeviceptr> {
      auto& self = *static_cast<Requests*>(owner);
      const size_t at = (self.used + alignment - 1) / alignment * alignment;
      if (at + bytes > kWindow) return CUDA_ERROR_OUT_OF_MEMORY;
      self.used = at + bytes;
      return reinterpret_cast<CUdeviceptr>(self.window + at);
    };
    source.release = [](void*, CUdeviceptr) {};
    image = must(device->load(source, {}));
    parent = static_cast<GpuKernel*>(must(image->kernel("parent")));
    child = static_cast<GpuKernel*>(must(image->kernel("child")));
    grapher = static_cast<GpuKernel*>(must(image->kernel("grapher")));
    queue = device->createQueue(0, nullptr);
  }

  // --- What a kernel does, on the hardware's thread -------------------------------------------------------------

  template <class... Arguments>
  uint64_t ask(DeviceCall function, Arguments... arguments) {
    uint32_t words[kArguments + kArgumentWords] = {};
    size_t bytes = 0;
    [[maybe_unused]] const auto put = [&](auto argument) {
      bytes = (bytes + alignof(decltype(argument)) - 1) / alignof(decltype(argument)) * alignof(decltype(argument));
      std::memcpy(reinterpret_cast<std::byte*>(words + kArguments) + bytes, &argument, sizeof argument);
      bytes += sizeof argument;
    };
    (put(arguments), ...);
    const auto count = static_cast<uint32_t>(bytes / sizeof(uint32_t));
    words[kFunction] = functionWord(static_cast<uint32_t>(function), count);
    std::memcpy(words + kGrid, &grid, sizeof grid);
    std::memcpy(words + kBlock, &block, sizeof block);
    KernelRequest& place = requests().ring()[asked++ % kRequestPlaces];
    for (uint32_t i = kArguments + count; i--;) {  // as they may come: the last ones first
      __atomic_store_n(&place.asked[i], numberedWord(asked, words[i]), __ATOMIC_RELEASE);
      if (slowly) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(spinUntil([&] { return uint32_t(answered()) == uint32_t(asked); }, 10'000'000'000));
    EXPECT_EQ(answered(), numberedWord(asked, place.result));
    return place.result;
  }
  // What the word says that the kernel waits for.
  uint64_t answered() const {
    return __atomic_load_n(&requests().answers()[(asked - 1) % kRequestPlaces], __ATOMIC_ACQUIRE);
  }
  KernelRequests& requests() const { return static_cast<KernelRequests&>(*parent->requests()); }
  uint32_t answerOf(uint64_t request) { return requests().ring()[(request - 1) % kRequestPlaces].answer[0]; }
  struct Dim3 {
    uint32_t x, y, z;
  };
  uint64_t buffer(uint64_t kernel, uint32_t threads = 1) {
    return ask(DeviceCall::GetParameterBufferV2, kernel, Dim3{1, 1, 1}, Dim3{threads, 1, 1}, uint32_t{0});
  }
  uint64_t launchChild(uint32_t value, uint64_t stream = 0) {
    const uint64_t parameters = buffer(child->address());
    EXPECT_NE(parameters, 0u);
    if (!parameters) return ~uint64_t{0};
    std::memcpy(reinterpret_cast<void*>(parameters), &value, sizeof value);
    return ask(DeviceCall::LaunchDeviceV2, parameters, stream);
  }
  uint32_t play(const FakeGrid& running, const FakeTranslate& translate) {
    const auto runs = [&](const GpuKernel* kernel) { return kernel && running.program == kernel->address(); };
    if (!runs(parent) && !runs(child) && !runs(grapher)) return moveBoxes(running, translate);
    if (runs(child)) {
      ran.push_back(running.parameter<uint32_t>(0));
      return 0;
    }
    std::memcpy(&grid, running.bank0 + 0x30, sizeof grid);
    std::memcpy(&graphExec, running.bank0 + 0x190, sizeof graphExec);
    asParent(running.parameter<uint32_t>(0));
    return 0;
  }

  // --- What the host does ---------------------------------------------------------------------------------------

  struct Record : backend::LaunchRecord {
    uint32_t value;
  };
  void launch(GpuKernel* kernel, uint32_t value, uint64_t number, backend::GraphRun* graph = nullptr,
              backend::UpdatableNode* node = nullptr) {
    auto record = std::make_unique<Record>();
    record->graph = graph;
    record->node = node;
    record->kernel = kernel;
    record->value = value;
    record->parameters = reinterpret_cast<const std::byte*>(&record->value);
    record->release = [](backend::LaunchRecord* one) { delete static_cast<Record*>(one); };
    ASSERT_EQ(kernel->prepare(record->shape), CUDA_SUCCESS);
    const backend::Command command = backend::LaunchCommand{record.release(), &sink};
    ASSERT_EQ(queue->submit(&command, 1, {timeline, zero + number}), CUDA_SUCCESS);
  }
  void runParent(backend::GraphRun* graph = nullptr) {
    launch(parent, 0, 1, graph);
    ASSERT_TRUE(timeline->waitFor(zero + 1, 20'000'000'000));
  }

  uint64_t asked = 0, grid = 0, block = 0, graphExec = 0;
  bool slowly = false;  // words of a request come one by one
  std::function<void(uint32_t)> asParent;
  std::vector<uint32_t> ran;
  FakeGpu fake{[this] {
    FakeDriver::Description description;
    description.program = [this](const FakeGrid& running, const FakeTranslate& translate) {
      return play(running, translate);
    };
    return description;
  }()};
  GpuDevice* const device = keptDevice(fake);
  std::byte* const window = keptMemory(*device, kWindow);
  size_t used = 0;
  backend::KernelLimits limits;
  backend::ImageSource source;
  Sink sink;
  std::unique_ptr<backend::Image> image;
  GpuKernel *parent = nullptr, *child = nullptr, *grapher = nullptr;
  std::unique_ptr<backend::Queue> queue;
  Timeline* const timeline = Timeline::create();
  const uint64_t zero = timeline->value();
};

TEST_F(Requests, OursTakeThePlaceOfTheVendorsFunctions) {
  ASSERT_TRUE(parent->requests());
  EXPECT_FALSE(child->requests());
  uint64_t called;
  std::memcpy(&called, reinterpret_cast<const void*>(parent->address()), sizeof called);
  EXPECT_EQ(called, requests().addressOf(DeviceCall::LaunchDeviceV2));
}

TEST_F(Requests, CodeThatHasTheVendorsInsideIsRefused) {
  cubin::Cubin code = launchingModule();
  code.relocations[1].push_back({8, 2, 3, 0, false});  // "child" asks the vendor's driver itself
  source.native = std::make_shared<const cubin::Cubin>(std::move(code));
  EXPECT_EQ(device->load(source, {}).error(), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Requests, ChildrenRunBeforeWhatFollowsTheirParent) {
  asParent = [this](uint32_t value) {
    EXPECT_EQ(launchChild(value + 9, kTail), 0u);
    for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(launchChild(value + i), 0u);
  };
  launch(parent, 1, 1);
  launch(child, 20, 2);
  launch(parent, 31, 3);
  launch(child, 50, 4);
  ASSERT_TRUE(timeline->waitFor(zero + 4, 20'000'000'000));
  EXPECT_EQ(ran, (std::vector<uint32_t>{1, 2, 3, 10, 20, 31, 32, 33, 40, 50}));
  EXPECT_EQ(sink.seen, CUDA_SUCCESS);
}

// What a grid launches may have to run beside it.
TEST_F(Requests, WhatFollowsNothingKeepsOutOfTheLaneOfAGridThatRuns) {
  asParent = [this](uint32_t) {
    ComputeEngine& engine = must(device->compute());
    unsigned elsewhere = 0;
    for (unsigned lane = 0; lane < ComputeEngine::kLanes; ++lane) elsewhere += engine.quietLane(lane) != lane;
    EXPECT_EQ(elsewhere, 1u);
  };
  runParent();
}

TEST_F(Requests, MoreThanChannelsTakeAtOnceHoldUpNobody) {
  constexpr uint32_t kMany = 1500;
  asParent = [this](uint32_t) {
    for (uint32_t i = 0; i < kMany; ++i) {
      block = 0;
      ASSERT_EQ(launchChild(i), 0u);
    }
  };
  runParent();
  ASSERT_EQ(ran.size(), kMany);
  for (uint32_t i = 0; i < kMany; ++i) ASSERT_EQ(ran[i], i);
}

// The first of them by who sees the parent's end, which waits for no room behind others.
TEST_F(Requests, ManyTailLaunchesRunInOrder) {
  constexpr uint32_t kMany = 500;
  asParent = [this](uint32_t) {
    for (uint32_t i = 0; i < kMany; ++i) ASSERT_EQ(launchChild(i, kTail), 0u);
    ASSERT_EQ(launchChild(kMany), 0u);
  };
  runParent();
  ASSERT_EQ(ran.size(), kMany + 1);
  EXPECT_EQ(ran[0], kMany);
  for (uint32_t i = 0; i < kMany; ++i) ASSERT_EQ(ran[i + 1], i);
}

TEST_F(Requests, ManyFiredLaunchesShareAFewQueues) {
  constexpr uint32_t kMany = 1500;
  asParent = [this](uint32_t) {
    for (uint32_t i = 0; i < kMany; ++i) ASSERT_EQ(launchChild(i, kFired), 0u);
  };
  runParent();
  std::sort(ran.begin(), ran.end());
  ASSERT_EQ(ran.size(), kMany);
  for (uint32_t i = 0; i < kMany; ++i) ASSERT_EQ(ran[i], i);
}

TEST_F(Requests, ParametersThatThreadsPutDownThemselvesAreCopied) {
  asParent = [this](uint32_t) {
    ParameterBuffer& own = requests().buffers()[kParameterBuffers - 1];
    const auto launched = [&](uint64_t parameters) {
      return ask(DeviceCall::LaunchDevice, child->address(), parameters, Dim3{1, 1, 1}, Dim3{1, 1, 1}, uint32_t{0},
                 uint64_t{0});
    };
    const auto first = reinterpret_cast<uint64_t>(&own);
    for (uint32_t value = 1; value <= 3; ++value) {
      std::memcpy(&own, &value, sizeof value);
      EXPECT_EQ(launched(first), 0u);
    }
    EXPECT_EQ(launched(first + sizeof own), 1u);
    EXPECT_EQ(launched(first - kParameterBuffers * sizeof own), 1u);
  };
  runParent();
  EXPECT_EQ(ran, (std::vector<uint32_t>{1, 2, 3}));
}

TEST_F(Requests, NothingIsReadBeforeItHasCome) {
  slowly = true;
  asParent = [this](uint32_t) {
    for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(launchChild(7 + i), 0u);
  };
  runParent();
  EXPECT_EQ(ran, (std::vector<uint32_t>{7, 8, 9}));
}

TEST_F(Requests, TailLaunchesHaveALimit) {
  limits.pendingLaunches = 5;
  asParent = [this](uint32_t) {
    for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(launchChild(i, kTail), 0u);
    EXPECT_EQ(launchChild(5, kTail), 69u);
    EXPECT_EQ(ask(DeviceCall::GetLastError), 69u);
    EXPECT_EQ(ask(DeviceCall::GetLastError), 0u);
  };
  runParent();
  EXPECT_EQ(ran.size(), 5u);
}

TEST_F(Requests, NothingThatAKernelSaysIsBelieved) {
  asParent = [this](uint32_t) {
    EXPECT_EQ(buffer(12345), 0u);
    EXPECT_EQ(ask(DeviceCall::GetLastError), 98u);
    EXPECT_EQ(buffer(child->address(), 129), 0u);
    EXPECT_EQ(ask(DeviceCall::GetLastError), 9u);
    EXPECT_EQ(ask(DeviceCall::LaunchDeviceV2, uint64_t{4096}, uint64_t{0}), 1u);
    const uint64_t parameters = buffer(child->address());
    EXPECT_EQ(ask(DeviceCall::LaunchDeviceV2, parameters, uint64_t{0x7000}), 400u);
    EXPECT_EQ(ask(DeviceCall::StreamDestroy, uint64_t{0x7000}), 400u);
    EXPECT_EQ(ask(DeviceCall::EventDestroy, uint64_t{77}), 400u);
    EXPECT_EQ(ask(static_cast<DeviceCall>(1000)), 801u);
    block = 1;  // the grid has one
    EXPECT_EQ(buffer(child->address()), 0u);
    block = 0;
    grid += 7;
    EXPECT_EQ(ask(DeviceCall::LaunchDeviceV2, uint64_t{4096}, uint64_t{0}), 801u);
  };
  runParent();
  EXPECT_TRUE(ran.empty());
  EXPECT_EQ(sink.seen, CUDA_SUCCESS);
}

TEST_F(Requests, AnswersComeWithTheirWords) {
  asParent = [this](uint32_t) {
    EXPECT_EQ(ask(DeviceCall::DeviceGetAttribute, uint64_t{64}, uint32_t{CU_DEVICE_ATTRIBUTE_WARP_SIZE}, uint32_t{0}),
              0u);
    EXPECT_EQ(answerOf(asked), 32u);
    EXPECT_EQ(ask(DeviceCall::FuncGetAttributes, uint64_t{64}, child->address()), 0u);
    EXPECT_EQ(requests().ring()[(asked - 1) % kRequestPlaces].answerWords, 14u);
    EXPECT_EQ(requests().ring()[(asked - 1) % kRequestPlaces].answer[6], 128u);
    EXPECT_STREQ(reinterpret_cast<const char*>(ask(DeviceCall::GetErrorName, uint32_t{9})),
                 "cudaErrorInvalidConfiguration");
    EXPECT_EQ(ask(DeviceCall::Malloc, uint64_t{64}, uint64_t{0}), 1u);
    EXPECT_EQ(ask(DeviceCall::Malloc, uint64_t{64}, uint64_t{1} << 40), 2u);
  };
  runParent();
}

TEST_F(Requests, CopiesOfMemoryThatTheDeviceDoesNotKnowAreFaults) {
  static char pageable[64] = "untouched";
  asParent = [this](uint32_t) {
    EXPECT_EQ(ask(DeviceCall::MemsetAsync, reinterpret_cast<uint64_t>(pageable), 1, uint64_t{9}, uint64_t{0}), 0u);
  };
  runParent();
  EXPECT_EQ(sink.seen, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_STREQ(pageable, "untouched");
}

// --- Graphs
// ------------------------------------------------------------------------------------------------------------

struct Graph final : backend::GraphRun {
  uint64_t exec() const noexcept override { return 0xABC0; }
  CUresult launch(uint64_t exec, Launch how, backend::HostCall& rest) noexcept override {
    launched.emplace_back(exec, how);
    if (exec == 1) return CUDA_ERROR_INVALID_VALUE;
    rest = {[](void* data) { static_cast<Graph*>(data)->begin(); }, this, brief};
    return CUDA_SUCCESS;
  }
  bool brief = false;
  std::function<void()> begin = [] {};
  std::vector<std::pair<uint64_t, Launch>> launched;
};

constexpr uint64_t kTailGraph = uint64_t{1} << 56, kFire = uint64_t{2} << 56, kSibling = uint64_t{3} << 56;

TEST_F(Requests, GraphsAreLaunchedByTheGraphOfTheKernel) {
  Graph graph;
  std::atomic<int> begun{0};
  graph.begin = [&] { ++begun; };
  asParent = [this](uint32_t) {
    EXPECT_EQ(ask(DeviceCall::GraphLaunch, uint64_t{7}, kTailGraph), 0u);
    EXPECT_EQ(ask(DeviceCall::GraphLaunch, uint64_t{8}, kFire), 0u);
    EXPECT_EQ(ask(DeviceCall::GraphLaunch, uint64_t{9}, kSibling), 0u);
    EXPECT_EQ(ask(DeviceCall::GraphLaunch, uint64_t{1}, kFire), 1u);
    EXPECT_EQ(ask(DeviceCall::GraphLaunch, uint64_t{2}, uint64_t{0}), 1u);
  };
  runParent(&graph);
  using Launch = backend::GraphRun::Launch;
  EXPECT_EQ(graph.launched, (std::vector<std::pair<uint64_t, Launch>>{{7, Launch::TailLaunch},
                                                                      {8, Launch::FireAndForget},
                                                                      {9, Launch::FireAndForgetAsSibling},
                                                                      {1, Launch::FireAndForget}}));
  EXPECT_EQ(graphExec, graph.exec());
  EXPECT_TRUE(spinUntil([&] { return begun.load() == 3; }, 10'000'000'000));
}

TEST_F(Requests, KernelsOutsideOfGraphsLaunchNone) {
  asParent = [this](uint32_t) { EXPECT_EQ(ask(DeviceCall::GraphLaunch, uint64_t{7}, kFire), 1u); };
  runParent();
  EXPECT_EQ(graphExec, 0u);
}

// What begins a graph may wait for room, and then for kernels that wait for answers.
TEST_F(Requests, WhoAnswersDoesNotBeginGraphs) {
  Graph graph;
  std::atomic<int> answered{0}, begun{0};
  graph.begin = [&] {
    EXPECT_TRUE(spinUntil([&] { return answered.load() == 3; }, 10'000'000'000));
    ++begun;
  };
  asParent = [&](uint32_t) {
    for (uint64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(ask(DeviceCall::GraphLaunch, 7 + i, kFire), 0u);
      ++answered;
    }
  };
  runParent(&graph);
  EXPECT_TRUE(spinUntil([&] { return begun.load() == 3; }, 10'000'000'000));
}

// What waits for nobody begins without another thread, when the kernel has its answer.
TEST_F(Requests, WhoAnswersBeginsGraphsThatWaitForNobody) {
  Graph graph;
  graph.brief = true;
  std::atomic<uint64_t> begun{0};
  graph.begin = [&] {
    EXPECT_EQ(uint32_t(answered()), uint32_t(asked));
    ++begun;
  };
  asParent = [&](uint32_t) {
    for (uint64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(ask(DeviceCall::GraphLaunch, 7 + i, kFire), 0u);
      EXPECT_TRUE(spinUntil([&] { return begun.load() == i + 1; }, 10'000'000'000));
    }
  };
  runParent(&graph);
  EXPECT_EQ(begun.load(), 3u);
}

// Graphs are no children: nothing after such a grid waits for them.
TEST_F(Requests, WorkGoesBehindAGridThatLaunchesGraphsAlone) {
  Graph graph;
  std::atomic<bool> begun{false};
  graph.begin = [&] { begun = true; };
  const auto sent = [this] {
    uint64_t sum = 0;
    for (unsigned lane = 0; lane < ComputeEngine::kLanes; ++lane)
      sum += must(device->compute()).channel(lane).submitted();
    return sum;
  };
  for (GpuKernel* const kernel : {grapher, child}) ASSERT_EQ(kernel->prepare({}), CUDA_SUCCESS);
  const uint64_t before = sent();
  asParent = [&](uint32_t) {
    EXPECT_EQ(ask(DeviceCall::GraphLaunch, uint64_t{7}, kFire), 0u);
    EXPECT_TRUE(spinUntil([&] { return sent() == before + 2; }, 10'000'000'000));
  };
  launch(grapher, 0, 1, &graph);
  launch(child, 20, 2);
  ASSERT_TRUE(timeline->waitFor(zero + 2, 20'000'000'000));
  EXPECT_EQ(ran, (std::vector<uint32_t>{20}));
  EXPECT_TRUE(spinUntil([&] { return begun.load(); }, 10'000'000'000));
}

struct Nodes : Requests {
  Nodes() {
    record.kernel = child;
    record.parameters = reinterpret_cast<const std::byte*>(&record.value);
    record.value = 5;
    node->set(1, record, true);
  }
  ~Nodes() { node->end(); }
  uint64_t* pointed() { return requests().ring()[asked % kRequestPlaces].pointed; }
  uint64_t setParameter(uint64_t offset, uint64_t bytes, uint64_t value) {
    *pointed() = value;
    return ask(DeviceCall::GraphKernelNodeSetParam, node->handle(), offset, uint64_t{12345}, bytes);
  }
  struct Update {
    uint64_t node;
    uint32_t field, pad;
    uint64_t words[3];
  };
  uint64_t apply(const Update& update) {
    std::memcpy(pointed(), &update, sizeof update);
    return ask(DeviceCall::GraphKernelNodeUpdatesApply, uint64_t{12345}, uint64_t{1});
  }
  uint64_t check(const Update& update) {
    std::memcpy(pointed(), &update, sizeof update);
    return ask(static_cast<DeviceCall>(kCheckUpdate), uint64_t{12345});
  }
  // The parent does this, then the node is launched.
  std::vector<uint32_t> ranAfter(const std::function<void()>& change) {
    asParent = [&](uint32_t) { change(); };
    ran.clear();
    launch(parent, 0, ++launches);
    launch(child, 99, ++launches, nullptr, node.get());
    EXPECT_TRUE(timeline->waitFor(zero + launches, 20'000'000'000));
    return ran;
  }

  Record record;
  uint64_t launches = 0;
  const std::shared_ptr<backend::UpdatableNode> node = backend::UpdatableNode::make();
};

TEST_F(Nodes, AreWhatKernelsBeforeThemHaveMadeOfThem) {
  EXPECT_EQ(ranAfter([] {}), (std::vector<uint32_t>{5}));
  EXPECT_EQ(ranAfter([&] { EXPECT_EQ(setParameter(0, 4, 77), 0u); }), (std::vector<uint32_t>{77}));
  EXPECT_EQ(ranAfter([&] { EXPECT_EQ(setParameter(1, 1, 1), 0u); }), (std::vector<uint32_t>{77 + 256}));
  EXPECT_TRUE(ranAfter([&] {
                EXPECT_EQ(ask(DeviceCall::GraphKernelNodeSetEnabled, node->handle(), uint32_t{0}), 0u);
              }).empty());
  EXPECT_EQ(ranAfter([&] {
              EXPECT_EQ(apply({node->handle(), 3, 0, {1}}), 0u);
              EXPECT_EQ(ask(DeviceCall::GraphKernelNodeSetGridDim, node->handle(), Dim3{3, 1, 1}), 0u);
            }),
            (std::vector<uint32_t>{77 + 256}));
  EXPECT_EQ(node->now(nullptr).value()->shape.grid[0], 3u);
  EXPECT_TRUE(ranAfter([&] { EXPECT_EQ(apply({node->handle(), 3, 0, {0}}), 0u); }).empty());
  EXPECT_EQ(sink.seen, CUDA_SUCCESS);
}

TEST_F(Nodes, AreAskedWhetherTheyCouldChangeBeforeAnyDoes) {
  EXPECT_EQ(ranAfter([&] {
              EXPECT_EQ(check({node->handle(), 1, 0, {2 | uint64_t{1} << 32, 1}}), 0u);
              EXPECT_EQ(check({node->handle(), 1, 0, {0, 1}}), 1u);
              EXPECT_EQ(check({node->handle(), 2, 0, {12345, 0, 4}}), 0u);
              EXPECT_EQ(check({node->handle(), 2, 0, {12345, 1, 4}}), 1u);
              EXPECT_EQ(check({node->handle(), 2, 0, {0, 0, 4}}), 1u);
              EXPECT_EQ(check({node->handle(), 3, 0, {0}}), 0u);
              EXPECT_EQ(check({node->handle() + 8, 3, 0, {0}}), 1u);
              EXPECT_EQ(check({node->handle(), 4, 0, {}}), 1u);
            }),
            (std::vector<uint32_t>{5}));
  EXPECT_EQ(node->now(nullptr).value()->shape.grid[0], 1u);
}

TEST_F(Nodes, ReadNothingOfTheHostForKernels) {
  EXPECT_EQ(ranAfter([&] {
              EXPECT_EQ(setParameter(0, 8, 1), 1u);                                     // not its size
              EXPECT_EQ(setParameter(0, 1000, 1), 1u);                                  // more than a request holds
              EXPECT_EQ(apply({node->handle(), 2, 0, {uint64_t(&record), 0, 4}}), 1u);  // an address of its own
              EXPECT_EQ(apply({node->handle(), 4, 0, {}}), 1u);                         // no such field
              EXPECT_EQ(apply({node->handle() + 8, 3, 0, {}}), 1u);
              std::memset(pointed(), 0, sizeof(uint64_t) * kPointedWords);
              EXPECT_EQ(ask(DeviceCall::GraphKernelNodeUpdatesApply, uint64_t{0}, uint64_t{100}), 1u);
            }),
            (std::vector<uint32_t>{5}));
}

TEST_F(Requests, BoxesThatFitNoMemoryAreFaultsToo) {
  const auto inside = reinterpret_cast<uint64_t>(window);
  asParent = [this, inside](uint32_t) {
    EXPECT_EQ(ask(DeviceCall::Memset2DAsync, inside, uint64_t{1} << 63, 1, uint64_t{8}, uint64_t{3}, uint64_t{0}), 0u);
  };
  runParent();
  EXPECT_EQ(sink.seen, CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace
}  // namespace vg::testing
