// Virtual memory management: no rule of the table asks for it, so these tests state what the driver does.
#include <unistd.h>

#include "suite.h"
#include "virtual_objects.h"

namespace {

constexpr size_t kGranule = kVirtualGranule;

using VirtualMemory = Device;

size_t freeNow() {
  size_t free = 0, total = 0;
  EXPECT_OK(cuMemGetInfo(&free, &total));
  return free;
}

TEST_F(VirtualMemory, GranularityIsTwoMebibytesWhateverIsAsked) {
  for (const auto option : {CU_MEM_ALLOC_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED}) {
    size_t granularity = 0;
    const CUmemAllocationProp properties = deviceAllocation(), nothing{};
    EXPECT_OK(cuMemGetAllocationGranularity(&granularity, &properties, option));
    EXPECT_EQ(granularity, kGranule);
    EXPECT_OK(cuMemGetAllocationGranularity(&granularity, &nothing, option));
    EXPECT_EQ(granularity, kGranule);
  }
}

TEST_F(VirtualMemory, AddressesAreReservedInWholeGranules) {
  CUdeviceptr start = 0;
  EXPECT_INVALID_VALUE(cuMemAddressReserve(nullptr, kGranule, 0, 0, 0));
  for (size_t size : {size_t{0}, size_t{4096}, kGranule + 4096})
    EXPECT_INVALID_VALUE(cuMemAddressReserve(&start, size, 0, 0, 0));
  EXPECT_INVALID_VALUE(cuMemAddressReserve(&start, kGranule, 3, 0, 0));
  EXPECT_INVALID_VALUE(cuMemAddressReserve(&start, kGranule, 0, 4096, 0));
  EXPECT_INVALID_VALUE(cuMemAddressReserve(&start, kGranule, 0, 0, 1));
  EXPECT_EQ(cuMemAddressReserve(&start, size_t{1} << 60, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_OK(cuMemAddressReserve(&start, kGranule, size_t{1} << 30, 0, 0));
  EXPECT_EQ(start % (size_t{1} << 30), 0u);
  EXPECT_INVALID_VALUE(cuMemAddressFree(start, 2 * kGranule));
  EXPECT_OK(cuMemAddressFree(start, kGranule));
  EXPECT_INVALID_VALUE(cuMemAddressFree(start, kGranule));
}

TEST_F(VirtualMemory, AFreeAddressIsGivenWhenItIsWanted) {
  CUdeviceptr start = 0, wanted = 0, other = 0;
  ASSERT_OK(cuMemAddressReserve(&start, 8 * kGranule, 0, 0, 0));
  ASSERT_OK(cuMemAddressFree(start, 8 * kGranule));
  ASSERT_OK(cuMemAddressReserve(&wanted, kGranule, 0, start + 4 * kGranule, 0));
  EXPECT_EQ(wanted, start + 4 * kGranule);
  ASSERT_OK(cuMemAddressReserve(&other, kGranule, 0, wanted, 0));
  EXPECT_NE(other, wanted);
  EXPECT_OK(cuMemAddressFree(wanted, kGranule));
  EXPECT_OK(cuMemAddressFree(other, kGranule));
}

TEST_F(VirtualMemory, PhysicalMemoryCountsUntilNoHandleAndNoMappingIsLeft) {
  const Reservation range(2 * kGranule);
  const size_t before = freeNow();
  PhysicalHandle memory;
  EXPECT_EQ(before - freeNow(), kGranule);
  ASSERT_OK(cuMemMap(range.at(0), kGranule, 0, memory, 0));
  ASSERT_OK(cuMemMap(range.at(1), kGranule, 0, memory, 0));
  EXPECT_OK(cuMemRelease(memory.release()));
  EXPECT_OK(cuMemUnmap(range.at(0), kGranule));
  EXPECT_EQ(before - freeNow(), kGranule);
  EXPECT_OK(cuMemUnmap(range.at(1), kGranule));
  EXPECT_EQ(freeNow(), before);
}

TEST_F(VirtualMemory, WhatCannotBeCreatedIsRefused) {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp properties = deviceAllocation();
  EXPECT_INVALID_VALUE(cuMemCreate(&handle, 0, &properties, 0));
  EXPECT_INVALID_VALUE(cuMemCreate(&handle, 4096, &properties, 0));
  EXPECT_INVALID_VALUE(cuMemCreate(&handle, kGranule, &properties, 1));
  EXPECT_INVALID_VALUE(cuMemCreate(nullptr, kGranule, &properties, 0));
  EXPECT_INVALID_VALUE(cuMemCreate(&handle, kGranule, nullptr, 0));
  EXPECT_EQ(cuMemCreate(&handle, size_t{1} << 60, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
  properties.location.id = 99;
  EXPECT_EQ(cuMemCreate(&handle, kGranule, &properties, 0), CUDA_ERROR_INVALID_DEVICE);
  properties = deviceAllocation();
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
  EXPECT_INVALID_VALUE(cuMemCreate(&handle, kGranule, &properties, 0));
  properties = deviceAllocation();
  properties.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  EXPECT_INVALID_VALUE(cuMemCreate(&handle, kGranule, &properties, 0));
  EXPECT_INVALID_VALUE(cuMemRelease(0));
}

TEST_F(VirtualMemory, OnlyWholeAllocationsAreMapped) {
  const Reservation range(4 * kGranule);
  const PhysicalHandle memory(2 * kGranule);
  EXPECT_EQ(cuMemMap(range, kGranule, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemMap(range, kGranule, kGranule, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_INVALID_VALUE(cuMemMap(range, 2 * kGranule, 0, memory, 1));
  EXPECT_INVALID_VALUE(cuMemMap(range + 65536, 2 * kGranule, 0, memory, 0));
  EXPECT_INVALID_VALUE(cuMemMap(range, 2 * kGranule, 0, 0, 0));
  EXPECT_OK(cuMemMap(range, 2 * kGranule, 0, memory, 0));
  EXPECT_INVALID_VALUE(cuMemMap(range.at(1), 2 * kGranule, 0, memory, 0));
  EXPECT_INVALID_VALUE(cuMemUnmap(range, kGranule));
  EXPECT_INVALID_VALUE(cuMemUnmap(range.at(1), kGranule));
  EXPECT_INVALID_VALUE(cuMemAddressFree(range, range.bytes()));
  EXPECT_OK(cuMemUnmap(range, 2 * kGranule));
  EXPECT_OK(cuMemUnmap(range, 2 * kGranule)) << "holes are passed over";
}

TEST_F(VirtualMemory, MemoryShowsThroughEveryMappingOfIt) {
  const Reservation range(2 * kGranule);
  const PhysicalHandle memory;
  ASSERT_OK(cuMemMap(range.at(0), kGranule, 0, memory, 0));
  ASSERT_OK(cuMemMap(range.at(1), kGranule, 0, memory, 0));
  ASSERT_OK(allow(range, 2 * kGranule));
  writeDevice(range.at(0) + 100, pattern(5000, 1));
  EXPECT_EQ(readDevice(range.at(1) + 100, 5000), pattern(5000, 1));
  launchStore(nullptr, range.at(1) + 100, 0);
  EXPECT_EQ(readDevice(range.at(0) + 100, 4), Bytes(4));
}

TEST_F(VirtualMemory, CopiesAndFillsCrossFromOneMappingIntoTheNext) {
  const Reservation range(3 * kGranule);
  const PhysicalHandle first, second;
  ASSERT_OK(cuMemMap(range.at(0), kGranule, 0, first, 0));
  ASSERT_OK(cuMemMap(range.at(1), kGranule, 0, second, 0));
  ASSERT_OK(allow(range, 2 * kGranule));
  const CUdeviceptr across = range.at(1) - 3000;
  writeDevice(across, pattern(10000, 2));
  EXPECT_EQ(readDevice(across, 10000), pattern(10000, 2));
  EXPECT_OK(cuMemsetD8(across, 7, 6000));
  EXPECT_EQ(readDevice(across, 6000), Bytes(6000, 7));
  Bytes content(8192);
  EXPECT_INVALID_VALUE(cuMemcpyHtoD(range.at(2) - 4096, content.data(), 8192)) << "into a hole";
  EXPECT_INVALID_VALUE(cuMemcpyDtoH(content.data(), range.at(2), 8));
  EXPECT_INVALID_VALUE(cuMemsetD8(range.at(2) - 4096, 1, 8192));
}

TEST_F(VirtualMemory, AccessDecidesWhatCopiesMayDo) {
  const Reservation range(kGranule);
  const PhysicalHandle memory;
  ASSERT_OK(cuMemMap(range, kGranule, 0, memory, 0));
  Bytes content(8);
  EXPECT_EQ(accessAt(range), CU_MEM_ACCESS_FLAGS_PROT_NONE);
  EXPECT_INVALID_VALUE(cuMemcpyDtoH(content.data(), range, 8));
  ASSERT_OK(allow(range, kGranule, CU_MEM_ACCESS_FLAGS_PROT_READ));
  EXPECT_EQ(accessAt(range + 1234), CU_MEM_ACCESS_FLAGS_PROT_READ);
  EXPECT_OK(cuMemcpyDtoH(content.data(), range, 8));
  EXPECT_INVALID_VALUE(cuMemcpyHtoD(range, content.data(), 8));
  EXPECT_INVALID_VALUE(cuMemsetD8(range, 1, 8));
  ASSERT_OK(allow(range, kGranule));
  EXPECT_OK(cuMemcpyHtoD(range, content.data(), 8));
  ASSERT_OK(allow(range, kGranule, CU_MEM_ACCESS_FLAGS_PROT_NONE));
  EXPECT_INVALID_VALUE(cuMemsetD8(range, 1, 8));
}

TEST_F(VirtualMemory, AccessIsOfWholeMappings) {
  const Reservation range(3 * kGranule);
  const PhysicalHandle memory(2 * kGranule);
  ASSERT_OK(cuMemMap(range, 2 * kGranule, 0, memory, 0));
  EXPECT_INVALID_VALUE(allow(range, kGranule));
  EXPECT_INVALID_VALUE(allow(range, 3 * kGranule)) << "a hole";
  EXPECT_INVALID_VALUE(allow(range, 0));
  const CUmemAccessDesc host{{CU_MEM_LOCATION_TYPE_HOST, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_EQ(cuMemSetAccess(range, 2 * kGranule, &host, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_INVALID_VALUE(cuMemSetAccess(range, 2 * kGranule, &host, 0));
  EXPECT_INVALID_VALUE(cuMemSetAccess(range, 2 * kGranule, nullptr, 1));
}

TEST_F(VirtualMemory, HandlesComeBackFromAddresses) {
  const Reservation range(2 * kGranule);
  PhysicalHandle memory;
  const CUmemGenericAllocationHandle made = memory;
  ASSERT_OK(cuMemMap(range, kGranule, 0, memory, 0));
  ASSERT_OK(cuMemRelease(memory.release()));
  CUmemGenericAllocationHandle again = 0;
  ASSERT_OK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(CUdeviceptr{range} + 4096)));
  EXPECT_EQ(again, made);
  CUmemAllocationProp properties{};
  EXPECT_OK(cuMemGetAllocationPropertiesFromHandle(&properties, again));
  EXPECT_EQ(properties.type, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_EQ(properties.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(properties.location.id, device);
  EXPECT_OK(cuMemRelease(again));
  EXPECT_INVALID_VALUE(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range.at(1))));
}

TEST_F(VirtualMemory, PointersKnowReservationMappingAndAllocation) {
  const Reservation range(4 * kGranule);
  const PhysicalHandle memory(kGranule, deviceAllocation(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  const CUdeviceptr start = range.at(1), pointer = start + 100;
  CUdeviceptr address = 0;
  EXPECT_INVALID_VALUE(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, pointer));
  ASSERT_OK(cuMemMap(start, kGranule, 0, memory, 0));
  EXPECT_INVALID_VALUE(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, pointer));
  EXPECT_EQ(cuMemGetAddressRange(&address, nullptr, pointer), CUDA_ERROR_NOT_FOUND);
  ASSERT_OK(allow(start, kGranule));
  size_t size = 0;
  EXPECT_OK(cuMemGetAddressRange(&address, &size, pointer));
  EXPECT_EQ(address, start);
  EXPECT_EQ(size, kGranule);
  EXPECT_OK(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, pointer));
  EXPECT_OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, pointer));
  EXPECT_EQ(address, CUdeviceptr{range});
  EXPECT_EQ(size, range.bytes());
  EXPECT_OK(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, pointer));
  EXPECT_OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, pointer));
  EXPECT_EQ(address, start);
  EXPECT_EQ(size, kGranule);
  uint64_t handleTypes = 0;
  EXPECT_OK(cuPointerGetAttribute(&handleTypes, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, pointer));
  EXPECT_EQ(handleTypes, uint64_t{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR});
  CUcontext owner = context;
  EXPECT_OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, pointer));
  EXPECT_EQ(owner, nullptr);
  const int on = 1;
  EXPECT_EQ(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, pointer), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(VirtualMemory, HostMemoryOfANodeIsForBothSides) {
  CUmemAllocationProp properties = deviceAllocation();
  properties.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
  if (!attribute(CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)) GTEST_SKIP();
  const Reservation range(kGranule);
  const PhysicalHandle memory(kGranule, properties);
  ASSERT_OK(cuMemMap(range, kGranule, 0, memory, 0));
  const CUmemAccessDesc both[] = {{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
                                  {{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  ASSERT_OK(cuMemSetAccess(range, kGranule, both, 2));
  auto* const host = reinterpret_cast<volatile uint32_t*>(CUdeviceptr{range});
  host[10] = 1234;
  EXPECT_EQ(readDevice(range + 40, 4), (Bytes{0xD2, 4, 0, 0}));
  launchStore(nullptr, range + 44, 5);
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EQ(host[11], 5u);
  unsigned type = 0;
  EXPECT_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, range));
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
}

TEST_F(VirtualMemory, DescriptorsAreTheSameMemory) {
  const Reservation range(2 * kGranule);
  const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const PhysicalHandle memory(kGranule, deviceAllocation(type)), plain;
  int descriptor = -1;
  EXPECT_INVALID_VALUE(cuMemExportToShareableHandle(&descriptor, plain, type, 0));
  EXPECT_INVALID_VALUE(cuMemExportToShareableHandle(&descriptor, memory, type, 1));
  ASSERT_OK(cuMemExportToShareableHandle(&descriptor, memory, type, 0));
  CUmemGenericAllocationHandle opened = 0;
  ASSERT_OK(cuMemImportFromShareableHandle(&opened, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)), type));
  close(descriptor);
  const PhysicalHandle import(opened);
  EXPECT_NE(opened, CUmemGenericAllocationHandle{memory});
  EXPECT_INVALID_VALUE(cuMemExportToShareableHandle(&descriptor, import, type, 0)) << "not again";
  ASSERT_OK(cuMemMap(range.at(0), kGranule, 0, memory, 0));
  ASSERT_OK(cuMemMap(range.at(1), kGranule, 0, import, 0));
  ASSERT_OK(allow(range, 2 * kGranule));
  writeDevice(range.at(0), pattern(4096, 3));
  EXPECT_EQ(readDevice(range.at(1), 4096), pattern(4096, 3));
  EXPECT_EQ(cuMemImportFromShareableHandle(&opened, reinterpret_cast<void*>(intptr_t{-1}), type), CUDA_ERROR_UNKNOWN);
}

TEST_F(VirtualMemory, ExternalMemoryIsMappedAsABuffer) {
  const Reservation range(kGranule);
  const PhysicalHandle memory(kGranule, deviceAllocation(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
  description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  description.size = kGranule;
  ASSERT_OK(cuMemExportToShareableHandle(&description.handle.fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUexternalMemory external = nullptr;
  ASSERT_OK(cuImportExternalMemory(&external, &description));
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
  CUdeviceptr buffer = 0;
  EXPECT_INVALID_VALUE(cuExternalMemoryGetMappedBuffer(&buffer, external, &part));
  part.offset = 8192;
  part.size = kGranule;
  EXPECT_INVALID_VALUE(cuExternalMemoryGetMappedBuffer(&buffer, external, &part));
  part.size = 65536;
  ASSERT_OK(cuExternalMemoryGetMappedBuffer(&buffer, external, &part));
  EXPECT_OK(cuDestroyExternalMemory(external));
  ASSERT_OK(cuMemMap(range, kGranule, 0, memory, 0));
  ASSERT_OK(allow(range, kGranule));
  writeDevice(buffer, pattern(65536, 4));
  EXPECT_EQ(readDevice(range + 8192, 65536), pattern(65536, 4));
  EXPECT_OK(cuMemFree(buffer));
  EXPECT_INVALID_VALUE(cuMemFree(buffer));
}

TEST_F(VirtualMemory, NothingWaitsForRunningWork) {
  Stream stream;
  const Reservation range(kGranule);
  StreamBlock block(stream);
  PhysicalHandle memory;
  EXPECT_OK(cuMemMap(range, kGranule, 0, memory, 0));
  EXPECT_OK(allow(range, kGranule));
  EXPECT_OK(cuMemUnmap(range, kGranule));
  EXPECT_OK(cuMemRelease(memory.release()));
  EXPECT_FALSE(stream.idle());
  block.release();
  stream.synchronize();
}

using VirtualMemoryFault = DeviceFault;

TEST_F(VirtualMemoryFault, AKernelFaultsOnMemoryWithoutAccess) {
  CUdeviceptr start = 0;
  ASSERT_OK(cuMemAddressReserve(&start, kGranule, 0, 0, 0));
  const PhysicalHandle memory;
  ASSERT_OK(cuMemMap(start, kGranule, 0, memory, 0));
  launchStore(nullptr, start, 1);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(VirtualMemoryFault, AKernelFaultsWhenItWritesWhatItMayOnlyRead) {
  CUdeviceptr start = 0;
  ASSERT_OK(cuMemAddressReserve(&start, kGranule, 0, 0, 0));
  const PhysicalHandle memory;
  CUdeviceptr word = 0;
  ASSERT_OK(cuMemAlloc(&word, 4));
  ASSERT_OK(cuMemMap(start, kGranule, 0, memory, 0));
  ASSERT_OK(allow(start, kGranule, CU_MEM_ACCESS_FLAGS_PROT_READ));
  launchLoad(nullptr, start, word);
  ASSERT_OK(cuCtxSynchronize());
  launchStore(nullptr, start, 1);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(VirtualMemoryFault, AKernelFaultsOnWhatWasUnmapped) {
  CUdeviceptr start = 0;
  ASSERT_OK(cuMemAddressReserve(&start, kGranule, 0, 0, 0));
  const PhysicalHandle memory;
  ASSERT_OK(cuMemMap(start, kGranule, 0, memory, 0));
  ASSERT_OK(allow(start, kGranule));
  launchStore(nullptr, start, 1);
  ASSERT_OK(cuCtxSynchronize());
  ASSERT_OK(cuMemUnmap(start, kGranule));
  launchStore(nullptr, start, 1);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace
