#include "backend/cpu/profile.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace vg::backend::cpu {
namespace {

ProfileRequest request(int ordinal = 0) {
  ProfileRequest made;
  made.ordinal = ordinal;
  made.workers = 6;
  return made;
}

TEST(Profile, EveryProfileAnswersEveryAttribute) {
  for (const char* name : {"default", "h200"}) {
    ProfileRequest asked = request();
    asked.profile = name;
    const Traits traits = makeTraits(asked);
    for (size_t i = 1; i < traits.known.size(); ++i) EXPECT_TRUE(traits.known[i]) << name << ' ' << i;
    EXPECT_FALSE(traits.known[0]);
  }
}

TEST(Profile, DefaultFollowsTheWorkersAndTheCapability) {
  ProfileRequest asked = request();
  Traits traits = makeTraits(asked);
  EXPECT_EQ(traits.computeCapability, 121);
  EXPECT_EQ(traits.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 6);
  EXPECT_EQ(traits.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR), 1536);
  EXPECT_EQ(traits.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 99 << 10);
  EXPECT_EQ(traits.workers, 6u);
  asked.capability = "8.0";
  traits = makeTraits(asked);
  EXPECT_EQ(traits.computeCapability, 80);
  EXPECT_EQ(traits.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 8);
  EXPECT_EQ(traits.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), 0);
  EXPECT_EQ(traits.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR), 2048);
  EXPECT_EQ(traits.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 163 << 10);
}

TEST(Profile, H200KeepsItsMultiprocessorsWhateverTheCapability) {
  ProfileRequest asked = request();
  asked.profile = "h200";
  asked.capability = "12.0";
  const Traits traits = makeTraits(asked);
  EXPECT_EQ(traits.computeCapability, 120);
  EXPECT_EQ(traits.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 132);
  EXPECT_EQ(traits.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 232448);
}

TEST(Profile, DevicesHaveTheirOwnUuidAndBus) {
  std::set<std::string> uuids;
  std::set<int> buses;
  for (int ordinal = 0; ordinal < 16; ++ordinal) {
    const Traits traits = makeTraits(request(ordinal)), again = makeTraits(request(ordinal));
    EXPECT_EQ(std::memcmp(&traits.uuid, &again.uuid, sizeof traits.uuid), 0);
    uuids.insert(std::string(traits.uuid.bytes, sizeof traits.uuid.bytes));
    buses.insert(traits.attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID));
  }
  EXPECT_EQ(uuids.size(), 16u);
  EXPECT_EQ(buses.size(), 16u);
}

TEST(Profile, MemoryIsSharedAndRounded) {
  ProfileRequest asked = request();
  const uint64_t whole = makeTraits(asked).totalMemory;
  EXPECT_LE(whole, hostMemory());
  asked.count = 4;
  const uint64_t quarter = makeTraits(asked).totalMemory;
  EXPECT_LE(4 * quarter, hostMemory());
  asked.memory = "3MiB";
  EXPECT_EQ(makeTraits(asked).totalMemory, uint64_t{2} << 20);
  asked.memory = "1";
  EXPECT_EQ(makeTraits(asked).totalMemory, uint64_t{2} << 20);
  asked.memory = "lots";
  EXPECT_EQ(makeTraits(asked).totalMemory, quarter);
}

TEST(Profile, CapabilitiesAreParsedStrictly) {
  EXPECT_EQ(parseCapability("12.1"), 121);
  EXPECT_EQ(parseCapability("9.0"), 90);
  EXPECT_EQ(parseCapability("121"), 121);
  EXPECT_EQ(parseCapability("90"), 90);
  for (const char* bad : {"", "9", "9.", ".1", "9.0a", "12.10", "1.0", "abc", "-9.0", "1210", "9 0"})
    EXPECT_EQ(parseCapability(bad), 0) << bad;
}

}  // namespace
}  // namespace vg::backend::cpu
