// Grids: the descriptor, constant bank 0, and channels of the compute engine, run by the fake GPU.
#include <array>
#include <atomic>
#include <cstring>
#include <set>
#include <vector>

#include "backend/nvidia/compute/compute_engine.h"
#include "backend/nvidia/compute/fault_report.h"
#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;

constexpr uint64_t kSecond = 1'000'000'000;

TEST(Qmd, FieldsDoNotTouchEachOther) {
  const Qmd::Field fields[] = {qmd::kGroup,
                               qmd::kType,
                               qmd::kLocalHighSize,
                               qmd::kMajorVersion,
                               qmd::kSharedMemorySize,
                               qmd::kMinSharedConfig,
                               qmd::kMaxSharedConfig,
                               qmd::kTargetSharedConfig,
                               qmd::kGridWidth,
                               qmd::kGridHeight,
                               qmd::kGridDepth,
                               qmd::kBlockWidth,
                               qmd::kBlockHeight,
                               qmd::kBlockDepth,
                               qmd::kRegisterCount,
                               qmd::kBarrierCount,
                               qmd::kProgramLow,
                               qmd::kProgramHigh,
                               qmd::kClusterDepth,
                               qmd::kPrefetchedBytes,
                               qmd::kArrivesAtLatch,
                               qmd::kWaitsForLatch,
                               qmd::kLatchOfArrival,
                               qmd::kLatchOfWait,
                               qmd::kBlocksAllowNext,
                               qmd::kNextEnable,
                               qmd::kNextAction,
                               qmd::kNextPrefetch,
                               qmd::kNextPointer,
                               qmd::bankPrefetch(7),
                               qmd::bankAddressLow(7),
                               qmd::bankAddressHigh(7),
                               qmd::bankSize(7),
                               qmd::bankValid(7),
                               qmd::releaseStructure(1),
                               qmd::releaseReduces(1),
                               qmd::releaseReduction(1),
                               qmd::releasePayload64(1),
                               qmd::releaseAddressHigh(2),
                               qmd::releasePayloadHigh(2)};
  Qmd d;
  for (const Qmd::Field field : fields) d.set(field, ~0u);
  for (const Qmd::Field field : fields) {
    EXPECT_LE(field.first % 32 + field.width, 32u);
    const uint32_t all = d.get(field);
    EXPECT_EQ(all, field.width == 32 ? ~0u : (1u << field.width) - 1);
    d.set(field, 0);
    EXPECT_EQ(d.get(field), 0u);
    for (const Qmd::Field other : fields) {
      if (other.first == field.first) continue;
      EXPECT_NE(d.get(other), 0u) << field.first << " and " << other.first;
    }
    d.set(field, ~0u);
  }
  for (const Qmd::Field field : fields) d.set(field, 0);
  EXPECT_EQ(d.words(), Qmd().words());
}

TEST(Grid, SharedMemoryGetsTheSmallestSplitThatFits) {
  EXPECT_EQ(sharedConfigFor(kHopper, 0), 0u);
  EXPECT_EQ(sharedConfigFor(kHopper, 1), 8u << 10);
  EXPECT_EQ(sharedConfigFor(kHopper, 65 << 10), 100u << 10);
  EXPECT_EQ(sharedConfigFor(kHopper, 228 << 10), 228u << 10);
  EXPECT_EQ(sharedConfigFor(kHopper, (228 << 10) + 1), 0u);
}

TEST(Grid, IsDescribedByTheRowOfItsGeneration) {
  Generation other = kHopper;
  other.descriptorVersion = 5;
  other.sharedSplitsKiB = {0, 16, 32, 64, 100, 100, 100, 100, 100, 128};
  EXPECT_EQ(sharedConfigFor(other, 1), 16u << 10);
  const Qmd d = describe(other, {}, {}, 0x10000, {});
  EXPECT_EQ(d.get(qmd::kMajorVersion), 5u);
  EXPECT_NE(d.get(qmd::kMaxSharedConfig), describe(kHopper, {}, {}, 0x10000, {}).get(qmd::kMaxSharedConfig));
}

