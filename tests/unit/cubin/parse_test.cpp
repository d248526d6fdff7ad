#include <algorithm>

#include "unit/cubin/cubin_files.h"

namespace vg::cubin::testing {
namespace {

struct Target {
  uint32_t architecture, parameterBase;
};

class Parse : public ::testing::TestWithParam<Target> {
 protected:
  std::string file() const { return fileOf("kernels." + std::to_string(GetParam().architecture) + ".cubin"); }
};

INSTANTIATE_TEST_SUITE_P(EveryDialect, Parse,
                         ::testing::Values(Target{80, 0x160}, Target{90, 0x210}, Target{100, 0x380}),
                         [](const auto& info) { return "sm_" + std::to_string(info.param.architecture); });

TEST_P(Parse, ReadsWhatALaunchNeeds) {
  const std::string bytes = file();
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  EXPECT_EQ(cubin.architecture, GetParam().architecture);
  const Kernel* const many = cubin.kernel("many");
  ASSERT_TRUE(many);
  EXPECT_EQ(many->parameterBase, GetParam().parameterBase);
  EXPECT_EQ(many->parameterBytes, 41u);
  EXPECT_EQ(many->bank0Bytes, GetParam().parameterBase + 41);
  ASSERT_EQ(many->parameters.size(), 4u);
  EXPECT_EQ(many->parameters[1].offset, 8u);
  EXPECT_EQ(many->parameters[1].size, 24u);
  EXPECT_EQ(many->parameters[3].offset, 40u);
  EXPECT_EQ(many->parameters[3].size, 1u);
  EXPECT_EQ(many->sharedBytes, 256u);
  EXPECT_EQ(many->reservedBytes, 1024u);
  EXPECT_EQ(many->barriers, 1u);
  EXPECT_EQ(many->maxThreads, 256u);
  EXPECT_GT(many->registers, 7u);
  EXPECT_LE(many->registers, 128u);
  EXPECT_EQ(cubin.sections[many->section].name, ".text.many");
}

TEST_P(Parse, ReadsAnEmptyKernel) {
  const std::string bytes = file();
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  const Kernel* const nothing = cubin.kernel("nothing");
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->sharedBytes, 0u);
  EXPECT_EQ(nothing->parameterBytes, 0u);
  EXPECT_EQ(nothing->bank0Bytes, GetParam().parameterBase);
  EXPECT_EQ(nothing->barriers, 0u);
}

TEST_P(Parse, TellsStackAndFrames) {
  const std::string bytes = file();
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  EXPECT_EQ(cubin.kernel("local")->frameBytes, 400u);
  EXPECT_EQ(cubin.kernel("local")->stackBytes, 400u);
  EXPECT_FALSE(cubin.kernel("local")->unknownStack);
  EXPECT_TRUE(cubin.kernel("recurses")->unknownStack);
}

TEST_P(Parse, ListsVariables) {
  const std::string bytes = file();
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  const Variable* const zeroes = cubin.variable("zeroes");
  ASSERT_TRUE(zeroes);
  EXPECT_EQ(zeroes->size, 400u);
  EXPECT_EQ(cubin.sections[zeroes->section].kind, Kind::Zeroes);
  const Variable* const table = cubin.variable("table");
  ASSERT_TRUE(table);
  EXPECT_EQ(cubin.sections[table->section].kind, Kind::Constant);
  EXPECT_EQ(cubin.sections[table->section].bank, 3u);
  const Variable* const shared = cubin.variable("shared");
  ASSERT_TRUE(shared);
  EXPECT_TRUE(shared->managed);
  EXPECT_FALSE(cubin.variable("counter")->managed);
  int initial = 0;
  std::memcpy(&initial, cubin.contents(shared->section).substr(shared->offset).data(), sizeof initial);
  EXPECT_EQ(initial, 5);
}

TEST_P(Parse, KernelsSeeTheModulesBanks) {
  const std::string bytes = file();
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  std::vector<uint32_t> numbers;
  for (const Bank& bank : cubin.kernel("many")->banks) numbers.push_back(bank.number);
  EXPECT_TRUE(std::count(numbers.begin(), numbers.end(), 3));
  EXPECT_TRUE(std::count(numbers.begin(), numbers.end(), 4));
}

TEST_P(Parse, NamesTheFunctionsOfTheDriver) {
  const std::string bytes = file();
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  std::vector<std::string> externals = cubin.externals;
  std::sort(externals.begin(), externals.end());
  EXPECT_EQ(externals, (std::vector<std::string>{"__assertfail", "free", "malloc", "vprintf"}));
  EXPECT_EQ(cubin.kernel("talks")->externals.size(), 2u);
  EXPECT_TRUE(cubin.kernel("many")->externals.empty());
}

TEST_P(Parse, OldDialectSaysTheSame) {
  const std::string bytes = file();
  SKIP_WITHOUT(bytes);
  const Cubin fresh = read(bytes);
  std::string old = inOldDialect(bytes);
  const Cubin before = read(old);
  EXPECT_EQ(before.architecture, fresh.architecture);
  EXPECT_EQ(before.kernel("many")->registers, fresh.kernel("many")->registers);
  EXPECT_EQ(before.kernel("many")->sharedBytes, fresh.kernel("many")->sharedBytes);
  EXPECT_EQ(before.kernel("many")->barriers, 0u) << "taken out above";
  Elf64_Ehdr header;
  std::memcpy(&header, old.data(), sizeof header);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    const size_t at = header.e_shoff + i * sizeof section;
    std::memcpy(&section, &old[at], sizeof section);
    if (section.sh_flags & SHF_EXECINSTR) section.sh_flags |= 3 << 20;
    std::memcpy(&old[at], &section, sizeof section);
  }
  EXPECT_EQ(read(old).kernel("many")->barriers, 3u);
}

