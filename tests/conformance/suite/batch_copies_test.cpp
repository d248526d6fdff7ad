// cuMemcpyBatchAsync: many copies in one call, their attributes, the order in which sources are read.
#include <cstring>

#include "documented.h"
#include "suite.h"

namespace {

constexpr size_t kBytes = 256;

CUmemcpyAttributes attributes(CUmemcpySrcAccessOrder order, unsigned flags = 0) {
  CUmemcpyAttributes made{};
  made.srcAccessOrder = order;
  made.flags = flags;
  return made;
}

CUdeviceptr at(const void* host) { return reinterpret_cast<CUdeviceptr>(host); }

class BatchCopies : public Device {
 protected:
  static constexpr auto kStream = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  static constexpr auto kDuringCall = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  static constexpr auto kAny = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;

  CUresult one(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemcpyAttributes how, CUstream stream) {
    size_t first = 0;
    return cuMemcpyBatchAsync(&to, &from, &bytes, 1, &how, &first, 1, stream);
  }
  // Ten copies of one byte; the attributes begin at these copies.
  CUresult ten(std::vector<size_t> starts, std::vector<CUmemcpyAttributes> how, size_t count = 10) {
    std::vector<CUdeviceptr> to, from;
    std::vector<size_t> sizes(10, 1);
    for (size_t i = 0; i < 10; ++i) to.push_back(target_ + i), from.push_back(source_ + i);
    return cuMemcpyBatchAsync(to.data(), from.data(), sizes.data(), count, how.data(), starts.data(), how.size(),
                              stream_);
  }

