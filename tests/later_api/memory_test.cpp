// Memory and streams: copies with attributes, where memory lies, pools, pointers, reductions, host functions, arrays.
#include <sys/mman.h>

#include <atomic>
#include <thread>

#include "device_test.h"

namespace {

class LaterMemory : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    EXPECT_OK(cuStreamDestroy(stream));
    DeviceTest::TearDown();
  }
  CUstream stream = nullptr;
};

TEST_F(LaterMemory, CopiesWithAttributesCopy) {
  const CUdeviceptr memory = allocate(4096);
  std::vector<unsigned char> sent(1000, 3), received(1000, 0);
  CUmemcpyAttributes attributes{};
  for (const CUmemcpySrcAccessOrder order :
       {CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL,
        CU_MEMCPY_SRC_ACCESS_ORDER_ANY}) {
    attributes.srcAccessOrder = order;
    std::fill(sent.begin(), sent.end(), static_cast<unsigned char>(order + 10));
    ASSERT_OK(
        cuMemcpyWithAttributesAsync(memory, reinterpret_cast<CUdeviceptr>(sent.data()), 1000, &attributes, stream));
    ASSERT_OK(cuStreamSynchronize(stream));
    ASSERT_OK(cuMemcpyDtoH(received.data(), memory, 1000));
    EXPECT_EQ(received, sent) << order;
  }
  EXPECT_EQ(cuMemcpyWithAttributesAsync(memory, memory + 2048, 0, &attributes, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyWithAttributesAsync(memory, memory + 2048, 8, nullptr, stream), CUDA_ERROR_INVALID_VALUE);
  attributes.flags = 1u << 20;
  EXPECT_EQ(cuMemcpyWithAttributesAsync(memory, memory + 2048, 8, &attributes, stream), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaterMemory, CopiesWithAttributesAreCaptured) {
  const CUdeviceptr memory = allocate(4096);
  ASSERT_OK(cuMemsetD8(memory, 5, 4096));
  ASSERT_OK(cuMemsetD8(memory + 2048, 6, 2048));
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CUgraph graph = nullptr;
  ASSERT_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_OK(cuMemcpyWithAttributesAsync(memory, memory + 2048, 8, &attributes, stream));
  ASSERT_OK(cuStreamEndCapture(stream, &graph));
  size_t count = 0;
  EXPECT_OK(cuGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(LaterMemory, BoxesWithAttributesCopy) {
  const CUdeviceptr from = allocate(64 * 8), to = allocate(32 * 8);
  ASSERT_OK(cuMemsetD8(from, 9, 64 * 8));
  ASSERT_OK(cuMemsetD8(to, 0, 32 * 8));
  CUDA_MEMCPY3D_BATCH_OP op{};
  op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = from;
  op.src.op.ptr.rowLength = 64;
  op.dst.op.ptr.ptr = to;
  op.dst.op.ptr.rowLength = 32;
  op.extent = {16, 8, 1};
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  ASSERT_OK(cuMemcpy3DWithAttributesAsync(&op, 0, stream));
  ASSERT_OK(cuStreamSynchronize(stream));
  std::vector<unsigned char> rows(32 * 8);
  ASSERT_OK(cuMemcpyDtoH(rows.data(), to, rows.size()));
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], i % 32 < 16 ? 9 : 0) << i;
  EXPECT_EQ(cuMemcpy3DWithAttributesAsync(&op, 1, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy3DWithAttributesAsync(nullptr, 0, stream), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaterMemory, ManagedMemoryIsWhereItWasPrefetched) {
  constexpr size_t kPart = size_t{1} << 20;
  CUdeviceptr memory = 0;
  ASSERT_OK(cuMemAllocManaged(&memory, 2 * kPart, CU_MEM_ATTACH_GLOBAL));
  CUmemLocation device{};
  device.type = CU_MEM_LOCATION_TYPE_DEVICE;
  ASSERT_OK(cuMemPrefetchAsync(memory, kPart, device, 0, stream));
  ASSERT_OK(cuStreamSynchronize(stream));
  *reinterpret_cast<volatile char*>(memory + kPart) = 1;
  CUmemLocation places[2] = {};
  ASSERT_OK(cuMemGetLocationInfo(memory, 2 * kPart, kPart, 0, places));
  EXPECT_EQ(places[0].type, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(places[0].id, 0);
  EXPECT_NE(places[1].type, CU_MEM_LOCATION_TYPE_DEVICE);
  ASSERT_OK(cuMemGetLocationInfo(memory + kPart, 4096, 4096, 4096, places));
  EXPECT_EQ(places[0].type, CU_MEM_LOCATION_TYPE_HOST_NUMA);  // touched by the host
  EXPECT_EQ(cuMemGetLocationInfo(memory, kPart, 2 * kPart, 0, places), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemGetLocationInfo(memory, kPart, kPart, 2 * kPart, places), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemGetLocationInfo(memory, kPart, 0, 0, places), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemGetLocationInfo(memory, kPart, kPart, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuMemFree(memory));
}

TEST_F(LaterMemory, PageableMemoryIsOfTheHostOrNowhereYet) {
  constexpr size_t kPage = 4096;
  char* const pages =
      static_cast<char*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  pages[0] = 1;
  CUmemLocation places[2] = {};
  ASSERT_OK(cuMemGetLocationInfo(reinterpret_cast<CUdeviceptr>(pages), 2 * kPage, kPage, kPage, places));
  EXPECT_EQ(places[0].type, CU_MEM_LOCATION_TYPE_HOST_NUMA);
  EXPECT_EQ(places[1].type, CU_MEM_LOCATION_TYPE_NONE);
  munmap(pages, 2 * kPage);
  EXPECT_EQ(cuMemGetLocationInfo(reinterpret_cast<CUdeviceptr>(pages), kPage, kPage, 0, places),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemGetLocationInfo(allocate(4096), kPage, kPage, 0, places), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaterMemory, PoolsTellWhatTheyAre) {
  CUmemPoolProps wanted{};
  wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.maxSize = size_t{64} << 20;
  CUmemoryPool pool = nullptr;
  ASSERT_OK(cuMemPoolCreate(&pool, &wanted));
  int number = -5;
  cuuint64_t bytes = 0;
  EXPECT_OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_ALLOCATION_TYPE, &number));
  EXPECT_EQ(number, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES, &number));
  EXPECT_EQ(number, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  EXPECT_OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_LOCATION_TYPE, &number));
  EXPECT_EQ(number, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_LOCATION_ID, &number));
  EXPECT_EQ(number, 0);
  EXPECT_OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_MAX_POOL_SIZE, &bytes));
  EXPECT_GE(bytes, wanted.maxSize);
  EXPECT_OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED, &number));
  EXPECT_EQ(number, 0);
  EXPECT_OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID, &number));
  EXPECT_EQ(number, -1);
  for (int which = CU_MEMPOOL_ATTR_ALLOCATION_TYPE; which <= CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID + 1; ++which)
    EXPECT_EQ(cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(which), &bytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuMemPoolDestroy(pool));
}

