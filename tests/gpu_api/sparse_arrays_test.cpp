// Arrays whose memory the application maps: on the GPU, tile by tile.
#include <vector>

#include "gpu_api/fake_devices.h"

namespace vg::testing {
namespace {

constexpr size_t kMiB = size_t{1} << 20, kTile = 65536;
constexpr size_t kEdge = 256, kTileEdge = 128;  // elements of 4 bytes

struct SparseArrays : ApiTest {
  static CUarray create(unsigned flags) {
    const CUDA_ARRAY3D_DESCRIPTOR descriptor{kEdge, kEdge, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, flags};
    CUarray array = nullptr;
    EXPECT_EQ(cuArray3DCreate_v2(&array, &descriptor), CUDA_SUCCESS);
    return array;
  }
  static CUmemGenericAllocationHandle tiles() {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    properties.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    CUmemGenericAllocationHandle made = 0;
    EXPECT_EQ(cuMemCreate(&made, 2 * kMiB, &properties, 0), CUDA_SUCCESS);
    return made;
  }
  // The tile at a column and a row; no memory: unmapped.
  static CUresult map(CUarray array, unsigned column, unsigned row, CUmemGenericAllocationHandle memory,
                      size_t offset = 0) {
    CUarrayMapInfo info{};
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = array;
    info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
    auto& level = info.subresource.sparseLevel;
    level.offsetX = column * kTileEdge;
    level.offsetY = row * kTileEdge;
    level.extentWidth = level.extentHeight = kTileEdge;
    level.extentDepth = 1;
    info.memOperationType = memory ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP;
    info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
    info.memHandle.memHandle = memory;
    info.offset = offset;
    info.deviceBitMask = 1;
    return cuMemMapArrayAsync(&info, 1, nullptr);
  }
  static CUDA_MEMCPY2D whole() {
    CUDA_MEMCPY2D box{};
    box.WidthInBytes = kEdge * 4;
    box.Height = kEdge;
    return box;
  }
  static CUresult write(CUarray array, uint32_t value) {
    const std::vector<uint32_t> elements(kEdge * kEdge, value);
    CUDA_MEMCPY2D box = whole();
    box.srcMemoryType = CU_MEMORYTYPE_HOST;
    box.srcHost = elements.data();
    box.srcPitch = kEdge * 4;
    box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    box.dstArray = array;
    return cuMemcpy2D_v2(&box);
  }
  static std::vector<uint32_t> read(CUarray array) {
    std::vector<uint32_t> elements(kEdge * kEdge, 77);
    CUDA_MEMCPY2D box = whole();
    box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    box.srcArray = array;
    box.dstMemoryType = CU_MEMORYTYPE_HOST;
    box.dstHost = elements.data();
    box.dstPitch = kEdge * 4;
    EXPECT_EQ(cuMemcpy2D_v2(&box), CUDA_SUCCESS);
    return elements;
  }
  // What the four tiles hold, where each is of one value.
  static std::vector<uint32_t> tilesOf(CUarray array) {
    const std::vector<uint32_t> elements = read(array);
    std::vector<uint32_t> found;
    for (size_t tile = 0; tile < 4; ++tile) {
      const size_t x = tile % 2 * kTileEdge, y = tile / 2 * kTileEdge;
      found.push_back(elements[y * kEdge + x]);
      for (size_t row = y; row < y + kTileEdge; ++row)
        for (size_t column = x; column < x + kTileEdge; ++column)
          EXPECT_EQ(elements[row * kEdge + column], found.back()) << column << ", " << row;
    }
    return found;
  }
  using Four = std::vector<uint32_t>;
};

TEST_F(SparseArrays, HoldWhatTheirTilesHoldAndZeroElsewhere) {
  const CUarray array = create(CUDA_ARRAY3D_SPARSE);
  OK(write(array, 1));
  EXPECT_EQ(tilesOf(array), (Four{0, 0, 0, 0}));
  const uint64_t used = fakeDriver().usedMemory();
  const CUmemGenericAllocationHandle memory = tiles();
  EXPECT_EQ(fakeDriver().usedMemory(), used + 2 * kMiB);
  OK(map(array, 1, 0, memory, 5 * kTile));
  OK(map(array, 0, 1, memory));
  OK(write(array, 2));
  EXPECT_EQ(tilesOf(array), (Four{0, 2, 2, 0}));
  // The same memory elsewhere, in place of what was there.
  OK(map(array, 1, 0, memory));
  OK(map(array, 1, 1, memory, 5 * kTile));
  EXPECT_EQ(tilesOf(array), (Four{0, 2, 2, 2}));
  OK(map(array, 0, 1, 0));
  OK(write(array, 3));
  EXPECT_EQ(tilesOf(array), (Four{0, 3, 0, 3}));
  OK(cuMemRelease(memory));  // mappings keep it
  const CUmemGenericAllocationHandle other = tiles();
  OK(map(array, 0, 0, other));
  OK(write(array, 4));
  EXPECT_EQ(tilesOf(array), (Four{4, 4, 0, 4}));
  for (unsigned tile = 0; tile < 4; ++tile) OK(map(array, tile % 2, tile / 2, 0));
  EXPECT_EQ(tilesOf(array), (Four{0, 0, 0, 0}));
  OK(cuMemRelease(other));
  OK(cuArrayDestroy(array));
}

TEST_F(SparseArrays, RunsOfTilesAreMappedAtOnceAndTakenAwayOneByOne) {
  constexpr size_t kSide = 1024;  // 8 x 8 tiles: 4 MiB
  const CUDA_ARRAY3D_DESCRIPTOR descriptor{kSide, kSide, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SPARSE};
  CUarray array;
  OK(cuArray3DCreate_v2(&array, &descriptor));
  const CUmemGenericAllocationHandle memory = tiles();
  CUarrayMapInfo info{};
  info.resourceType = CU_RESOURCE_TYPE_ARRAY;
  info.resource.array = array;
  info.subresource.sparseLevel.extentWidth = kSide;
  info.subresource.sparseLevel.extentHeight = kSide / 2;
  info.subresource.sparseLevel.extentDepth = 1;
  info.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
  info.memHandle.memHandle = memory;
  info.deviceBitMask = 1;
  OK(cuMemMapArrayAsync(&info, 1, nullptr));
  OK(map(array, 3, 1, 0));
  OK(map(array, 5, 2, memory, 7 * kTile));
  OK(cuCtxSynchronize());
  OK(cuMemRelease(memory));
  OK(cuArrayDestroy(array));
}

TEST_F(SparseArrays, OfDeferredMappingAreMappedWhole) {
  const CUarray array = create(CUDA_ARRAY3D_DEFERRED_MAPPING);
  const CUmemGenericAllocationHandle memory = tiles();
  CUarrayMapInfo info{};
  info.resourceType = CU_RESOURCE_TYPE_ARRAY;
  info.resource.array = array;
  info.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
  info.memHandle.memHandle = memory;
  info.offset = kMiB;
  info.deviceBitMask = 1;
  OK(cuMemMapArrayAsync(&info, 1, nullptr));
  OK(write(array, 9));
  EXPECT_EQ(tilesOf(array), (Four{9, 9, 9, 9}));
  OK(cuMemRelease(memory));
  EXPECT_EQ(tilesOf(array), (Four{9, 9, 9, 9}));
  OK(cuArrayDestroy(array));
}

TEST_F(SparseArrays, LeaveNothing) {
  const auto once = [] {
    const CUarray array = create(CUDA_ARRAY3D_SPARSE);
    const CUmemGenericAllocationHandle memory = tiles();
    OK(map(array, 1, 1, memory));
    OK(cuMemRelease(memory));
    OK(cuArrayDestroy(array));
  };
  once();
  const uint64_t used = fakeDriver().usedMemory();
  const size_t ranges = fakeDriver().ranges(), objects = fakeDriver().objects();
  once();
  EXPECT_EQ(fakeDriver().usedMemory(), used);
  EXPECT_EQ(fakeDriver().ranges(), ranges);
  EXPECT_EQ(fakeDriver().objects(), objects);
}

TEST_F(SparseArrays, TexturesAndSurfacesReadThem) {
  for (const unsigned flags : {CUDA_ARRAY3D_SPARSE, CUDA_ARRAY3D_DEFERRED_MAPPING}) {
    const CUarray array = create(flags);
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    const CUDA_TEXTURE_DESC sampling{};
    CUtexObject texture = 0;
    CUsurfObject surface = 0;
    OK(cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
    OK(cuSurfObjectCreate(&surface, &resource));
    OK(cuTexObjectDestroy(texture));
    OK(cuSurfObjectDestroy(surface));
    OK(cuArrayDestroy(array));
  }
}

}  // namespace
}  // namespace vg::testing