TEST(ParseClusters, ReadsTheirShape) {
  const std::string bytes = fileOf("kernels.90.cubin");
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  EXPECT_EQ(cubin.kernel("pairs")->cluster, (std::array<uint32_t, 3>{2, 1, 1}));
  EXPECT_TRUE(cubin.kernel("pairs")->explicitCluster);
  EXPECT_FALSE(cubin.kernel("many")->explicitCluster);
}

TEST(ParseParameters, ReadsLargeOnes) {
  for (const char* file : {"kernels.90.cubin", "kernels.100.cubin"}) {
    const std::string bytes = fileOf(file);
    SKIP_WITHOUT(bytes);
    const Cubin cubin = read(bytes);
    const Kernel* const large = cubin.kernel("large");
    ASSERT_TRUE(large);
    ASSERT_EQ(large->parameters.size(), 3u);
    EXPECT_EQ(large->parameters[1].size, 20000u);
    EXPECT_EQ(large->parameters[2].offset, 20008u);
    EXPECT_EQ(large->parameters[2].size, 8u);
    EXPECT_EQ(large->parameterBytes, 20016u);
  }
}

TEST(ParseThreads, ReadsTheRequiredBlock) {
  const std::string bytes = fileOf("bytes.90.cubin");
  SKIP_WITHOUT(bytes);
  EXPECT_EQ(read(bytes).kernel("shaped")->requiredThreads, (std::array<uint32_t, 3>{64, 2, 1}));
}

TEST(ParseTarget, TellsWhatTheCodeWasMadeOf) {
  const std::string bytes = fileOf("bytes.90.cubin");
  SKIP_WITHOUT(bytes);
  EXPECT_EQ(read(bytes).ptxTarget, 80u);
  EXPECT_EQ(read(fileOf("kernels.90.cubin")).ptxTarget, 90u);
}

TEST(ParseParts, RelocatableCodeSaysWhatItMisses) {
  const std::string bytes = fileOf("parts.90.cubin");
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  EXPECT_TRUE(cubin.relocatable);
  EXPECT_EQ(cubin.externals, std::vector<std::string>{"_Z9elsewherei"});
  EXPECT_TRUE(cubin.kernel("calls"));
  EXPECT_TRUE(cubin.variable("here"));
}

TEST(ParseDamage, RefusesWhatIsNoCubin) {
  EXPECT_EQ(parse("").error(), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(parse(std::string(200, 'x')).error(), CUDA_ERROR_INVALID_IMAGE);
}

}  // namespace
}  // namespace vg::cubin::testing
