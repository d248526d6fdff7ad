// cuMemcpy3DBatchAsync: boxes between pointers and arrays in one call.
#include <cstring>

#include "documented.h"
#include "suite.h"

namespace {

using Op = CUDA_MEMCPY3D_BATCH_OP;

class BatchBoxes : public Device {
 protected:
  static constexpr size_t kWidth = 8, kHeight = 4, kDepth = 2, kSize = 4096;

  Op box() const {
    Op op{};
    op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = source_;
    op.dst.op.ptr.ptr = target_;
    op.extent = {kWidth, kHeight, kDepth};
    op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    return op;
  }
  static CUmemcpy3DOperand operand(CUarray array, size_t x = 0, size_t y = 0, size_t z = 0) {
    CUmemcpy3DOperand made{};
    made.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    made.op.array.array = array;
    made.op.array.offset = {x, y, z};
    return made;
  }
  CUresult run(Op op) {
    const CUresult result = cuMemcpy3DBatchAsync(1, &op, 0, stream_);
    stream_.synchronize();
    return result;
  }
  // What is refused, and copies nothing.
  template <class Change>
  void expectRefused(const char* what, Change change) {
    SCOPED_TRACE(what);
    Op op = box();
    change(op);
    const CUresult result = run(op);
    EXPECT_INVALID_VALUE(result);
    EXPECT_TRUE(isDocumented("MEMCPY3DBATCH-025", result));
    EXPECT_EQ(target_.read(), Bytes(kSize));
  }