TEST_F(LaterMemory, PointersAreOfNoLocalityDomain) {
  int ordinal = 5;
  EXPECT_OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL, allocate(64)));
  EXPECT_EQ(ordinal, -1);
}

class Reductions : public LaterMemory {
 protected:
  static CUstreamBatchMemOpParams of(CUdeviceptr address, int operation, int type, cuuint64_t value) {
    CUstreamBatchMemOpParams params{};
    params.atomicReduction.operation = CU_STREAM_MEM_OP_ATOMIC_REDUCTION;
    params.atomicReduction.reductionOp = static_cast<CUstreamAtomicReductionOpType>(operation);
    params.atomicReduction.dataType = static_cast<CUstreamAtomicReductionDataType>(type);
    params.atomicReduction.address = address;
    params.atomicReduction.value = value;
    return params;
  }
};

TEST_F(Reductions, AddAndOr) {
  const CUdeviceptr words = allocate(64);
  ASSERT_OK(cuMemsetD32(words, 0xf0, 16));
  CUstreamBatchMemOpParams batch[] = {
      of(words, CU_STREAM_ATOMIC_REDUCTION_OP_ADD, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32, 5),
      of(words + 4, CU_STREAM_ATOMIC_REDUCTION_OP_AND, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32, 0x30),
      of(words + 8, CU_STREAM_ATOMIC_REDUCTION_OP_OR, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32, 0xf),
      of(words + 16, CU_STREAM_ATOMIC_REDUCTION_OP_ADD, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64, 1ull << 40)};
  ASSERT_OK(cuStreamBatchMemOp(stream, 4, batch, 0));
  ASSERT_OK(cuStreamSynchronize(stream));
  unsigned got[6];
  ASSERT_OK(cuMemcpyDtoH(got, words, sizeof got));
  EXPECT_EQ(got[0], 0xf5u);
  EXPECT_EQ(got[1], 0x30u);
  EXPECT_EQ(got[2], 0xffu);
  EXPECT_EQ(got[4], 0xf0u);
  EXPECT_EQ(got[5], 0xf0u + 0x100u);
}