TEST(Grid, TellsTheNextGridBeforeItTellsTheHostAndNeedsNoSecondBarrier) {
  const Qmd d = describe(kHopper, {}, {}, 0x10000, {7, 0x1000, 0x2000});
  EXPECT_EQ(d.get(qmd::releaseAddressLow(0)), 0x2000u);
  EXPECT_EQ(d.get(qmd::releaseAddressLow(1)), 0x1000u);
  EXPECT_EQ(d.get(qmd::kMembarType), 1u);
  for (const unsigned index : {0u, 1u}) {
    EXPECT_EQ(d.get(qmd::releaseMembar(index)), 0u);
    EXPECT_EQ(d.get(qmd::releasePayloadLow(index)), 7u);
  }
}

TEST(Grid, OfClustersIsCountedInClusters) {
  Grid grid;
  grid.blocks[0] = 12;
  grid.blocks[1] = 6;
  grid.cluster[0] = 4;
  grid.cluster[1] = 2;
  grid.clusters = true;
  const Qmd d = describe(kHopper, {}, grid, 0x10000, {});
  EXPECT_EQ(d.get(qmd::kGridWidth), 3u);
  EXPECT_EQ(d.get(qmd::kGridHeight), 3u);
  EXPECT_EQ(d.get(qmd::kClusterWidth), 4u);
  EXPECT_EQ(d.get(qmd::kType), 3u);
}

TEST(Grid, DriverWordsStandWhereCompilersReadThem) {
  std::byte bank[kDriverWords];
  Grid grid;
  grid.threads[1] = 7;
  grid.blocks[0] = 12;
  grid.cluster[0] = 4;
  grid.dynamicShared = 512;
  grid.workspace = 0x1234567800000010;
  KernelCode code;
  code.sharedBytes = 1024;
  code.bank0Bytes = kDriverWords + 16;
  writeDriverWords(bank, 0x10200, code, grid, {&kHopper, uint64_t{4} << 32, uint64_t{0xff} << 24, 132});
  const auto word = [&](size_t at) {
    uint32_t value;
    std::memcpy(&value, bank + at, sizeof value);
    return value;
  };
  EXPECT_EQ(word(0x04), 7u);
  EXPECT_EQ(word(0x0c), 12u);
  EXPECT_EQ(word(0x20), 0xff000000u);
  EXPECT_EQ(word(0x28), 0xfffdc0u);
  EXPECT_EQ(word(0x2c), 512u);
  EXPECT_EQ(word(0x44), 0x12345678u);
  EXPECT_EQ(word(0x48), 0x10u);
  EXPECT_EQ(word(0xc0), 0x10200u);
  EXPECT_EQ(word(0x110), 1u);
  EXPECT_EQ(word(0x13c), 1024u + 512u);
  EXPECT_EQ(word(0x140), 0u);
  EXPECT_EQ(word(0x15c), 3u);
  EXPECT_EQ(word(0x188), 4u);
  EXPECT_EQ(word(0x16c), 1u << 24);
  EXPECT_EQ(word(0x174), 4u);
  EXPECT_EQ(word(0x1a0), 0x10420u);
  grid.clusters = true;
  writeDriverWords(bank, 0x10000, {}, grid, {});
  EXPECT_EQ(word(0x140), 1u);
}

// A kernel that adds its second parameter to the word that its first one points to; by its place, one that faults.
uint32_t addOrFault(const FakeGrid& grid, const FakeTranslate& translate) {
  std::byte* const word = translate(grid.parameter<uint64_t>(0), 4, true);
  if (!word) return 31;
  if (grid.program & 0x80) return 13;
  uint32_t value;
  std::memcpy(&value, word, sizeof value);
  value += grid.parameter<uint32_t>(8);
  std::memcpy(word, &value, sizeof value);
  return 0;
}

struct Compute : ::testing::Test {
  explicit Compute(FakeProgram program = addOrFault)
      : fake([&] {
          FakeDriver::Description description;
          description.program = std::move(program);
          return description;
        }()) {}
  FakeGpu fake;
  std::unique_ptr<ComputeEngine> engine = must(ComputeEngine::create(*fake.gpu, fake.addresses()));
  std::unique_ptr<Block> memory = must(Block::createPinned(*fake.gpu, fake.addresses(), 65536));
  struct Arguments {
    uint64_t word;
    uint32_t value;
  } arguments{memory->address(), 1};