  const Stream stream_;
  const DeviceBuffer target_{Bytes(kSize)}, source_{pattern(kSize, 1)};
};

TEST_F(BatchBoxes, EveryBoxOfTheBatchIsCopied) {
  PROVES("MEMCPY3DBATCH-001", "MEMCPY3DBATCH-010", "MEMCPY3DBATCH-013");
  Op ops[3] = {box(), box(), box()};
  ops[1].src.op.ptr.ptr += 1000;
  ops[1].dst.op.ptr.ptr += 1000;
  ops[2].src.op.ptr.ptr += 2001;
  ops[2].dst.op.ptr.ptr += 2001;
  ASSERT_OK(cuMemcpy3DBatchAsync(3, ops, 0, stream_));
  stream_.synchronize();
  Bytes expected(kSize);
  for (size_t at : {0, 1000, 2001}) memcpy(&expected[at], &pattern(kSize, 1)[at], kWidth * kHeight * kDepth);
  EXPECT_EQ(target_.read(), expected) << "between pointers an element is a byte, and boxes are packed";
}

TEST_F(BatchBoxes, RowLengthAndLayerHeightGiveTheStrides) {
  PROVES("MEMCPY3DBATCH-013", "MEMCPY3DBATCH-014", "MEMCPY3DBATCH-015", "MEMCPY3DBATCH-016", "MEMCPY3DBATCH-017");
  Op op = box();
  op.src.op.ptr.rowLength = 16;
  op.src.op.ptr.layerHeight = 5;
  op.dst.op.ptr.rowLength = 11;
  op.dst.op.ptr.layerHeight = kHeight;
  ASSERT_OK(run(op));
  const Bytes source = pattern(kSize, 1);
  Bytes expected(kSize);
  for (size_t z = 0; z < kDepth; ++z)
    for (size_t y = 0; y < kHeight; ++y) memcpy(&expected[(z * kHeight + y) * 11], &source[(z * 5 + y) * 16], kWidth);
  EXPECT_EQ(target_.read(), expected);
  target_.write(Bytes(kSize));
  op = box();
  op.src.op.ptr.rowLength = kWidth;
  op.src.op.ptr.layerHeight = kHeight;
  ASSERT_OK(run(op));
  const Bytes given = target_.read();
  target_.write(Bytes(kSize));
  ASSERT_OK(run(box()));
  EXPECT_EQ(target_.read(), given) << "0 means packed";
}

TEST_F(BatchBoxes, StridesBelowTheBoxAreRefused) {
  PROVES("MEMCPY3DBATCH-014", "MEMCPY3DBATCH-015", "MEMCPY3DBATCH-025");
  expectRefused("source row length", [](Op& op) { op.src.op.ptr.rowLength = kWidth - 1; });
  expectRefused("destination row length", [](Op& op) { op.dst.op.ptr.rowLength = kWidth - 1; });
  expectRefused("source layer height", [](Op& op) { op.src.op.ptr.layerHeight = kHeight - 1; });
  expectRefused("destination layer height", [](Op& op) { op.dst.op.ptr.layerHeight = kHeight - 1; });
}

TEST_F(BatchBoxes, NothingIsCopiedIfOneIsNoBox) {
  PROVES("MEMCPY3DBATCH-025");
  Op ops[2] = {box(), box()};
  ops[1].extent.height = 0;
  EXPECT_INVALID_VALUE(cuMemcpy3DBatchAsync(2, ops, 0, stream_));
  ops[1] = box();
  ops[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
  EXPECT_INVALID_VALUE(cuMemcpy3DBatchAsync(2, ops, 0, stream_));
  stream_.synchronize();
  EXPECT_EQ(target_.read(), Bytes(kSize));
}

TEST_F(BatchBoxes, EmptyBoxesAreRefused) {
  PROVES("MEMCPY3DBATCH-009");
  expectRefused("width", [](Op& op) { op.extent.width = 0; });
  expectRefused("height", [](Op& op) { op.extent.height = 0; });
  expectRefused("depth", [](Op& op) { op.extent.depth = 0; });
}

TEST_F(BatchBoxes, FlagsOfTheCallAreReserved) {
  PROVES("MEMCPY3DBATCH-002");
  Op op = box();
  EXPECT_INVALID_VALUE(cuMemcpy3DBatchAsync(1, &op, 1, stream_));
}

TEST_F(BatchBoxes, TheNullStreamIsRefusedAndThePerThreadOneIsNot) {
  PROVES("MEMCPY3DBATCH-003");
  Op op = box();
  EXPECT_INVALID_VALUE(cuMemcpy3DBatchAsync(1, &op, 0, nullptr));
  EXPECT_INVALID_VALUE(cuMemcpy3DBatchAsync(1, &op, 0, CU_STREAM_LEGACY));
  EXPECT_OK(cuMemcpy3DBatchAsync(1, &op, 0, CU_STREAM_PER_THREAD));
  EXPECT_OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

TEST_F(BatchBoxes, TheBatchIsOnePieceOfWorkOfItsStream) {
  PROVES("MEMCPY3DBATCH-004", "MEMCPY3DBATCH-023");
  const DeviceBuffer after{Bytes(64)};
  Op op = box();
  StreamBlock block(stream_);
  ASSERT_OK(cuMemsetD8Async(source_, 0x31, 64, stream_));
  ASSERT_OK(cuMemcpy3DBatchAsync(1, &op, 0, stream_));
  ASSERT_OK(cuMemcpyDtoDAsync(after, target_, 64, stream_));
  EXPECT_FALSE(stream_.idle());
  block.release();
  stream_.synchronize();
  EXPECT_EQ(after.read(), Bytes(64, 0x31));
}

TEST_F(BatchBoxes, SourceAccessOrdersAndFlagsAreThoseOfTheOtherBatch) {
  PROVES("MEMCPY3DBATCH-021", "MEMCPY3DBATCH-022");
  for (int order : {0, 4, 0x7fffffff})
    expectRefused("order", [&](Op& op) { op.srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(order); });
  expectRefused("flags 2", [](Op& op) { op.flags = 2; });
  expectRefused("flags 0x80", [](Op& op) { op.flags = 0x80; });
  for (int order = 1; order <= 3; ++order) {
    Op op = box();
    op.srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(order);
    op.flags = CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;
    EXPECT_OK(run(op));
  }
  Bytes expected(kSize);
  memcpy(expected.data(), pattern(kSize, 1).data(), kWidth * kHeight * kDepth);
  EXPECT_EQ(target_.read(), expected);
}

TEST_F(BatchBoxes, ReadDuringTheCallTheSourceMayGoAway) {
  PROVES("MEMCPY3DBATCH-022");
  const PinnedBuffer source{Bytes(64, 1)};
  Op op = box();
  op.src.op.ptr.ptr = source;
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  ASSERT_OK(cuMemcpy3DBatchAsync(1, &op, 0, stream_));
  memset(source.data(), 2, 64);
  stream_.synchronize();
  EXPECT_EQ(readDevice(target_, 64), Bytes(64, 1));
}

TEST_F(BatchBoxes, LocationHintsAreNotLookedAt) {
  PROVES("MEMCPY3DBATCH-018");
  Op op = box();
  op.src.op.ptr.locHint = {CU_MEM_LOCATION_TYPE_DEVICE, 77};
  EXPECT_OK(run(op));
  op.src.op.ptr.locHint.type = static_cast<CUmemLocationType>(99);
  EXPECT_OK(run(op));
  op.src.op.ptr.locHint = {CU_MEM_LOCATION_TYPE_HOST, 0};
  EXPECT_OK(run(op));
}

TEST_F(BatchBoxes, UnknownOperandTypesAndNothingToCopyAreRefused) {
  PROVES("MEMCPY3DBATCH-025", "OPERAND3D-001");
  expectRefused("type 0", [](Op& op) { op.src.type = static_cast<CUmemcpy3DOperandType>(0); });
  expectRefused("type 3", [](Op& op) { op.dst.type = static_cast<CUmemcpy3DOperandType>(3); });
  Op op = box();
  EXPECT_INVALID_VALUE(cuMemcpy3DBatchAsync(0, &op, 0, stream_));
  EXPECT_INVALID_VALUE(cuMemcpy3DBatchAsync(1, nullptr, 0, stream_));
}

TEST_F(BatchBoxes, BoxesThatLeaveTheirMemoryAreRefused) {
  PROVES("MEMCPY3DBATCH-024", "MEMCPY3DBATCH-025");
  expectRefused("huge", [](Op& op) { op.extent.depth = SIZE_MAX; });
  alignas(4096) static uint8_t pages[8192];
  ASSERT_OK(cuMemHostRegister(pages, 4096, 0));
  expectRefused("registered in part", [&](Op& op) {
    op.src.op.ptr.ptr = reinterpret_cast<CUdeviceptr>(pages);
    op.extent = {4200, 1, 1};
  });
  EXPECT_OK(cuMemHostUnregister(pages));
}

TEST_F(BatchBoxes, TheFirstVersionSaysWhichBoxFailed) {
  PROVES("MEMCPY3DBATCH-025");
  using Batch = CUresult(size_t, Op*, size_t*, unsigned long long, CUstream);
  const auto batch = entry<Batch>("cuMemcpy3DBatchAsync");
  ASSERT_NE(batch, nullptr);
  size_t failed = 77;
  Op ops[3] = {box(), box(), box()};
  EXPECT_OK(batch(3, ops, &failed, 0, stream_));
  EXPECT_EQ(failed, SIZE_MAX);
  ops[1].extent.width = 0;
  EXPECT_INVALID_VALUE(batch(3, ops, &failed, 0, stream_));
  EXPECT_EQ(failed, 1u);
  EXPECT_INVALID_VALUE(batch(3, ops, &failed, 1, stream_));
  EXPECT_EQ(failed, SIZE_MAX);
  failed = 77;
  EXPECT_INVALID_VALUE(batch(3, ops, &failed, 0, nullptr));
  EXPECT_EQ(failed, 77u);
  stream_.synchronize();
}

class BatchArrays : public BatchBoxes {
 protected:
  void SetUp() override {
    BatchBoxes::SetUp();
    floats_ = make(CU_AD_FORMAT_FLOAT, 1);
    others_ = make(CU_AD_FORMAT_FLOAT, 1);
    halves_ = make(CU_AD_FORMAT_HALF, 4);
    single_ = make(CU_AD_FORMAT_HALF, 1);
  }
  void TearDown() override {
    for (CUarray array : {floats_, others_, halves_, single_}) EXPECT_OK(cuArrayDestroy(array));
    BatchBoxes::TearDown();
  }
  static CUarray make(CUarray_format format, unsigned channels) {
    const CUDA_ARRAY3D_DESCRIPTOR shape{16, 8, 4, format, channels, 0};
    CUarray made = nullptr;
    EXPECT_OK(cuArray3DCreate(&made, &shape));
    return made;
  }
  // A box of elements of an array, packed.
  Bytes read(CUarray array, size_t element, CUoffset3D from, CUextent3D extent) {
    Bytes out(extent.width * extent.height * extent.depth * element);
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.srcXInBytes = from.x * element;
    copy.srcY = from.y;
    copy.srcZ = from.z;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = out.data();
    copy.dstPitch = copy.WidthInBytes = extent.width * element;
    copy.dstHeight = copy.Height = extent.height;
    copy.Depth = extent.depth;
    EXPECT_OK(cuMemcpy3D(&copy));
    return out;
  }

  CUarray floats_ = nullptr, others_ = nullptr, halves_ = nullptr, single_ = nullptr;
};

TEST_F(BatchArrays, ExtentsAndOffsetsCountElementsOfTheArray) {
  PROVES("MEMCPY3DBATCH-007", "MEMCPY3DBATCH-008", "MEMCPY3DBATCH-011", "MEMCPY3DBATCH-019", "MEMCPY3DBATCH-020");
  const Bytes source = pattern(kSize, 1);
  for (auto [array, element] : {std::pair{floats_, size_t{4}}, std::pair{halves_, size_t{8}}}) {
    Op op = box();
    op.dst = operand(array, 3, 2, 1);
    ASSERT_OK(run(op));
    const size_t bytes = kWidth * kHeight * kDepth * element;
    EXPECT_EQ(read(array, element, {3, 2, 1}, op.extent), Bytes(source.begin(), source.begin() + bytes));
    target_.write(Bytes(kSize));
    Op back = box();
    back.src = operand(array, 3, 2, 1);
    ASSERT_OK(run(back));
    Bytes expected(kSize);
    memcpy(expected.data(), source.data(), bytes);
    EXPECT_EQ(target_.read(), expected);
  }
}

TEST_F(BatchArrays, BetweenArraysElementsMustHaveOneSize) {
  PROVES("MEMCPY3DBATCH-007", "MEMCPY3DBATCH-012");
  Op fill = box();
  fill.dst = operand(floats_);
  ASSERT_OK(run(fill));
  Op op = box();
  op.src = operand(floats_);
  op.dst = operand(others_, 1, 1, 1);
  ASSERT_OK(run(op));
  EXPECT_EQ(read(others_, 4, {1, 1, 1}, op.extent), read(floats_, 4, {0, 0, 0}, op.extent));
  op.dst = operand(single_);
  EXPECT_INVALID_VALUE(run(op));
}

TEST_F(BatchArrays, RowLengthsBesideAnArrayCountItsElements) {
  PROVES("MEMCPY3DBATCH-014", "MEMCPY3DBATCH-011");
  Op op = box();
  op.dst = operand(floats_);
  op.src.op.ptr.rowLength = kWidth + 1;
  op.extent.depth = 1;
  ASSERT_OK(run(op));
  const Bytes source = pattern(kSize, 1);
  const Bytes second = read(floats_, 4, {0, 1, 0}, {kWidth, 1, 1});
  EXPECT_EQ(second, Bytes(source.begin() + (kWidth + 1) * 4, source.begin() + (kWidth + 1) * 4 + kWidth * 4));
  op.src.op.ptr.rowLength = kWidth - 1;
  EXPECT_INVALID_VALUE(run(op));
}

}  // namespace
