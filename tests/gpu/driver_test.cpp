// Opening the kernel driver and a GPU: versions, sizes, refusals.
#include <errno.h>

#include <set>

#include "backend/nvidia/traits.h"
#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;

TEST(KernelDriver, MissingNodesAndRefusedOnesAreToldApart) {
  FakeDriver none({.refusedNodes = {{"/dev/nvidiactl", ENOENT}}});
  EXPECT_EQ(Client::open(none).error(), CUDA_ERROR_NO_DEVICE);
  FakeDriver refused({.refusedNodes = {{"/dev/nvidiactl", EACCES}}});
  EXPECT_EQ(Client::open(refused).error(), CUDA_ERROR_NOT_PERMITTED);
  FakeDriver noUvm({.refusedNodes = {{"/dev/nvidia-uvm", ENOENT}}});
  const auto client = must(Client::open(noUvm));
  EXPECT_EQ(Uvm::open(*client).error(), CUDA_ERROR_NO_DEVICE);
}

TEST(KernelDriver, UnknownVersionsAreRefused) {
  for (const char* version : {"", "470.57.02", "630.10.01", "nonsense"}) {
    FakeDriver driver({.version = version});
    EXPECT_EQ(Client::open(driver).error(), CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) << version;
    EXPECT_EQ(driver.openFiles(), 0u);
  }
}

TEST(KernelDriver, EveryBranchHasItsOwnSizes) {
  for (const char* version : {"535.288.01", "545.29.06", "550.163.01", "555.58.02", "560.35.03", "565.77", "570.211.01",
                              "575.64.05", "580.159.04", "590.48.01", "595.45.04", "610.43.03"}) {
    FakeGpu fake({.version = version});
    EXPECT_EQ(fake.gpu->facts().multiprocessors, 132u) << version;
    auto block = must(Block::create(*fake.gpu, fake.addresses(), {Where::Video, kHugePage}, SeenBy::GpuAndCpu));
    auto group = must(ChannelGroup::create(*fake.gpu, fake.addresses(), 0xb, 1));
    Channel& channel = group->channel(0);
    EXPECT_EQ(channel.wait(channel.submitted()), CUDA_SUCCESS) << version;
    group.reset();
    block.reset();
    EXPECT_EQ(fake.driver.ranges(), 0u) << version;
  }
}

TEST(KernelDriver, BranchesBetweenTwoTablesGetTheOlder) {
  EXPECT_EQ(must(abiFor("585.10.01"))->branch, 580);
  EXPECT_EQ(must(abiFor("580.159.04"))->branch, 580);
}

TEST(KernelDriver, AWrongSizeIsRefusedAndChangesNothing) {
  FakeGpu fake;
  char room[64] = {};
  EXPECT_EQ(fake.client->control(fake.gpu->subdevice(), rm::kGetTime, room, 12), kInvalidArgument);
  EXPECT_EQ(fake.client->control(fake.gpu->subdevice(), 0x20809999, room, 8), kInvalidCommand);
}