  KernelCode code(size_t at = 4096) {
    KernelCode code;
    code.program = memory->address(at);
    code.registers = 8;
    code.sharedBytes = 0x400;
    code.parameterBase = kDriverWords;
    code.bank0Bytes = kDriverWords + 12;
    return code;
  }
  Result<Submission> launch(unsigned lane, const KernelCode& code, const Grid& grid = {}) {
    return engine->launch(lane, {code, grid, reinterpret_cast<const std::byte*>(&arguments), 12});
  }
  uint32_t word() const {
    uint32_t value;
    std::memcpy(&value, memory->start(), sizeof value);
    return value;
  }
};

TEST_F(Compute, GridsRunInOrderAndManyOfThem) {
  Submission last;
  for (int i = 0; i < 500; ++i) last = must(launch(3, code()));
  ASSERT_EQ(last.wait(kSecond * 10), CUDA_SUCCESS);
  EXPECT_EQ(word(), 500u);
}

TEST(Grid, CountsItselfWhereItsEndIsOneOfSeveral) {
  GridEnd end;
  end.count = 0x2000;
  const Qmd d = describe(kHopper, {}, {}, 0x10000, end);
  EXPECT_EQ(d.get(qmd::releaseReduces(0)), 1u);
  EXPECT_EQ(d.get(qmd::releaseAddressLow(0)), 0x2000u);
  EXPECT_EQ(d.get(qmd::releasePayloadLow(0)), 1u);
  EXPECT_EQ(d.get(qmd::releasePayload64(0)), 0u);
  EXPECT_EQ(d.get(qmd::kMembarType), 1u);
  EXPECT_EQ(d.get(qmd::releaseEnable(1)), 0u);
}

TEST(Grid, SaysWhichOneBeginsWhenItIsDone) {
  const Qmd d = describe(kHopper, {}, {}, 0x10000, {7, 0, 0x2000, 0x12300});
  EXPECT_EQ(d.get(qmd::releaseEnable(0)), 1u);
  EXPECT_EQ(d.get(qmd::releaseEnable(1)), 0u);
  EXPECT_EQ(d.get(qmd::kNextEnable), 1u);
  EXPECT_EQ(d.get(qmd::kNextPointer), 0x123u);
  EXPECT_EQ(describe(kHopper, {}, {}, 0x10000, {7, 0x1000, 0x2000}).get(qmd::kNextEnable), 0u);
}

// What programmatic launches of a chain say of themselves: the next may begin early, and can wait for this one.
TEST(Grid, OpensALatchForTheNextOne) {
  GridEnd end{7, 0, 0x2000, 0x12300};
  end.latch = 0x1000005;
  end.waitsFor = 0x1000004;
  const Qmd d = describe(kHopper, {}, {}, 0x10000, end);
  EXPECT_EQ(d.get(qmd::kBlocksAllowNext), 1u);
  EXPECT_EQ(d.get(qmd::kArrivesAtLatch), 1u);
  EXPECT_EQ(d.get(qmd::kLatchOfArrival), 0x1000005u);
  EXPECT_EQ(d.get(qmd::kWaitsForLatch), 1u);
  EXPECT_EQ(d.get(qmd::kLatchOfWait), 0x1000004u);
  EXPECT_EQ(d.get(qmd::kLatchInvalidatesData), 1u);
  EXPECT_EQ(d.get(qmd::kLatchInvalidatesTextures), 1u);
  const Qmd plain = describe(kHopper, {}, {}, 0x10000, {7, 0, 0x2000, 0x12300});
  for (const Qmd::Field field : {qmd::kBlocksAllowNext, qmd::kArrivesAtLatch, qmd::kWaitsForLatch})
    EXPECT_EQ(plain.get(field), 0u);
}

