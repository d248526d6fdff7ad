// Memory between processes: both ways, many at once, whatever end a process comes to.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "peer.h"

namespace {

using Clock = std::chrono::steady_clock;

class IpcMemory : public testing::Test {
 protected:
  void SetUp() override { start(); }
};

TEST_F(IpcMemory, ThereIsNoThreadBeforeTheFirstExport) {
  Peer counter("thread-counter");
  bool before = true, afterwards = false;
  ASSERT_TRUE(counter.link().receive(before));
  ASSERT_TRUE(counter.link().receive(afterwards));
  EXPECT_FALSE(before);
  EXPECT_TRUE(afterwards);
}

TEST_F(IpcMemory, ManyImportersWorkOnManyAllocationsAtOnce) {
  constexpr int kPeers = 6, kAllocations = 12, kRounds = 5;
  std::vector<Peer> peers;
  std::vector<CUdeviceptr> memory;
  std::vector<CUipcMemHandle> handles;
  for (int i = 0; i < kAllocations; ++i) {
    memory.push_back(filled(i % 2 ? 512 : 3 << 20, 0));
    handles.push_back(handleOf(memory.back()));
  }
  for (int p = 0; p < kPeers; ++p) {
    peers.emplace_back("importer");
    peers.back().link().send(p);
  }
  for (int round = 0; round < kRounds; ++round)
    for (const CUipcMemHandle& handle : handles) {
      for (const Peer& peer : peers) peer.link().send(handle);
      for (const Peer& peer : peers) ASSERT_TRUE(peer.link().await());
    }
  for (const CUdeviceptr address : memory) {
    for (int p = 0; p < kPeers; ++p) EXPECT_EQ(wordAt(address + 4 * p), unsigned{kRounds});
    EXPECT_OK(cuMemFree(address));
  }
}

TEST_F(IpcMemory, ImportsOutliveTheExporterHoweverItEnds) {
  for (const int signal : {0, SIGTERM, SIGABRT, SIGSEGV, SIGKILL}) {
    Peer exporter("exporter");
    exporter.link().send(8);
    CUdeviceptr memory[8];
    for (CUdeviceptr& address : memory) {
      CUipcMemHandle handle;
      ASSERT_TRUE(exporter.link().receive(handle));
      ASSERT_OK(open(&address, handle));
    }
    if (signal) {
      exporter.end(signal);
    } else {
      exporter.join();
    }
    for (uint32_t i = 0; i < 8; ++i) {
      EXPECT_EQ(wordAt(memory[i] + (1 << 20) - 4), 1000 + i) << signal;
      EXPECT_OK(cuMemsetD32(memory[i], 5, 1 << 18));
      EXPECT_EQ(wordAt(memory[i]), 5u);
      EXPECT_OK(cuIpcCloseMemHandle(memory[i]));
    }
  }
}

TEST_F(IpcMemory, TwoProcessesShareMutually) {
  Peer exporter("exporter"), importer("importer");
  exporter.link().send(1);
  importer.link().send(0);
  const CUdeviceptr ours = filled(1 << 20, 20);
  CUipcMemHandle theirs;
  ASSERT_TRUE(exporter.link().receive(theirs));
  importer.link().send(handleOf(ours));
  ASSERT_TRUE(importer.link().await());
  EXPECT_EQ(wordAt(ours), 21u);
  importer.link().send(theirs);
  ASSERT_TRUE(importer.link().await());
  exporter.link().go();
  uint32_t word = 0;
  ASSERT_TRUE(exporter.link().receive(word));
  EXPECT_EQ(word, 1001u);
  EXPECT_OK(cuMemFree(ours));
}

// Waits until threads that were only needed for a moment have gone.
void expectNothingLeft(const Footprint& before) {
  Footprint after = Footprint::now();
  for (int i = 0; i < 50 && after.descriptors > before.descriptors; ++i, after = Footprint::now()) usleep(20000);
  EXPECT_LE(after.descriptors, before.descriptors);
#ifndef __SANITIZE_THREAD__                         // which maps memory of its own
  EXPECT_LE(after.mappings, before.mappings + 24);  // heaps of threads, metadata
#endif
  EXPECT_LE(after.threads, before.threads + 4);  // service threads that rest
  EXPECT_EQ(after.sharedFiles, 0u);
}

TEST_F(IpcMemory, ExportersKilledAtAnyMomentLoseNothingAndLeaveNothing) {
  std::mt19937 random(4);
  {
    Peer warm("exporter");
    warm.link().send(0);
  }
  handleOf(filled(4 << 20, 0));  // large: what copies need is there now
  const Footprint before = Footprint::now();
  // A slow machine kills most of them before they have exported anything: then it goes on for longer, and they live
  // longer.
  const auto until = Clock::now() + std::chrono::seconds(4), last = until + std::chrono::seconds(60);
  int rounds = 0, opened = 0;
  for (; Clock::now() < until || (opened <= 10 && Clock::now() < last); ++rounds) {
    Peer exporter("busy-exporter");
    const auto life = std::chrono::microseconds(random() % 60000) * (Clock::now() < until ? 1 : 20);
    const auto deadline = Clock::now() + life;
    std::vector<CUdeviceptr> memory;
    std::thread killer([&] {
      std::this_thread::sleep_until(deadline);
      exporter.signal(SIGKILL);
    });
    const Link link = exporter.link();
    CUipcMemHandle handle;
    for (int i = 0; i < 40 && Clock::now() < deadline && link.receive(handle); ++i) {
      CUdeviceptr address = 0;
      const CUresult result = open(&address, handle);
      if (result == CUDA_SUCCESS) memory.push_back(address);
      // The exporter has freed it, or is gone.
      EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_PERMITTED || result == CUDA_ERROR_INVALID_HANDLE)
          << result;
    }
    killer.join();
    exporter.end(SIGKILL);
    for (const CUdeviceptr address : memory) {
      EXPECT_EQ(wordAt(address), 7u);
      EXPECT_EQ(wordAt(address + (300 << 10) - 4), 7u);
      EXPECT_OK(cuIpcCloseMemHandle(address));
    }
    opened += static_cast<int>(memory.size());
  }
  EXPECT_GT(opened, 10) << rounds;
  expectNothingLeft(before);
}

