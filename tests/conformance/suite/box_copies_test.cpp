// Copies of boxes: which bytes move. The two-dimensional functions share the numbers of their rules, as the
// three-dimensional ones do, so that one body proves a rule of each.
#include "box_copies.h"

#include <algorithm>
#include <cstring>

#include "box_fixture.h"
#include "suite.h"

namespace {

class BoxCopies : public BoxTest {};
INSTANTIATE_TEST_SUITE_P(Of, BoxCopies, testing::ValuesIn(kBoxCopies), nameOfBoxCopy);

// ---- Every kind of memory on either side ----

TEST_P(BoxCopies, ReadHostMemoryAtItsBasePitchAndOffsets) {
  PROVES(copy.rule(1), copy.rule(3), copy.rule(13), copy.rule(19));
  for (Where from : {Where::Host, Where::HostPinned}) expectMove(Where::Device, from);
}

TEST_P(BoxCopies, ReadDeviceMemoryAtItsBasePitchAndOffsets) {
  PROVES(copy.rule(1), copy.rule(4), copy.rule(14), copy.rule(19));
  expectMove(Where::HostPinned, Where::Device);
}

TEST_P(BoxCopies, ReadArraysWhateverTheOtherMembersSay) {
  PROVES(copy.rule(5));
  if (copy.dimensions == 3) PROVES("CPY3DST-005");
  expectMove(Where::HostPinned, Where::Array);
}

TEST_P(BoxCopies, ReadUnifiedAddressesOfHostAndDevice) {
  PROVES(copy.rule(6), copy.rule(7));
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1) << "what allows the following";
  for (Where from : {Where::UnifiedPageable, Where::UnifiedPinned, Where::UnifiedDevice, Where::UnifiedManaged})
    expectMove(Where::Device, from);
}

TEST_P(BoxCopies, WriteHostMemoryAtItsBasePitchAndOffsets) {
  PROVES(copy.rule(1), copy.rule(8), copy.rule(15), copy.rule(19));
  for (Where to : {Where::Host, Where::HostPinned}) expectMove(to, Where::Device);
}

TEST_P(BoxCopies, WriteDeviceMemoryAtItsBasePitchAndOffsets) {
  PROVES(copy.rule(1), copy.rule(9), copy.rule(16), copy.rule(19));
  expectMove(Where::Device, Where::HostPinned);
}

TEST_P(BoxCopies, WriteArraysWhateverTheOtherMembersSay) {
  PROVES(copy.rule(10));
  if (copy.dimensions == 3) PROVES("CPY3DST-005");
  expectMove(Where::Array, Where::HostPinned);
}

TEST_P(BoxCopies, WriteUnifiedAddressesOfHostAndDevice) {
  PROVES(copy.rule(11), copy.rule(12));
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1) << "what allows the following";
  for (Where to : {Where::UnifiedPageable, Where::UnifiedPinned, Where::UnifiedDevice, Where::UnifiedManaged})
    expectMove(to, Where::Device);
}

TEST_P(BoxCopies, JoinEveryTwoKindsOfLinearMemory) {
  PROVES(copy.rule(1));
  for (Where to : kLinearPlaces)
    for (Where from : kLinearPlaces) expectMove(to, from);
}

TEST_P(BoxCopies, JoinEveryTwoMemoryTypes) {
  PROVES(copy.rule(2));
  const Where types[] = {Where::Host, Where::Device, Where::Array, Where::UnifiedDevice};
  for (Where to : types)
    for (Where from : types) expectMove(to, from);
}

// DEVICE and HOST are hints: the address says where the memory is. Only pageable memory is no device memory.
TEST_P(BoxCopies, LookAddressesUpWhateverTheTypeSays) {
  PROVES(copy.rule(2));
  const Size size{64, 4, 1};
  const BoxMemory device(Where::Device, size, pattern(size.bytes(), 1)), pinned(Where::HostPinned, size, Bytes(256)),
      pageable(Where::Host, size, Bytes(256));
  CUDA_MEMCPY3D box = boxOf(pinned, {}, device, {}, size);
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = pinned.address();
  EXPECT_OK(run(box));
  EXPECT_EQ(pinned.read(), pattern(256, 1));
  box = boxOf(pageable, {}, device, {}, size);
  box.srcMemoryType = CU_MEMORYTYPE_HOST;
  box.srcHost = device.host();
  EXPECT_OK(run(box));
  EXPECT_EQ(pageable.read(), pattern(256, 1));
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = pageable.address();
  EXPECT_INVALID_VALUE(run(box));
}