struct Described : Compute {
  Described()
      : Compute([this](const FakeGrid& grid, const FakeTranslate& translate) {
          seen.push_back(grid.descriptor);
          return addOrFault(grid, translate);
        }) {}
  std::vector<Qmd> seen;  // of all grids that ran
};

// Two grids under way with one latch would wait for themselves, so each pair has one of its own, in every channel.
TEST_F(Described, EarlyGridsWaitForALatchThatNoOtherPairHas) {
  const auto* const parameters = reinterpret_cast<const std::byte*>(&arguments);
  const KernelCode kernel = code();
  const Grid grid;
  std::vector<ComputeEngine::Launch> chain(6, {kernel, grid, parameters, 12});
  for (const size_t early : {1, 2, 4}) chain[early].early = true;
  std::set<uint32_t> latches;
  size_t pairs = 0;
  for (const unsigned lane : {0u, 1u, 0u}) {
    seen.clear();
    const ComputeEngine::Sent sent = must(engine->launch(lane, chain));
    ASSERT_EQ(sent.count, chain.size());
    ASSERT_EQ(sent.submission.wait(kSecond * 10), CUDA_SUCCESS);
    ASSERT_EQ(seen.size(), chain.size());
    for (size_t i = 0; i < chain.size(); ++i) {
      const bool next = i + 1 < chain.size() && chain[i + 1].early;
      EXPECT_EQ(seen[i].get(qmd::kBlocksAllowNext), next) << i;
      EXPECT_EQ(seen[i].get(qmd::kWaitsForLatch), chain[i].early) << i;
      if (!next) continue;
      EXPECT_EQ(seen[i].get(qmd::kLatchOfArrival), seen[i + 1].get(qmd::kLatchOfWait)) << i;
      EXPECT_NE(seen[i].get(qmd::kLatchOfArrival), 0u);
      latches.insert(seen[i].get(qmd::kLatchOfArrival));
      ++pairs;
    }
  }
  EXPECT_EQ(latches.size(), pairs);
}

// Grids of one kernel run on until they are let go.
struct Held : Compute {
  Held()
      : Compute([this](const FakeGrid& grid, const FakeTranslate& translate) {
          if (held && grid.program == memory->address(4096)) return kRunsOn;
          seen.push_back(grid.descriptor);
          return addOrFault(grid, translate);
        }) {}
  Submission send(std::span<const Submission> after, bool early) {
    const KernelCode kernel = code();
    const Grid grid;
    ComputeEngine::Launch launch{kernel, grid, reinterpret_cast<const std::byte*>(&arguments), 12};
    launch.after = after;
    launch.early = early;
    return must(engine->launch(0u, launch));
  }
  std::atomic<bool> held{true};
  std::vector<Qmd> seen;  // of all grids that ended
};

// Launches of a stream come one by one: the one before it did not know of the next.
TEST_F(Held, GridsThatComeOneByOneBeginEarlyBehindTheOneThatTheyFollow) {
  const Submission plain = send({}, false);
  const Submission first = send(std::span(&plain, 1), true);
  const Submission second = send(std::span(&first, 1), true);
  const Submission other = send({}, true);  // of another stream
  held = false;
  ASSERT_EQ(other.wait(kSecond * 10), CUDA_SUCCESS);
  EXPECT_TRUE(second.done());
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(word(), 4u);
  EXPECT_EQ(seen[0].get(qmd::kBlocksAllowNext), 0u);
  EXPECT_EQ(seen[1].get(qmd::kWaitsForLatch), 0u);
  EXPECT_EQ(seen[1].get(qmd::kBlocksAllowNext), 1u);
  EXPECT_EQ(seen[2].get(qmd::kWaitsForLatch), 1u);
  EXPECT_EQ(seen[2].get(qmd::kLatchOfWait), seen[1].get(qmd::kLatchOfArrival));
  EXPECT_NE(seen[2].get(qmd::kLatchOfArrival), seen[1].get(qmd::kLatchOfArrival));
  EXPECT_EQ(seen[3].get(qmd::kWaitsForLatch), 0u);
}

