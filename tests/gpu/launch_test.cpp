// Images, kernels and launches as core uses them, on the fake GPU: a module made by hand, whose code the test plays.
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "backend/queue.h"
#include "base/sync/spin.h"
#include "cubin/cubin.h"
#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;

constexpr size_t kMiB = size_t{1} << 20;

constexpr uint32_t kDies = 0xdead, kNeverEnds = 0xe7de7, kTakesLong = 0x51e3d;
constexpr uint64_t kLong = 20'000'000;  // ns

// What the last grid found of textures.
struct {
  uint32_t texture, sampler;
  bool samplerAsHeader;
  uint64_t descriptions;
} named;
uint64_t constants, constantsBegin;  // bank 3, and where that grid was told that generic addresses of it begin
Qmd lastGrid;

// Whether the grid that takes long has run for long enough.
bool longOver() {
  static uint64_t since = 0;
  const uint64_t now = monotonicNanoseconds();
  if (!since) since = now;
  if (now - since < kLong) return false;
  since = 0;
  return true;
}

// Adds the parameter to the module's variable, whose address stands in constant bank 3.
uint32_t add(const FakeGrid& grid, const FakeTranslate& translate) {
  const Qmd& d = grid.descriptor;
  lastGrid = d;
  std::memcpy(&named.descriptions, grid.bank0 + 0xf0, sizeof named.descriptions);
  named.samplerAsHeader = d.get(qmd::kSamplerIndex);
  if (!named.samplerAsHeader) named.texture = grid.parameter<uint32_t>(4), named.sampler = grid.parameter<uint32_t>(8);
  const uint64_t bank = (uint64_t{d.get(qmd::bankAddressHigh(3))} << 32 | d.get(qmd::bankAddressLow(3))) << 6;
  constants = bank;
  std::memcpy(&constantsBegin, grid.bank0 + 0xd0, sizeof constantsBegin);
  const std::byte* const first = translate(bank, 8, false);
  if (!first) return 31;
  uint64_t address;
  std::memcpy(&address, first, sizeof address);
  std::byte* const variable = translate(address, 4, true);
  if (!variable) return 31;
  uint32_t value;
  std::memcpy(&value, variable, sizeof value);
  value += grid.parameter<uint32_t>(0);
  if (grid.parameter<uint32_t>(0) == kDies) return 13;
  if (grid.parameter<uint32_t>(0) == kNeverEnds) return kRunsOn;
  if (grid.parameter<uint32_t>(0) == kTakesLong && !longOver()) return kRunsOn;
  std::memcpy(variable, &value, sizeof value);
  return 0;
}

cubin::Cubin moduleOfOneKernel() {
  cubin::Cubin c;
  c.architecture = fakeArchitecture();
  c.sections = {{".text.add", cubin::Kind::Code, 0, cubin::kNone, 128, 128},
                {".nv.constant3", cubin::Kind::Constant, 3, cubin::kNone, 8, 8},
                {".nv.global.init", cubin::Kind::Data, 0, cubin::kNone, 4, 4}};
  c.bytes.assign(128 + 8 + 4, '\0');
  c.bytes[136] = 40;
  c.fileOffsets = {0, 128, 136};
  c.symbols = {{"", cubin::kNone, 0, false, false}, {"variable", 2, 0, false, false}};
  c.relocations = {{}, {{0, 2, 1, 0, false}}, {}};
  cubin::Kernel kernel;
  kernel.name = "add";
  kernel.registers = 16;
  kernel.reservedBytes = 0x400;
  kernel.parameters = {{0, 4}};
  kernel.parameterBase = kDriverWords;
  kernel.parameterBytes = 4;
  kernel.bank0Bytes = kDriverWords + 4;
  kernel.banks = {{3, 1}};
  c.kernels = {kernel};
  c.variables = {{"variable", 1, 2, 0, 4, false}};
  return c;
}

