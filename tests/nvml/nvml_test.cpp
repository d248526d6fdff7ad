// libnvidia-ml.so.1 as programs use it: found by its name, functions by theirs, beside the driver API in one process.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "nvml/nvml.h"

namespace {

void* library() {
  static void* const opened = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  EXPECT_NE(opened, nullptr) << dlerror();
  return opened;
}

template <class... Arguments>
nvmlReturn_t call(const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<nvmlReturn_t (*)(Arguments...)>(dlsym(library(), name));
  if (function) return function(arguments...);
  ADD_FAILURE() << "no " << name;
  return NVML_ERROR_UNKNOWN;
}

class NvmlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(call("nvmlInit_v2"), NVML_SUCCESS);
    unsigned count = 0;
    ASSERT_EQ(call("nvmlDeviceGetCount_v2", &count), NVML_SUCCESS);
    ASSERT_EQ(count, 2u);  // VERDIGRIS_DEVICES of this test
    for (unsigned i = 0; i < 2; ++i) ASSERT_EQ(call("nvmlDeviceGetHandleByIndex_v2", i, &devices_[i]), NVML_SUCCESS);
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(call("nvmlShutdown"), NVML_SUCCESS); }

  nvmlDevice_t devices_[2] = {};
};

TEST(NvmlBefore, NothingWorksBeforeTheFirstInit) {
  unsigned count = 0;
  EXPECT_EQ(call("nvmlDeviceGetCount_v2", &count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(call("nvmlDeviceGetFanSpeed", nvmlDevice_t{}, &count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(call("nvmlShutdown"), NVML_ERROR_UNINITIALIZED);
  int version = 0;
  EXPECT_EQ(call("nvmlSystemGetCudaDriverVersion_v2", &version), NVML_SUCCESS);
  EXPECT_EQ(version, CUDA_VERSION);
}

TEST(NvmlBefore, InitsAreCounted) {
  EXPECT_EQ(call("nvmlInit"), NVML_SUCCESS);
  EXPECT_EQ(call("nvmlInitWithFlags", 0u), NVML_SUCCESS);
  EXPECT_EQ(call("nvmlShutdown"), NVML_SUCCESS);
  unsigned count = 0;
  EXPECT_EQ(call("nvmlDeviceGetCount", &count), NVML_SUCCESS);
  EXPECT_EQ(call("nvmlShutdown"), NVML_SUCCESS);
  EXPECT_EQ(call("nvmlDeviceGetCount", &count), NVML_ERROR_UNINITIALIZED);
}

// A library of a program may open and close it whenever it likes.
TEST(NvmlBefore, OthersSeeAllDevicesWhileItIsOpenedAgainAndAgain) {
  std::atomic<bool> done{false};
  std::thread opener([&] {
    for (int i = 0; i < 100'000; ++i) {
      EXPECT_EQ(call("nvmlInit_v2"), NVML_SUCCESS);
      EXPECT_EQ(call("nvmlShutdown"), NVML_SUCCESS);
    }
    done = true;
  });
  unsigned wrong = 0;
  while (!done) {
    unsigned count = 0;
    wrong += call("nvmlDeviceGetCount_v2", &count) == NVML_SUCCESS && count != 2;
  }
  opener.join();
  EXPECT_EQ(wrong, 0u);
}

TEST_F(NvmlTest, NamesAreThoseOfTheDriverApi) {
  for (int i = 0; i < 2; ++i) {
    char name[96], ours[96];
    ASSERT_EQ(cuDeviceGetName(name, sizeof name, i), CUDA_SUCCESS);
    EXPECT_EQ(call("nvmlDeviceGetName", devices_[i], static_cast<char*>(ours), 96u), NVML_SUCCESS);
    EXPECT_STREQ(ours, name);
    EXPECT_EQ(call("nvmlDeviceGetName", devices_[i], static_cast<char*>(ours), 3u), NVML_ERROR_INSUFFICIENT_SIZE);
    int major = 0, minor = 0, expected = 0;
    EXPECT_EQ(call("nvmlDeviceGetCudaComputeCapability", devices_[i], &major, &minor), NVML_SUCCESS);
    cuDeviceGetAttribute(&expected, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, i);
    EXPECT_EQ(major, expected);
  }
}

TEST_F(NvmlTest, HandlesAreFoundByUuidAndByPciBus) {
  for (int i = 0; i < 2; ++i) {
    char uuid[96], bus[32];
    nvmlDevice_t found = nullptr;
    ASSERT_EQ(call("nvmlDeviceGetUUID", devices_[i], static_cast<char*>(uuid), 96u), NVML_SUCCESS);
    EXPECT_EQ(std::strlen(uuid), 40u);
    EXPECT_EQ(call("nvmlDeviceGetHandleByUUID", static_cast<const char*>(uuid), &found), NVML_SUCCESS);
    EXPECT_EQ(found, devices_[i]);
    ASSERT_EQ(cuDeviceGetPCIBusId(bus, sizeof bus, i), CUDA_SUCCESS);
    EXPECT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", static_cast<const char*>(bus), &found), NVML_SUCCESS);
    EXPECT_EQ(found, devices_[i]);
    nvmlPciInfo_t info;
    ASSERT_EQ(call("nvmlDeviceGetPciInfo_v3", devices_[i], &info), NVML_SUCCESS);
    EXPECT_STRCASEEQ(info.busIdLegacy, bus);
    EXPECT_EQ(std::string(info.busId).substr(0, 4), "0000");
    nvmlPciInfoExt_v1_t more{};
    EXPECT_EQ(call("nvmlDeviceGetPciInfoExt", devices_[i], &more), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    more.version = nvmlPciInfoExt_v1;
    ASSERT_EQ(call("nvmlDeviceGetPciInfoExt", devices_[i], &more), NVML_SUCCESS);
    EXPECT_STREQ(more.busId, info.busId);
    EXPECT_EQ(more.bus, info.bus);
    EXPECT_EQ(more.pciDeviceId, info.pciDeviceId);
    unsigned mode = 9;
    EXPECT_EQ(call("nvmlDeviceGetVirtualizationMode", devices_[i], &mode), NVML_SUCCESS);
    EXPECT_EQ(mode, 0u);  // none
  }
  nvmlDevice_t found = nullptr;
  EXPECT_EQ(call("nvmlDeviceGetHandleByUUID", "GPU-none", &found), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", "here", &found), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(call("nvmlDeviceGetHandleByIndex_v2", 2u, &found), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlTest, MemoryInUseFollowsTheProgramAndSoDoProcesses) {
  unsigned count = 4;
  std::vector<nvmlProcessInfo_t> processes(4);
  EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", devices_[0], &count, processes.data()), NVML_SUCCESS);
  EXPECT_EQ(count, 0u);
  CUcontext context;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  nvmlMemory_t before, after, other;
  ASSERT_EQ(call("nvmlDeviceGetMemoryInfo", devices_[0], &before), NVML_SUCCESS);
  constexpr size_t kBytes = size_t{64} << 20;
  CUdeviceptr memory;
  ASSERT_EQ(cuMemAlloc(&memory, kBytes), CUDA_SUCCESS);
  ASSERT_EQ(call("nvmlDeviceGetMemoryInfo", devices_[0], &after), NVML_SUCCESS);
  ASSERT_EQ(call("nvmlDeviceGetMemoryInfo", devices_[1], &other), NVML_SUCCESS);
  EXPECT_GE(after.used, before.used + kBytes);
  EXPECT_EQ(after.total, after.free + after.used);
  EXPECT_EQ(other.used, 0u);
  size_t free, total;
  ASSERT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(after.total, total);
  count = 0;
  EXPECT_EQ(
      call("nvmlDeviceGetComputeRunningProcesses_v3", devices_[0], &count, static_cast<nvmlProcessInfo_t*>(nullptr)),
      NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", devices_[0], &count, processes.data()), NVML_SUCCESS);
  EXPECT_EQ(processes[0].pid, static_cast<unsigned>(getpid()));
  EXPECT_EQ(processes[0].usedGpuMemory, after.used);
  nvmlMemory_v2_t second{};
  EXPECT_EQ(call("nvmlDeviceGetMemoryInfo_v2", devices_[0], &second), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  second.version = nvmlMemory_v2;
  EXPECT_EQ(call("nvmlDeviceGetMemoryInfo_v2", devices_[0], &second), NVML_SUCCESS);
  EXPECT_EQ(second.used, after.used);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_F(NvmlTest, UtilisationIsThatSinceTheLastQuestion) {
  CUcontext context;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  nvmlUtilization_t rates{};
  ASSERT_EQ(call("nvmlDeviceGetUtilizationRates", devices_[0], &rates), NVML_SUCCESS);
  usleep(50'000);
  ASSERT_EQ(call("nvmlDeviceGetUtilizationRates", devices_[0], &rates), NVML_SUCCESS);
  EXPECT_EQ(rates.gpu, 0u);
  CUmodule module;
  CUfunction function;
  ASSERT_EQ(cuModuleLoadData(&module, R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry spin(.param .u64 flag) {
.reg .u64 %rd<2>; .reg .u32 %r<2>; .reg .pred %p<2>;
ld.param.u64 %rd1, [flag];
L: ld.volatile.global.u32 %r1, [%rd1];
setp.eq.u32 %p1, %r1, 0;
@%p1 bra L;
ret;
})"),
            CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "spin"), CUDA_SUCCESS);
  void* flag = nullptr;
  ASSERT_EQ(cuMemHostAlloc(&flag, 4, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS);
  *static_cast<volatile int*>(flag) = 0;
  CUdeviceptr address;
  ASSERT_EQ(cuMemHostGetDevicePointer(&address, flag, 0), CUDA_SUCCESS);
  void* arguments[] = {&address};
  ASSERT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
  for (int tries = 0; tries < 2000 && rates.gpu != 100; ++tries) {
    usleep(1000);
    ASSERT_EQ(call("nvmlDeviceGetUtilizationRates", devices_[0], &rates), NVML_SUCCESS);
  }
  EXPECT_EQ(rates.gpu, 100u);
  *static_cast<volatile int*>(flag) = 1;
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_F(NvmlTest, DevicesAreNeighboursThatReachEachOther) {
  unsigned level = 99, count = 2, status = 99;
  nvmlDevice_t near[2] = {};
  EXPECT_EQ(call("nvmlDeviceGetTopologyCommonAncestor", devices_[0], devices_[1], &level), NVML_SUCCESS);
  EXPECT_EQ(level, NVML_TOPOLOGY_NODE);
  EXPECT_EQ(call("nvmlDeviceGetTopologyNearestGpus", devices_[0], level, &count, static_cast<nvmlDevice_t*>(near)),
            NVML_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(near[0], devices_[1]);
  EXPECT_EQ(call("nvmlDeviceGetP2PStatus", devices_[0], devices_[1], NVML_P2P_CAPS_INDEX_READ, &status), NVML_SUCCESS);
  EXPECT_EQ(status, NVML_P2P_STATUS_OK);
  for (const unsigned capability : {NVML_P2P_CAPS_INDEX_READ, NVML_P2P_CAPS_INDEX_NVLINK}) {
    status = 99;
    EXPECT_EQ(call("nvmlDeviceGetP2PStatus", devices_[0], devices_[0], capability, &status), NVML_SUCCESS);
    EXPECT_EQ(status, NVML_P2P_STATUS_OK);
  }
}

TEST_F(NvmlTest, WhatIsNotThereSaysSo) {
  unsigned value = 0;
  EXPECT_EQ(call("nvmlDeviceGetTemperature", devices_[0], 0u, &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", devices_[0], &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(call("nvmlDeviceGetNvLinkState", devices_[0], 0u, &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(call("nvmlDeviceGetIndex", reinterpret_cast<nvmlDevice_t>(&value), &value), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(call("nvmlDeviceGetIndex", nvmlDevice_t{}, &value), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(call("nvmlDeviceGetIndex", devices_[0], static_cast<unsigned*>(nullptr)), NVML_ERROR_INVALID_ARGUMENT);
  const auto text = reinterpret_cast<const char* (*)(nvmlReturn_t)>(dlsym(library(), "nvmlErrorString"));
  EXPECT_STREQ(text(NVML_ERROR_NOT_SUPPORTED), "Not Supported");
}

TEST_F(NvmlTest, VersionsAreTexts) {
  char text[80];
  EXPECT_EQ(call("nvmlSystemGetDriverVersion", static_cast<char*>(text), 80u), NVML_SUCCESS);
  EXPECT_GE(std::atof(text), 580.0);
  const std::string branch = "r" + std::to_string(std::atoi(text)) + "_00";
  EXPECT_EQ(call("nvmlSystemGetDriverBranch", static_cast<char*>(text), 80u), NVML_SUCCESS);
  EXPECT_EQ(text, branch);
  EXPECT_EQ(call("nvmlSystemGetDriverBranch", static_cast<char*>(text), 4u), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(call("nvmlSystemGetDriverBranch", static_cast<char*>(nullptr), 80u), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(call("nvmlSystemGetNVMLVersion", static_cast<char*>(text), 80u), NVML_SUCCESS);
  EXPECT_EQ(std::string(text).substr(0, 3), "13.");
}

}  // namespace