TEST_F(Reductions, OfTwoStreamsLoseNothing) {
  constexpr unsigned kTimes = 200;
  const CUdeviceptr word = allocate(64);
  ASSERT_OK(cuMemsetD32(word, 0, 1));
  CUstream other = nullptr;
  ASSERT_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CUstreamBatchMemOpParams one = of(word, CU_STREAM_ATOMIC_REDUCTION_OP_ADD, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32, 1);
  for (unsigned i = 0; i < kTimes; ++i) {
    ASSERT_OK(cuStreamBatchMemOp(stream, 1, &one, 0));
    ASSERT_OK(cuStreamBatchMemOp(other, 1, &one, 0));
  }
  ASSERT_OK(cuCtxSynchronize());
  unsigned sum = 0;
  ASSERT_OK(cuMemcpyDtoH(&sum, word, sizeof sum));
  EXPECT_EQ(sum, 2 * kTimes);
  EXPECT_OK(cuStreamDestroy(other));
}

TEST_F(Reductions, BadOnesAreRefused) {
  const CUdeviceptr word = allocate(64);
  const auto tried = [&](CUstreamBatchMemOpParams params) { return cuStreamBatchMemOp(stream, 1, &params, 0); };
  EXPECT_EQ(tried(of(word + 2, CU_STREAM_ATOMIC_REDUCTION_OP_ADD, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32, 1)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(of(word, CU_ATOMIC_OPERATION_INTEGER_MIN, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32, 1)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(of(word, CU_STREAM_ATOMIC_REDUCTION_OP_ADD, 3, 1)), CUDA_ERROR_INVALID_VALUE);
  CUstreamBatchMemOpParams flagged =
      of(word, CU_STREAM_ATOMIC_REDUCTION_OP_ADD, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32, 1);
  flagged.atomicReduction.flags = 1;
  EXPECT_EQ(tried(flagged), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaterMemory, HostFunctionsTakeAModeOfWaiting) {
  std::atomic<int> calls{0};
  const auto count = [](void* data) { ++*static_cast<std::atomic<int>*>(data); };
  EXPECT_OK(cuLaunchHostFunc_v2(stream, count, &calls, CU_HOST_TASK_BLOCKING));
  EXPECT_OK(cuLaunchHostFunc_v2(stream, count, &calls, CU_HOST_TASK_SPINWAIT));
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(cuLaunchHostFunc_v2(stream, count, &calls, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchHostFunc_v2(stream, nullptr, &calls, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaterMemory, CapturesForGraphicsNeedAContextForThem) {
  int list = 0;
  CUstreamCigParam shared{STREAM_CIG_DATA_TYPE_VULKAN_COMMAND_BUFFER_HANDLE_NV, &list};
  CUstreamCigCaptureParams params{&shared};
  EXPECT_EQ(cuStreamBeginCaptureToCig(stream, &params), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuStreamBeginCaptureToCig(stream, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamBeginCaptureToCig(CU_STREAM_LEGACY, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamEndCaptureToCig(stream), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaterMemory, KernelsTellHowManyParametersTheyHave) {
  const char* const text =
      ".version 9.5\n.target sm_75\n.address_size 64\n"
      ".visible .entry three(.param .u32 a, .param .u64 b, .param .b8 c[12]) { ret; }\n"
      ".visible .entry none() { ret; }\n";
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  ASSERT_OK(cuLibraryLoadData(&library, text, nullptr, nullptr, 0, nullptr, nullptr, 0));
  size_t count = 99;
  ASSERT_OK(cuLibraryGetKernel(&kernel, library, "three"));
  EXPECT_OK(cuKernelGetParamCount(kernel, &count));
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(cuKernelGetParamCount(kernel, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_OK(cuModuleLoadData(&module, text));
  ASSERT_OK(cuModuleGetFunction(&function, module, "none"));
  EXPECT_OK(cuFuncGetParamCount(function, &count));
  EXPECT_EQ(count, 0u);
  EXPECT_OK(cuModuleUnload(module));
  EXPECT_OK(cuLibraryUnload(library));
}

TEST_F(LaterMemory, TextsOfEveryVersionOfPtxAreTaken) {
  for (int minor = 0; minor <= 5; ++minor) {
    const std::string text = ".version 9." + std::to_string(minor) +
                             "\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n";
    CUmodule module = nullptr;
    EXPECT_OK(cuModuleLoadData(&module, text.c_str())) << minor;
    EXPECT_OK(cuModuleUnload(module));
  }
}

TEST_F(LaterMemory, PlanarPicturesHaveTheirPlanes) {
  const struct {
    CUarray_format format;
    unsigned channels, planes, bytes;
    size_t width, height;  // of the second plane
  } formats[] = {
      {CU_AD_FORMAT_UINT8_SEMIPLANAR_420, 3, 2, 1, 32, 16}, {CU_AD_FORMAT_UINT16_SEMIPLANAR_422, 3, 2, 2, 32, 32},
      {CU_AD_FORMAT_UINT8_SEMIPLANAR_444, 3, 2, 1, 64, 32}, {CU_AD_FORMAT_UINT8_PLANAR_420, 3, 3, 1, 32, 16},
      {CU_AD_FORMAT_UINT16_PLANAR_422, 3, 3, 2, 32, 32},    {CU_AD_FORMAT_UINT16_PLANAR_444, 3, 3, 2, 64, 32}};
  for (const auto& row : formats) {
    CUDA_ARRAY3D_DESCRIPTOR wanted{};
    wanted.Width = 64;
    wanted.Height = 32;
    wanted.Format = row.format;
    wanted.NumChannels = row.channels;
    wanted.Flags = CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;
    CUarray array = nullptr, plane = nullptr;
    ASSERT_OK(cuArray3DCreate(&array, &wanted)) << std::hex << row.format;
    ASSERT_OK(cuArrayGetPlane(&plane, array, 1));
    CUDA_ARRAY3D_DESCRIPTOR got{};
    ASSERT_OK(cuArray3DGetDescriptor(&got, plane));
    EXPECT_EQ(got.Width, row.width) << std::hex << row.format;
    EXPECT_EQ(got.Height, row.height) << std::hex << row.format;
    EXPECT_EQ(got.NumChannels, row.planes == 2 ? 2u : 1u);
    EXPECT_EQ(cuArrayGetPlane(&plane, array, row.planes), CUDA_ERROR_INVALID_VALUE);
    EXPECT_OK(cuArrayDestroy(array));
  }
}

TEST_F(LaterMemory, CallbacksOfCoreDumpsAreKnownByTheirHandles) {
  const auto called = [](void*, int, CUdevice) {};
  CUcoredumpCallbackHandle start = nullptr, again = nullptr, complete = nullptr;
  EXPECT_OK(cuCoredumpRegisterStartCallback(called, nullptr, &start));
  EXPECT_OK(cuCoredumpRegisterStartCallback(called, nullptr, &again));
  EXPECT_OK(cuCoredumpRegisterCompleteCallback(called, nullptr, &complete));
  EXPECT_NE(start, again);
  EXPECT_EQ(cuCoredumpDeregisterCompleteCallback(start), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuCoredumpDeregisterStartCallback(start));
  EXPECT_EQ(cuCoredumpDeregisterStartCallback(start), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuCoredumpDeregisterStartCallback(again));
  EXPECT_OK(cuCoredumpDeregisterCompleteCallback(complete));
  EXPECT_EQ(cuCoredumpRegisterStartCallback(nullptr, nullptr, &start), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaterMemory, CheckpointsIntoOnesOwnStorageAreNotThere) {
  EXPECT_EQ(cuCheckpointOperationComplete(nullptr), CUDA_ERROR_INVALID_VALUE);
  CUcheckpointCustomStorageInfo* info = nullptr;
  CUcheckpointCheckpointArgs wanted{};
  wanted.customStorageInfo_out = &info;
  EXPECT_EQ(cuCheckpointProcessCheckpoint(1, &wanted), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
