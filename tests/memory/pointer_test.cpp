#include "device_test.h"

namespace {

using PointerTest = DeviceTest;

TEST_F(PointerTest, DeviceMemoryDescribesItself) {
  const CUdeviceptr a = allocate(1000), b = allocate(1000);
  EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, a), context);
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a + 999), CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, a + 7), a + 7);
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, a), 0);
  EXPECT_EQ(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, a + 7), a);
  EXPECT_EQ(attribute<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, a + 7), 1000u);
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_IS_MANAGED, a), 0);
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_MAPPED, a), 1);
  EXPECT_NE(attribute<uint64_t>(CU_POINTER_ATTRIBUTE_BUFFER_ID, a),
            attribute<uint64_t>(CU_POINTER_ATTRIBUTE_BUFFER_ID, b));
  void* host;
  EXPECT_INVALID(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, a));
  int value;
  EXPECT_INVALID(cuPointerGetAttribute(&value, static_cast<CUpointer_attribute>(99), a));
  EXPECT_INVALID(cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
  EXPECT_INVALID(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a + 1000));
}

TEST_F(PointerTest, ABufferIdIsNeverUsedTwice) {
  CUdeviceptr first, second;
  ASSERT_OK(cuMemAlloc(&first, 1 << 20));
  const auto id = attribute<uint64_t>(CU_POINTER_ATTRIBUTE_BUFFER_ID, first);
  ASSERT_OK(cuMemFree(first));
  int type;
  EXPECT_INVALID(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, first));
  ASSERT_OK(cuMemAlloc(&second, 1 << 20));
  EXPECT_NE(attribute<uint64_t>(CU_POINTER_ATTRIBUTE_BUFFER_ID, second), id);
  ASSERT_OK(cuMemFree(second));
}

// What cudaPointerGetAttributes asks, of memory that CUDA does not know.
TEST_F(PointerTest, SeveralAttributesOfPageableMemorySucceedWithEmptyValues) {
  std::vector<int> host(100);
  const auto address = reinterpret_cast<CUdeviceptr>(host.data());
  CUcontext owner = context;
  unsigned type = 7;
  CUdeviceptr devicePointer = 1, hostPointer = 1;
  unsigned managed = 1;
  int ordinal = 5;
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_CONTEXT,        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                 CU_POINTER_ATTRIBUTE_IS_MANAGED,     CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* data[] = {&owner, &type, &devicePointer, &hostPointer, &managed, &ordinal};
  EXPECT_OK(cuPointerGetAttributes(6, which, data, address));
  EXPECT_EQ(owner, nullptr);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(devicePointer, 0u);
  EXPECT_EQ(hostPointer, address);
  EXPECT_EQ(managed, 0u);
  EXPECT_EQ(ordinal, -2);
  EXPECT_INVALID(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
  EXPECT_INVALID(cuPointerGetAttributes(0, which, data, address));
  EXPECT_INVALID(cuPointerGetAttributes(6, nullptr, data, address));
  which[2] = static_cast<CUpointer_attribute>(77);
  EXPECT_INVALID(cuPointerGetAttributes(6, which, data, address));
}

TEST_F(PointerTest, OnlySynchronyCanBeSet) {
  const CUdeviceptr a = allocate(64);
  unsigned on = 1;
  EXPECT_OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a), 1);
  on = 0;
  EXPECT_OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a), 0);
  EXPECT_INVALID(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
  EXPECT_INVALID(cuPointerSetAttribute(nullptr, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
  EXPECT_INVALID(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 0));
}

}  // namespace
