// Copies of boxes: what only some of the functions promise, when calls return, and copies between contexts.
#include <cstring>

#include "box_copies.h"
#include "box_fixture.h"
#include "suite.h"

namespace {

// ---- Three dimensions ----

class VolumeCopies : public BoxTest {};
INSTANTIATE_TEST_SUITE_P(Of, VolumeCopies, testing::Values(kBoxCopies[3], kBoxCopies[4]), nameOfBoxCopy);

TEST_P(VolumeCopies, RefuseASliceHeightBelowYPlusHeight) {
  PROVES(copy.rule(21));
  const Size size{64, 8, 3};
  const BoxMemory to(Where::Device, size, pattern(1536, 1)), from(Where::HostPinned, size, pattern(1536, 2));
  for (size_t y : {size_t{0}, size_t{2}}) {
    CUDA_MEMCPY3D box = boxOf(to, {0, y, 0}, from, {0, y, 0}, {64, 4, 2});
    box.srcHeight = box.dstHeight = 4 + y;
    EXPECT_OK(run(box)) << "just enough";
    box.srcHeight = 3 + y;
    EXPECT_INVALID_VALUE(run(box)) << "source, y " << y;
    box.srcHeight = 4 + y;
    box.dstHeight = 3 + y;
    EXPECT_INVALID_VALUE(run(box)) << "destination, y " << y;
  }
}

TEST_P(VolumeCopies, TakeASliceHeightOfZero) {
  PROVES("CPY3DST-006");
  const Size size{64, 4, 1};
  const BoxMemory to(Where::Device, size, Bytes(256)), from(Where::HostPinned, size, pattern(256, 2));
  CUDA_MEMCPY3D box = boxOf(to, {}, from, {}, size);
  box.srcHeight = box.dstHeight = 0;
  EXPECT_OK(run(box));
  EXPECT_EQ(to.read(), pattern(256, 2));
}

// Beyond the manual, which wants Depth 1: slices then follow each other without a gap.
TEST_P(VolumeCopies, TakeASliceHeightOfZeroForSeveralSlicesToo) {
  PROVES("CPY3DST-006");
  const Size size{64, 4, 3};
  const BoxMemory to(Where::Device, size, Bytes(768)), from(Where::HostPinned, size, pattern(768, 2));
  CUDA_MEMCPY3D box = boxOf(to, {}, from, {}, size);
  box.srcHeight = box.dstHeight = 0;
  EXPECT_OK(run(box));
  EXPECT_EQ(to.read(), pattern(768, 2));
}

// The manual wants 0; the driver does not look at it for linear memory.
TEST_P(VolumeCopies, IgnoreTheLevelOfDetailOfLinearMemory) {
  PROVES(copy.rule(23));
  DIFFERS(copy.rule(23), "srcLOD and dstLOD of linear memory are ignored");
  const Size size{64, 4, 1};
  const BoxMemory to(Where::Device, size, Bytes(256)), from(Where::HostPinned, size, pattern(256, 2));
  CUDA_MEMCPY3D box = boxOf(to, {}, from, {}, size);
  box.srcLOD = box.dstLOD = 1;
  EXPECT_OK(run(box));
  EXPECT_EQ(to.read(), pattern(256, 2));
}

TEST_P(VolumeCopies, IgnoreTheReservedMembers) {
  PROVES(copy.rule(1));
  const Size size{64, 4, 1};
  const BoxMemory to(Where::Device, size, Bytes(256)), from(Where::HostPinned, size, pattern(256, 2));
  CUDA_MEMCPY3D box = boxOf(to, {}, from, {}, size);
  box.reserved0 = box.reserved1 = reinterpret_cast<void*>(1);
  EXPECT_OK(run(box));
  EXPECT_EQ(to.read(), pattern(256, 2));
}

// ---- Two dimensions ----

class PlaneCopies : public BoxTest {};
INSTANTIATE_TEST_SUITE_P(Of, PlaneCopies, testing::Values(kBoxCopies[0], kBoxCopies[1], kBoxCopies[2]), nameOfBoxCopy);

// The manual lets the first two functions fail here; the driver never does.
TEST_P(PlaneCopies, WorkWithOddPitchesInsideTheDevice) {
  PROVES(copy.rule(25));
  if (!strcmp(copy.name, "cuMemcpy2DUnaligned")) PROVES("MEMCPY2DUNAL-026");
  const Size odd{101, 5, 1}, other{77, 5, 1}, box{60, 4, 1};
  for (const auto& [to, from] :
       {std::pair{Where::Device, Where::Device}, {Where::Device, Where::Array}, {Where::Array, Where::Array}})
    expectMove(to, from, odd, {3, 1, 0}, other, {5, 0, 0}, box);
}

TEST_P(PlaneCopies, WorkWithThePitchOfPitchedMemory) {
  PROVES(copy.rule(24));
  CUdeviceptr memory[2];
  size_t pitch = 0;
  for (CUdeviceptr& p : memory) ASSERT_OK(cuMemAllocPitch(&p, &pitch, 600, 4, 4));
  const Bytes content = pattern(pitch * 4, 1);
  writeDevice(memory[0], content);
  ASSERT_OK(cuMemsetD8(memory[1], 0, pitch * 4));
  CUDA_MEMCPY3D box = {};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = memory[0];
  box.dstDevice = memory[1];
  box.srcPitch = box.dstPitch = pitch;
  box.WidthInBytes = 600;
  box.Height = 4;
  EXPECT_OK(run(box));
  const Size rows{pitch, 4, 1};
  EXPECT_EQ(readDevice(memory[1], pitch * 4), copied(Bytes(pitch * 4), rows, {}, content, rows, {}, {600, 4, 1}));
  for (CUdeviceptr p : memory) EXPECT_OK(cuMemFree(p));
}

// ---- When calls return ----

std::vector<BoxCopy> boxCopiesThat(bool async) {
  std::vector<BoxCopy> list;
  for (const auto* copies : {&kBoxCopies, &kPeerBoxCopies})
    for (const BoxCopy& copy : *copies)
      if (copy.async == async) list.push_back(copy);
  return list;
}

// The numbers of the rules about time differ from function to function.
int syncRule(const BoxCopy& copy) {
  const std::string name = copy.name;
  if (name == "cuMemcpy2D") return 26;
  if (name == "cuMemcpy2DUnaligned") return 27;
  if (name == "cuMemcpy2DAsync") return 28;
  if (name == "cuMemcpy3D") return 24;
  if (name == "cuMemcpy3DAsync") return 25;
  return name == "cuMemcpy3DPeer" ? 2 : 3;
}
std::string orderRule(const BoxCopy& copy) { return copy.rule(syncRule(copy) - 1); }
std::string fallbackRule(const BoxCopy& copy) { return copy.rule(syncRule(copy) + 1); }

const Size kRows{128, 8, 1};

class SynchronousBoxes : public BoxTest {};
INSTANTIATE_TEST_SUITE_P(Of, SynchronousBoxes, testing::ValuesIn(boxCopiesThat(false)), nameOfBoxCopy);

TEST_P(SynchronousBoxes, WaitForEarlierWorkWhenTheyTouchHostMemory) {
  PROVES(copy.rule(syncRule(copy)));
  const Stream blocking(CU_STREAM_DEFAULT);
  const BoxMemory device(Where::Device, kRows, pattern(1024, 1)), host(Where::Host, kRows, Bytes(1024));
  launchSpin(blocking, 0.1);
  ASSERT_OK(copy.call(boxOf(host, {}, device, {}, kRows), nullptr));
  EXPECT_EQ(host.read(), pattern(1024, 1));
  EXPECT_TRUE(blocking.idle());
}

TEST_P(SynchronousBoxes, InsideTheDeviceKeepTheOrderOfTheDefaultStream) {
  PROVES(copy.rule(syncRule(copy)));
  const BoxMemory to(Where::Device, kRows, Bytes(1024)), from(Where::Device, kRows, Bytes(1024));
  launchSpin(nullptr, 0.05);
  ASSERT_OK(cuMemsetD8(from.address(), 0x42, 1024));
  ASSERT_OK(copy.call(boxOf(to, {}, from, {}, kRows), nullptr));
  EXPECT_EQ(to.read(), Bytes(1024, 0x42));
}

TEST_P(SynchronousBoxes, BetweenHostPlacesAreDoneOnReturn) {
  PROVES(copy.rule(syncRule(copy)));
  const BoxMemory to(Where::Host, kRows, Bytes(1024)), from(Where::HostPinned, kRows, pattern(1024, 1));
  ASSERT_OK(copy.call(boxOf(to, {}, from, {}, kRows), nullptr));
  EXPECT_EQ(to.read(), pattern(1024, 1));
}

class AsynchronousBoxes : public BoxTest {};
INSTANTIATE_TEST_SUITE_P(Of, AsynchronousBoxes, testing::ValuesIn(boxCopiesThat(true)), nameOfBoxCopy);

TEST_P(AsynchronousBoxes, ReturnBeforeTheWorkAheadOfThemIsDone) {
  PROVES(copy.rule(syncRule(copy)), orderRule(copy));
  const BoxMemory to(Where::HostPinned, kRows, Bytes(1024)), from(Where::Device, kRows, pattern(1024, 1));
  const Stream stream;
  StreamBlock block(stream);
  ASSERT_OK(copy.call(boxOf(to, {}, from, {}, kRows), stream));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(to.read(), Bytes(1024)) << "not before what is queued ahead of it";
  block.release();
  stream.synchronize();
  EXPECT_EQ(to.read(), pattern(1024, 1));
}

TEST_P(AsynchronousBoxes, ComeBetweenTheWorkBeforeAndAfterThemInTheirStream) {
  PROVES(orderRule(copy));
  const BoxMemory to(Where::Device, kRows, Bytes(1024)), from(Where::Device, kRows, Bytes(1024));
  const DeviceBuffer after(1024);
  const Stream stream;
  launchSpin(stream, 0.01);
  ASSERT_OK(cuMemsetD8Async(from.address(), 0x42, 1024, stream));
  ASSERT_OK(copy.call(boxOf(to, {}, from, {}, kRows), stream));
  ASSERT_OK(cuMemcpyDtoDAsync(after, to.address(), 1024, stream));
  ASSERT_OK(cuMemsetD8Async(to.address(), 0, 1024, stream));
  stream.synchronize();
  EXPECT_EQ(after.read(), Bytes(1024, 0x42));
  EXPECT_EQ(to.read(), Bytes(1024));
}

TEST_P(AsynchronousBoxes, OnTheDefaultStreamWaitForBlockingStreams) {
  PROVES(fallbackRule(copy));
  const BoxMemory to(Where::HostPinned, kRows, Bytes(1024)), from(Where::Device, kRows, pattern(1024, 1));
  const Stream blocking(CU_STREAM_DEFAULT);
  StreamBlock block(blocking);
  ASSERT_OK(copy.call(boxOf(to, {}, from, {}, kRows), nullptr));
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(to.read(), Bytes(1024));
  block.release();
  EXPECT_OK(cuStreamSynchronize(nullptr));
  EXPECT_EQ(to.read(), pattern(1024, 1));
}

// ---- Between contexts ----

class PeerBoxes : public Device {
 protected:
  void SetUp() override {
    Device::SetUp();
    ASSERT_OK(cuCtxCreate(&other, nullptr, 0, device));
    ASSERT_OK(cuMemAlloc(&there, 1024));
    ASSERT_OK(cuMemsetD8(there, 0, 1024));
    ASSERT_OK(cuCtxPopCurrent(nullptr));
  }
  void TearDown() override {
    EXPECT_OK(cuCtxSetCurrent(context));
    EXPECT_OK(cuCtxDestroy(other));
    checksMemory_ = false;  // a created context leaves caches of the driver behind
    Device::TearDown();
  }
  // A box in the middle of `there` from `here`, with these contexts.
  CUDA_MEMCPY3D_PEER box(CUcontext to, CUcontext from, const BoxMemory& here) const {
    const CUDA_MEMCPY3D plain = boxOf(here, {5, 1, 0}, here, {3, 0, 0}, kBox);
    CUDA_MEMCPY3D_PEER peer;
    memcpy(&peer, &plain, sizeof peer);
    peer.dstDevice = there;
    peer.dstContext = to;
    peer.srcContext = from;
    return peer;
  }
  void expectMoved() const {
    EXPECT_EQ(readDevice(there, 1024),
              copied(Bytes(1024), kVolume, {5, 1, 0}, pattern(1024, 1), kVolume, {3, 0, 0}, kBox));
    EXPECT_OK(cuMemsetD8(there, 0, 1024));
  }
  const Size kVolume{64, 4, 4}, kBox{40, 3, 4};
  CUcontext other = nullptr;
  CUdeviceptr there = 0;
};

TEST_F(PeerBoxes, MoveBetweenTwoContextsOfOneDevice) {
  PROVES("MEMCPY3DPEER-001", "MEMCPY3DPEERASYNC-001");
  const BoxMemory here(Where::Device, kVolume, pattern(1024, 1));
  CUDA_MEMCPY3D_PEER peer = box(other, context, here);
  EXPECT_OK(cuMemcpy3DPeer(&peer));
  expectMoved();
  const Stream stream;
  EXPECT_OK(cuMemcpy3DPeerAsync(&peer, stream));
  stream.synchronize();
  expectMoved();
}

// As the two-dimensional ones of a row: addresses say whose memory it is, contexts may be wrong or missing.
TEST_F(PeerBoxes, TakeTheContextsInEitherOrderAndNone) {
  PROVES("MEMCPY3DPEER-001");
  const BoxMemory here(Where::Device, kVolume, pattern(1024, 1));
  const std::pair<CUcontext, CUcontext> orders[] = {{context, other}, {context, context}, {nullptr, nullptr}};
  for (const auto& [to, from] : orders) {
    CUDA_MEMCPY3D_PEER peer = box(to, from, here);
    EXPECT_OK(cuMemcpy3DPeer(&peer)) << to << " " << from;
    expectMoved();
  }
}

}  // namespace
