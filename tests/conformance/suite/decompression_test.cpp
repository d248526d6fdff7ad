// cuMemBatchDecompressAsync. Devices without the engine answer CUDA_ERROR_NOT_SUPPORTED before they look at anything,
// the recorded ones among them; what an engine does is asserted where there is one.
#include <algorithm>
#include <initializer_list>

#include "documented.h"
#include "suite.h"

namespace {

// "abcabcabcabc!" in the three formats, made by hand: a literal, and Deflate and Snappy without any match.
const char kPlain[] = "abcabcabcabc!";
constexpr size_t kPlainBytes = 13;

Bytes followedBy(std::initializer_list<uint8_t> head, const char* text, size_t length) {
  Bytes all(head.size() + length);
  std::copy(head.begin(), head.end(), all.begin());
  std::copy(text, text + length, all.begin() + static_cast<ptrdiff_t>(head.size()));
  return all;
}

Bytes deflated() {
  return followedBy({1, kPlainBytes, 0, static_cast<uint8_t>(~kPlainBytes), 0xff}, kPlain, kPlainBytes);
}
Bytes snapped() { return followedBy({kPlainBytes, (kPlainBytes - 1) << 2}, kPlain, kPlainBytes); }
// A literal "abc", a match of four at distance three, and the literal that has to be last.
Bytes lz4() { return followedBy({0x30, 'a', 'b', 'c', 3, 0, 0x60}, "bcabc!", 6); }

class Decompression : public Device {
 protected:
  static constexpr size_t kRoom = 64;