TEST_P(BoxCopies, OfRandomBoxesMoveExactlyThoseBytes) {
  PROVES(copy.rule(1), copy.rule(19));
  uint32_t state = 12345;
  const auto random = [&](size_t limit) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
  };
  for (int i = 0; i < 60; ++i) {
    const size_t depth = copy.dimensions == 3 ? 1 + random(5) : 1;
    const Size toSize{1 + random(300), 1 + random(12), depth}, fromSize{1 + random(300), 1 + random(12), depth};
    const Size box{1 + random(std::min(toSize.width, fromSize.width)),
                   1 + random(std::min(toSize.height, fromSize.height)), 1 + random(depth)};
    const auto offset = [&](Size size) {
      return Offset{random(size.width - box.width + 1), random(size.height - box.height + 1),
                    random(size.depth - box.depth + 1)};
    };
    expectMove(kLinearPlaces[random(7)], kLinearPlaces[random(7)], toSize, offset(toSize), fromSize, offset(fromSize),
               box);
  }
}

// ---- Sizes, pitches and heights ----

TEST_P(BoxCopies, OfNothingSucceedAndLookAtNothing) {
  PROVES(copy.rule(19));
  const Size size{64, 4, 2};
  const BoxMemory to(Where::Device, size, pattern(512, 1)), from(Where::HostPinned, size, pattern(512, 2));
  CUDA_MEMCPY3D box = boxOf(to, {}, from, {}, {0, 2, 1});
  EXPECT_OK(run(box));
  box = boxOf(to, {}, from, {}, {2, 0, 1});
  EXPECT_OK(run(box));
  if (copy.dimensions == 3) {
    box = boxOf(to, {}, from, {}, {2, 2, 0});
    EXPECT_OK(run(box));
  }
  box = boxOf(to, {}, from, {}, {0, 2, 1});
  box.srcHost = nullptr;
  box.dstDevice = 0;
  EXPECT_OK(run(box));
  EXPECT_EQ(to.read(), pattern(512, 1));
}

TEST_P(BoxCopies, RefuseAPitchBelowXPlusWidth) {
  if (copy.dimensions == 2) {
    PROVES(copy.rule(20), copy.rule(21));
  } else {
    PROVES(copy.rule(20));
  }
  const Size size{128, 4, 1};
  const BoxMemory to(Where::Device, size, pattern(512, 1)), from(Where::HostPinned, size, pattern(512, 2));
  for (size_t height : {size_t{1}, size_t{2}})
    for (size_t x : {size_t{0}, size_t{4}}) {
      CUDA_MEMCPY3D box = boxOf(to, {x, 0, 0}, from, {x, 0, 0}, {64, height, 1});
      box.srcPitch = box.dstPitch = 64 + x;
      EXPECT_OK(run(box)) << "just enough, x " << x;
      box.srcPitch = 63 + x;
      EXPECT_INVALID_VALUE(run(box)) << "source, x " << x << ", height " << height;
      box.srcPitch = 64 + x;
      box.dstPitch = 63 + x;
      EXPECT_INVALID_VALUE(run(box)) << "destination, x " << x << ", height " << height;
    }
}

// Rows then follow each other without a gap.
TEST_P(BoxCopies, TakeAPitchOfZeroForTightRows) {
  if (copy.dimensions == 2) PROVES(copy.rule(22));
  const Size wide{128, 3, 1}, tight{64, 3, 1};
  const BoxMemory rows(Where::Device, wide, pattern(wide.bytes(), 1)), packed(Where::HostPinned, tight, Bytes(192));
  CUDA_MEMCPY3D box = boxOf(packed, {}, rows, {}, tight);
  box.dstPitch = 0;
  EXPECT_OK(run(box));
  EXPECT_EQ(packed.read(), copied(Bytes(192), tight, {}, pattern(wide.bytes(), 1), wide, {}, tight));
  const BoxMemory back(Where::Device, wide, Bytes(wide.bytes()));
  box = boxOf(back, {}, packed, {}, tight);
  box.srcPitch = 0;
  EXPECT_OK(run(box));
  EXPECT_EQ(back.read(), copied(Bytes(wide.bytes()), wide, {}, packed.read(), tight, {}, tight));
}

