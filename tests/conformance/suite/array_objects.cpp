#include "array_objects.h"

#include <algorithm>
#include <utility>

#include "results.h"

bool operator==(const CUDA_ARRAY3D_DESCRIPTOR& a, const CUDA_ARRAY3D_DESCRIPTOR& b) {
  return a.Width == b.Width && a.Height == b.Height && a.Depth == b.Depth && a.Format == b.Format &&
         a.NumChannels == b.NumChannels && a.Flags == b.Flags;
}

void PrintTo(const CUDA_ARRAY3D_DESCRIPTOR& d, std::ostream* out) {
  *out << d.Width << " x " << d.Height << " x " << d.Depth << ", format " << d.Format << ", channels " << d.NumChannels
       << ", flags " << d.Flags;
}

namespace suite {

CUDA_ARRAY3D_DESCRIPTOR arrayOf(size_t width, size_t height, size_t depth, unsigned flags, CUarray_format format,
                                unsigned channels) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  descriptor.Width = width;
  descriptor.Height = height;
  descriptor.Depth = depth;
  descriptor.Format = format;
  descriptor.NumChannels = channels;
  descriptor.Flags = flags;
  return descriptor;
}

Array::Array(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  EXPECT_OK(cuArray3DCreate(&handle_, &descriptor)) << testing::PrintToString(descriptor);
}

Array::~Array() {
  if (handle_) {
    EXPECT_OK(cuArrayDestroy(handle_));
  }
}

CUarray Array::release() { return std::exchange(handle_, nullptr); }

MipmappedArray::MipmappedArray(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels) {
  EXPECT_OK(cuMipmappedArrayCreate(&handle_, &descriptor, levels)) << testing::PrintToString(descriptor);
}

MipmappedArray::~MipmappedArray() {
  if (handle_) {
    EXPECT_OK(cuMipmappedArrayDestroy(handle_));
  }
}

CUarray MipmappedArray::level(unsigned index) const {
  CUarray level = nullptr;
  EXPECT_OK(cuMipmappedArrayGetLevel(&level, handle_, index)) << "level " << index;
  return level;
}

CUmipmappedArray MipmappedArray::release() { return std::exchange(handle_, nullptr); }

CUresult creation(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  CUarray array = nullptr;
  const CUresult result = cuArray3DCreate(&array, &descriptor);
  if (result == CUDA_SUCCESS) {
    EXPECT_OK(cuArrayDestroy(array));
  }
  return result;
}

CUresult creation2D(const CUDA_ARRAY_DESCRIPTOR& descriptor) {
  CUarray array = nullptr;
  const CUresult result = cuArrayCreate(&array, &descriptor);
  if (result == CUDA_SUCCESS) {
    EXPECT_OK(cuArrayDestroy(array));
  }
  return result;
}

CUresult mipmappedCreation(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels) {
  CUmipmappedArray array = nullptr;
  const CUresult result = cuMipmappedArrayCreate(&array, &descriptor, levels);
  if (result == CUDA_SUCCESS) {
    EXPECT_OK(cuMipmappedArrayDestroy(array));
  }
  return result;
}

CUDA_ARRAY3D_DESCRIPTOR describe(CUarray array) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  EXPECT_OK(cuArray3DGetDescriptor(&descriptor, array));
  return descriptor;
}

namespace {

CUDA_MEMCPY3D copyOf(const Box& box) {
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = box.width;
  copy.Height = box.height;
  copy.Depth = box.depth;
  return copy;
}

}  // namespace

CUresult write(CUarray array, const Box& box, const Bytes& content) {
  CUDA_MEMCPY3D copy = copyOf(box);
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = content.data();
  copy.srcPitch = box.width;
  copy.srcHeight = box.height;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.dstXInBytes = box.x;
  copy.dstY = box.y;
  copy.dstZ = box.z;
  return cuMemcpy3D(&copy);
}

Bytes read(CUarray array, const Box& box) {
  Bytes content(box.bytes());
  CUDA_MEMCPY3D copy = copyOf(box);
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = content.data();
  copy.dstPitch = box.width;
  copy.dstHeight = box.height;
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array;
  copy.srcXInBytes = box.x;
  copy.srcY = box.y;
  copy.srcZ = box.z;
  EXPECT_OK(cuMemcpy3D(&copy));
  return content;
}

void expectHolds(CUarray array, const Box& whole) {
  const Bytes content = pattern(whole.bytes(), 7);
  EXPECT_OK(write(array, whole, content));
  EXPECT_EQ(read(array, whole), content);
}

bool isOneOf(CUresult result, std::initializer_list<CUresult> listed) {
  return std::find(listed.begin(), listed.end(), result) != listed.end();
}

}  // namespace suite