TEST_F(IpcMemory, ImportersKilledAtAnyMomentLeaveTheExporterAlone) {
  std::mt19937 random(5);
  const CUdeviceptr memory = filled(4 << 20, 9);
  const CUipcMemHandle handle = handleOf(memory);
  const Footprint before = Footprint::now();
  for (const auto until = Clock::now() + std::chrono::seconds(2); Clock::now() < until;) {
    Peer one("busy-importer"), two("busy-importer");
    one.link().send(handle);
    two.link().send(handle);
    ASSERT_TRUE(one.link().await());
    usleep(random() % 5000);
    one.end(SIGKILL);
    EXPECT_EQ(wordAt(memory), 9u);
    ASSERT_TRUE(two.link().await());
    two.end(SIGKILL);
  }
  EXPECT_EQ(wordAt(memory), 9u);
  EXPECT_OK(cuMemFree(memory));
  expectNothingLeft(before);
}

TEST_F(IpcMemory, OpeningAndClosingForLongLeavesNothing) {
  Peer exporter("exporter");
  exporter.link().send(3);
  CUipcMemHandle handles[3];
  for (CUipcMemHandle& handle : handles) ASSERT_TRUE(exporter.link().receive(handle));
  Footprint before{};
  for (int i = 0; i < 1500; ++i) {
    if (i == 100) before = Footprint::now();
    CUdeviceptr memory = 0;
    ASSERT_OK(open(&memory, handles[i % 3]));
    ASSERT_OK(cuIpcCloseMemHandle(memory));
    CUdeviceptr own = filled(i % 2 ? 2000 : 2 << 20, 1);
    handleOf(own);
    ASSERT_OK(cuMemFree(own));
  }
  expectNothingLeft(before);
}

TEST_F(IpcMemory, ForgedHandlesOpenNothing) {
  const CUdeviceptr memory = filled(4096, 3);
  Peer forger("forger");
  forger.link().send(handleOf(memory));
  int opened = -1;
  ASSERT_TRUE(forger.link().receive(opened));
  EXPECT_EQ(opened, 0);
  EXPECT_EQ(wordAt(memory), 3u);
  EXPECT_OK(cuMemFree(memory));
}

TEST_F(IpcMemory, AnotherUserCannotUseAHandle) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const CUdeviceptr memory = filled(4096, 3);
  Peer stranger("stranger");
  stranger.link().send(handleOf(memory));
  CUresult result = CUDA_SUCCESS;
  ASSERT_TRUE(stranger.link().receive(result));
  EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_OK(cuMemFree(memory));
}

TEST_F(IpcMemory, MemoryOfAnotherDeviceOpensAndKeepsItsDevice) {
  int devices = 0;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&devices) != CUDA_SUCCESS || devices < 2)
    GTEST_SKIP() << "needs two devices";
  Peer exporter("exporter");
  exporter.link().send(1);
  CUipcMemHandle handle;
  ASSERT_TRUE(exporter.link().receive(handle));
  start(1);
  CUdeviceptr memory = 0;
  ASSERT_OK(open(&memory, handle));
  int ordinal = -1;
  EXPECT_OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory));
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(wordAt(memory), 1000u);
  EXPECT_OK(cuIpcCloseMemHandle(memory));
  EXPECT_OK(cuDevicePrimaryCtxRelease(1));
}

// Copies and fills go on in all parts of an allocation while it becomes shared.
TEST_F(IpcMemory, ExportingInTheMiddleOfWorkLosesNothing) {
  constexpr size_t kChunk = 64 << 10, kChunks = 128;
  for (int round = 0; round < 10; ++round) {
    const CUdeviceptr memory = filled(kChunk * kChunks, 0);
    std::vector<uint32_t> host(kChunk / 4);
    std::thread worker([&] {
      start();
      CUstream stream = nullptr;
      EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
      for (uint32_t i = 0; i < kChunks; ++i) {
        std::fill(host.begin(), host.end(), i + 1);
        const CUdeviceptr at = memory + (kChunks - 1 - i) * kChunk;
        const CUresult result = i % 3 == 0   ? cuMemcpyHtoD(at, host.data(), kChunk)
                                : i % 3 == 1 ? cuMemsetD32Async(at, i + 1, kChunk / 4, stream)
                                             : cuMemsetD32(at, i + 1, kChunk / 4);
        EXPECT_OK(result);
      }
      EXPECT_OK(cuStreamSynchronize(stream));
      EXPECT_OK(cuStreamDestroy(stream));
    });
    usleep(static_cast<useconds_t>(round * 150));
    handleOf(memory);
    worker.join();
    std::vector<uint32_t> all(kChunk * kChunks / 4);
    EXPECT_OK(cuMemcpyDtoH(all.data(), memory, kChunk * kChunks));
    for (uint32_t i = 0; i < kChunks; ++i)
      for (size_t w = 0; w < kChunk / 4; ++w)
        ASSERT_EQ(all[(kChunks - 1 - i) * kChunk / 4 + w], i + 1) << "chunk " << i << " word " << w;
    EXPECT_OK(cuMemFree(memory));
  }
}

}  // namespace