struct Launches : ::testing::Test {
  Launches() {
    source.native = std::make_shared<const cubin::Cubin>(moduleOfOneKernel());
    source.memoryOwner = window;
    source.allocate = [](void* owner, size_t bytes, size_t) -> Result<CUdeviceptr> {
      if (bytes > kHugePage) return CUDA_ERROR_OUT_OF_MEMORY;
      return reinterpret_cast<CUdeviceptr>(owner);
    };
    source.release = [](void*, CUdeviceptr) {};
    image = must(device->load(source, {}));
    kernel = must(image->kernel("add"));
    queue = device->createQueue(0, nullptr);
  }

  void launch(uint32_t value, Point done, uint64_t* stamp = nullptr, int8_t priority = backend::LaunchShape::kOfQueue) {
    auto record = std::make_unique<Record>();
    record->shape.priority = priority;
    record->kernel = kernel;
    record->value = value;
    record->parameters = reinterpret_cast<const std::byte*>(&record->value);
    record->release = [](backend::LaunchRecord* one) { delete static_cast<Record*>(one); };
    ASSERT_EQ(kernel->prepare(record->shape), CUDA_SUCCESS);
    backend::Command commands[2] = {backend::LaunchCommand{record.release(), &sink}, backend::Timestamp{stamp}};
    ASSERT_EQ(queue->submit(commands, stamp ? 2 : 1, done), CUDA_SUCCESS);
  }
  uint32_t variable() const {
    uint32_t value;
    std::memcpy(&value, reinterpret_cast<const void*>(must(image->global("variable")).address), sizeof value);
    return value;
  }

  struct Record : backend::LaunchRecord {
    uint32_t value;
  };
  FakeGpu fake{[] {
    FakeDriver::Description description;
    description.program = add;
    return description;
  }()};
  GpuDevice* const device = keptDevice(fake);
  std::byte* const window = keptMemory(*device, 2 * kMiB);
  backend::ImageSource source;
  Sink sink;
  std::unique_ptr<backend::Image> image;
  backend::Kernel* kernel = nullptr;
  std::unique_ptr<backend::Queue> queue;
  Timeline* const timeline = Timeline::create();
  const uint64_t zero = timeline->value();
};

