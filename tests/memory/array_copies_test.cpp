// Random boxes between random kinds of memory, arrays among them, against a model that keeps every byte; and what
// arrays do that no copy of a box shows.
#include <memory>
#include <random>
#include <vector>

#include "device_test.h"

namespace {

class ArrayCopiesTest : public DeviceTest {};

// Memory of some kind, seen as slices of rows of bytes, and what it should hold.
struct Object {
  const char* kind;
  size_t width, height, depth;  // bytes, rows, slices
  size_t step = 1;              // boxes begin and end at multiples of it: blocks
  std::vector<uint8_t> model;
  CUarray array = nullptr;
  uint8_t* host = nullptr;  // addresses: rows at `pitch`, slices at `pitch` x height
  CUdeviceptr device = 0;
  size_t pitch = 0;

  Object(const char* name, size_t w, size_t h, size_t d)
      : kind(name), width(w), height(h), depth(d), model(w * h * d) {}
  uint8_t* row(size_t y, size_t z) { return &model[(z * height + y) * width]; }
};

struct Box {
  size_t x, y, z;
};
struct Extent {
  size_t width, height, depth;
};

class Machine {
 public:
  Machine() {
    addAddresses();
    addArrays();
    addMapped();
    // Ordered with the legacy stream: a synchronous copy inside the device may come back before it is done.
    EXPECT_EQ(cuStreamCreate(&stream_, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    std::mt19937 random(7);
    for (Object& object : objects_) fill(object, random);
  }

  std::vector<Object>& objects() { return objects_; }

  CUresult copy(Object& to, Box at, Object& from, Box origin, Extent extent, bool async) {
    CUDA_MEMCPY3D box{};
    box.dstXInBytes = at.x;
    box.dstY = at.y;
    box.dstZ = at.z;
    box.srcXInBytes = origin.x;
    box.srcY = origin.y;
    box.srcZ = origin.z;
    setSide(to, box.dstMemoryType, box.dstHost, box.dstDevice, box.dstArray, box.dstPitch, box.dstHeight);
    const void* host = nullptr;
    setSide(from, box.srcMemoryType, host, box.srcDevice, box.srcArray, box.srcPitch, box.srcHeight);
    box.srcHost = host;
    box.WidthInBytes = extent.width;
    box.Height = extent.height;
    box.Depth = extent.depth;
    if (!async) return cuMemcpy3D(&box);
    const CUresult result = cuMemcpy3DAsync(&box, stream_);
    return result ? result : cuStreamSynchronize(stream_);
  }

  // What the object holds, through a copy of the whole of it.
  std::vector<uint8_t> read(Object& object) {
    Object target("host", object.width, object.height, object.depth);
    target.host = target.model.data();
    target.pitch = target.width;
    EXPECT_EQ(copy(target, {}, object, {}, {object.width, object.height, object.depth}, false), CUDA_SUCCESS)
        << object.kind;
    return target.model;
  }

 private:
  template <class Host>
  static void setSide(Object& object, CUmemorytype& type, Host*& host, CUdeviceptr& device, CUarray& array,
                      size_t& pitch, size_t& height) {
    type = object.array ? CU_MEMORYTYPE_ARRAY : object.device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    host = object.host;
    device = object.device;
    array = object.array;
    pitch = object.pitch;
    height = object.array ? 0 : object.height;
  }

  void fill(Object& object, std::mt19937& random) {
    Object source("host", object.width, object.height, object.depth);
    for (uint8_t& byte : source.model) byte = static_cast<uint8_t>(random());
    object.model = source.model;
    source.host = source.model.data();
    source.pitch = source.width;
    EXPECT_EQ(copy(object, {}, source, {}, {object.width, object.height, object.depth}, false), CUDA_SUCCESS)
        << object.kind;
  }

  void addAddresses() {
    constexpr size_t kPitch = 320, kHeight = 24, kDepth = 8, kBytes = kPitch * kHeight * kDepth;
    const auto add = [&](const char* kind) -> Object& {
      Object& object = objects_.emplace_back(kind, size_t{300}, kHeight, kDepth);
      object.pitch = kPitch;
      return object;
    };
    plain_ = std::make_unique<uint8_t[]>(kBytes);
    add("malloc").host = plain_.get();
    void* pinned = nullptr;
    EXPECT_EQ(cuMemHostAlloc(&pinned, kBytes, 0), CUDA_SUCCESS);
    add("pinned").host = static_cast<uint8_t*>(pinned);
    EXPECT_EQ(cuMemAlloc(&add("device").device, kBytes), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAllocManaged(&add("managed").device, kBytes, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  }

  CUarray make(size_t width, size_t height, size_t depth, CUarray_format format, unsigned channels, unsigned flags) {
    const CUDA_ARRAY3D_DESCRIPTOR descriptor{width, height, depth, format, channels, flags};
    CUarray array = nullptr;
    EXPECT_EQ(cuArray3DCreate(&array, &descriptor), CUDA_SUCCESS);
    return array;
  }

  void add(const char* kind, CUarray array, size_t width, size_t height, size_t depth, size_t step = 1) {
    Object& object = objects_.emplace_back(kind, width, height, depth);
    object.array = array;
    object.step = step;
  }

  void addArrays() {
    const CUarray_format u8 = CU_AD_FORMAT_UNSIGNED_INT8, f32 = CU_AD_FORMAT_FLOAT;
    add("1D", make(75, 0, 0, f32, 1, 0), 300, 1, 1);
    add("2D", make(61, 24, 0, u8, 1, CUDA_ARRAY3D_SURFACE_LDST), 61, 24, 1);
    add("2D of lines", make(64, 16, 0, f32, 1, 0), 256, 16, 1);
    add("3D", make(20, 12, 9, CU_AD_FORMAT_HALF, 2, 0), 80, 12, 9);
    add("1D layered", make(50, 0, 6, u8, 4, CUDA_ARRAY3D_LAYERED), 200, 1, 6);
    add("2D layered", make(33, 7, 5, f32, 2, CUDA_ARRAY3D_LAYERED), 264, 7, 5);
    add("cubemap", make(16, 16, 6, f32, 1, CUDA_ARRAY3D_CUBEMAP), 64, 16, 6);
    add("BC1", make(90, 50, 0, CU_AD_FORMAT_BC1_UNORM, 4, 0), 23 * 8, 13, 1, 8);
    add("BC7 layered", make(60, 40, 3, CU_AD_FORMAT_BC7_UNORM, 4, CUDA_ARRAY3D_LAYERED), 15 * 16, 10, 3, 16);
    const CUDA_ARRAY3D_DESCRIPTOR mipmapped{70, 40, 11, f32, 1, 0};
    CUmipmappedArray levels = nullptr;
    CUarray level = nullptr;
    EXPECT_EQ(cuMipmappedArrayCreate(&levels, &mipmapped, 4), CUDA_SUCCESS);
    EXPECT_EQ(cuMipmappedArrayGetLevel(&level, levels, 1), CUDA_SUCCESS);
    add("level 1", level, 35 * 4, 20, 5);
    EXPECT_EQ(cuMipmappedArrayGetLevel(&level, levels, 2), CUDA_SUCCESS);
    add("level 2", level, 17 * 4, 10, 2);
    const CUarray video = make(128, 32, 0, CU_AD_FORMAT_NV12, 3, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE);
    CUarray plane = nullptr;
    EXPECT_EQ(cuArrayGetPlane(&plane, video, 0), CUDA_SUCCESS);
    add("NV12 plane 0", plane, 128, 32, 1);
    EXPECT_EQ(cuArrayGetPlane(&plane, video, 1), CUDA_SUCCESS);
    add("NV12 plane 1", plane, 128, 16, 1);
  }

  void addMapped() {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    properties.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    CUmemGenericAllocationHandle pool = 0;
    ASSERT_EQ(cuMemCreate(&pool, size_t{4} << 20, &properties, 0), CUDA_SUCCESS);
    const CUarray sparse = make(200, 150, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SPARSE);
    const CUarray deferred = make(70, 30, 5, CU_AD_FORMAT_UNSIGNED_INT16, 1, CUDA_ARRAY3D_DEFERRED_MAPPING);
    CUarrayMapInfo maps[2]{};
    for (CUarrayMapInfo& map : maps) {
      map.resourceType = CU_RESOURCE_TYPE_ARRAY;
      map.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
      map.memHandle.memHandle = pool;
      map.deviceBitMask = 1;
    }
    maps[0].resource.array = sparse;
    maps[0].subresource.sparseLevel.extentWidth = 200;
    maps[0].subresource.sparseLevel.extentHeight = 150;
    maps[0].subresource.sparseLevel.extentDepth = 1;
    maps[1].resource.array = deferred;
    maps[1].offset = size_t{1} << 20;
    EXPECT_EQ(cuMemMapArrayAsync(maps, 2, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(pool), CUDA_SUCCESS);  // mappings keep it
    add("sparse", sparse, 800, 150, 1);
    add("deferred", deferred, 140, 30, 5);
  }

  CUstream stream_ = nullptr;
  std::unique_ptr<uint8_t[]> plain_;
  std::vector<Object> objects_;
};

size_t upTo(std::mt19937& random, size_t most) { return std::uniform_int_distribution<size_t>(0, most)(random); }

// A box that fits both sides, in steps of both.
Extent randomExtent(std::mt19937& random, const Object& a, const Object& b, size_t step) {
  const size_t width = std::min(a.width, b.width) / step * step;
  return {upTo(random, width / step) * step, upTo(random, std::min(a.height, b.height)),
          upTo(random, std::min(a.depth, b.depth))};
}

Box randomPlace(std::mt19937& random, const Object& object, const Extent& extent, size_t step) {
  return {upTo(random, (object.width - extent.width) / step) * step, upTo(random, object.height - extent.height),
          upTo(random, object.depth - extent.depth)};
}

TEST_F(ArrayCopiesTest, RandomBoxesBetweenRandomKindsOfMemoryMoveExactlyTheirBytes) {
  Machine machine;
  std::mt19937 random(20);
  std::vector<Object>& objects = machine.objects();
  for (Object& object : objects) ASSERT_EQ(machine.read(object), object.model) << object.kind;
  for (int round = 0; round < 4000; ++round) {
    Object& to = objects[upTo(random, objects.size() - 1)];
    Object& from = objects[upTo(random, objects.size() - 1)];
    if (&to == &from) continue;
    const size_t step = std::max(to.step, from.step);
    const Extent extent = randomExtent(random, to, from, step);
    const Box at = randomPlace(random, to, extent, step), origin = randomPlace(random, from, extent, step);
    ASSERT_EQ(machine.copy(to, at, from, origin, extent, random() % 2), CUDA_SUCCESS) << from.kind << " to " << to.kind;
    for (size_t z = 0; z < extent.depth; ++z)
      for (size_t y = 0; y < extent.height; ++y)
        std::copy_n(from.row(origin.y + y, origin.z + z) + origin.x, extent.width, to.row(at.y + y, at.z + z) + at.x);
    if (round % 8 == 0) {
      ASSERT_TRUE(machine.read(to) == to.model) << from.kind << " to " << to.kind;
    }
  }
  for (Object& object : objects) ASSERT_EQ(machine.read(object), object.model) << object.kind;
}

TEST_F(ArrayCopiesTest, BoxesThatLeaveAnArrayAreRefusedAndChangeNothing) {
  Machine machine;
  std::mt19937 random(21);
  Object& host = machine.objects()[0];
  for (Object& object : machine.objects()) {
    if (!object.array) continue;
    const Extent whole{object.width, object.height, object.depth};
    for (int round = 0; round < 50; ++round) {
      Extent extent{1 + upTo(random, whole.width + 8), 1 + upTo(random, whole.height + 2),
                    1 + upTo(random, whole.depth + 2)};
      const Box at{upTo(random, 16), upTo(random, 4), upTo(random, 4)};
      const bool inside = at.x + extent.width <= whole.width && at.y + extent.height <= whole.height &&
                          at.z + extent.depth <= whole.depth;
      if (inside || extent.width > host.width || extent.height > host.height || extent.depth > host.depth) continue;
      EXPECT_EQ(machine.copy(object, at, host, {}, extent, false), CUDA_ERROR_INVALID_VALUE) << object.kind;
    }
    EXPECT_EQ(machine.read(object), object.model) << object.kind;
  }
}

TEST_F(ArrayCopiesTest, HandlesOfEndedArraysAreRefused) {
  const CUDA_ARRAY_DESCRIPTOR descriptor{16, 16, CU_AD_FORMAT_FLOAT, 1};
  CUarray array;
  ASSERT_OK(cuArrayCreate(&array, &descriptor));
  ASSERT_OK(cuArrayDestroy(array));
  CUDA_ARRAY_DESCRIPTOR read;
  char row[64];
  EXPECT_EQ(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuArrayGetDescriptor(&read, array), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemcpyAtoH(row, array, 0, 64), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuArrayGetDescriptor(&read, reinterpret_cast<CUarray>(row)), CUDA_ERROR_INVALID_HANDLE);
  CUmipmappedArray levels;
  const CUDA_ARRAY3D_DESCRIPTOR mipmapped{16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  ASSERT_OK(cuMipmappedArrayCreate(&levels, &mipmapped, 3));
  ASSERT_OK(cuMipmappedArrayGetLevel(&array, levels, 1));
  ASSERT_OK(cuMipmappedArrayDestroy(levels));
  EXPECT_EQ(cuArrayGetDescriptor(&read, array), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMipmappedArrayDestroy(levels), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ArrayCopiesTest, ArraysTakeMemoryAndGiveItBack) {
  size_t before, during, after, total;
  ASSERT_OK(cuMemGetInfo(&before, &total));
  const CUDA_ARRAY_DESCRIPTOR descriptor{4096, 4096, CU_AD_FORMAT_FLOAT, 1};
  CUarray array;
  ASSERT_OK(cuArrayCreate(&array, &descriptor));
  ASSERT_OK(cuMemGetInfo(&during, &total));
  EXPECT_GE(before - during, size_t{64} << 20);
  ASSERT_OK(cuArrayDestroy(array));
  ASSERT_OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(after, before);
  const CUDA_ARRAY3D_DESCRIPTOR tooLarge{16384, 16384, 16384, CU_AD_FORMAT_FLOAT, 4, 0};
  EXPECT_EQ(cuArray3DCreate(&array, &tooLarge), CUDA_ERROR_OUT_OF_MEMORY);
}

}  // namespace
