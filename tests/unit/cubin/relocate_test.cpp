#include <algorithm>
#include <vector>

#include "unit/cubin/cubin_files.h"

namespace vg::cubin::testing {
namespace {

constexpr uint64_t kCode = 0x7a12'3456'7000, kData = 0x7b00'1000'2000, kExternal = 0x7c99'8877'6640;

Addresses placed(const Cubin& cubin) {
  Addresses addresses;
  for (size_t i = 0; i < cubin.sections.size(); ++i)
    addresses.sections.push_back((cubin.sections[i].kind == Kind::Code ? kCode : kData) + i * 0x10000);
  return addresses;
}

Result<uint64_t> external(const std::string&) { return kExternal; }

uint32_t sectionOf(const Cubin& cubin, const std::string& name) {
  for (uint32_t i = 0; i < cubin.sections.size(); ++i)
    if (cubin.sections[i].name == name) return i;
  ADD_FAILURE() << "no section " << name;
  return 0;
}

template <class T>
T at(const std::string& bytes, uint64_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof value, bytes.size());
  if (offset + sizeof value <= bytes.size()) std::memcpy(&value, &bytes[offset], sizeof value);
  return value;
}

std::string relocated(const Cubin& cubin, uint32_t section, const Addresses& addresses) {
  Result<std::string> bytes = relocate(cubin, section, addresses, external);
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? *bytes : std::string();
}

uint64_t addressOf(const Cubin& cubin, const Addresses& addresses, const char* name) {
  const Variable* const variable = cubin.variable(name);
  EXPECT_TRUE(variable);
  return variable ? addresses.sections[variable->section] + variable->offset : 0;
}

class Relocate : public ::testing::TestWithParam<int> {
 protected:
  std::string file(const char* name) const { return fileOf(name + ("." + std::to_string(GetParam())) + ".cubin"); }
};
INSTANTIATE_TEST_SUITE_P(EveryTarget, Relocate, ::testing::Values(80, 90, 100),
                         [](const auto& info) { return "sm_" + std::to_string(info.param); });

TEST_P(Relocate, PointersInVariablesHoldAddresses) {
  const std::string bytes = file("kernels");
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  const Addresses addresses = placed(cubin);
  const uint64_t counter = addressOf(cubin, addresses, "counter");
  for (const char* name : {"toCounter", "constantToCounter"}) {
    const Variable* const variable = cubin.variable(name);
    ASSERT_TRUE(variable) << name;
    EXPECT_EQ(at<uint64_t>(relocated(cubin, variable->section, addresses), variable->offset), counter) << name;
  }
}

TEST_P(Relocate, AddressBankNamesVariablesAndFunctionsOfTheDriver) {
  const std::string bytes = file("kernels");
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  const Addresses addresses = placed(cubin);
  const std::string bank = relocated(cubin, sectionOf(cubin, ".nv.constant4"), addresses);
  std::vector<uint64_t> words;
  for (size_t offset = 0; offset + 8 <= bank.size(); offset += 8) words.push_back(at<uint64_t>(bank, offset));
  EXPECT_TRUE(std::count(words.begin(), words.end(), kExternal));
  EXPECT_TRUE(std::count(words.begin(), words.end(), addressOf(cubin, addresses, "zeroes")));
  EXPECT_FALSE(std::count(words.begin(), words.end(), uint64_t{0}));
}

TEST_P(Relocate, ManagedVariablesLiveElsewhere) {
  const std::string bytes = file("kernels");
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  Addresses addresses = placed(cubin);
  addresses.variables[cubin.variable("shared")->symbol] = 0x1234'5678'9ABC;
  const std::string bank = relocated(cubin, sectionOf(cubin, ".nv.constant4"), addresses);
  bool found = false;
  for (size_t offset = 0; offset + 8 <= bank.size(); offset += 8)
    found |= at<uint64_t>(bank, offset) == 0x1234'5678'9ABC;
  EXPECT_TRUE(found);
}

TEST_P(Relocate, BytesOfAddresses) {
  const std::string bytes = file("bytes");
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  const Addresses addresses = placed(cubin);
  const uint64_t word = addressOf(cubin, addresses, "word");
  const Variable* const list = cubin.variable("addresses");
  const Variable* const parts = cubin.variable("parts");
  ASSERT_TRUE(list && parts);
  const std::string data = relocated(cubin, list->section, addresses);
  EXPECT_EQ(at<uint64_t>(data, list->offset), word);
  EXPECT_EQ(at<uint64_t>(data, list->offset + 8), word);
  EXPECT_EQ(at<uint64_t>(data, parts->offset), word);
}

TEST_P(Relocate, FailsWithWhatTheResolverFailsWith) {
  const std::string bytes = file("kernels");
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  const auto nobody = [](const std::string&) -> Result<uint64_t> { return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH; };
  EXPECT_EQ(relocate(cubin, sectionOf(cubin, ".nv.constant4"), placed(cubin), nobody).error(),
            CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
}

// The operand of an instruction is bits 32 to 63; a branch target, in words, bits 16 to 23 and 34 on.
TEST(RelocateCode, OperandsAndBranchTargets) {
  const std::string bytes = fileOf("parts.90.cubin");
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  const Addresses addresses = placed(cubin);
  const Kernel& calls = *cubin.kernel("calls");
  const std::string code = relocated(cubin, calls.section, addresses);
  const uint64_t here = addressOf(cubin, addresses, "here");
  unsigned low = 0, high = 0, targets = 0;
  for (const Relocation& relocation : cubin.relocations[calls.section]) {
    const uint64_t first = at<uint64_t>(code, relocation.offset), second = at<uint64_t>(code, relocation.offset + 8);
    const std::string& name = cubin.symbols[relocation.symbol].name;
    if (relocation.type == 56 && name == "here") low += first >> 32 == (here & 0xFFFF'FFFF);
    if (relocation.type == 57 && name == "here") high += first >> 32 == here >> 32;
    if (relocation.type == 75) {
      const uint64_t words = (first >> 16 & 0xFF) | (first >> 34 | (second & 0x1'FFFF) << 30) << 8;
      targets += words == kExternal >> 2;
    }
  }
  EXPECT_EQ(low, 1u);
  EXPECT_EQ(high, 1u);
  EXPECT_EQ(targets, 1u);
}

TEST(RelocateDamage, PlacesBeyondTheSectionAreRefused) {
  const std::string bytes = fileOf("kernels.90.cubin");
  SKIP_WITHOUT(bytes);
  Cubin cubin = read(bytes);
  const uint32_t bank = sectionOf(cubin, ".nv.constant4");
  cubin.relocations[bank][0].offset = cubin.sections[bank].size - 7;
  EXPECT_EQ(relocate(cubin, bank, placed(cubin), external).error(), CUDA_ERROR_INVALID_IMAGE);
}

TEST(RelocateDamage, UnknownKindsAreNotSupported) {
  const std::string bytes = fileOf("kernels.90.cubin");
  SKIP_WITHOUT(bytes);
  Cubin cubin = read(bytes);
  const uint32_t bank = sectionOf(cubin, ".nv.constant4");
  cubin.relocations[bank][0].type = 200;
  EXPECT_EQ(relocate(cubin, bank, placed(cubin), external).error(), CUDA_ERROR_NOT_SUPPORTED);
}

TEST(LayOut, SectionsFollowEachOtherAligned) {
  const std::string bytes = fileOf("kernels.90.cubin");
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  const Layout layout = layOut(cubin, Kind::Code);
  uint64_t sum = 0;
  for (size_t i = 0; i < cubin.sections.size(); ++i) {
    if (cubin.sections[i].kind != Kind::Code) continue;
    EXPECT_EQ(layout.offsets[i] % 128, 0u);
    EXPECT_GE(layout.offsets[i], sum);
    sum = layout.offsets[i] + cubin.sections[i].size;
  }
  EXPECT_EQ(layout.bytes, sum);
  EXPECT_GE(layout.alignment, 128u);
}

}  // namespace
}  // namespace vg::cubin::testing
