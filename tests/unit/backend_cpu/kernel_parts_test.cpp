// The parts around the runner: printf's formatting, the kernel cache, code pages, occupancy.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "backend/cpu/code/engine.h"
#include "backend/cpu/code/kernel_code.h"
#include "backend/cpu/run/device_heap.h"
#include "backend/device_side/kernel_print.h"
#include "backend/launches/occupancy.h"
#include "base/system/kernel_cache.h"

namespace vg::backend::cpu {
namespace {

// Packs arguments as the CUDA compiler does: each at its own alignment.
class Packed {
 public:
  template <class T>
  Packed& add(T value) {
    bytes_.resize((bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T) + sizeof(T));
    std::memcpy(bytes_.data() + bytes_.size() - sizeof(T), &value, sizeof(T));
    return *this;
  }
  const std::byte* data() const { return bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;
};

std::string formatted(const char* format, const Packed& arguments, int32_t count) {
  std::string out;
  EXPECT_EQ(print::format(format, arguments.data(), out), count) << format;
  return out;
}

TEST(Print, ConversionsTakeTheirArgumentsWithTheirAlignment) {
  EXPECT_EQ(formatted("plain %% text\n", Packed(), 0), "plain % text\n");
  EXPECT_EQ(formatted("%d %f %c|%s", Packed().add(-5).add(2.5).add(int{'x'}).add("word"), 4), "-5 2.500000 x|word");
  EXPECT_EQ(formatted("%d %lld %u", Packed().add(1).add(1LL << 40).add(~0u), 3), "1 1099511627776 4294967295");
  EXPECT_EQ(formatted("%ld %zu %llx", Packed().add(-1L).add(size_t{7}).add(0xABCDEFLL), 3), "-1 7 abcdef");
  EXPECT_EQ(formatted("%5d|%-5d|%05d|%+d|% d|%#x", Packed().add(1).add(2).add(3).add(4).add(5).add(255), 6),
            "    1|2    |00003|+4| 5|0xff");
  EXPECT_EQ(formatted("%8.3f|%.0e|%g|%G", Packed().add(3.14159).add(12345.0).add(1e-10).add(0.5), 4),
            "   3.142|1e+04|1e-10|0.5");
  EXPECT_EQ(formatted("%hhd %hd", Packed().add(300).add(70000), 2), "44 4464");
  EXPECT_EQ(formatted("%p", Packed().add(reinterpret_cast<void*>(0x1234)), 1), "0x1234");
  EXPECT_EQ(formatted("%s", Packed().add(static_cast<const char*>(nullptr)), 1), "(null)");
}

TEST(Print, WidthsMayBeArgumentsAndAreBounded) {
  EXPECT_EQ(formatted("%*d|%-*d|%.*f", Packed().add(4).add(7).add(3).add(8).add(1).add(2.25), 6), "   7|8  |2.2");
  EXPECT_EQ(formatted("%*d", Packed().add(2'000'000'000).add(1), 2).size(), 4096u);
  EXPECT_EQ(formatted("%99999999d", Packed().add(1), 1).size(), 4096u);
}

TEST(Print, UnknownConversionsAndHalfOnesAreShownAsTheyStand) {
  EXPECT_EQ(formatted("%y %", Packed(), 0), "%y %");
  EXPECT_EQ(formatted("%-5", Packed(), 0), "%-5");
  EXPECT_EQ(formatted("%n", Packed(), 0), "%n");
}

TEST(Heap, PiecesAreAlignedApartAndUsedAgain) {
  KernelHeap heap;
  std::vector<void*> pieces;
  for (uint64_t size : {1, 16, 17, 100, 4000}) pieces.push_back(heap.allocate(size, 1 << 20));
  for (void* piece : pieces) {
    ASSERT_NE(piece, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % 16, 0u);
  }
  EXPECT_TRUE(heap.release(pieces[3]));
  EXPECT_FALSE(heap.release(pieces[3]));
  EXPECT_EQ(heap.allocate(90, 1 << 20), pieces[3]);
  EXPECT_EQ(heap.allocate(0, 1 << 20), nullptr);
  EXPECT_EQ(heap.allocate(2 << 20, 1 << 20), nullptr);
  EXPECT_EQ(heap.allocate(~uint64_t{0}, 1 << 20), nullptr);
  EXPECT_TRUE(heap.release(nullptr));
  int local = 0;
  EXPECT_FALSE(heap.release(&local));
  EXPECT_FALSE(heap.release(static_cast<char*>(pieces[4]) + 16));
}

// Nothing is lost between pieces, and all is whole again when they are given back in any order.
TEST(Heap, PiecesOfAnySizeFillIt) {
  constexpr size_t kBytes = 1 << 20;
  KernelHeap heap;
  for (const uint64_t size : {16, 32, 48, 64, 128, 1000, 1024, 4096, 65536, 1 << 20}) {
    std::vector<void*> pieces;
    while (void* const piece = heap.allocate(size, kBytes)) pieces.push_back(piece);
    EXPECT_EQ(pieces.size(), kBytes / ((size + 15) / 16 * 16)) << size;
    for (size_t n = 0; n < pieces.size(); n += 2) EXPECT_TRUE(heap.release(pieces[n]));
    for (size_t n = 1; n < pieces.size(); n += 2) EXPECT_TRUE(heap.release(pieces[n]));
  }
}

class CacheFolder {
 public:
  CacheFolder() { EXPECT_NE(mkdtemp(path_), nullptr); }
  ~CacheFolder() {
    for (const std::string& file : files()) unlink(file.c_str());
    rmdir(path_);
  }
  std::string path() const { return path_; }
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    if (DIR* const folder = opendir(path_)) {
      while (const dirent* entry = readdir(folder))
        if (entry->d_name[0] != '.') found.push_back(path() + "/" + entry->d_name);
      closedir(folder);
    }
    return found;
  }

 private:
  char path_[64] = "/tmp/vg-cache-XXXXXX";
};

std::vector<uint8_t> bytesOf(uint8_t value, size_t size) { return std::vector<uint8_t>(size, value); }

TEST(Cache, WhatIsWrittenIsReadBack) {
  const CacheFolder folder;
  const KernelCache cache(folder.path() + "/a/b", 1 << 20);
  EXPECT_TRUE(cache.read({1, 2}).empty());
  cache.write({1, 2}, bytesOf(7, 1000));
  EXPECT_EQ(cache.read({1, 2}), bytesOf(7, 1000));
  EXPECT_TRUE(cache.read({2, 1}).empty());
  cache.remove({1, 2});
  EXPECT_TRUE(cache.read({1, 2}).empty());
  rmdir((folder.path() + "/a/b").c_str());
  rmdir((folder.path() + "/a").c_str());
}

TEST(Cache, TheFilesUsedLongestAgoGoFirst) {
  const CacheFolder folder;
  const KernelCache cache(folder.path(), 3500);
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  for (uint64_t i = 0; i < 3; ++i) {
    cache.write({0, i}, bytesOf(static_cast<uint8_t>(i), 1000));
    pause();
  }
  EXPECT_FALSE(cache.read({0, 0}).empty());  // used again: the second is the oldest now
  pause();
  cache.write({0, 3}, bytesOf(3, 1000));
  EXPECT_FALSE(cache.read({0, 0}).empty());
  EXPECT_TRUE(cache.read({0, 1}).empty());
  EXPECT_FALSE(cache.read({0, 2}).empty());
  EXPECT_FALSE(cache.read({0, 3}).empty());
}

TEST(Cache, TemporaryFilesOfDeadWritersGoAfterAWhile) {
  const CacheFolder folder;
  const KernelCache cache(folder.path(), 1 << 20);
  const std::string old = folder.path() + "/temporary-1-1", fresh = folder.path() + "/temporary-1-2";
  std::ofstream(old) << "x";
  std::ofstream(fresh) << "x";
  const timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, old.c_str(), times, 0), 0);
  cache.write({1, 1}, bytesOf(1, 10));
  EXPECT_NE(access(old.c_str(), F_OK), 0);
  EXPECT_EQ(access(fresh.c_str(), F_OK), 0);
}

TEST(Cache, ManyWritersOfTheSameKernelDoNoHarm) {
  const CacheFolder folder;
  const KernelCache cache(folder.path(), 1 << 20);
  std::vector<std::thread> threads;
  for (uint8_t number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      for (int round = 0; round < 50; ++round) {
        cache.write({9, 9}, bytesOf(number, 5000));
        const std::vector<uint8_t> got = cache.read({9, 9});
        ASSERT_EQ(got.size(), 5000u);
        for (uint8_t byte : got) ASSERT_EQ(byte, got[0]);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(folder.files().size(), 1u);
}

TEST(Cache, AnInactiveCacheIsAlwaysAMiss) {
  const KernelCache cache("", 1 << 20);
  EXPECT_FALSE(cache.active());
  cache.write({1, 1}, bytesOf(1, 10));
  EXPECT_TRUE(cache.read({1, 1}).empty());
}

TEST(Engine, KeysTellTextsEntriesAndVariantsApart) {
  const std::vector<std::string> one = {"ab", "c"}, two = {"a", "bc"};
  const std::string entry = "kernel", other = "other";
  const auto key = [&](const std::vector<std::string>& texts, const std::string& name, ptx::BlockShape shape, bool full,
                       bool quick = false) {
    const KernelCache::Key k = engine::keyOf({&texts, engine::hashOf(texts), &name, shape, full}, quick);
    return std::make_pair(k.high, k.low);
  };
  const auto base = key(one, entry, ptx::BlockShape::RowsOf32, true);
  EXPECT_EQ(base, key(one, entry, ptx::BlockShape::RowsOf32, true));
  EXPECT_NE(base, key(two, entry, ptx::BlockShape::RowsOf32, true));
  EXPECT_NE(base, key(one, entry, ptx::BlockShape::RowsOf32, true, true)) << "quick code is not good code";
  EXPECT_NE(base, key(one, other, ptx::BlockShape::RowsOf32, true));
  EXPECT_NE(base, key(one, entry, ptx::BlockShape::Other, true));
  EXPECT_NE(base, key(one, entry, ptx::BlockShape::RowsOf32, false));
}

TEST(Engine, BlocksAreOfRowsOrOfPartsOfRows) {
  using ptx::BlockShape;
  EXPECT_EQ(ptx::blockShapeOf(64, 3, 1), BlockShape::RowsOf32);
  EXPECT_EQ(ptx::blockShapeOf(16, 1, 1), BlockShape::HalfWarp);
  EXPECT_EQ(ptx::blockShapeOf(1, 1, 1), BlockShape::HalfWarp);
  EXPECT_EQ(ptx::blockShapeOf(17, 1, 1), BlockShape::LoneWarp);
  EXPECT_EQ(ptx::blockShapeOf(32, 1, 1), BlockShape::LoneWarp);
  EXPECT_EQ(ptx::blockShapeOf(32, 2, 1), BlockShape::RowsOf32);
  EXPECT_EQ(ptx::blockShapeOf(48, 1, 1), BlockShape::Line);
  EXPECT_EQ(ptx::blockShapeOf(16, 16, 1), BlockShape::RowsOf16);
  EXPECT_EQ(ptx::blockShapeOf(16, 2, 3), BlockShape::RowsOf16);
  EXPECT_EQ(ptx::blockShapeOf(8, 4, 2), BlockShape::RowsOf8);
  // Warps end in the middle of a row or of a plane.
  EXPECT_EQ(ptx::blockShapeOf(16, 3, 2), BlockShape::PartsOf16);
  EXPECT_EQ(ptx::blockShapeOf(16, 1, 8), BlockShape::PartsOf16);
  EXPECT_EQ(ptx::blockShapeOf(48, 2, 1), BlockShape::PartsOf16);
  EXPECT_EQ(ptx::blockShapeOf(8, 6, 2), BlockShape::PartsOf8);
  EXPECT_EQ(ptx::blockShapeOf(24, 4, 1), BlockShape::PartsOf8);
  EXPECT_EQ(ptx::blockShapeOf(4, 8, 1), BlockShape::PartsOf4);
  EXPECT_EQ(ptx::blockShapeOf(12, 8, 1), BlockShape::PartsOf4);
  EXPECT_EQ(ptx::blockShapeOf(6, 16, 1), BlockShape::Other);
  EXPECT_TRUE(ptx::hasFullWarps(BlockShape::HalfWarp, 16)) << "all of half a warp";
  EXPECT_FALSE(ptx::hasFullWarps(BlockShape::HalfWarp, 15));
  EXPECT_TRUE(ptx::hasFullWarps(BlockShape::LoneWarp, 32));
  EXPECT_FALSE(ptx::hasFullWarps(BlockShape::PartsOf16, 48));
}

TEST(Engine, TheProcessorIsDescribedFeatureByFeature) {
  const HostCpu& cpu = hostCpu();
  EXPECT_FALSE(cpu.name.empty());
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  EXPECT_EQ(cpu.features.find("+avx2,") != std::string::npos, avx2);
  EXPECT_EQ(cpu.features.find("-avx2,") == std::string::npos, avx2);
#else
  EXPECT_NE(cpu.features.find("+neon,"), std::string::npos);
#endif
}

TEST(Engine, HalvesAreComparedInF32OnEveryProcessor) {
  // With AVX512-FP16 LLVM 19 takes masked comparisons of halves for their opposites.
  for (const InstructionSet& set : instructionSets())
    EXPECT_EQ(set.cpu.features.find("fp16"), std::string::npos) << set.name;
}

// Two instructions that do nothing, of kStep bytes, and the return.
#if defined(__x86_64__)
constexpr uint32_t kStep = 1;
const std::vector<uint8_t> kReturning = {0x90, 0x90, 0xC3, 0xCC};
#else
constexpr uint32_t kStep = 4;
const std::vector<uint8_t> kReturning = {0x1F, 0x20, 0x03, 0xD5, 0x1F, 0x20, 0x03, 0xD5,
                                         0xC0, 0x03, 0x5F, 0xD6, 0,    0,    0,    0};
#endif

ptx::KernelBlob returning() {
  ptx::KernelBlob blob;
  blob.code = kReturning;
  blob.textSize = static_cast<uint32_t>(kReturning.size());
  blob.entryOffset = kStep;
  blob.lines = {{0, 10}, {2 * kStep, 20}};
  return blob;
}

TEST(Code, LoadedCodeRunsAndKnowsItsLines) {
  auto loaded = LoadedKernel::load(returning());
  ASSERT_TRUE(loaded.ok());
  const LoadedKernel& kernel = *loaded.value();
  kernel.entry(nullptr, 0, 1);
  const auto* const code = reinterpret_cast<const std::byte*>(kernel.entry) - kStep;
  EXPECT_TRUE(CodePages::contains(code));
  EXPECT_FALSE(CodePages::contains(&loaded));
  EXPECT_EQ(kernel.lineAt(code), 10u);
  EXPECT_EQ(kernel.lineAt(code + kStep), 10u);
  EXPECT_EQ(kernel.lineAt(code + 3 * kStep), 20u);
  EXPECT_EQ(kernel.lineAt(code + 4 * kStep), 0u);
  ptx::KernelBlob bad = returning();
  bad.entryOffset = 4 * kStep;
  EXPECT_FALSE(LoadedKernel::load(bad).ok());
}

TEST(Code, PagesAreNeverWritableAndExecutableAndAreGivenBack) {
  std::vector<std::unique_ptr<const LoadedKernel>> kernels;
  for (int i = 0; i < 100; ++i) {
    auto loaded = LoadedKernel::load(returning());
    ASSERT_TRUE(loaded.ok());
    kernels.push_back(std::move(loaded).value());
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) EXPECT_EQ(line.find(" rwx"), std::string::npos) << line;
  const void* const first = reinterpret_cast<void*>(kernels[0]->entry);
  for (size_t i = 0; i < kernels.size(); i += 2) kernels[i].reset();
  kernels.clear();
  auto again = LoadedKernel::load(returning());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(reinterpret_cast<void*>(again.value()->entry), first);
}

Traits h200() {
  Traits traits;
  traits.attributes[CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR] = 32;
  traits.attributes[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = 2048;
  traits.attributes[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR] = 65536;
  traits.attributes[CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK] = 1024;
  traits.attributes[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] = 233472;
  return traits;
}

// Values of NVIDIA's occupancy calculator for capability 9.0.
TEST(Occupancy, FollowsThePublishedRules) {
  const Traits traits = h200();
  const auto blocks = [&](uint32_t threads, uint32_t registers, uint64_t shared) {
    return occupancy::blocksPerMultiprocessor(traits, {threads, registers, shared});
  };
  EXPECT_EQ(blocks(256, 32, 0), 8u);
  EXPECT_EQ(blocks(32, 32, 0), 32u);
  EXPECT_EQ(blocks(1024, 32, 0), 2u);
  EXPECT_EQ(blocks(1024, 64, 0), 1u);
  EXPECT_EQ(blocks(256, 128, 0), 2u);
  EXPECT_EQ(blocks(256, 255, 0), 1u);
  EXPECT_EQ(blocks(512, 255, 0), 0u);
  EXPECT_EQ(blocks(128, 40, 48 * 1024), 4u);
  EXPECT_EQ(blocks(128, 40, 227 * 1024), 1u);
  EXPECT_EQ(blocks(128, 40, 228 * 1024), 0u);
  EXPECT_EQ(blocks(33, 16, 0), 32u);
}

}  // namespace
}  // namespace vg::backend::cpu
