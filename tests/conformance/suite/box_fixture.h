// What the tests of box copies share: one run of the function under test, and a move checked byte by byte.
#pragma once

#include <string>

#include "box_copies.h"
#include "suite.h"

class BoxTest : public Device, public testing::WithParamInterface<BoxCopy> {
 protected:
  const BoxCopy& copy = GetParam();

  // The call on a stream of its own, and its end awaited.
  CUresult run(const CUDA_MEMCPY3D& box) {
    if (!copy.async) {
      const CUresult result = copy.call(box, nullptr);
      EXPECT_OK(cuStreamSynchronize(nullptr));  // inside device memory even these come back early
      return result;
    }
    const Stream stream;
    const CUresult result = copy.call(box, stream);
    stream.synchronize();
    return result;
  }

  // A box in the middle of two places of different sizes, so that every member counts.
  void expectMove(Where toWhere, Where fromWhere) {
    const size_t depth = copy.dimensions == 3 ? 5 : 1, z = depth > 1;
    expectMove(toWhere, fromWhere, {100, 9, depth}, {7, 2, z}, {80, 7, depth}, {3, 1, 2 * z}, {33, 5, 1 + 2 * z});
  }
  void expectMove(Where toWhere, Where fromWhere, Size toSize, Offset at, Size fromSize, Offset start, Size size) {
    SCOPED_TRACE(std::string(nameOf(fromWhere)) + " to " + nameOf(toWhere));
    const Bytes before = pattern(toSize.bytes(), 1), source = pattern(fromSize.bytes(), 2);
    const BoxMemory to(toWhere, toSize, before), from(fromWhere, fromSize, source);
    ASSERT_OK(run(boxOf(to, at, from, start, size)));
    EXPECT_TRUE(to.read() == copied(before, toSize, at, source, fromSize, start, size)) << "wrong bytes";
    EXPECT_TRUE(from.read() == source) << "the source changed";
  }
};

inline std::string nameOfBoxCopy(const testing::TestParamInfo<BoxCopy>& info) { return info.param.name; }

// A two-dimensional array of floats, written and read whole.
class FloatArray {
 public:
  FloatArray(size_t width, size_t height) : width_(width * 4), height_(height) {
    CUDA_ARRAY_DESCRIPTOR descriptor = {width, height, CU_AD_FORMAT_FLOAT, 1};
    EXPECT_OK(cuArrayCreate(&array_, &descriptor));
  }
  FloatArray(const FloatArray&) = delete;
  ~FloatArray() { EXPECT_OK(cuArrayDestroy(array_)); }
  operator CUarray() const { return array_; }
  void write(const Bytes& content) const {
    CUDA_MEMCPY2D box = whole();
    box.srcMemoryType = CU_MEMORYTYPE_HOST;
    box.srcHost = content.data();
    box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    box.dstArray = array_;
    EXPECT_OK(cuMemcpy2D(&box));
  }
  Bytes read() const {
    Bytes content(width_ * height_);
    CUDA_MEMCPY2D box = whole();
    box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    box.srcArray = array_;
    box.dstMemoryType = CU_MEMORYTYPE_HOST;
    box.dstHost = content.data();
    EXPECT_OK(cuMemcpy2D(&box));
    return content;
  }

 private:
  CUDA_MEMCPY2D whole() const {
    CUDA_MEMCPY2D box = {};
    box.srcPitch = box.dstPitch = box.WidthInBytes = width_;
    box.Height = height_;
    return box;
  }
  CUarray array_ = nullptr;
  size_t width_, height_;
};
