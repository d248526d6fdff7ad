#include "core/process/visible_devices.h"

#include <gtest/gtest.h>

#include <cstring>

#include "backend/queue.h"

namespace vg::core {
namespace {

// A device that has a UUID and nothing else.
class Named final : public backend::Device {
 public:
  explicit Named(const char (&bytes)[17]) { std::memcpy(traits_.uuid.bytes, bytes, 16); }
  const backend::Traits& traits() const override { return traits_; }
  alloc::MemorySource& memory() override { std::abort(); }
  host_register::PageLocker& pageLocker() override { std::abort(); }
  std::unique_ptr<backend::Queue> createQueue(int, const backend::MultiprocessorSet*) override { std::abort(); }
  Result<std::unique_ptr<backend::Image>> load(const backend::ImageSource&, const backend::LoadOptions&) override {
    std::abort();
  }
  bool hostAddressable() const override { return true; }
  uint64_t timestamp() const override { return 0; }

 private:
  backend::Traits traits_;
};

using Indices = std::vector<size_t>;

struct VisibleDevices : testing::Test {
  Named first{"aaaaaaaaaaaaaaaa"}, second{"aabbbbbbbbbbbbbb"}, third{"cccccccccccccccc"};
  std::vector<backend::Device*> all{&first, &second, &third};
  Indices of(const char* list) {
    const Result<Indices> found = visibleDevices(list, all);
    EXPECT_TRUE(found.ok()) << list;
    return found.ok() ? found.value() : Indices{};
  }
};

TEST_F(VisibleDevices, IndicesReorderAndHide) {
  EXPECT_EQ(of("2,0"), (Indices{2, 0}));
  EXPECT_EQ(of(" 1"), (Indices{1}));
  EXPECT_EQ(of("0,1,2"), (Indices{0, 1, 2}));
  EXPECT_EQ(visibleDevices(3), (Indices{0, 1, 2}));
}

TEST_F(VisibleDevices, TheFirstInvalidEntryEndsTheList) {
  EXPECT_EQ(of("1,3,2"), (Indices{1}));
  EXPECT_EQ(of("1,,2"), (Indices{1}));
  EXPECT_EQ(of("99999999999999999999"), (Indices{}));
  EXPECT_EQ(of(""), (Indices{}));
}

// As an H100 answers.
TEST_F(VisibleDevices, ANumberEndsWhereItsDigitsDo) {
  EXPECT_EQ(of("+1"), (Indices{1}));
  EXPECT_EQ(of("0x1"), (Indices{0}));
  EXPECT_EQ(of("2abc,1"), (Indices{2, 1}));
}

TEST_F(VisibleDevices, ADeviceThatIsListedTwiceIsRefused) {
  EXPECT_EQ(visibleDevices("0,0", all).error(), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(visibleDevices("1,GPU-616162", all).error(), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(VisibleDevices, UuidPrefixesMustFitOneDevice) {
  EXPECT_EQ(uuidText(first.traits().uuid), "GPU-61616161-6161-6161-6161-616161616161");
  EXPECT_EQ(of("GPU-6363,0"), (Indices{2, 0}));
  EXPECT_EQ(of("gpu-6363"), (Indices{2}));
  EXPECT_EQ(of("GPU-616162"), (Indices{1}));
  EXPECT_EQ(of("GPU-6161"), (Indices{}));  // fits two
  EXPECT_EQ(of("GPU-7"), (Indices{}));
  EXPECT_EQ(of("GPU-"), (Indices{}));
  EXPECT_EQ(of("GPU-61616161-6161-6161-6161-61616161616161"), (Indices{}));  // longer than a UUID
}

}  // namespace
}  // namespace vg::core