  bool engine() const { return attribute(CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK) != 0; }
  // Slot `i` of the buffers as one operation.
  CUmemDecompressParams operation(size_t i, const Bytes& packed, CUmemDecompressAlgorithm algorithm) {
    writeDevice(source_ + i * kRoom, packed);
    CUmemDecompressParams made{};
    made.srcNumBytes = packed.size();
    made.dstNumBytes = kRoom;
    made.src = reinterpret_cast<const void*>(source_ + i * kRoom);
    made.dst = reinterpret_cast<void*>(target_ + i * kRoom);
    made.dstActBytes = reinterpret_cast<cuuint32_t*>(actual_ + i * 4);
    made.algo = algorithm;
    return made;
  }
  std::vector<CUmemDecompressParams> three() {
    return {operation(0, deflated(), CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE),
            operation(1, snapped(), CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY),
            operation(2, lz4(), CU_MEM_DECOMPRESS_ALGORITHM_LZ4)};
  }
  std::string text(size_t i) {
    cuuint32_t length = 0;
    EXPECT_OK(cuMemcpyDtoH(&length, actual_ + i * 4, 4));
    const Bytes out = readDevice(target_ + i * kRoom, kRoom);
    return std::string(out.begin(), out.begin() + std::min<size_t>(length, kRoom));
  }
  // What every call answers where there is no engine.
  void expectUnsupported() {
    std::vector<CUmemDecompressParams> ops = three();
    size_t index = 77;
    EXPECT_EQ(cuMemBatchDecompressAsync(ops.data(), 3, 0, &index, stream_), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(cuMemBatchDecompressAsync(nullptr, 0, 1, &index, stream_), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(cuMemBatchDecompressAsync(ops.data(), 3, 0, nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(index, 77u);
    stream_.synchronize();
    EXPECT_EQ(target_.read(), Bytes(kRoom * 4)) << "nothing is written";
  }

  const Stream stream_;
  const DeviceBuffer source_{Bytes(kRoom * 4)}, target_{Bytes(kRoom * 4)}, actual_{Bytes(64, 0xff)};
};

#define WITHOUT_ENGINE(id)                                                                                      \
  if (!engine()) {                                                                                              \
    DIFFERS(id, "CUDA_ERROR_NOT_SUPPORTED, which is not listed, on a device without the decompression engine"); \
    return expectUnsupported();                                                                                 \
  }

TEST_F(Decompression, EachOperationOfTheBatchIsDone) {
  PROVES("MEMDECOMP-001", "MEMDECOMP-002", "DECOMPPARAMS-001");
  WITHOUT_ENGINE("MEMDECOMP-001")
  std::vector<CUmemDecompressParams> ops = three();
  ops.push_back({});  // not read
  ASSERT_OK(cuMemBatchDecompressAsync(ops.data(), 3, 0, nullptr, stream_));
  stream_.synchronize();
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(text(i), kPlain);
}

TEST_F(Decompression, FlagsAreReserved) {
  PROVES("MEMDECOMP-003");
  WITHOUT_ENGINE("MEMDECOMP-003")
  std::vector<CUmemDecompressParams> ops = three();
  EXPECT_INVALID_VALUE(cuMemBatchDecompressAsync(ops.data(), 3, 1, nullptr, stream_));
}

TEST_F(Decompression, TheIndexNamesTheBadOperation) {
  PROVES("MEMDECOMP-004", "MEMDECOMP-005", "MEMDECOMP-006", "MEMDECOMP-011", "MEMDECOMP-015");
  WITHOUT_ENGINE("MEMDECOMP-004")
  std::vector<CUmemDecompressParams> ops = three();
  size_t index = 77;
  static char pageable[64];
  ops[2].src = pageable;
  EXPECT_INVALID_VALUE(cuMemBatchDecompressAsync(ops.data(), 3, 0, &index, stream_));
  EXPECT_EQ(index, 2u);
  EXPECT_INVALID_VALUE(cuMemBatchDecompressAsync(ops.data(), 3, 0, nullptr, stream_));
  EXPECT_INVALID_VALUE(cuMemBatchDecompressAsync(ops.data(), 3, 1, &index, stream_));
  EXPECT_EQ(index, SIZE_MAX) << "the flags are no operation's";
}

TEST_F(Decompression, WorksInStreamOrderAndDoesNotWait) {
  PROVES("MEMDECOMP-007", "MEMDECOMP-008", "MEMDECOMP-009", "MEMDECOMP-010", "MEMDECOMP-016");
  WITHOUT_ENGINE("MEMDECOMP-007")
  std::vector<CUmemDecompressParams> ops = three();
  const Bytes packed = deflated();
  writeDevice(source_, Bytes(kRoom));
  const PinnedBuffer later(packed);
  const Event done;
  launchSpin(stream_, 0.1);
  ASSERT_OK(cuMemcpyHtoDAsync(source_, later.data(), packed.size(), stream_));
  ASSERT_OK(cuMemBatchDecompressAsync(ops.data(), 3, 0, nullptr, stream_));
  EXPECT_FALSE(stream_.idle());
  ASSERT_OK(cuEventRecord(done, stream_));
  EXPECT_EQ(cuEventQuery(done), CUDA_ERROR_NOT_READY);
  ASSERT_OK(cuEventSynchronize(done));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(text(i), kPlain);
}

TEST_F(Decompression, TheDefaultStreamTakesItToo) {
  PROVES("MEMDECOMP-017");
  WITHOUT_ENGINE("MEMDECOMP-017")
  std::vector<CUmemDecompressParams> ops = three();
  ASSERT_OK(cuMemBatchDecompressAsync(ops.data(), 1, 0, nullptr, nullptr));
  ASSERT_OK(cuStreamSynchronize(nullptr));
  EXPECT_EQ(text(0), kPlain);
}

TEST_F(Decompression, MemoryOfADeviceIsCapableAndHostMemoryIsNot) {
  PROVES("MEMDECOMP-012");
  const PinnedBuffer pinned(64);
  int capable = 0;
  ASSERT_OK(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, source_));
  EXPECT_EQ(capable, 1) << "whether or not there is an engine";
  ASSERT_OK(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, pinned));
  EXPECT_EQ(capable, 0);
}

TEST_F(Decompression, ResultsAreTheDocumentedOnesWhereThereIsAnEngine) {
  PROVES("MEMDECOMP-018");
  WITHOUT_ENGINE("MEMDECOMP-018")
  std::vector<CUmemDecompressParams> ops = three();
  for (const CUresult result : {cuMemBatchDecompressAsync(ops.data(), 3, 0, nullptr, stream_),
                                cuMemBatchDecompressAsync(nullptr, 1, 0, nullptr, stream_),
                                cuMemBatchDecompressAsync(ops.data(), 0, 0, nullptr, stream_)})
    EXPECT_TRUE(isDocumented("MEMDECOMP-018", result));
}

TEST_F(Decompression, DamagedInputIsToldByALengthOfZero) {
  PROVES("MEMDECOMP-001");
  WITHOUT_ENGINE("MEMDECOMP-001")
  std::vector<CUmemDecompressParams> ops = three();
  writeDevice(source_, Bytes(kRoom, 0xee));
  ops[1].dstNumBytes = kPlainBytes - 1;
  ASSERT_OK(cuMemBatchDecompressAsync(ops.data(), 3, 0, nullptr, stream_));
  EXPECT_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(text(0), "");
  EXPECT_EQ(text(1), "") << "too little room";
  EXPECT_EQ(text(2), kPlain) << "the others are done";
}

TEST_F(Decompression, TheMaskNamesTheAlgorithms) {
  PROVES("DECOMPALGO-001", "DECOMPALGO-002", "DECOMPALGO-003", "DECOMPALGO-004", "DECOMPALGO-005");
  EXPECT_EQ(CU_MEM_DECOMPRESS_UNSUPPORTED, 0);
  EXPECT_EQ(CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE, 1);
  EXPECT_EQ(CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY, 2);
  EXPECT_EQ(CU_MEM_DECOMPRESS_ALGORITHM_LZ4, 4);
  const int mask = attribute(CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK);
  EXPECT_EQ(mask & ~7, 0);
  EXPECT_EQ(mask != 0, attribute(CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH) != 0);
  std::vector<CUmemDecompressParams> ops = three();
  for (size_t i = 0; i < 3; ++i) {
    const CUresult expected = (mask >> i & 1) ? CUDA_SUCCESS
                              : mask          ? CUDA_ERROR_INVALID_VALUE
                                              : CUDA_ERROR_NOT_SUPPORTED;
    EXPECT_EQ(cuMemBatchDecompressAsync(&ops[i], 1, 0, nullptr, stream_), expected);
  }
  stream_.synchronize();
}

TEST_F(Decompression, TheStructureHasItsMembers) {
  PROVES("DECOMPPARAMS-001", "DECOMPPARAMS-002");
  static_assert(std::is_same_v<decltype(CUmemDecompressParams::src), const void*>);
  static_assert(std::is_same_v<decltype(CUmemDecompressParams::dst), void*>);
  static_assert(std::is_same_v<decltype(CUmemDecompressParams::dstActBytes), cuuint32_t*>);
  EXPECT_EQ(offsetof(CUmemDecompressParams, dstActBytes), 16u);
  EXPECT_EQ(offsetof(CUmemDecompressParams, src), 24u);
  EXPECT_EQ(offsetof(CUmemDecompressParams, algo), 40u);
  EXPECT_EQ(sizeof(CUmemDecompressParams), 64u) << "so n of them are n operations in a row";
}

class DecompressionFault : public DeviceFault {};

TEST_F(DecompressionFault, ReportsTheErrorOfAnEarlierKernel) {
  PROVES("MEMDECOMP-019");
  CUdeviceptr memory = 0;
  ASSERT_OK(cuMemAlloc(&memory, 256));
  ASSERT_OK(cuLaunchKernel(kernel("trap"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  const CUresult error = cuCtxSynchronize();
  ASSERT_NE(error, CUDA_SUCCESS);
  CUmemDecompressParams op{};
  op.srcNumBytes = op.dstNumBytes = 64;
  op.src = reinterpret_cast<const void*>(memory);
  op.dst = reinterpret_cast<void*>(memory + 64);
  op.dstActBytes = reinterpret_cast<cuuint32_t*>(memory + 128);
  op.algo = CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE;
  const CUresult result = cuMemBatchDecompressAsync(&op, 1, 0, nullptr, nullptr);
  EXPECT_TRUE(result == error || result == CUDA_ERROR_NOT_SUPPORTED) << result;
}

}  // namespace