TEST_F(Held, UrgentGridsWaitForNoLane) {
  Submission last;
  for (unsigned lane = 0; lane < ComputeEngine::kLanes; ++lane) last = must(launch(lane, code()));
  const KernelCode other = code(4096 + 256);
  const Grid grid{.urgency = 5};
  const ComputeEngine::Launch urgent{other, grid, reinterpret_cast<const std::byte*>(&arguments), 12};
  for (unsigned lane = 0; lane < 3; ++lane) {
    const ComputeEngine::Sent sent = must(engine->launch({lane, true}, std::span(&urgent, 1)));
    ASSERT_EQ(sent.submission.wait(kSecond * 10), CUDA_SUCCESS);
    EXPECT_EQ(seen.back().get(qmd::kGroup), 0u);
  }
  EXPECT_FALSE(last.done());
  held = false;
  ASSERT_EQ(last.wait(kSecond * 10), CUDA_SUCCESS);
  EXPECT_EQ(seen.back().get(qmd::kGroup), 5u);
}

// They have the pool of local memory that the others have, whichever was made first.
TEST_F(Compute, UrgentGridsHaveLocalMemory) {
  KernelCode kernel = code();
  const Grid grid;
  const auto run = [&](uint32_t bytes) {
    EXPECT_EQ(engine->reserveLocal(bytes), CUDA_SUCCESS);
    kernel.localBytes = bytes;
    const ComputeEngine::Launch urgent{kernel, grid, reinterpret_cast<const std::byte*>(&arguments), 12};
    const ComputeEngine::Sent sent = must(engine->launch({0, true}, std::span(&urgent, 1)));
    EXPECT_EQ(sent.submission.wait(kSecond * 10), CUDA_SUCCESS);
  };
  run(16);
  run(64);
}