TEST_F(Launches, RunInOrderAndAdvanceTheirTimeline) {
  EXPECT_EQ(variable(), 40u);
  for (uint32_t i = 1; i <= 300; ++i) launch(1, {timeline, zero + i});
  ASSERT_TRUE(timeline->waitFor(zero + 300, 10'000'000'000));
  EXPECT_EQ(variable(), 340u);
  EXPECT_EQ(sink.seen, CUDA_SUCCESS);
}

TEST_F(Launches, GenericAddressesOfConstantsBeginAtTheirBank) {
  launch(1, {timeline, zero + 1});
  ASSERT_TRUE(timeline->waitFor(zero + 1, 10'000'000'000));
  EXPECT_NE(constants, 0u);
  EXPECT_EQ(constantsBegin, constants);
}

// The stream's priority, or the launch's own.
TEST_F(Launches, PrioritiesAreGroupsThatGoBeforeOthers) {
  queue = device->createQueue(-5, nullptr);
  launch(1, {timeline, zero + 1});
  ASSERT_TRUE(timeline->waitFor(zero + 1, 10'000'000'000));
  EXPECT_EQ(lastGrid.get(qmd::kGroup), 0u);
  queue->setPriority(0);
  launch(1, {timeline, zero + 2});
  ASSERT_TRUE(timeline->waitFor(zero + 2, 10'000'000'000));
  EXPECT_EQ(lastGrid.get(qmd::kGroup), 5u);
  launch(1, {timeline, zero + 3}, nullptr, -2);
  ASSERT_TRUE(timeline->waitFor(zero + 3, 10'000'000'000));
  EXPECT_EQ(lastGrid.get(qmd::kGroup), 3u);
}

TEST_F(Launches, APartOfTheMultiprocessorsIsAMaskOfTheOthers) {
  backend::MultiprocessorSet only;
  for (size_t i = 8; i < 16; ++i) only.set(i);  // the second part: the first four pairs of the second GPC
  queue = device->createQueue(0, &only);
  launch(1, {timeline, zero + 1});
  ASSERT_TRUE(timeline->waitFor(zero + 1, 10'000'000'000));
  EXPECT_EQ(lastGrid.get(qmd::kTpcMaskValid), 1u);
  for (const uint16_t bit : device->gpu().facts().tpcs)
    EXPECT_EQ(lastGrid.get(qmd::tpcDisabled(bit / 32)) >> bit % 32 & 1, bit < 9 || bit > 12 ? 1u : 0u) << bit;
}

TEST_F(Launches, StampsAndHostCallsFollowThem) {
  static uint32_t atCall;
  static Launches* test;
  test = this;
  uint64_t stamp = 0;
  launch(2, {timeline, zero + 1}, &stamp);
  const backend::Command call = backend::HostCall{[](void*) { atCall = test->variable(); }, nullptr};
  ASSERT_EQ(queue->submit(&call, 1, {timeline, zero + 2}), CUDA_SUCCESS);
  launch(5, {timeline, zero + 3});
  ASSERT_TRUE(timeline->waitFor(zero + 3, 10'000'000'000));
  EXPECT_EQ(atCall, 42u);
  EXPECT_EQ(variable(), 47u);
  EXPECT_NE(stamp, 0u);
}

TEST_F(Launches, StampsTellWhenTheGpuGotThere) {
  uint64_t before = 0, between = 0, again = 0, after = 0;
  const auto stamp = [&](uint64_t* at) {
    const backend::Command command = backend::Timestamp{at};
    ASSERT_EQ(queue->submit(&command, 1, {}), CUDA_SUCCESS);
  };
  stamp(&before);
  launch(kTakesLong, {});
  stamp(&between);
  stamp(&again);
  launch(kTakesLong, {timeline, zero + 1}, &after);
  ASSERT_TRUE(timeline->waitFor(zero + 1, 10'000'000'000));
  EXPECT_GE(between - before, kLong);
  EXPECT_EQ(between, again);
  EXPECT_GE(after - between, kLong);
  EXPECT_LE(after, device->timestamp());
}

// The end of a grid is the GPU's to tell, however late the host looks.
TEST_F(Launches, StampsDoNotTellWhenTheHostSawIt) {
  struct Sleep : Continuation {
    std::atomic<uint64_t> over{0};
  } sleep;
  sleep.value = zero + 1;
  sleep.run = [](Continuation* self) {  // on the thread that looks for ends
    usleep(5 * kLong / 1000);
    static_cast<Sleep*>(self)->over = monotonicNanoseconds();
  };
  const auto longOne = [&](Point done, uint64_t* stamp) { launch(kTakesLong, done, stamp); };
  longOne({timeline, zero + 1}, nullptr);
  ASSERT_TRUE(timeline->whenReached(&sleep));
  uint64_t stamp = 0;
  longOne({timeline, zero + 2}, &stamp);
  ASSERT_TRUE(timeline->waitFor(zero + 2, 10'000'000'000));
  EXPECT_GT(sleep.over - stamp, 2 * kLong);
}

TEST_F(Launches, AFaultIsReportedAndAllThatFollowsEnds) {
  launch(kDies, {timeline, zero + 1});
  launch(1, {timeline, zero + 2});
  ASSERT_TRUE(timeline->waitFor(zero + 2, 10'000'000'000));
  EXPECT_EQ(sink.seen, CUDA_ERROR_LAUNCH_FAILED);
  launch(1, {timeline, zero + 3});
  ASSERT_TRUE(timeline->waitFor(zero + 3, 10'000'000'000));
  EXPECT_EQ(variable(), 40u);
}

TEST_F(Launches, ChannelsAreMadeBesideTheApplication) {
  const size_t before = fake.driver.objects();
  device->prepareEarly();
  device->contextBegins();
  for (int i = 0; i < 1000 && fake.driver.objects() < before + 9; ++i) usleep(1000);
  EXPECT_GE(fake.driver.objects(), before + 9);
  launch(1, {timeline, zero + 1});
  ASSERT_TRUE(timeline->waitFor(zero + 1, 10'000'000'000));
}

// The word behind the parameters names a texture, the next one a sampler.
struct Named : Launches {
  Named() {
    cubin::Cubin code = moduleOfOneKernel();
    code.symbols.push_back({"picture", cubin::kNone, 0, true, false});
    code.symbols.push_back({"smooth", cubin::kNone, 0, true, false});
    code.kernels[0].references = {{cubin::Reference::Kind::Texture, 2, kDriverWords + 4},
                                  {cubin::Reference::Kind::Sampler, 3, kDriverWords + 8}};
    code.kernels[0].bank0Bytes = kDriverWords + 12;
    code.textures = {{2, cubin::Reference::Kind::Texture}, {3, cubin::Reference::Kind::Sampler}};
    code.samplers[3].filter = 1;
    source.native = std::make_shared<const cubin::Cubin>(code);
    image = must(device->load(source, {}));
    kernel = must(image->kernel("add"));
  }
};

TEST_F(Named, TexturesAndSamplersReachTheKernel) {
  const backend::Global picture = must(image->reference(backend::Image::Reference::Texture, "picture"));
  EXPECT_EQ(image->reference(backend::Image::Reference::Surface, "picture").error(), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(image->global("picture").error(), CUDA_ERROR_INVALID_VALUE);
  const uint64_t handle = uint64_t{1} << 61 | 77;
  std::memcpy(reinterpret_cast<void*>(picture.address), &handle, sizeof handle);
  launch(1, {timeline, zero + 1});
  ASSERT_TRUE(timeline->waitFor(zero + 1, 10'000'000'000));
  EXPECT_EQ(named.texture, 77u);
  EXPECT_NE(named.sampler, 0u);
  EXPECT_FALSE(named.samplerAsHeader);
  EXPECT_NE(named.descriptions, 0u);
}

TEST_F(Launches, AKernelThatDoesNotEndIsStopped) {
  device->setLaunchLimit(30'000'000);
  launch(1, {timeline, zero + 1});
  launch(kNeverEnds, {timeline, zero + 2});
  launch(1, {timeline, zero + 3});
  ASSERT_TRUE(timeline->waitFor(zero + 3, 10'000'000'000));
  EXPECT_EQ(sink.seen, CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(variable(), 41u);
  launch(1, {timeline, zero + 4});
  ASSERT_TRUE(timeline->waitFor(zero + 4, 10'000'000'000));
  EXPECT_EQ(variable(), 41u);
}

TEST_F(Launches, ManyBehindAKernelThatDoesNotEndAreStoppedToo) {
  device->setLaunchLimit(30'000'000);
  launch(kNeverEnds, {timeline, zero + 1});
  for (uint32_t i = 2; i <= 200; ++i) launch(1, {timeline, zero + i});
  ASSERT_TRUE(timeline->waitFor(zero + 200, 10'000'000'000));
  EXPECT_EQ(sink.seen, CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(variable(), 40u);
}

TEST_F(Launches, AKernelThatDoesNotEndBehindAHostCallIsStopped) {
  device->setLaunchLimit(30'000'000);
  const backend::Command call = backend::HostCall{[](void*) { usleep(2000); }, nullptr};
  ASSERT_EQ(queue->submit(&call, 1, {}), CUDA_SUCCESS);
  launch(kNeverEnds, {timeline, zero + 1});
  ASSERT_TRUE(timeline->waitFor(zero + 1, 10'000'000'000));
  EXPECT_EQ(sink.seen, CUDA_ERROR_LAUNCH_TIMEOUT);
}

TEST_F(Launches, KernelsKnowTheirLimits) {
  EXPECT_EQ(must(kernel->attribute(CU_FUNC_ATTRIBUTE_NUM_REGS)), 16);
  EXPECT_EQ(must(kernel->attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)), 1024);
  EXPECT_EQ(must(kernel->occupancy(1024, 0)), 2);
  backend::LaunchShape shape;
  shape.block[0] = 1025;
  EXPECT_EQ(kernel->prepare(shape), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(image->kernel("other").error(), CUDA_ERROR_NOT_FOUND);
}

}  // namespace
}  // namespace vg::testing
