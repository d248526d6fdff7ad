#include "backend/registry.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "backend/queue.h"

namespace vg::backend {
namespace {

// Devices that nobody looks into: a place each.
std::byte emulated, real[2];
bool realOnesAreThere = false, realOnesWork = false;
Device* deviceAt(std::byte* place) { return reinterpret_cast<Device*>(place); }

const Kind kBoth[] = {
    {"cpu", [](int) { return deviceAt(&emulated); }},
    {"gpu", [](int ordinal) { return realOnesWork && ordinal < 2 ? deviceAt(&real[ordinal]) : nullptr; },
     [] { return realOnesAreThere; }},
    {nullptr, nullptr}};

// Settings are read once in a process, so this comes first. What the log said of real devices with this setting.
std::string saidWith(const char* variable, const char* value, const char* devices) {
  int ends[2];
  if (pipe(ends)) return "no pipe";
  const pid_t child = fork();
  if (!child) {
    setenv(variable, value, 1);
    dup2(ends[1], STDERR_FILENO);
    realOnesAreThere = realOnesWork = true;
    (void)makeDevices(devices, kBoth);
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char text[512];
  for (ssize_t size; (size = read(ends[0], text, sizeof text)) > 0;) said.append(text, static_cast<size_t>(size));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return said;
}

TEST(Registry, SaysThatKernelsOfRealDevicesAreNotLookedAt) {
  EXPECT_NE(saidWith("VERDIGRIS_CHECK", "all", "gpu:all").find("VERDIGRIS_CHECK"), std::string::npos);
  EXPECT_NE(saidWith("VERDIGRIS_COVERAGE", "/tmp", "cpu:1,gpu:1").find("VERDIGRIS_COVERAGE"), std::string::npos);
  EXPECT_EQ(saidWith("VERDIGRIS_CHECK", "api,leaks", "gpu:all"), "") << "these look at calls";
  for (const char* const variable : {"VERDIGRIS_CHECK", "VERDIGRIS_COVERAGE"}) {
    EXPECT_EQ(saidWith(variable, "all", "cpu:1"), "");
    EXPECT_EQ(saidWith(variable, "all", "auto"), "") << "an emulated one is used";
  }
}

TEST(Registry, ReadsKindsAndCounts) {
  const auto entries = parseDevices("cpu:2,nvidia,cpu:1");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].kind, "cpu");
  EXPECT_EQ(entries[0].count, 2);
  EXPECT_EQ(entries[1].kind, "nvidia");
  EXPECT_EQ(entries[1].count, 1);
}

TEST(Registry, LeavesOutEntriesThatMakeNoSense) {
  EXPECT_TRUE(parseDevices("").empty());
  EXPECT_TRUE(parseDevices("cpu:").empty());
  EXPECT_TRUE(parseDevices("cpu:x,cpu:-1,cpu:2x,cpu:100000").empty());
  EXPECT_EQ(parseDevices("cpu:0").at(0).count, 0);
  EXPECT_EQ(parseDevices(",cpu,").size(), 1u);
}

TEST(Registry, TakesAllRealDevicesButNotAllEmulatedOnes) {
  const auto entries = parseDevices("gpu:all,cpu:all,cpu:2");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_TRUE(entries[0].all);
  EXPECT_FALSE(entries[1].all);
}

TEST(Registry, RealDevicesComeFirstWhereTheyCanBeUsed) {
  realOnesWork = true;
  EXPECT_EQ(makeDevices("auto", kBoth), std::vector{deviceAt(&emulated)}) << "nothing is there to be opened";
  realOnesAreThere = true;
  EXPECT_EQ(makeDevices("auto", kBoth), (std::vector{deviceAt(&real[0]), deviceAt(&real[1])}));
  EXPECT_EQ(makeDevices("cpu:1", kBoth), std::vector{deviceAt(&emulated)});
  realOnesWork = false;
  EXPECT_EQ(makeDevices("auto", kBoth), std::vector{deviceAt(&emulated)}) << "they refuse";
  EXPECT_TRUE(makeDevices("gpu:all", kBoth).empty());
}

// A device that counts how many of it there are.
int living = 0, opened = 0;
class CountedDevice final : public Device {
 public:
  CountedDevice() { ++living; }
  ~CountedDevice() override { --living; }
  const Traits& traits() const override { std::abort(); }
  alloc::MemorySource& memory() override { std::abort(); }
  host_register::PageLocker& pageLocker() override { std::abort(); }
  std::unique_ptr<Queue> createQueue(int, const MultiprocessorSet*) override { std::abort(); }
  Result<std::unique_ptr<Image>> load(const ImageSource&, const LoadOptions&) override { std::abort(); }
  bool hostAddressable() const override { std::abort(); }
  uint64_t timestamp() const override { std::abort(); }
};

TEST(Registry, WhereOneDeviceLacksMemoryNoneIsLeftHalfway) {
  const Kind kinds[] = {{"gpu",
                         [](int) -> Device* {
                           if (++opened == 3) throw std::bad_alloc();
                           return new CountedDevice;
                         }},
                        {nullptr, nullptr}};
  EXPECT_THROW((void)makeDevices("gpu:4", kinds), std::bad_alloc);
  EXPECT_EQ(living, 0) << "the next call would open them once more";
  const std::vector<Device*> made = makeDevices("gpu:4", kinds);
  EXPECT_EQ(made.size(), 4u);
  EXPECT_EQ(living, 4);
  for (const Device* device : made) delete device;
}

}  // namespace
}  // namespace vg::backend