  const Stream stream_;
  const DeviceBuffer target_{Bytes(kBytes)}, source_{pattern(kBytes, 1)};
};

TEST_F(BatchCopies, EveryCopyOfTheBatchIsMade) {
  PROVES("MEMCPYBATCH-001", "MEMCPYBATCH-002", "MEMCPYBATCH-003");
  const PinnedBuffer pinned(pattern(kBytes, 2));
  Bytes pageable = pattern(kBytes, 3);
  CUdeviceptr to[] = {target_, target_ + 64, target_ + 128, target_ + 250};
  CUdeviceptr from[] = {source_ + 7, at(pinned.data()) + 1, at(pageable.data()), 0x1000};
  size_t sizes[] = {13, 64, 100, 1}, first = 0;
  CUmemcpyAttributes how = attributes(kStream);
  ASSERT_OK(cuMemcpyBatchAsync(to, from, sizes, 3, &how, &first, 1, stream_)) << "the fourth entries are not read";
  stream_.synchronize();
  Bytes expected(kBytes);
  memcpy(&expected[0], &pattern(kBytes, 1)[7], 13);
  memcpy(&expected[64], &pattern(kBytes, 2)[1], 64);
  memcpy(&expected[128], &pageable[0], 100);
  EXPECT_EQ(target_.read(), expected);
}

TEST_F(BatchCopies, AThousandSmallOnesArriveEachAtItsPlace) {
  PROVES("MEMCPYBATCH-001");
  const DeviceBuffer to{Bytes(64000)}, from{pattern(64000, 4)};
  std::vector<CUdeviceptr> destinations, sources;
  std::vector<size_t> sizes;
  Bytes expected(64000);
  const Bytes content = pattern(64000, 4);
  for (size_t i = 0; i < 1000; ++i) {
    const size_t target = (i * 37 % 1000) * 64, origin = (i * 91 % 1000) * 64, bytes = 1 + i % 64;
    destinations.push_back(to + target);
    sources.push_back(from + origin);
    sizes.push_back(bytes);
    memcpy(&expected[target], &content[origin], bytes);
  }
  size_t first = 0;
  CUmemcpyAttributes how = attributes(kStream);
  ASSERT_OK(cuMemcpyBatchAsync(destinations.data(), sources.data(), sizes.data(), 1000, &how, &first, 1, stream_));
  stream_.synchronize();
  EXPECT_EQ(to.read(), expected);
}

TEST_F(BatchCopies, TheBatchIsOnePieceOfWorkOfItsStream) {
  PROVES("MEMCPYBATCH-004", "CPYATTR-002");
  const DeviceBuffer after{Bytes(kBytes)};
  StreamBlock block(stream_);
  ASSERT_OK(cuMemsetD8Async(source_, 0x77, 10, stream_));
  ASSERT_OK(ten({0}, {attributes(kStream)}));
  ASSERT_OK(cuMemcpyDtoDAsync(after, target_, 10, stream_));
  block.release();
  stream_.synchronize();
  Bytes expected(kBytes);
  memset(expected.data(), 0x77, 10);
  EXPECT_EQ(after.read(), expected) << "it sees earlier work, and later work sees it";
}

TEST_F(BatchCopies, QueuedBehindWorkTheCallReturnsBeforeTheCopies) {
  PROVES("MEMCPYBATCH-017");
  StreamBlock block(stream_);
  ASSERT_OK(ten({0}, {attributes(kStream)}));
  EXPECT_FALSE(stream_.idle());
  block.release();
  stream_.synchronize();
  EXPECT_EQ(target_.read()[9], pattern(kBytes, 1)[9]);
}

TEST_F(BatchCopies, TheLegacyStreamIsRefusedAndThePerThreadOneIsNot) {
  PROVES("MEMCPYBATCH-007");
  EXPECT_INVALID_VALUE(one(target_, source_, 4, attributes(kStream), nullptr));
  EXPECT_INVALID_VALUE(one(target_, source_, 4, attributes(kStream), CU_STREAM_LEGACY));
  EXPECT_OK(one(target_, source_, 4, attributes(kStream), CU_STREAM_PER_THREAD));
  EXPECT_OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

TEST_F(BatchCopies, AttributesHoldFromTheirCopyToTheNext) {
  PROVES("MEMCPYBATCH-008", "MEMCPYBATCH-009", "MEMCPYBATCH-010", "MEMCPYBATCH-016");
  // Behind a blocked stream pageable sources are put aside with ANY; the pinned ones of the second group are read
  // later.
  Bytes pageable(16, 1);
  const PinnedBuffer pinned{Bytes(16, 1)};
  std::vector<CUdeviceptr> to, from;
  std::vector<size_t> sizes(10, 1);
  for (size_t i = 0; i < 10; ++i) {
    to.push_back(target_ + i);
    from.push_back(i < 6 ? at(pageable.data()) + i : at(pinned.data()) + i);
  }
  std::vector<CUmemcpyAttributes> how{attributes(kAny), attributes(kStream), attributes(kStream)};
  how[2].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
  std::vector<size_t> starts{0, 6, 1};
  StreamBlock block(stream_);
  ASSERT_OK(cuMemcpyBatchAsync(to.data(), from.data(), sizes.data(), 10, how.data(), starts.data(), 2, stream_))
      << "the third entries are not read";
  memset(pageable.data(), 2, 16);
  memset(pinned.data(), 2, 16);
  block.release();
  stream_.synchronize();
  Bytes expected(kBytes);
  memset(&expected[0], 1, 6);
  memset(&expected[6], 2, 4);
  EXPECT_EQ(target_.read(), expected);
}

TEST_F(BatchCopies, AttributesThatDoNotCoverTheBatchAreRefused) {
  PROVES("MEMCPYBATCH-011", "MEMCPYBATCH-012", "MEMCPYBATCH-013", "MEMCPYBATCH-014", "MEMCPYBATCH-015");
  const CUmemcpyAttributes good = attributes(kStream);
  EXPECT_INVALID_VALUE(ten({1}, {good})) << "does not begin at 0";
  EXPECT_INVALID_VALUE(ten({0, 0}, {good, good})) << "not increasing";
  EXPECT_INVALID_VALUE(ten({0, 3, 2}, {good, good, good}));
  EXPECT_INVALID_VALUE(ten({0, 10}, {good, good})) << "beyond the last copy";
  EXPECT_INVALID_VALUE(ten({0, 1}, {good, good}, 1)) << "more than copies";
  EXPECT_INVALID_VALUE(ten({}, {})) << "none";
  stream_.synchronize();
  EXPECT_EQ(target_.read(), Bytes(kBytes)) << "nothing was copied";
  EXPECT_OK(ten({0, 3, 9}, {good, good, good}));
  stream_.synchronize();
}

TEST_F(BatchCopies, EachCopyNeedsAValidSourceAccessOrder) {
  PROVES("MEMCPYBATCH-015");
  for (int order : {0, 4, 0x7fffffff})
    EXPECT_INVALID_VALUE(ten({0, 5}, {attributes(kStream), attributes(static_cast<CUmemcpySrcAccessOrder>(order))}));
}

TEST_F(BatchCopies, OrderDuringTheCallReadsTheSourceBeforeTheCallReturns) {
  PROVES("CPYATTR-003", "CPYATTR-005", "CPYATTR-007");
  Bytes source(kBytes, 1);
  StreamBlock block(stream_);
  ASSERT_OK(one(target_, at(source.data()), kBytes, attributes(kDuringCall), stream_));
  memset(source.data(), 2, kBytes);
  block.release();
  stream_.synchronize();
  EXPECT_EQ(target_.read(), Bytes(kBytes, 1));
}

TEST_F(BatchCopies, OrderAnyLeavesTheSourceToTheStream) {
  PROVES("CPYATTR-004", "CPYATTR-006");
  const PinnedBuffer source{Bytes(kBytes, 1)};
  StreamBlock block(stream_);
  ASSERT_OK(one(target_, source, kBytes, attributes(kAny), stream_));
  memset(source.data(), 2, kBytes);
  block.release();
  stream_.synchronize();
  EXPECT_EQ(target_.read(), Bytes(kBytes, 2)) << "page-locked memory is read when the stream gets there";
}

TEST_F(BatchCopies, PageLockedMemoryReadDuringTheCallIsReadBeforeItReturns) {
  PROVES("CPYATTR-003");
  const PinnedBuffer source{Bytes(kBytes, 1)};
  launchSpin(stream_, 0.1);
  ASSERT_OK(one(target_, source, kBytes, attributes(kDuringCall), stream_));
  memset(source.data(), 2, kBytes);
  stream_.synchronize();
  EXPECT_EQ(target_.read(), Bytes(kBytes, 1));
}

TEST_F(BatchCopies, StreamOrderOfPageableMemoryIsWaitedFor) {
  PROVES("CPYATTR-002");
  Bytes source(kBytes, 1);
  const Event earlierWork;
  launchSpin(stream_, 0.1);
  ASSERT_OK(cuEventRecord(earlierWork, stream_));
  ASSERT_OK(one(target_, at(source.data()), kBytes, attributes(kStream), stream_));
  EXPECT_EQ(cuEventQuery(earlierWork), CUDA_SUCCESS) << "the source may be changed from here on";
  memset(source.data(), 2, kBytes);
  stream_.synchronize();
  EXPECT_EQ(target_.read(), Bytes(kBytes, 1));
}

TEST_F(BatchCopies, OverlapWithComputeMayBeAskedForAndOtherFlagsNot) {
  PROVES("CPYATTR-008", "CPYATTR-009");
  EXPECT_OK(one(target_, source_, kBytes, attributes(kStream, CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE), stream_));
  stream_.synchronize();
  EXPECT_EQ(target_.read(), pattern(kBytes, 1));
  EXPECT_INVALID_VALUE(one(target_, source_, kBytes, attributes(kStream, 2), stream_));
  EXPECT_INVALID_VALUE(one(target_, source_, kBytes, attributes(kStream, 0x80), stream_));
}

TEST_F(BatchCopies, LocationHintsChangeNoResultButMustNameALocation) {
  PROVES("CPYATTR-010", "CPYATTR-011");
  DIFFERS("CPYATTR-011", "a hint that names no location is CUDA_ERROR_INVALID_VALUE, wherever the pointers point");
  const ManagedBuffer managed(kBytes);
  for (CUdeviceptr from : {CUdeviceptr{source_}, CUdeviceptr{managed}})
    for (int type = 0; type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT; ++type) {
      CUmemcpyAttributes how = attributes(kStream);
      how.srcLocHint.type = how.dstLocHint.type = static_cast<CUmemLocationType>(type);
      EXPECT_OK(one(target_, from, 16, how, stream_)) << "hint type " << type;
    }
  stream_.synchronize();
  CUmemcpyAttributes bad = attributes(kStream);
  bad.srcLocHint.type = static_cast<CUmemLocationType>(99);
  EXPECT_INVALID_VALUE(one(target_, source_, 16, bad, stream_));
  bad.srcLocHint.type = CU_MEM_LOCATION_TYPE_DEVICE;
  bad.srcLocHint.id = 77;
  EXPECT_INVALID_VALUE(one(target_, source_, 16, bad, stream_));
}

TEST_F(BatchCopies, MemoryThatIsRegisteredInPartIsRefused) {
  PROVES("MEMCPYBATCH-018");
  alignas(4096) static uint8_t pages[8192];
  const DeviceBuffer large(8192);
  ASSERT_OK(cuMemHostRegister(pages, 4096, 0));
  EXPECT_INVALID_VALUE(one(large, at(pages), 8192, attributes(kStream), stream_));
  EXPECT_INVALID_VALUE(one(at(pages), large, 8192, attributes(kStream), stream_));
  EXPECT_OK(one(large, at(pages), 4096, attributes(kStream), stream_));
  stream_.synchronize();
  EXPECT_OK(cuMemHostUnregister(pages));
}

TEST_F(BatchCopies, ABadCopyIsFoundOnItsTurn) {
  PROVES("MEMCPYBATCH-001");
  CUdeviceptr to[] = {target_, target_ + 1, target_ + 2}, from[] = {source_, source_ + 1, source_ + 2};
  size_t sizes[] = {1, 0, 1}, first = 0;
  CUmemcpyAttributes how = attributes(kStream);
  EXPECT_INVALID_VALUE(cuMemcpyBatchAsync(to, from, sizes, 3, &how, &first, 1, stream_));
  stream_.synchronize();
  Bytes expected(kBytes);
  expected[0] = pattern(kBytes, 1)[0];
  EXPECT_EQ(target_.read(), expected) << "the copies before it are made, those after it are not";
}

TEST_F(BatchCopies, TheFirstVersionSaysWhichCopyFailed) {
  PROVES("MEMCPYBATCH-019");
  using Batch =
      CUresult(CUdeviceptr*, CUdeviceptr*, size_t*, size_t, CUmemcpyAttributes*, size_t*, size_t, size_t*, CUstream);
  const auto batch = entry<Batch>("cuMemcpyBatchAsync");
  ASSERT_NE(batch, nullptr);
  CUdeviceptr to[] = {target_, target_ + 1, target_ + 2}, from[] = {source_, source_ + 1, source_ + 2};
  size_t sizes[] = {1, 1, 1}, first = 0, failed = 77;
  CUmemcpyAttributes how = attributes(kStream);
  EXPECT_OK(batch(to, from, sizes, 3, &how, &first, 1, &failed, stream_));
  EXPECT_EQ(failed, SIZE_MAX);
  sizes[1] = 0;
  const CUresult empty = batch(to, from, sizes, 3, &how, &first, 1, &failed, stream_);
  EXPECT_INVALID_VALUE(empty);
  EXPECT_TRUE(isDocumented("MEMCPYBATCH-019", empty));
  EXPECT_EQ(failed, 1u);
  sizes[1] = 1;
  how.flags = 0x80;
  EXPECT_INVALID_VALUE(batch(to, from, sizes, 3, &how, &first, 1, &failed, stream_));
  EXPECT_EQ(failed, SIZE_MAX) << "attributes are no copy's";
  failed = 77;
  EXPECT_INVALID_VALUE(batch(to, from, sizes, 3, &how, &first, 1, &failed, nullptr));
  EXPECT_EQ(failed, 77u) << "not written for a stream that is refused";
  stream_.synchronize();
}

TEST_F(BatchCopies, NoCopiesAndMissingArraysAreRefused) {
  PROVES("MEMCPYBATCH-002", "MEMCPYBATCH-019");
  CUdeviceptr to = target_, from = source_;
  size_t bytes = 4, first = 0;
  CUmemcpyAttributes how = attributes(kStream);
  EXPECT_INVALID_VALUE(cuMemcpyBatchAsync(nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, stream_));
  EXPECT_INVALID_VALUE(cuMemcpyBatchAsync(nullptr, &from, &bytes, 1, &how, &first, 1, stream_));
  EXPECT_INVALID_VALUE(cuMemcpyBatchAsync(&to, nullptr, &bytes, 1, &how, &first, 1, stream_));
  EXPECT_INVALID_VALUE(cuMemcpyBatchAsync(&to, &from, nullptr, 1, &how, &first, 1, stream_));
  EXPECT_INVALID_VALUE(cuMemcpyBatchAsync(&to, &from, &bytes, 1, nullptr, &first, 1, stream_));
  EXPECT_INVALID_VALUE(cuMemcpyBatchAsync(&to, &from, &bytes, 1, &how, nullptr, 1, stream_));
}

class BatchCopiesFault : public DeviceFault {};

TEST_F(BatchCopiesFault, ReportTheErrorOfAnEarlierKernel) {
  PROVES("MEMCPYBATCH-020", "MEMCPY3DBATCH-026");
  CUdeviceptr memory = 0;
  CUstream stream;
  ASSERT_OK(cuMemAlloc(&memory, 64));
  ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(cuLaunchKernel(kernel("trap"), 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
  const CUresult error = cuStreamSynchronize(stream);
  ASSERT_NE(error, CUDA_SUCCESS);
  CUdeviceptr to = memory, from = memory + 32;
  size_t bytes = 4, first = 0;
  CUmemcpyAttributes how = attributes(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
  EXPECT_EQ(cuMemcpyBatchAsync(&to, &from, &bytes, 1, &how, &first, 1, stream), error);
  CUDA_MEMCPY3D_BATCH_OP op{};
  op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = memory;
  op.dst.op.ptr.ptr = memory + 32;
  op.extent = {1, 1, 1};
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  EXPECT_EQ(cuMemcpy3DBatchAsync(1, &op, 0, stream), error);
}

TEST(BatchLayouts, TheStructuresHaveTheirMembers) {
  PROVES("CPYATTR-001", "OPERAND3D-001", "OPERAND3D-002", "OPERAND3D-003", "BATCHOP3D-001", "BATCHOP3D-002");
  CUmemcpyAttributes how{};
  static_assert(std::is_same_v<decltype(how.srcAccessOrder), CUmemcpySrcAccessOrder>);
  static_assert(std::is_same_v<decltype(how.srcLocHint), CUmemLocation>);
  static_assert(std::is_same_v<decltype(how.dstLocHint), CUmemLocation>);
  static_assert(std::is_same_v<decltype(how.flags), unsigned>);
  EXPECT_EQ(sizeof how, 24u);
  CUmemcpy3DOperand operand{};
  static_assert(std::is_same_v<decltype(operand.op.ptr.ptr), CUdeviceptr>);
  static_assert(std::is_same_v<decltype(operand.op.ptr.rowLength), size_t>);
  static_assert(std::is_same_v<decltype(operand.op.ptr.layerHeight), size_t>);
  static_assert(std::is_same_v<decltype(operand.op.ptr.locHint), CUmemLocation>);
  static_assert(std::is_same_v<decltype(operand.op.array.array), CUarray>);
  static_assert(std::is_same_v<decltype(operand.op.array.offset), CUoffset3D>);
  EXPECT_EQ(CU_MEMCPY_OPERAND_TYPE_POINTER, 1);
  EXPECT_EQ(CU_MEMCPY_OPERAND_TYPE_ARRAY, 2);
  EXPECT_EQ(offsetof(CUmemcpy3DOperand, op), 8u);
  EXPECT_EQ(sizeof operand, 40u);
  CUDA_MEMCPY3D_BATCH_OP op{};
  static_assert(std::is_same_v<decltype(op.src), CUmemcpy3DOperand> &&
                std::is_same_v<decltype(op.dst), CUmemcpy3DOperand>);
  static_assert(std::is_same_v<decltype(op.extent.width), size_t> && std::is_same_v<decltype(op.extent.depth), size_t>);
  EXPECT_EQ(offsetof(CUDA_MEMCPY3D_BATCH_OP, extent), 80u);
  EXPECT_EQ(sizeof op, 112u);
}

}  // namespace
