// Random programs over several streams: copies, fills, host functions, scratch memory, and events that order the
// streams where they touch the same bytes. Each runs as plain work, as a captured graph, and as a plain C++ loop; all
// bytes must be the same.
#include <cstring>
#include <memory>
#include <random>

#include "fixture.h"

namespace {

constexpr size_t kBytes = 1 << 15, kStreams = 4;

struct Range {
  size_t at = 0, bytes = 0;
  bool meets(const Range& other) const { return at < other.at + other.bytes && other.at < at + bytes; }
};

struct Step {
  enum Kind { Fill, Copy, Scratch, Host, Wait } kind = Fill;
  size_t stream = 0;
  Range to{}, from{};
  unsigned value = 0;
  size_t waitsFor = 0;  // a stream
  bool conflicts(const Step& other) const {
    return (kind == Host && other.kind == Host) || to.meets(other.to) || to.meets(other.from) || from.meets(other.to);
  }
};

struct Addition {
  uint64_t* sum;
  unsigned value;
  static void call(void* data) {
    auto& a = *static_cast<Addition*>(data);
    *a.sum = *a.sum * 31 + a.value;
  }
};

class RandomCaptures : public GraphTest, public testing::WithParamInterface<unsigned> {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    memory = allocate(kBytes);
    streams[0] = stream;
    for (size_t i = 1; i < kStreams; ++i)
      ASSERT_OK(cuStreamCreate(&streams[i], i == 1 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
    for (CUevent& event : events) ASSERT_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  }
  void TearDown() override {
    for (CUevent event : events) EXPECT_OK(cuEventDestroy(event));
    for (size_t i = 1; i < kStreams; ++i) EXPECT_OK(cuStreamDestroy(streams[i]));
    GraphTest::TearDown();
  }

  size_t pick(size_t below) { return random() % below; }
  Range range(size_t bytes) { return {pick(kBytes - bytes), bytes}; }

  void wait(size_t waiting, size_t waitsFor) {
    Step step;
    step.kind = Step::Wait, step.stream = waiting, step.waitsFor = waitsFor;
    for (size_t i = 0; i < kStreams; ++i) known[waiting][i] = std::max(known[waiting][i], known[waitsFor][i]);
    steps.push_back(step);
  }

  // A step after all in other streams that it must follow.
  void append(Step step) {
    for (size_t i = 0; i < kStreams; ++i) {
      bool behind = pick(20) == 0;  // a wait that nobody needs
      for (size_t n = known[step.stream][i]; n < done[i].size(); ++n) behind = behind || step.conflicts(done[i][n]);
      if (i != step.stream && behind) wait(step.stream, i);
    }
    done[step.stream].push_back(step);
    known[step.stream][step.stream] = done[step.stream].size();
    steps.push_back(step);
  }

  void draw() {
    for (size_t i = 1; i < kStreams; ++i) wait(i, 0);
    for (size_t count = 1 + pick(60); count > 0; --count) {
      Step step;
      step.stream = pick(kStreams);
      step.value = static_cast<unsigned>(pick(256));
      const size_t bytes = 1 + pick(pick(8) ? 300 : 6000);
      step.kind = static_cast<Step::Kind>(pick(4));
      if (step.kind != Step::Host) step.to = range(bytes);
      if (step.kind == Step::Copy) do
          step.from = range(bytes);
        while (step.from.meets(step.to));
      append(step);
    }
    for (size_t i = 1; i < kStreams; ++i) wait(0, i);
  }

  void issue() {
    for (const Step& step : steps) {
      const CUstream to = streams[step.stream];
      switch (step.kind) {
        case Step::Fill:
          EXPECT_OK(cuMemsetD8Async(memory + step.to.at, static_cast<unsigned char>(step.value), step.to.bytes, to));
          break;
        case Step::Copy:
          EXPECT_OK(cuMemcpyDtoDAsync(memory + step.to.at, memory + step.from.at, step.to.bytes, to));
          break;
        case Step::Scratch: {
          CUdeviceptr scratch = 0;
          EXPECT_OK(cuMemAllocAsync(&scratch, step.to.bytes, to));
          EXPECT_OK(cuMemsetD8Async(scratch, static_cast<unsigned char>(step.value), step.to.bytes, to));
          EXPECT_OK(cuMemcpyDtoDAsync(memory + step.to.at, scratch, step.to.bytes, to));
          EXPECT_OK(cuMemFreeAsync(scratch, to));
          break;
        }
        case Step::Host:
          additions.push_back(std::make_unique<Addition>(Addition{&sum, step.value}));
          EXPECT_OK(cuLaunchHostFunc(to, Addition::call, additions.back().get()));
          break;
        case Step::Wait:
          EXPECT_OK(cuEventRecord(events[step.waitsFor], streams[step.waitsFor]));
          EXPECT_OK(cuStreamWaitEvent(to, events[step.waitsFor], 0));
          break;
      }
    }
  }

  void runModel() {
    for (const Step& step : steps) {
      if (step.kind == Step::Fill || step.kind == Step::Scratch)
        std::memset(&model[step.to.at], static_cast<int>(step.value), step.to.bytes);
      if (step.kind == Step::Copy) std::memcpy(&model[step.to.at], &model[step.from.at], step.to.bytes);
      if (step.kind == Step::Host) modelSum = modelSum * 31 + step.value;
    }
  }
  void expectModel(const char* what) {
    ASSERT_OK(cuStreamSynchronize(stream));
    ASSERT_EQ(read(memory, kBytes), model) << what;
    ASSERT_EQ(sum, modelSum) << what;
  }

  std::mt19937 random{GetParam()};
  CUdeviceptr memory = 0;
  CUstream streams[kStreams] = {};
  CUevent events[kStreams] = {};
  std::vector<Step> steps, done[kStreams];
  size_t known[kStreams][kStreams] = {};  // [i][j]: how many steps of stream j come before what i does next
  std::vector<std::unique_ptr<Addition>> additions;
  std::vector<uint8_t> model = std::vector<uint8_t>(kBytes, 0);
  uint64_t sum = 1, modelSum = 1;
};

TEST_P(RandomCaptures, GiveTheBytesOfThePlainProgram) {
  draw();
  issue();
  runModel();
  expectModel("as plain work");

  const auto mode = static_cast<CUstreamCaptureMode>(pick(3));
  ASSERT_OK(cuStreamBeginCapture(stream, mode));
  issue();
  CUgraph captured = nullptr;
  ASSERT_OK(cuStreamEndCapture(stream, &captured));
  for (CUstream s : streams) {
    CUstreamCaptureStatus status;
    EXPECT_OK(cuStreamIsCapturing(s, &status));
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  }
  expectModel("nothing runs while it is captured");
  CUgraphExec exec = instantiate(captured);
  for (int round = 0; round < 3; ++round) {
    EXPECT_OK(cuGraphLaunch(exec, streams[pick(2)]));
    EXPECT_OK(cuCtxSynchronize());
    runModel();
    expectModel("as a graph");
  }
  issue();
  runModel();
  expectModel("as plain work again");
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(captured));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCaptures, testing::Range(1u, 81u));

}  // namespace
