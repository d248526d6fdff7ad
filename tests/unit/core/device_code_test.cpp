#include "core/modules/device_code.h"

#include <elf.h>
#include <gtest/gtest.h>

#include "unit/images/image_builder.h"

namespace vg::core {
namespace {

// A cubin of one kernel for an architecture.
std::string cubinFor(uint32_t architecture) {
  images::testing::Bytes bytes = images::testing::cubin("kernel", {{0, 8}});
  images::testing::poke(bytes, offsetof(Elf64_Ehdr, e_flags), architecture << 8);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

backend::Traits device(int capability, bool nativeCode) {
  backend::Traits traits;
  traits.computeCapability = capability;
  traits.nativeCode = nativeCode;
  return traits;
}

CUresult provide(images::Selected selected, const backend::Traits& traits, backend::ImageSource& source) {
  source.name = "test";
  return DeviceCode(std::move(selected)).provide(traits, source, {});
}

TEST(DeviceCode, NativeCodeRunsWithinItsMajorVersion) {
  const std::pair<int, CUresult> expected[] = {
      {80, CUDA_SUCCESS}, {86, CUDA_SUCCESS}, {90, CUDA_ERROR_NO_BINARY_FOR_GPU}, {75, CUDA_ERROR_NO_BINARY_FOR_GPU}};
  for (const auto& [capability, result] : expected) {
    images::Selected selected;
    selected.native = cubinFor(80);
    backend::ImageSource source;
    EXPECT_EQ(provide(std::move(selected), device(capability, true), source), result) << capability;
  }
}

TEST(DeviceCode, EmulatedDevicesDescribeAnyCubin) {
  images::Selected selected;
  selected.native = cubinFor(80);
  backend::ImageSource source;
  ASSERT_EQ(provide(std::move(selected), device(121, false), source), CUDA_SUCCESS);
  ASSERT_TRUE(source.native);
  EXPECT_TRUE(source.ptx.empty());
}

TEST(DeviceCode, EmulatedDevicesGetPtxAsItIs) {
  images::Selected selected;
  selected.ptx = {".version 8.0"};
  selected.target = 80;
  backend::ImageSource source;
  ASSERT_EQ(provide(std::move(selected), device(121, false), source), CUDA_SUCCESS);
  EXPECT_EQ(source.ptx, std::vector<std::string>{".version 8.0"});
  EXPECT_FALSE(source.ownText);
  EXPECT_FALSE(source.native);
}

TEST(DeviceCode, PtxBecomesNativeCodeWhereADeviceNeedsIt) {
  images::Selected selected;
  selected.ptx = {".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry kernel() { ret; }\n"};
  DeviceCode code(std::move(selected));
  backend::ImageSource first, second;
  first.name = second.name = "test";
  const CUresult result = code.provide(device(90, true), first, {});
  if (result == CUDA_ERROR_JIT_COMPILER_NOT_FOUND) GTEST_SKIP() << "no compiler on this machine";
  ASSERT_EQ(result, CUDA_SUCCESS);
  EXPECT_TRUE(first.native->kernel("kernel"));
  EXPECT_EQ(first.native->architecture, 90u);
  EXPECT_TRUE(first.ptx.empty());
  ASSERT_EQ(code.provide(device(90, true), second, {}), CUDA_SUCCESS);
  EXPECT_EQ(first.native, second.native) << "read once";
}

}  // namespace
}  // namespace vg::core
