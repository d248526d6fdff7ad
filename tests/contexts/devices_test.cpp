#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "check.h"

namespace {

class Devices : public DriverTest {};

TEST_F(Devices, AreCountedAndNumberedFromZero) {
  int count = 0;
  CUdevice device = -1;
  OK(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 2);
  for (int i = 0; i < count; ++i) {
    OK(cuDeviceGet(&device, i));
    EXPECT_EQ(device, i);
  }
  EXPECT_EQ(cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetCount(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Devices, AnswerEveryAttributeAndNoOther) {
  for (int attribute = 1; attribute < CU_DEVICE_ATTRIBUTE_MAX; ++attribute) {
    int value = 0;
    EXPECT_EQ(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(attribute), 0), CUDA_SUCCESS) << attribute;
  }
  int value = 77;
  for (int attribute : {-1, 0, static_cast<int>(CU_DEVICE_ATTRIBUTE_MAX), 1000, 1 << 30})
    EXPECT_EQ(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(attribute), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(value, 77);
  EXPECT_EQ(cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 9), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Devices, DifferInIdentityOnly) {
  std::set<std::string> uuids, buses;
  for (CUdevice device : {0, 1}) {
    CUuuid uuid, again;
    char bus[32];
    OK(cuDeviceGetUuid(&uuid, device));
    OK(cuDeviceGetUuid_v2(&again, device));
    EXPECT_EQ(std::memcmp(&uuid, &again, sizeof uuid), 0);
    uuids.insert(std::string(uuid.bytes, sizeof uuid.bytes));
    OK(cuDeviceGetPCIBusId(bus, sizeof bus, device));
    buses.insert(bus);
    CUdevice found = -1;
    OK(cuDeviceGetByPCIBusId(&found, bus));
    EXPECT_EQ(found, device);
    OK(cuDeviceGetByPCIBusId(&found, std::strchr(bus, ':') + 1));  // without the domain
    EXPECT_EQ(found, device);
  }
  EXPECT_EQ(uuids.size(), 2u);
  EXPECT_EQ(buses.size(), 2u);
}

TEST_F(Devices, RefuseBusIdsThatAreNone) {
  CUdevice device = -1;
  char text[4];
  for (const char* bad : {"", "zz", "0000:01", "0000:01:00.0 z", ":::"})
    EXPECT_EQ(cuDeviceGetByPCIBusId(&device, bad), CUDA_ERROR_INVALID_VALUE) << bad;
  for (const char* absent : {"0000:77:00.0", "0000:01:00.1"})  // no such device, or a function of one that is no GPU
    EXPECT_EQ(cuDeviceGetByPCIBusId(&device, absent), CUDA_ERROR_INVALID_DEVICE) << absent;
  EXPECT_EQ(cuDeviceGetPCIBusId(text, sizeof text, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetPCIBusId(nullptr, 20, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Devices, CutTheirNameToTheBuffer) {
  char name[256], part[4] = "xyz";
  OK(cuDeviceGetName(name, sizeof name, 0));
  EXPECT_GT(std::strlen(name), 3u);
  OK(cuDeviceGetName(part, sizeof part, 0));
  EXPECT_EQ(std::strlen(part), 3u);
  EXPECT_EQ(std::memcmp(name, part, 3), 0);
  EXPECT_EQ(cuDeviceGetName(name, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetName(nullptr, 10, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Devices, SayTheSameInEveryWay) {
  size_t bytes = 0;
  int major = 0, minor = 0, value = 0;
  CUdevprop properties;
  OK(cuDeviceTotalMem(&bytes, 1));
  EXPECT_GT(bytes, size_t{1} << 26);
  OK(cuDeviceComputeCapability(&major, &minor, 1));
  OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1));
  EXPECT_EQ(value, major);
  OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 1));
  EXPECT_EQ(value, minor);
  OK(cuDeviceGetProperties(&properties, 1));
  EXPECT_EQ(properties.SIMDWidth, 32);
  EXPECT_EQ(properties.maxThreadsPerBlock, 1024);
  OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 1));
  EXPECT_EQ(properties.maxGridSize[1], value);
}

TEST_F(Devices, ReachOneAnotherAndAreNoPeersOfTheirOwn) {
  int value = -1;
  OK(cuDeviceCanAccessPeer(&value, 0, 1));
  EXPECT_EQ(value, 1);
  OK(cuDeviceCanAccessPeer(&value, 1, 1));
  EXPECT_EQ(value, 0);
  EXPECT_EQ(cuDeviceCanAccessPeer(&value, 0, 2), CUDA_ERROR_INVALID_DEVICE);
  OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
  EXPECT_EQ(value, 1);
  for (int attribute = 1; attribute <= 7; ++attribute)
    EXPECT_EQ(cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(attribute), 0, 0),
              CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(9), 0, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Devices, HaveNoExecutionAffinityAndLongLinearTextures) {
  int supported = -1;
  OK(cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
  EXPECT_EQ(supported, 0);
  supported = -1;
  OK(cuDeviceGetExecAffinitySupport(&supported, static_cast<CUexecAffinityType>(3), 0));  // as an H200 answers
  EXPECT_EQ(supported, 0);
  size_t width = 0;
  OK(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 4, 0));
  EXPECT_GT(width, size_t{1} << 20);
  // As many bytes of smaller elements, but no more than 2^30 of them.
  size_t other = 0;
  OK(cuDeviceGetTexture1DLinearMaxWidth(&other, CU_AD_FORMAT_FLOAT, 2, 0));
  EXPECT_EQ(other, 2 * width);
  OK(cuDeviceGetTexture1DLinearMaxWidth(&other, CU_AD_FORMAT_BC1_UNORM, 4, 0));
  EXPECT_EQ(other, 2 * width);
  OK(cuDeviceGetTexture1DLinearMaxWidth(&other, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0));
  EXPECT_EQ(other, std::min(16 * width, size_t{1} << 30));
  EXPECT_EQ(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 3, 0), CUDA_ERROR_INVALID_VALUE);
  char luid[8];
  unsigned mask = 0;
  EXPECT_EQ(cuDeviceGetLuid(luid, &mask, 0), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
