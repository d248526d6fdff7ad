// The version that the library says it is, and what follows: entry points and attributes that came later are not there.
// Run with several VERDIGRIS_DRIVER_VERSION.
#include <cstdlib>
#include <string>

#include "device_test.h"

namespace {

int chosen() {
  const char* const text = std::getenv("VERDIGRIS_DRIVER_VERSION");
  if (!text) return CUDA_VERSION;
  const std::string wanted = text;
  return wanted == "13.0" ? 13000 : std::stoi(wanted);
}

class Version : public DeviceTest {
 protected:
  static CUdriverProcAddressQueryResult statusOf(const char* name, int version) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    EXPECT_OK(cuGetProcAddress(name, &address, version, 0, &status));
    EXPECT_EQ(status == CU_GET_PROC_ADDRESS_SUCCESS, address != nullptr);
    return status;
  }
};

TEST_F(Version, IsReported) {
  int version = 0;
  ASSERT_OK(cuDriverGetVersion(&version));
  EXPECT_EQ(version, chosen());
}

TEST_F(Version, NewerNamesAreUnknownToAnOlderDriver) {
  const struct {
    const char* name;
    int since;
  } names[] = {{"cuGraphGetId", 13010},
               {"cuDevSmResourceSplit", 13010},
               {"cuGraphNodeGetParams", 13020},
               {"cuFuncGetParamCount", 13020},
               {"cuLogicalEndpointQuery", 13030},
               {"cuMemGetLocationInfo", 13040},
               {"cuTensorMapSetAllocationClass", 13050}};
  for (const auto& [name, since] : names) {
    const bool there = chosen() >= since;
    EXPECT_EQ(statusOf(name, chosen()) == CU_GET_PROC_ADDRESS_SUCCESS, there) << name;
    const auto older = there ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    EXPECT_EQ(statusOf(name, 13000), older) << name;
  }
}

TEST_F(Version, AProgramOf13_0SeesTheVariantsOf13_0) {
  for (const char* name : {"cuLaunchHostFunc", "cuGraphAddNode", "cuGraphNodeSetParams", "cuMulticastBindMem"}) {
    void *then = nullptr, *newest = nullptr;
    ASSERT_OK(cuGetProcAddress(name, &then, 13000, 0, nullptr));
    ASSERT_OK(cuGetProcAddress(name, &newest, chosen(), 0, nullptr));
    const bool changed =
        chosen() >= 13040 || (chosen() >= 13010 && std::string(name).find("Graph") == std::string::npos);
    EXPECT_EQ(then != newest, changed) << name;
  }
}

TEST_F(Version, AskingBeyondItIsRefused) {
  void* address = nullptr;
  EXPECT_EQ(cuGetProcAddress("cuInit", &address, chosen() + 10, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGetProcAddress("cuInit", &address, -1, 0, nullptr));
}

TEST_F(Version, AttributesThatCameLaterAreUnknownToAnOlderDriver) {
  int value = -1;
  EXPECT_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED, 0));
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_ATOMIC_REDUCTION_SUPPORTED, 0),
            chosen() >= 13010 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_COUNT, 0),
            chosen() >= 13040 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_LARGE_TENSOR_MIN_SIZE, 0),
            chosen() >= 13050 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
