// cuStreamAttachMemAsync (cudaStreamAttachMemAsync): every recorded device has concurrent managed access, where an
// association changes nothing but the answers of this call.
#include "managed_objects.h"
#include "suite.h"

namespace {

class Attachment : public Device {
 protected:
  const CUmemAttach_flags kGlobal = CU_MEM_ATTACH_GLOBAL, kHost = CU_MEM_ATTACH_HOST, kSingle = CU_MEM_ATTACH_SINGLE;
};

TEST_F(Attachment, IsWorkOfItsStream) {
  PROVES("ATTACH-001", "ATTACH-002", "ATTACH-005");
  const ManagedBuffer buffer(4096);
  const Stream stream;
  const Event attached(CU_EVENT_DISABLE_TIMING);
  StreamBlock block(stream);
  EXPECT_OK(cuStreamAttachMemAsync(stream, buffer, 0, kSingle));
  EXPECT_OK(cuEventRecord(attached, stream));
  EXPECT_EQ(cuEventQuery(attached), CUDA_ERROR_NOT_READY) << "it waits for the work before it";
  block.release();
  stream.synchronize();
  EXPECT_OK(cuEventQuery(attached));
}

TEST_F(Attachment, ReplacesTheAssociationBefore) {
  PROVES("ATTACH-003", "ATTACH-014");
  const ManagedBuffer buffer(4096);
  const Stream first, second;
  EXPECT_OK(cuStreamAttachMemAsync(first, buffer, 0, kSingle));
  EXPECT_OK(cuStreamAttachMemAsync(second, buffer, 0, kSingle));
  launchStore(second, buffer, 2);
  second.synchronize();
  EXPECT_EQ(wordAt(buffer), 2u);
  EXPECT_OK(cuStreamAttachMemAsync(second, buffer, 0, kHost));
  EXPECT_OK(cuStreamAttachMemAsync(nullptr, buffer, 0, kGlobal));
  ASSERT_OK(cuCtxSynchronize());
  unsigned value = 10;
  for (CUstream stream : {CUstream{nullptr}, CUstream{first}, CUstream{second}, CU_STREAM_PER_THREAD}) {
    launchStore(stream, buffer, ++value);
    EXPECT_OK(cuStreamSynchronize(stream));
    EXPECT_EQ(wordAt(buffer), value);
  }
}

TEST_F(Attachment, TakesManagedVariables) {
  PROVES("ATTACH-004", "ATTACH-025");
  const ManagedVariable variable;
  {
    const Stream owner;
    EXPECT_OK(cuStreamAttachMemAsync(owner, variable, 0, kSingle));
    variable.increment(owner);
    owner.synchronize();
    EXPECT_EQ(variable.value(), 42u);
  }
  const Stream other;  // the owner is gone: it is for all again
  variable.increment(other);
  other.synchronize();
  EXPECT_EQ(variable.value(), 43u);
}

// Answers for pageable memory depend on the device alone.
TEST_F(Attachment, TakesPageableMemoryWhereTheDeviceReachesIt) {
  PROVES("ATTACH-006", "ATTACH-010");
  Bytes memory(4096);
  const auto address = reinterpret_cast<CUdeviceptr>(memory.data());
  const Stream stream;
  const bool reachable = attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
  EXPECT_EQ(cuStreamAttachMemAsync(stream, address, memory.size(), kSingle),
            reachable ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
  EXPECT_INVALID_VALUE(cuStreamAttachMemAsync(stream, address, 0, kSingle)) << "of length 0";
}

TEST_F(Attachment, IsOfWholeAllocations) {
  PROVES("ATTACH-007", "ATTACH-008", "ATTACH-009");
  const ManagedBuffer buffer(8192);
  const Stream stream;
  EXPECT_OK(cuStreamAttachMemAsync(stream, buffer, 0, kSingle));
  EXPECT_OK(cuStreamAttachMemAsync(stream, buffer, 8192, kSingle));
  EXPECT_INVALID_VALUE(cuStreamAttachMemAsync(stream, buffer, 4096, kSingle)) << "a part";
  EXPECT_INVALID_VALUE(cuStreamAttachMemAsync(stream, buffer, 8193, kSingle)) << "more";
  EXPECT_INVALID_VALUE(cuStreamAttachMemAsync(stream, buffer + 4096, 0, kSingle)) << "from inside";
}

TEST_F(Attachment, OtherMemoryIsRefused) {
  PROVES("ATTACH-005", "ATTACH-027");
  const Stream stream;
  const PinnedBuffer pinned(4096);
  const DeviceBuffer plain(4096);
  EXPECT_INVALID_VALUE(cuStreamAttachMemAsync(stream, pinned, 0, kSingle));
  EXPECT_INVALID_VALUE(cuStreamAttachMemAsync(stream, plain, 0, kSingle));
  EXPECT_INVALID_VALUE(cuStreamAttachMemAsync(stream, 0, 0, kSingle));
  CUdeviceptr freed = 0;
  ASSERT_OK(cuMemAllocManaged(&freed, 4096, kGlobal));
  ASSERT_OK(cuMemFree(freed));
  EXPECT_INVALID_VALUE(cuStreamAttachMemAsync(stream, freed, 0, kSingle)) << "freed";
  EXPECT_OK(cuCtxSynchronize()) << "a refused call leaves no error";
}

TEST_F(Attachment, FlagsAreOneOfThree) {
  PROVES("ATTACH-012", "ATTACH-027");
  const ManagedBuffer buffer(4096);
  const Stream stream;
  for (unsigned flags : {kGlobal, kHost, kSingle}) EXPECT_OK(cuStreamAttachMemAsync(stream, buffer, 0, flags));
  for (unsigned flags : {3u, 5u, 8u})  // a recorded driver ends with a signal for 0
    EXPECT_INVALID_VALUE(cuStreamAttachMemAsync(stream, buffer, 0, flags)) << flags;
}

TEST_F(Attachment, TheNullStreamOwnsNothing) {
  PROVES("ATTACH-017", "ATTACH-027");
  const ManagedBuffer buffer(4096);
  EXPECT_INVALID_VALUE(cuStreamAttachMemAsync(nullptr, buffer, 0, kSingle));
  EXPECT_OK(cuStreamAttachMemAsync(nullptr, buffer, 0, kGlobal));
  EXPECT_OK(cuStreamAttachMemAsync(CU_STREAM_LEGACY, buffer, 0, kSingle)) << "by its name it is a stream like others";
  EXPECT_OK(cuStreamAttachMemAsync(CU_STREAM_PER_THREAD, buffer, 0, kSingle));
}

TEST_F(Attachment, TheHostMayAccessWhatBelongsToAnIdleStream) {
  PROVES("ATTACH-018");
  const ManagedBuffer buffer(4096);
  const PinnedBuffer flag(Bytes(4), CU_MEMHOSTALLOC_DEVICEMAP);
  const Stream owner, other;
  EXPECT_OK(cuStreamAttachMemAsync(owner, buffer, 0, kSingle));
  launchStore(owner, buffer, 3);
  owner.synchronize();
  launchWaitForFlag(other, flag);
  EXPECT_EQ(wordAt(buffer), 3u);
  wordAt(buffer) = 4;
  EXPECT_FALSE(other.idle()) << "nobody waited for the other stream";
  wordAt(flag) = 1;
  other.synchronize();
  EXPECT_EQ(wordAt(buffer), 4u);
}

TEST_F(Attachment, NobodyChecksWhatOtherStreamsDo) {
  PROVES("ATTACH-021");
  const ManagedBuffer buffer(4096);
  const Stream owner, other;
  EXPECT_OK(cuStreamAttachMemAsync(owner, buffer, 0, kSingle));
  owner.synchronize();
  launchStore(other, buffer, 9);
  EXPECT_OK(cuStreamSynchronize(other));
  EXPECT_EQ(wordAt(buffer), 9u);
}

TEST_F(Attachment, KernelsBehindItSeeWhatTheHostHasWritten) {
  PROVES("ATTACH-023");
  const ManagedBuffer buffer(4096, kHost);
  const Stream stream;
  for (unsigned round = 1; round <= 20; ++round) {
    wordAt(buffer) = round;
    EXPECT_OK(cuStreamAttachMemAsync(stream, buffer, 0, kSingle));
    launchLoad(stream, buffer, buffer + 4);
    EXPECT_OK(cuStreamAttachMemAsync(stream, buffer, 0, kHost));
    stream.synchronize();
    ASSERT_EQ(wordAt(buffer + 4), round);
  }
}

using AttachmentFault = DeviceFault;

// The manual allows both answers.
TEST_F(AttachmentFault, MayHandBackTheErrorOfAnEarlierLaunch) {
  PROVES("ATTACH-028");
  CUstream stream = nullptr;  // destroyed with the process, which is in error
  CUdeviceptr buffer = 0;
  ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(cuMemAllocManaged(&buffer, 4096, CU_MEM_ATTACH_GLOBAL));
  launchStore(stream, 0, 1);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  const CUresult result = cuStreamAttachMemAsync(stream, buffer, 0, CU_MEM_ATTACH_SINGLE);
  EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_ILLEGAL_ADDRESS) << result;
}

}  // namespace
