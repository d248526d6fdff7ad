#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <random>

#include "images/container.h"
#include "images/image_source.h"
#include "images/provenance.h"
#include "unit/images/image_builder.h"

namespace vg::images {
namespace {

using namespace testing;

Result<Selected> load(const Bytes& bytes, uint32_t capability = 121, size_t size = kUnknownSize) {
  SelectOptions options;
  options.capability = capability;
  return select(bytes.data(), size == kUnknownSize ? size : bytes.size(), options);
}

bool mentions(const Result<Selected>& selected, const std::string& mark) {
  return selected.ok() && selected.value().ptx.size() == 1 && selected.value().ptx[0].find(mark) != std::string::npos;
}

TEST(Select, PtxOfEveryPackingComesOutWhole) {
  for (Packing packing : {Packing::None, Packing::Lz4, Packing::Zstd}) {
    const std::string text = ptx("mark");
    const Bytes image = container({{1, 75, text, packing, 0x11, "file.cu"}});
    const auto selected = load(image);
    ASSERT_TRUE(selected.ok());
    ASSERT_EQ(selected.value().ptx.size(), 1u);
    EXPECT_EQ(selected.value().ptx[0], text.substr(0, text.size() - 1));
    EXPECT_EQ(selected.value().target, 75u);
  }
}

TEST(Select, TheHighestTargetThatFitsIsTaken) {
  const Bytes image = container({{1, 75, ptx("old")}, {1, 120, ptx("new")}, {1, 90, ptx("middle")}});
  EXPECT_TRUE(mentions(load(image, 121), "new"));
  EXPECT_TRUE(mentions(load(image, 100), "middle"));
  EXPECT_TRUE(mentions(load(image, 80), "old"));
  EXPECT_EQ(load(image, 70).error(), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST(Select, ArchitectureAndFamilySpecificCodeNeedsItsDevice) {
  constexpr uint64_t kArchitecture = 0x100011, kFamily = 0x200011;
  const Bytes arch = container({{1, 90, ptx("arch"), Packing::None, kArchitecture}, {1, 80, ptx("plain")}});
  EXPECT_TRUE(mentions(load(arch, 90), "arch"));
  EXPECT_TRUE(mentions(load(arch, 100), "plain"));
  const Bytes family = container({{1, 100, ptx("family"), Packing::None, kFamily}});
  EXPECT_TRUE(mentions(load(family, 103), "family"));
  EXPECT_EQ(load(family, 120).error(), CUDA_ERROR_NO_BINARY_FOR_GPU);
  const Bytes both = container({{1, 90, ptx("arch"), Packing::None, kArchitecture}, {1, 90, ptx("plain")}});
  EXPECT_TRUE(mentions(load(both, 90), "plain"));
}

TEST(Select, TheFirstImageWithoutPtxIsToldAloud) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto body = [] {
    const Bytes image = container({{2, 75, std::string(64, 'x')}});
    for (int i = 0; i < 2; ++i) (void)load(image);
    std::exit(0);
  };
  EXPECT_EXIT(body(), ::testing::ExitedWithCode(0),
              "warning: no PTX for sm_[0-9]*; a fat binary holds only: native:sm_75. .*build it with PTX");
}

TEST(Select, WhereCodeWithoutPtxComesFromIsNamedWithTheWayOut) {
  static const int partOfThisProgram = 0;
  EXPECT_EQ(fileOf(&partOfThisProgram).rfind("unit_", 0), 0u) << fileOf(&partOfThisProgram);
  const auto onTheHeap = std::make_unique<int>();
  EXPECT_EQ(fileOf(onTheHeap.get()), "");
  EXPECT_NE(wayOut("libtorch_cuda.so").find("torch.compile"), std::string::npos);
  EXPECT_NE(wayOut("libcurand.so.10").find("nvidia-curand 10.4.0.35"), std::string::npos);
  EXPECT_NE(wayOut("program").find("build it with PTX"), std::string::npos);
  EXPECT_TRUE(firstOf("one"));
  EXPECT_TRUE(firstOf("another"));
  EXPECT_FALSE(firstOf("one"));
  for (int i = 0; i < 200; ++i) firstOf(std::to_string(i));
  EXPECT_FALSE(firstOf("one too many"));
}

TEST(Select, NativeCodeAloneIsNoBinaryForTheDevice) {
  const Bytes image = container({{2, 75, std::string(64, 'x')}, {8, 75, std::string(64, 'y')}});
  EXPECT_EQ(load(image).error(), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(load(container({})).error(), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST(Select, TheOldContainerMagicIsKnown) {
  EXPECT_TRUE(mentions(load(container({{1, 75, ptx("mark")}}, 0x1EE55A01)), "mark"));
}

TEST(Select, WrapperOfVersionOneLeadsToItsContainer) {
  const Bytes image = container({{1, 75, ptx("mark")}});
  Wrapper wrapper;
  wrapper.container = image.data();
  const SelectOptions options{121, false, nullptr};
  EXPECT_TRUE(mentions(select(&wrapper, kUnknownSize, options), "mark"));
  const Bytes empty = container({});
  wrapper.container = empty.data();
  EXPECT_EQ(select(&wrapper, kUnknownSize, options).error(), CUDA_ERROR_INVALID_IMAGE);
  wrapper.version = 7;
  EXPECT_EQ(select(&wrapper, kUnknownSize, options).error(), CUDA_ERROR_INVALID_IMAGE);
}

TEST(Select, WrapperOfVersionTwoGivesEveryRelocatableModule) {
  const Bytes linked = container({{2, 75, std::string(64, 'x')}});
  const Bytes first = container({{1, 75, ptx("first"), Packing::Zstd}});
  const Bytes second = container({{2, 75, "cubin000"}, {1, 75, ptx("second"), Packing::Lz4}});
  const Bytes newer = container({{1, 121, ptx("device runtime")}});
  const void* const prelinked[] = {first.data(), newer.data(), second.data(), nullptr};
  Wrapper wrapper;
  wrapper.version = 2;
  wrapper.container = linked.data();
  wrapper.prelinked = prelinked;
  const auto selected = select(&wrapper, kUnknownSize, SelectOptions{90, false, nullptr});
  ASSERT_TRUE(selected.ok());
  ASSERT_EQ(selected.value().ptx.size(), 2u);
  EXPECT_NE(selected.value().ptx[0].find("first"), std::string::npos);
  EXPECT_NE(selected.value().ptx[1].find("second"), std::string::npos);
}

TEST(Select, WrapperOfVersionTwoWithoutRelocatableModulesUsesItsContainer) {
  const Bytes image = container({{1, 75, ptx("mark")}});
  const void* const none[] = {nullptr};
  Wrapper wrapper{0x466243B1, 2, image.data(), none};
  EXPECT_TRUE(mentions(select(&wrapper, kUnknownSize, SelectOptions{121, false, nullptr}), "mark"));
}

TEST(Select, TextIsTakenUpToItsEnd) {
  const std::string text = "// comment\n.version 7.0\n";
  const auto selected = select(text.c_str(), kUnknownSize, SelectOptions{121, false, nullptr});
  ASSERT_TRUE(selected.ok());
  EXPECT_EQ(selected.value().ptx[0], text);
  EXPECT_EQ(select("", kUnknownSize, {}).error(), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(select("garbage", kUnknownSize, {}).error(), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(select(nullptr, kUnknownSize, {}).error(), CUDA_ERROR_INVALID_VALUE);
}

TEST(Select, PtxIsRefusedWhenCompilingIsForbidden) {
  const Bytes image = container({{1, 75, ptx("mark")}});
  EXPECT_EQ(select(image.data(), kUnknownSize, SelectOptions{121, true, nullptr}).error(),
            CUDA_ERROR_JIT_COMPILATION_DISABLED);
}

TEST(Select, CubinsAreTakenWhole) {
  const Bytes image = cubin("_Z3addPfi", {{0, 8}, {8, 4}});
  const auto selected = load(image);
  ASSERT_TRUE(selected.ok());
  EXPECT_TRUE(selected.value().ptx.empty());
  EXPECT_EQ(selected.value().native, std::string(reinterpret_cast<const char*>(image.data()), image.size()));
  Bytes foreign = image;
  poke(foreign, offsetof(Elf64_Ehdr, e_machine), uint16_t{EM_X86_64});
  EXPECT_EQ(load(foreign).error(), CUDA_ERROR_INVALID_IMAGE);
}

Result<Selected> loadNative(const Bytes& image, uint32_t capability, bool forcePtx = false) {
  SelectOptions options;
  options.capability = capability;
  options.native = true;
  options.forcePtxJit = forcePtx;
  return select(image.data(), image.size(), options);
}

TEST(Select, DevicesOfNativeCodeGetTheNearestOfTheirMajorVersion) {
  const Bytes image = container({{2, 80, "of sm_80"}, {2, 86, "of sm_86"}, {2, 90, "of sm_90"}, {1, 75, ptx("mark")}});
  const std::pair<uint32_t, std::string> expected[] = {{80, "of sm_80"}, {87, "of sm_86"}, {89, "of sm_86"},
                                                       {90, "of sm_90"}, {100, ""},        {75, ""}};
  for (const auto& [capability, native] : expected) {
    const auto selected = loadNative(image, capability);
    ASSERT_TRUE(selected.ok()) << capability;
    EXPECT_EQ(selected.value().native, native) << capability;
    EXPECT_EQ(selected.value().ptx.empty(), !native.empty()) << capability;
  }
}

TEST(Select, NativeCodeOfOneArchitectureOrFamilyFitsOnlyThose) {
  constexpr uint64_t kArchitecture = 0x100011, kFamily = 0x200011;
  const Bytes exact = container({{2, 90, "plain..."}, {2, 90, "of sm90a", Packing::None, kArchitecture}});
  EXPECT_EQ(loadNative(exact, 90).value().native, "of sm90a");
  const Bytes family = container({{2, 100, "sm_100f.", Packing::None, kFamily}});
  EXPECT_EQ(loadNative(family, 103).value().native, "sm_100f.");
  EXPECT_EQ(loadNative(family, 120).error(), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST(Select, NativeCodeIsLeftAsideWherePtxIsForced) {
  const Bytes image = container({{2, 90, "native.."}, {1, 75, ptx("mark")}});
  EXPECT_TRUE(mentions(loadNative(image, 90, true), "mark"));
}

TEST(Select, LinkedNativeCodeComesBeforeRelocatablePtx) {
  const Bytes linked = container({{2, 90, "linked.."}});
  const Bytes part = container({{1, 75, ptx("part")}});
  const void* const prelinked[] = {part.data(), nullptr};
  Wrapper wrapper{0x466243B1, 2, linked.data(), prelinked};
  SelectOptions options;
  options.capability = 90;
  options.native = true;
  EXPECT_EQ(select(&wrapper, kUnknownSize, options).value().native, "linked..");
  options.capability = 100;
  EXPECT_TRUE(mentions(select(&wrapper, kUnknownSize, options), "part"));
}

TEST(Select, EveryTruncationIsAnsweredAndNothingBeyondIsRead) {
  const Bytes images[] = {container({{1, 75, ptx("one"), Packing::Zstd}, {1, 80, ptx("two"), Packing::Lz4}}),
                          container({{1, 75, ptx("one")}}), cubin("kernel", {{0, 8}})};
  for (const Bytes& image : images)
    for (size_t size = 1; size < image.size(); ++size) {
      // A copy of exactly this size: the sanitizer sees any byte read beyond.
      const Bytes cut(image.begin(), image.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_FALSE(load(cut, 121, cut.size()).ok()) << size;
    }
}

TEST(Select, AContainerThatPromisesMoreThanIsMappedIsRefused) {
  const size_t page = 4096;
  auto* const pages =
      static_cast<std::byte*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  munmap(pages + page, page);
  Bytes image = container({{1, 75, ptx("mark")}});
  for (uint64_t size : {uint64_t{2 * page}, uint64_t{1} << 40, ~uint64_t{0} - 8, ~uint64_t{0}}) {
    poke(image, 8, size);
    std::memcpy(pages, image.data(), std::min(image.size(), page));
    EXPECT_EQ(select(pages, kUnknownSize, SelectOptions{121, false, nullptr}).error(), CUDA_ERROR_INVALID_IMAGE);
  }
  munmap(pages, page);
}

TEST(Select, UnpackingIsBounded) {
  Entry entry;
  entry.kind = EntryKind::Ptx;
  const std::string payload(100, 'x');
  entry.payload = payload;
  entry.compression = Compression::Lz4;
  entry.unpackedSize = 1 << 30;
  EXPECT_EQ(unpack(entry).error(), CUDA_ERROR_INVALID_IMAGE);
  entry.compression = Compression::Zstd;
  EXPECT_EQ(unpack(entry).error(), CUDA_ERROR_INVALID_IMAGE);
  entry.unpackedSize = ~uint64_t{0};
  EXPECT_EQ(unpack(entry).error(), CUDA_ERROR_INVALID_IMAGE);
}

TEST(Select, DamagedBytesNeverDoHarm) {
  std::mt19937 random(7);
  const Bytes images[] = {container({{1, 75, ptx("one", 20), Packing::Zstd, 0x11, "name.cu"},
                                     {1, 80, ptx("two", 20), Packing::Lz4},
                                     {2, 90, std::string(32, 'c')},
                                     {1, 120, ptx("three", 5)}}),
                          cubin("kernel", {{0, 8}, {8, 8}, {16, 4}})};
  for (const Bytes& image : images)
    for (int round = 0; round < 20000; ++round) {
      Bytes damaged = image;
      for (unsigned change = 1 + random() % 4; change; --change) {
        // Mostly in the headers, where it hurts.
        const size_t at = random() % (random() % 2 ? damaged.size() : std::min<size_t>(damaged.size(), 160));
        damaged[at] = static_cast<std::byte>(random() % 3 ? random() : 0xFF);
      }
      const size_t size = random() % 8 ? damaged.size() : random() % damaged.size();
      const Bytes exact(damaged.begin(), damaged.begin() + static_cast<ptrdiff_t>(size));
      const auto selected = load(exact, 121, exact.size());
      if (!selected.ok()) {
        EXPECT_NE(selected.error(), CUDA_SUCCESS);
      }
    }
}

TEST(Select, AMissingFileIsFileNotFound) {
  EXPECT_EQ(selectFile("/nonexistent/file", {}).error(), CUDA_ERROR_FILE_NOT_FOUND);
}

}  // namespace
}  // namespace vg::images