TEST_F(Compute, GridsThatAreSentTogetherRunInOrderAndEndStepByStep) {
  const KernelCode good = code(), bad = code(4096 + 128);
  const Grid grid;
  const auto* const parameters = reinterpret_cast<const std::byte*>(&arguments);
  const std::vector<ComputeEngine::Launch> all(200, {good, grid, parameters, 12});
  size_t submissions = 0;
  Submission last;
  for (size_t sent = 0; sent < all.size(); ++submissions) {
    const ComputeEngine::Sent some = must(engine->launch(3, std::span(all).subspan(sent)));
    ASSERT_GT(some.count, 0u);
    sent += some.count;
    last = some.submission;
  }
  EXPECT_LT(submissions, 20u);
  ASSERT_EQ(last.wait(kSecond * 10), CUDA_SUCCESS);
  EXPECT_EQ(word(), 200u);
  const ComputeEngine::Launch some[] = {{good, grid, parameters, 12},
                                        {good, grid, parameters, 12},
                                        {bad, grid, parameters, 12},
                                        {good, grid, parameters, 12}};
  const ComputeEngine::Sent faulty = must(engine->launch(3, some));
  ASSERT_EQ(faulty.count, 4u);
  EXPECT_EQ(faulty.submission.wait(kSecond * 10), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(faulty.submission.channel->stepsDone(), faulty.firstStep + 1);
  EXPECT_EQ(word(), 202u);
}

// Grids that know each other by number: each runs on until it has been looked at a few times and all that it meets have
// begun.
struct Play {
  uint32_t begun = 0, over = 0;  // by bit
  std::array<uint32_t, 32> meets{}, looks{}, overBefore{};
} play;

uint32_t meet(const FakeGrid& grid, const FakeTranslate&) {
  const auto number = grid.parameter<uint32_t>(8);
  if (!(play.begun >> number & 1)) play.overBefore[number] = play.over;
  play.begun |= 1u << number;
  if (++play.looks[number] < 4 || play.meets[number] & ~play.begun) return kRunsOn;
  play.over |= 1u << number;
  return 0;
}

struct Levels : Compute {
  Levels() : Compute(meet) { play = {}; }
  // Sends grids of these levels and waits for their end; how many submissions they were.
  size_t run(const std::vector<uint32_t>& levels) {
    std::vector<Arguments> numbers;
    for (uint32_t i = 0; i < levels.size(); ++i) numbers.push_back({memory->address(), i});
    std::vector<ComputeEngine::Launch> all;
    for (size_t i = 0; i < levels.size(); ++i) {
      all.push_back({plain, grid, reinterpret_cast<const std::byte*>(&numbers[i]), 12});
      all.back().level = levels[i];
    }
    size_t submissions = 0;
    ComputeEngine::Sent some;
    for (size_t sent = 0; sent < all.size(); ++submissions, sent += some.count)
      some = must(engine->launch(3, std::span(all).subspan(sent)));
    EXPECT_EQ(some.submission.wait(kSecond * 10), CUDA_SUCCESS);
    EXPECT_EQ(play.over, static_cast<uint32_t>((uint64_t{1} << levels.size()) - 1));
    return submissions;
  }
  const KernelCode plain = code();
  const Grid grid;
};

TEST_F(Levels, OfADiamondWaitForEachOtherAndTheirGridsDoNot) {
  play.meets[1] = play.meets[2] = 0b0110;
  EXPECT_EQ(run({0, 1, 1, 0}), 3u);
  EXPECT_EQ(play.overBefore[1], 0b0001u);
  EXPECT_EQ(play.overBefore[2], 0b0001u);
  EXPECT_EQ(play.overBefore[3], 0b0111u);
}

TEST_F(Levels, AreNoneInAChain) {
  EXPECT_EQ(run(std::vector<uint32_t>(20, 0)), 1u);
  for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(play.overBefore[i], (1u << i) - 1) << i;
}

TEST_F(Levels, FollowEachOther) {
  for (unsigned i = 0; i < 12; ++i) play.meets[i] = 0b1111u << i / 4 * 4;
  EXPECT_EQ(run({1, 1, 1, 1, 2, 2, 2, 2, 7, 7, 7, 7}), 3u);
  for (unsigned i = 0; i < 12; ++i) EXPECT_EQ(play.overBefore[i], (1u << i / 4 * 4) - 1) << i;
}

// More than one slot holds, round the channel's slots and its words of progress.
TEST_F(Levels, OfMoreThanASlotHoldsAreAllBesideEachOther) {
  for (unsigned round = 0; round < 50; ++round) {
    play = {};
    play.meets.fill((1u << 31) - 1);
    EXPECT_EQ(run(std::vector<uint32_t>(31, 5)), 1u) << round;
  }
}

TEST_F(Levels, HaveNoPlaceForCooperativeGrids) {
  const Arguments numbers[] = {{memory->address(), 0}, {memory->address(), 1}};
  std::vector<ComputeEngine::Launch> both;
  for (const Arguments& one : numbers) {
    both.push_back({plain, grid, reinterpret_cast<const std::byte*>(&one), 12, true});
    both.back().level = 1;
  }
  const ComputeEngine::Sent sent = must(engine->launch(3, both));
  EXPECT_EQ(sent.count, 2u);
  EXPECT_EQ(sent.submission.wait(kSecond * 10), CUDA_SUCCESS);
  EXPECT_EQ(play.overBefore[1], 1u);
}

// Grids that were prepared: their sections and chains as in {section, follows}.
struct PreparedRuns : Levels {
  using Places = std::vector<std::pair<uint32_t, bool>>;
  void prepare(const Places& places, const KernelCode& code) {
    numbers.clear();
    for (uint32_t i = 0; i < places.size(); ++i) numbers.push_back({memory->address(), i});
    std::vector<PreparedGrids::Item> items;
    for (size_t i = 0; i < places.size(); ++i)
      items.push_back(
          {{code, grid, reinterpret_cast<const std::byte*>(&numbers[i]), 12}, places[i].first, places[i].second});
    grids = must(engine->prepare(items));
    all = static_cast<uint32_t>((uint64_t{1} << places.size()) - 1);
  }
  Submission begin(unsigned lane) { return must(engine->launch(lane, *grids, {}, Room::Waited)); }
  void runOnce(unsigned lane) {
    play.begun = play.over = 0;
    play.looks = play.overBefore = {};
    EXPECT_EQ(begin(lane).wait(kSecond * 10), CUDA_SUCCESS);
    EXPECT_EQ(play.over, all);
  }
  std::vector<Arguments> numbers;
  std::unique_ptr<PreparedGrids> grids;
  uint32_t all = 0;
};

TEST_F(PreparedRuns, FollowEachOtherInChains) {
  prepare({{0, false}, {0, true}, {0, true}, {0, true}}, plain);
  for (unsigned round = 0; round < 100; ++round) {
    runOnce(round);  // in any channel
    for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(play.overBefore[i], (1u << i) - 1) << i;
  }
}

// 0, then 1-2-3 beside 4-5, then 6 beside 7, then 8.
TEST_F(PreparedRuns, ChainsAreBesideEachOtherAndSectionsAreNot) {
  prepare({{0, false}, {1, false}, {1, true}, {1, true}, {1, false}, {1, true}, {2, false}, {2, false}, {3, false}},
          plain);
  play.meets[1] = play.meets[4] = 0b000010010;
  play.meets[6] = play.meets[7] = 0b011000000;
  for (unsigned round = 0; round < 20; ++round) {
    runOnce(3);
    EXPECT_EQ(play.overBefore[1], 0b1u);
    EXPECT_EQ(play.overBefore[2] & 0b1111, 0b11u);
    EXPECT_EQ(play.overBefore[3] & 0b1111, 0b111u);
    EXPECT_EQ(play.overBefore[5] & 0b110001, 0b010001u);
    EXPECT_EQ(play.overBefore[6], 0b111111u);
    EXPECT_EQ(play.overBefore[8], 0b11111111u);
  }
}

// A run begins when the one before it has ended, whichever channels they are in.
TEST_F(PreparedRuns, WaitForWhatTheyFollow) {
  prepare({{0, false}, {0, false}, {0, true}}, plain);
  Submission last;
  for (unsigned round = 0; round < 200; ++round) {
    const Submission before[] = {last};
    last = must(engine->launch(round, *grids, std::span(before, round ? 1 : 0), Room::Waited));
  }
  EXPECT_EQ(last.wait(kSecond * 10), CUDA_SUCCESS);
  EXPECT_EQ(play.over, all);
}

TEST_F(PreparedRuns, OfManyChainsAreSentInParts) {
  std::vector<PreparedGrids::Item> items;
  const Arguments number{memory->address(), 0};
  const auto add = [&](size_t count) {
    for (size_t i = 0; i < count; ++i)
      items.push_back({{plain, grid, reinterpret_cast<const std::byte*>(&number), 12}, 0, false});
  };
  add(400);
  grids = must(engine->prepare(items));
  EXPECT_GT(grids->parts(), 1u);
  for (unsigned round = 0; round < 3; ++round) EXPECT_EQ(begin(round).wait(kSecond * 10), CUDA_SUCCESS);
  add(2000);  // in more than go together
  EXPECT_EQ(engine->prepare(items).error(), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Compute, LargeGridsAreSentOneByOne) {
  const KernelCode plain = code();
  const Grid grid;
  std::vector<std::byte> large(32000);
  std::memcpy(large.data(), &arguments, sizeof arguments);
  const ComputeEngine::Launch both[] = {{plain, grid, large.data(), 32000}, {plain, grid, large.data(), 32000}};
  const ComputeEngine::Sent one = must(engine->launch(0, both));
  EXPECT_EQ(one.count, 1u);
  EXPECT_EQ(one.submission.wait(kSecond * 10), CUDA_SUCCESS);
  EXPECT_EQ(word(), 1u);
}

TEST_F(Compute, LocalMemoryIsThereOnceReserved) {
  KernelCode hungry = code();
  hungry.localBytes = 200;
  ASSERT_EQ(engine->reserveLocal(200), CUDA_SUCCESS);
  EXPECT_EQ(engine->reserveLocal(100), CUDA_SUCCESS);
  EXPECT_EQ(must(launch(0, hungry)).wait(kSecond * 10), CUDA_SUCCESS);
  EXPECT_EQ(word(), 1u);
}

TEST_F(Compute, WithoutAPoolLocalMemoryIsAnException) {
  KernelCode hungry = code();
  hungry.localBytes = 16;
  EXPECT_EQ(must(launch(0, hungry)).wait(kSecond * 10), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(Compute, TooManyParametersAreRefused) {
  std::vector<std::byte> room(40000);
  EXPECT_FALSE(engine->launch(0, {code(), {}, room.data(), 32765}).ok());
}

TEST_F(Compute, FaultsEndTheChannelWithTheirCode) {
  arguments.word = 0x1000;
  const Submission nowhere = must(launch(0, code()));
  EXPECT_EQ(nowhere.wait(kSecond * 10), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(examineFault(*fake.gpu, *nowhere.channel, CUDA_ERROR_ILLEGAL_ADDRESS).error, CUDA_ERROR_ILLEGAL_ADDRESS);
  arguments.word = memory->address();
  EXPECT_EQ(must(launch(1, code(4096 + 128))).wait(kSecond * 10), CUDA_ERROR_LAUNCH_FAILED);
  auto next = must(ComputeEngine::create(*fake.gpu, fake.addresses()));
  engine = std::move(next);
  EXPECT_EQ(must(launch(0, code())).wait(kSecond * 10), CUDA_SUCCESS);
}

TEST_F(Compute, ExceptionsOfAMultiprocessorHaveTheirErrors) {
  arguments.word = memory->address();
  const Submission stopped = must(launch(0, code(4096 + 128)));
  EXPECT_EQ(stopped.wait(kSecond * 10), CUDA_ERROR_LAUNCH_FAILED);
  const auto found = [&](uint32_t warp) {
    fake.driver.setException({131, warp, 0x1002, 0x5000});
    return examineFault(*fake.gpu, *stopped.channel, CUDA_ERROR_LAUNCH_FAILED);
  };
  EXPECT_EQ(found(0x500000f).error, CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_NE(found(0x500000f).what.find("0x1002"), std::string::npos);
  EXPECT_EQ(found(0xc00000e).error, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(found(0x10).error, CUDA_ERROR_INVALID_ADDRESS_SPACE);
  EXPECT_EQ(found(0x9).error, CUDA_ERROR_ILLEGAL_INSTRUCTION);
  EXPECT_EQ(found(0x9).instruction, 0x5000u);
  EXPECT_EQ(found(0x6).error, CUDA_ERROR_INVALID_PC);
  EXPECT_EQ(found(0x1).error, CUDA_ERROR_HARDWARE_STACK_ERROR);
  EXPECT_EQ(found(0xfe).error, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(found(0).error, CUDA_ERROR_LAUNCH_FAILED);
}

// Tools such as address sanitizers leave a GiB of them.
TEST_F(Compute, WindowsTakeNoLowAddresses) {
  const ComputeFacts& facts = engine->facts();
  const auto low = reinterpret_cast<uint64_t>(must(fake.addresses().take(kSmallPage, kSmallPage)));
  fake.addresses().giveBack(reinterpret_cast<std::byte*>(low), kSmallPage);
  EXPECT_EQ(facts.sharedWindow % kSharedWindowBytes, 0u);
  EXPECT_EQ(facts.localWindow % kLocalWindowBytes, 0u);
  for (const uint64_t window : {facts.sharedWindow, facts.localWindow})
    EXPECT_TRUE(window < low || window - low >= fake.addresses().bytes());
}

TEST_F(Compute, MalformedShapesAreExceptions) {
  Grid grid;
  grid.threads[0] = 2048;
  EXPECT_EQ(must(launch(0, code(), grid)).wait(kSecond * 10), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(Compute, NothingIsLeftBehind) {
  const size_t ranges = fake.driver.ranges(), objects = fake.driver.objects();
  {
    auto another = must(ComputeEngine::create(*fake.gpu, fake.addresses()));
    ASSERT_EQ(another->reserveLocal(512), CUDA_SUCCESS);
  }
  EXPECT_EQ(fake.driver.ranges(), ranges);
  EXPECT_EQ(fake.driver.objects(), objects);
}

}  // namespace
}  // namespace vg::testing
