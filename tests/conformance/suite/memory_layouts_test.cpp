// Layouts and values that programs are compiled with: CUmemorytype and the copy structures of the _v2 functions.
#include <cstddef>

#include "suite.h"

namespace {

template <class... Offsets>
bool increasing(Offsets... offsets) {
  const size_t list[] = {offsets...};
  for (size_t i = 1; i < sizeof...(offsets); ++i)
    if (list[i] <= list[i - 1]) return false;
  return true;
}

#define AT(member) offsetof(Box, member)

TEST(MemoryLayouts, MemoryTypesHaveTheirValues) {
  PROVES("MEMTYPE-001", "MEMTYPE-002", "MEMTYPE-003", "MEMTYPE-004");
  EXPECT_EQ(CU_MEMORYTYPE_HOST, 1);
  EXPECT_EQ(CU_MEMORYTYPE_DEVICE, 2);
  EXPECT_EQ(CU_MEMORYTYPE_ARRAY, 3);
  EXPECT_EQ(CU_MEMORYTYPE_UNIFIED, 4);
}

TEST(MemoryLayouts, TheTwoDimensionalCopy) {
  PROVES("CPY2DST-001", "CPY2DST-002", "CPY2DST-003", "CPY2DST-004");
  using Box = CUDA_MEMCPY2D;
  EXPECT_TRUE(increasing(AT(srcXInBytes), AT(srcY), AT(srcMemoryType), AT(srcHost), AT(srcDevice), AT(srcArray),
                         AT(srcPitch), AT(dstXInBytes), AT(dstY), AT(dstMemoryType), AT(dstHost), AT(dstDevice),
                         AT(dstArray), AT(dstPitch), AT(WidthInBytes), AT(Height)));
  EXPECT_EQ(sizeof(Box), 128u);
  EXPECT_EQ(sizeof(Box::srcXInBytes), 8u)
      << "offsets, pitches and sizes are size_t in the structure of the _v2 function";
  EXPECT_EQ(sizeof(Box::Height), 8u);
  EXPECT_EQ(AT(srcHost), 24u);
  EXPECT_EQ(AT(dstXInBytes), 56u);
  EXPECT_EQ(AT(Height), 120u);
}

template <class Box>
constexpr bool kHasSliceHeight = requires(Box box) {
  box.srcHeight;
};

TEST(MemoryLayouts, TheTwoDimensionalCopyHasNoSliceHeight) {
  PROVES("CPY2DST-005", "MEMCPY2DASYNC-026");
  EXPECT_FALSE(kHasSliceHeight<CUDA_MEMCPY2D>) << "so no descriptor can break the sentence about it";
  EXPECT_TRUE(kHasSliceHeight<CUDA_MEMCPY3D>);
}

TEST(MemoryLayouts, TheThreeDimensionalCopy) {
  PROVES("CPY3DST-001", "CPY3DST-002", "CPY3DST-003", "CPY3DST-004");
  using Box = CUDA_MEMCPY3D;
  EXPECT_TRUE(increasing(AT(srcXInBytes), AT(srcY), AT(srcZ), AT(srcLOD), AT(srcMemoryType), AT(srcHost), AT(srcDevice),
                         AT(srcArray), AT(srcPitch), AT(srcHeight), AT(dstXInBytes), AT(dstY), AT(dstZ), AT(dstLOD),
                         AT(dstMemoryType), AT(dstHost), AT(dstDevice), AT(dstArray), AT(dstPitch), AT(dstHeight),
                         AT(WidthInBytes), AT(Height), AT(Depth)));
  EXPECT_EQ(sizeof(Box), 200u);
  EXPECT_EQ(sizeof(Box::Depth), 8u);
  EXPECT_EQ(AT(Depth), 192u);
}

TEST(MemoryLayouts, ThePeerCopyHasContextsInThePlacesOfTheReservedMembers) {
  PROVES("CPY3DPEERST-001");
  EXPECT_EQ(sizeof(CUDA_MEMCPY3D_PEER), sizeof(CUDA_MEMCPY3D));
  EXPECT_EQ(offsetof(CUDA_MEMCPY3D_PEER, srcContext), offsetof(CUDA_MEMCPY3D, reserved0));
  EXPECT_EQ(offsetof(CUDA_MEMCPY3D_PEER, dstContext), offsetof(CUDA_MEMCPY3D, reserved1));
  EXPECT_EQ(offsetof(CUDA_MEMCPY3D_PEER, Depth), offsetof(CUDA_MEMCPY3D, Depth));
}

}  // namespace
