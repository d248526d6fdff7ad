// Devices: attributes, divided multiprocessors and work queues, fabrics that are not there, tensor maps.
#include <climits>
#include <cstring>

#include "device_test.h"

namespace {

using Later = DeviceTest;

TEST_F(Later, AttributesFollowFromTheDevice) {
  int value = -1, multiprocessors = 0;
  ASSERT_OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  const struct {
    CUdevice_attribute which;
    int value;
  } wanted[] = {{CU_DEVICE_ATTRIBUTE_ATOMIC_REDUCTION_SUPPORTED, 1},
                {CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_COUNT, 1},
                {CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT, multiprocessors},
                {CU_DEVICE_ATTRIBUTE_D3D12_CIG_STREAMS_SUPPORTED, 0},
                {CU_DEVICE_ATTRIBUTE_VULKAN_CIG_STREAMS_SUPPORTED, 0},
                {CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_SUPPORTED, 0},
                {CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_MULTICAST_SUPPORTED, 0},
                {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_LARGE_TENSOR_MIN_SIZE, INT_MAX}};
  for (const auto& row : wanted) {
    ASSERT_OK(cuDeviceGetAttribute(&value, row.which, 0));
    EXPECT_EQ(value, row.value) << row.which;
  }
  for (int which = 148; which < CU_DEVICE_ATTRIBUTE_MAX; ++which)
    EXPECT_OK(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(which), 0)) << which;
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0), CUDA_ERROR_INVALID_VALUE);
}

class Split : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_OK(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    if (whole.sm.smCount < 16) GTEST_SKIP() << "a device of " << whole.sm.smCount << " multiprocessors";
  }
  static CU_DEV_SM_RESOURCE_GROUP_PARAMS group(unsigned count, unsigned together, unsigned flags = 0) {
    CU_DEV_SM_RESOURCE_GROUP_PARAMS params{};
    params.smCount = count;
    params.coscheduledSmCount = together;
    params.flags = flags;
    return params;
  }
  CUdevResource whole{};
};

TEST_F(Split, GroupsAndRemainderAreTheWhole) {
  CU_DEV_SM_RESOURCE_GROUP_PARAMS groups[] = {group(8, 4), group(0, 2, CU_DEV_SM_RESOURCE_GROUP_BACKFILL)};
  CUdevResource results[2], rest;
  ASSERT_OK(cuDevSmResourceSplit(results, 2, &whole, &rest, 0, groups));
  EXPECT_EQ(results[0].sm.smCount, 8u);
  EXPECT_EQ(results[0].sm.smCoscheduledAlignment, 4u);
  EXPECT_EQ(groups[1].smCount, results[1].sm.smCount);
  const unsigned left = rest.type == CU_DEV_RESOURCE_TYPE_INVALID ? 0 : rest.sm.smCount;
  EXPECT_EQ(results[0].sm.smCount + results[1].sm.smCount + left, whole.sm.smCount);
}