TEST_P(BoxCopies, KnowNoLargestPitch) {
  const bool limited = strcmp(copy.name, "cuMemcpy2DUnaligned") != 0;
  const std::string rule = copy.rule(copy.dimensions == 2 ? 23 : 22);
  PROVES(rule);
  if (limited) DIFFERS(rule, "pitches above CU_DEVICE_ATTRIBUTE_MAX_PITCH are accepted");
  const Size size{64, 1, 1};
  const BoxMemory to(Where::Device, size, Bytes(64)), from(Where::HostPinned, size, pattern(64, 2));
  CUDA_MEMCPY3D box = boxOf(to, {}, from, {}, size);
  box.srcPitch = box.dstPitch = size_t(attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH)) + 1;
  EXPECT_OK(run(box));
  EXPECT_EQ(to.read(), pattern(64, 2));
}

TEST_P(BoxCopies, NeedRoomOnlyForTheirLastRow) {
  PROVES(copy.rule(16));
  const Size room{256, 4, 1};
  const BoxMemory from(Where::HostPinned, room, pattern(1024, 2));
  const DeviceBuffer to(256 * 3 + 100);
  CUDA_MEMCPY3D box = boxOf(from, {}, from, {}, {100, 4, 1});
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = to;
  EXPECT_OK(run(box)) << "the last row ends with the allocation";
  box.WidthInBytes = 101;
  EXPECT_INVALID_VALUE(run(box));
  box.WidthInBytes = 100;
  box.dstY = 1;
  EXPECT_INVALID_VALUE(run(box));
}

TEST_P(BoxCopies, RefuseUnknownMemoryTypes) {
  PROVES(copy.rule(2));
  const Size size{64, 1, 1};
  const BoxMemory to(Where::Device, size, pattern(64, 1)), from(Where::HostPinned, size, pattern(64, 2));
  for (int type : {0, 5, -1}) {
    CUDA_MEMCPY3D box = boxOf(to, {}, from, {}, size);
    memcpy(&box.srcMemoryType, &type, sizeof type);
    EXPECT_INVALID_VALUE(run(box)) << "source " << type;
    box = boxOf(to, {}, from, {}, size);
    memcpy(&box.dstMemoryType, &type, sizeof type);
    EXPECT_INVALID_VALUE(run(box)) << "destination " << type;
  }
  EXPECT_EQ(to.read(), pattern(64, 1));
}

// ---- Arrays ----

// The manual wants offsets that are multiples of the element; the driver copies bytes.
TEST_P(BoxCopies, TakeAnyByteOffsetIntoAnArray) {
  PROVES(copy.rule(17), copy.rule(18));
  DIFFERS(copy.rule(17), "offsets that are no multiple of the element are accepted");
  DIFFERS(copy.rule(18), "offsets that are no multiple of the element are accepted");
  const FloatArray array(64, 4);
  const Size size{256, 4, 1}, box{6, 2, 1};
  const BoxMemory host(Where::HostPinned, size, pattern(1024, 1));
  array.write(pattern(1024, 2));
  CUDA_MEMCPY3D in = boxOf(host, {}, host, {3, 1, 0}, box);
  in.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  in.dstArray = array;
  in.dstXInBytes = 2;
  EXPECT_OK(run(in));
  EXPECT_EQ(array.read(), copied(pattern(1024, 2), size, {2, 0, 0}, pattern(1024, 1), size, {3, 1, 0}, box));
  CUDA_MEMCPY3D out = boxOf(host, {1, 2, 0}, host, {}, box);
  out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  out.srcArray = array;
  out.srcXInBytes = 2;
  const Bytes before = host.read();
  EXPECT_OK(run(out));
  EXPECT_EQ(host.read(), copied(before, size, {1, 2, 0}, array.read(), size, {2, 0, 0}, box));
}

TEST_P(BoxCopies, RefuseBoxesThatLeaveTheArray) {
  PROVES(copy.rule(5), copy.rule(10));
  const Size size{64, 8, 1};
  const BoxMemory array(Where::Array, size, pattern(512, 1)), host(Where::HostPinned, {128, 16, 1}, Bytes(2048));
  const struct {
    Offset at;
    Size box;
  } outside[] = {{{}, {65, 1, 1}}, {{}, {64, 9, 1}}, {{0, 1, 0}, {64, 8, 1}}, {{4, 0, 0}, {61, 1, 1}}};
  for (const auto& [at, box] : outside) {
    EXPECT_INVALID_VALUE(run(boxOf(array, at, host, {}, box))) << box.width << " x " << box.height;
    EXPECT_INVALID_VALUE(run(boxOf(host, {}, array, at, box))) << box.width << " x " << box.height;
  }
  EXPECT_EQ(array.read(), pattern(512, 1));
}

}  // namespace