TEST(KernelDriver, TheFactsOfAGpuAreRead) {
  FakeGpu fake;
  const GpuFacts& facts = fake.gpu->facts();
  EXPECT_EQ(facts.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(facts.computeCapability, 90);
  EXPECT_EQ(facts.classes.channel, 0xc86fu);
  EXPECT_EQ(facts.classes.usermode, 0xc661u);
  ASSERT_EQ(facts.copyEngines.size(), 5u);
  EXPECT_TRUE(facts.copyEngines[1].sharesGraphics());
  EXPECT_FALSE(facts.copyEngines[2].sharesGraphics());
  EXPECT_EQ(facts.copyEngines[4].physical, 8u);
}

TEST(KernelDriver, TheNewestClassesOfAGpuAreFound) {
  FakeGpu fake({.smVersion = 0xa03});
  const auto& classes = fake.gpu->facts().classes;
  EXPECT_EQ(classes.usermode, 0xc661u);
  EXPECT_EQ(classes.channel, 0xc96fu);
  EXPECT_EQ(classes.compute, 0xcdc0u);
  EXPECT_EQ(classes.copy, 0xc9b5u);
}

// Found and named, but not offered: what lies above the kernel driver is written for the rows that are driven.
TEST(KernelDriver, GenerationsThatAreNotDrivenAreRefused) {
  for (const auto& [smVersion, capability] :
       {std::pair{0x700u, 70}, {0x809u, 89}, {0xa00u, 100}, {0xa03u, 103}, {0xa04u, 120}, {0x807u, 87}}) {
    FakeGpu fake({.smVersion = smVersion});
    EXPECT_EQ(fake.gpu->facts().computeCapability, capability);
    EXPECT_EQ(traitsOf(*fake.gpu).error(), CUDA_ERROR_NOT_SUPPORTED) << capability;
  }
}

TEST(KernelDriver, ConfidentialComputingIsRefused) {
  FakeDriver driver({.confidential = true});
  const auto client = must(Client::open(driver));
  const auto uvm = must(Uvm::open(*client));
  rm::CardInfo cards[4];
  must(client->cards(cards, 4));
  EXPECT_EQ(Gpu::open(*client, *uvm, cards[0]).error(), CUDA_ERROR_NOT_SUPPORTED);
}

// Wherever opening fails, nothing is left behind.
TEST(KernelDriver, AFailedOpenLeavesNothing) {
  for (const uint32_t objectClass : {rm::kDevice, rm::kSubdevice, FakeDriver().classes().usermode, rm::kAddressSpace}) {
    FakeDriver driver;
    const auto client = must(Client::open(driver));
    const auto uvm = must(Uvm::open(*client));
    rm::CardInfo cards[4];
    must(client->cards(cards, 4));
    const size_t files = driver.openFiles();
    driver.failNext(objectClass, kNoMemory);
    EXPECT_EQ(Gpu::open(*client, *uvm, cards[0]).error(), CUDA_ERROR_OUT_OF_MEMORY) << std::hex << objectClass;
    EXPECT_EQ(driver.objects(), 0u) << std::hex << objectClass;
    EXPECT_EQ(driver.openFiles(), files);
  }
}

TEST(KernelDriver, ClosingLeavesNothing) {
  FakeDriver driver;
  {
    const auto client = must(Client::open(driver));
    const auto uvm = must(Uvm::open(*client));
    rm::CardInfo cards[4];
    must(client->cards(cards, 4));
    const auto gpu = must(Gpu::open(*client, *uvm, cards[0]));
    EXPECT_GT(driver.objects(), 0u);
  }
  EXPECT_EQ(driver.objects(), 0u);
  EXPECT_EQ(driver.openFiles(), 0u);
}

TEST(KernelDriver, AnotherFilesClientIsRefused) {
  FakeGpu fake;
  const auto other = must(Client::open(fake.driver));
  char room[8] = {};
  EXPECT_EQ(other->control(fake.gpu->subdevice(), rm::kGetTime, room, 8), kObjectNotFound);
}

TEST(GpuFacts, SmallestPartsComeFromOneGpcEach) {
  FakeGpu fake;
  const GpuFacts& facts = fake.gpu->facts();
  EXPECT_EQ(facts.together, (std::vector<uint32_t>{8, 16, 16, 16, 16, 16, 18, 18, 2, 2, 2, 2}));
  ASSERT_EQ(facts.tpcs.size(), 66u);
  for (size_t part = 0; part < 15; ++part)
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(facts.tpcs[4 * part + i] / 9, facts.tpcs[4 * part] / 9);
  EXPECT_EQ(std::set<uint16_t>(facts.tpcs.begin(), facts.tpcs.end()).size(), 66u);
  EXPECT_EQ(facts.tpcs.back(), 72 + 19 - 8);
}

}  // namespace
}  // namespace vg::testing