TEST_F(Split, DiscoveryNeedsNoResult) {
  CU_DEV_SM_RESOURCE_GROUP_PARAMS groups[] = {group(0, 2), group(0, 2)};
  ASSERT_OK(cuDevSmResourceSplit(nullptr, 2, &whole, nullptr, 0, groups));
  EXPECT_EQ(groups[0].smCount, whole.sm.smCount / 2 * 2);
  EXPECT_EQ(groups[1].smCount, 0u);
  groups[0] = groups[1] = group(0, 2);
  CUdevResource results[2];
  EXPECT_EQ(cuDevSmResourceSplit(results, 2, &whole, nullptr, 0, groups), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}

TEST_F(Split, ARemainderCanBeSplitAgainAndRunsKernelsOfAGreenContext) {
  CU_DEV_SM_RESOURCE_GROUP_PARAMS first = group(4, 2), second = group(2, 2);
  CUdevResource part, rest, smaller;
  ASSERT_OK(cuDevSmResourceSplit(&part, 1, &whole, &rest, 0, &first));
  ASSERT_OK(cuDevSmResourceSplit(&smaller, 1, &rest, nullptr, 0, &second));
  EXPECT_EQ(smaller.sm.smCount, 2u);
  CUdevResourceDesc description = nullptr;
  ASSERT_OK(cuDevResourceGenerateDesc(&description, &smaller, 1));
  CUgreenCtx green = nullptr;
  ASSERT_OK(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_NONE));
  CUstream stream = nullptr;
  ASSERT_OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
  CUdevResource ofStream{};
  ASSERT_OK(cuStreamGetDevResource(stream, &ofStream, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(ofStream.sm.smCount, 2u);
  EXPECT_EQ(cuStreamGetDevResource(stream, &ofStream, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG),
            CUDA_ERROR_INVALID_RESOURCE_TYPE);
  EXPECT_EQ(cuStreamGetDevResource(stream, nullptr, CU_DEV_RESOURCE_TYPE_SM), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuStreamDestroy(stream));
  EXPECT_OK(cuGreenCtxDestroy(green));
  CUstream plain = nullptr;
  ASSERT_OK(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(cuStreamGetDevResource(plain, &ofStream, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(ofStream.sm.smCount, whole.sm.smCount);
  EXPECT_OK(cuStreamDestroy(plain));
}

TEST_F(Split, WhatCannotBeIsRefused) {
  CUdevResource result;
  const auto tried = [&](CU_DEV_SM_RESOURCE_GROUP_PARAMS params, unsigned flags = 0) {
    return cuDevSmResourceSplit(&result, 1, &whole, nullptr, flags, &params);
  };
  EXPECT_EQ(tried(group(3, 2)), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  EXPECT_EQ(tried(group(6, 4)), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  EXPECT_EQ(tried(group(6, 4, CU_DEV_SM_RESOURCE_GROUP_BACKFILL)), CUDA_SUCCESS);
  EXPECT_EQ(tried(group(2, 64)), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  EXPECT_EQ(tried(group(whole.sm.smCount + 2, 2)), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  EXPECT_EQ(tried(group(2, 2, 1u << 9)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(group(2, 2), 1), CUDA_ERROR_INVALID_VALUE);
  CU_DEV_SM_RESOURCE_GROUP_PARAMS elsewhere = group(2, 2, CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID);
  EXPECT_EQ(tried(elsewhere), CUDA_SUCCESS);
  elsewhere.localityDomainId = 1;
  EXPECT_EQ(tried(elsewhere), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  elsewhere.flags = 0;
  EXPECT_EQ(tried(elsewhere), CUDA_ERROR_INVALID_VALUE);
  CU_DEV_SM_RESOURCE_GROUP_PARAMS params = group(2, 2);
  EXPECT_EQ(cuDevSmResourceSplit(&result, 0, &whole, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevSmResourceSplit(&result, 1, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevSmResourceSplit(&result, 1, &whole, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUdevResource forged = whole;
  std::memset(forged._internal_padding, 0, sizeof forged._internal_padding);
  EXPECT_EQ(cuDevSmResourceSplit(&result, 1, &forged, nullptr, 0, &params), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}

TEST_F(Split, WorkQueuesGoWithMultiprocessors) {
  CUdevResource parts[2];
  ASSERT_OK(cuDeviceGetDevResource(0, &parts[0], CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG));
  EXPECT_EQ(parts[0].type, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG);
  EXPECT_EQ(parts[0].wqConfig.device, 0);
  EXPECT_GE(parts[0].wqConfig.wqConcurrencyLimit, 1u);
  parts[0].wqConfig.wqConcurrencyLimit = 2;
  parts[0].wqConfig.sharingScope = CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED;
  parts[1] = whole;
  CUdevResourceDesc description = nullptr;
  ASSERT_OK(cuDevResourceGenerateDesc(&description, parts, 2));
  CUgreenCtx green = nullptr;
  ASSERT_OK(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  CUdevResource got{};
  EXPECT_OK(cuGreenCtxGetDevResource(green, &got, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(got.sm.smCount, whole.sm.smCount);
  EXPECT_OK(cuGreenCtxGetDevResource(green, &got, CU_DEV_RESOURCE_TYPE_WORKQUEUE));
  EXPECT_EQ(got.type, CU_DEV_RESOURCE_TYPE_WORKQUEUE);
  EXPECT_OK(cuGreenCtxDestroy(green));
  parts[1] = parts[0];
  EXPECT_EQ(cuDevResourceGenerateDesc(&description, parts, 2), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  parts[0].wqConfig.wqConcurrencyLimit = 0;
  EXPECT_EQ(cuDevResourceGenerateDesc(&description, parts, 1), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}

TEST_F(Later, AFabricIsNotThere) {
  CUuuid uuid;
  size_t count = 1;
  CUcliqueInfo clique;
  EXPECT_EQ(cuDeviceGetFabricClusterUuid(&uuid, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuDeviceGetCliqueCount(&count, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuDeviceGetCliqueInfo(&clique, &count, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuDeviceGetFabricClusterUuid(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetCliqueCount(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetCliqueCount(&count, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetCliqueInfo(&clique, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Later, LogicalEndpointsCheckTheirArgumentsFirst) {
  CUlogicalEndpointId id = 0;
  cuuint64_t alignment = 0, most = 0;
  int ready = 0;
  char handle[64] = {};
  CUlogicalEndpointProp wanted{};
  wanted.type = CU_LOGICAL_ENDPOINT_TYPE_UNICAST;
  wanted.size = 1 << 21;
  EXPECT_EQ(cuLogicalEndpointIdReserve(&id, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLogicalEndpointIdReserve(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLogicalEndpointIdReserve(&id, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLogicalEndpointIdRelease(0, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLogicalEndpointIdRelease(~0u, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLogicalEndpointCreate(0, &wanted), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLogicalEndpointCreate(0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLogicalEndpointGetLimits(&alignment, &most, &wanted), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLogicalEndpointGetLimits(nullptr, &most, &wanted), CUDA_ERROR_INVALID_VALUE);
  wanted.unicast.device = 99;
  EXPECT_EQ(cuLogicalEndpointCreate(0, &wanted), CUDA_ERROR_INVALID_DEVICE);
  wanted.type = CU_LOGICAL_ENDPOINT_TYPE_INVALID;
  EXPECT_EQ(cuLogicalEndpointCreate(0, &wanted), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLogicalEndpointAddDevice(0, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLogicalEndpointAddDevice(0, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuLogicalEndpointDestroy(0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLogicalEndpointBindAddr(0, 0, 0, handle, 64, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLogicalEndpointBindAddr(0, 0, 0, nullptr, 64, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLogicalEndpointBindMem(0, 0, 0, 1, 0, 64, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLogicalEndpointBindMem(0, 0, 0, 1, 0, 64, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLogicalEndpointUnbind(0, 0, 0, 64), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLogicalEndpointUnbind(0, 0, ~0ull, 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLogicalEndpointExport(handle, 0, CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLogicalEndpointExport(handle, 0, CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_NONE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLogicalEndpointImport(0, handle, CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLogicalEndpointQuery(0, 1, &ready), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLogicalEndpointQuery(0, 1, nullptr), CUDA_ERROR_INVALID_VALUE);

  CUDA_FABRIC_COPY_BATCH_OP copy{};
  copy.src.type = copy.dst.type = CU_FABRIC_COPY_OPERAND_TYPE_POINTER;
  copy.src.op.ptr.ptr = copy.dst.op.ptr.ptr = allocate(64);
  CUstream stream = nullptr;
  ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(cuFabricCpyBatchAsync(1, &copy, 0, stream), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuFabricCpyBatchAsync(1, &copy, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFabricCpyBatchAsync(0, &copy, 0, stream), CUDA_ERROR_INVALID_VALUE);
  copy.dst.type = static_cast<CUfabricCpyOperandType>(7);
  EXPECT_EQ(cuFabricCpyBatchAsync(1, &copy, 0, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuStreamDestroy(stream));
  EXPECT_EQ(cuMulticastBindMem_v2(1, 0, 0, 1, 0, 64, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMulticastBindAddr_v2(1, 0, 0, 64, 64, 0), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Later, TensorMapsAreOfTheSmallClass) {
  alignas(64) CUtensorMap map{}, before{};
  for (const CUtensorMapAllocClass wanted :
       {CU_TENSOR_MAP_ALLOC_CLASS_AUTO, CU_TENSOR_MAP_ALLOC_CLASS_SMALL, CU_TENSOR_MAP_ALLOC_CLASS_LARGE}) {
    CUtensorMapAllocClass got = CU_TENSOR_MAP_ALLOC_CLASS_LARGE;
    EXPECT_OK(cuTensorMapSetAllocationClass(&map, wanted, &got));
    EXPECT_EQ(got, CU_TENSOR_MAP_ALLOC_CLASS_SMALL);
  }
  EXPECT_EQ(std::memcmp(&map, &before, sizeof map), 0);
  EXPECT_OK(cuTensorMapSetAllocationClass(&map, CU_TENSOR_MAP_ALLOC_CLASS_AUTO, nullptr));
  CUtensorMapAllocClass got = CU_TENSOR_MAP_ALLOC_CLASS_LARGE;
  EXPECT_EQ(cuTensorMapSetAllocationClass(&map, static_cast<CUtensorMapAllocClass>(3), &got), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(got, CU_TENSOR_MAP_ALLOC_CLASS_SMALL);
  EXPECT_EQ(cuTensorMapSetAllocationClass(nullptr, CU_TENSOR_MAP_ALLOC_CLASS_AUTO, &got), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
