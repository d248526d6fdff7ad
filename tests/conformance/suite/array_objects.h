// CUDA arrays that tests own, and boxes of them copied in and out.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <initializer_list>
#include <ostream>

#include "memory_objects.h"

namespace suite {

// The descriptor of an array of elements, by default of one float.
CUDA_ARRAY3D_DESCRIPTOR arrayOf(size_t width, size_t height = 0, size_t depth = 0, unsigned flags = 0,
                                CUarray_format format = CU_AD_FORMAT_FLOAT, unsigned channels = 1);

// cuArray3DCreate'd, destroyed at the end of the scope.
class Array {
 public:
  explicit Array(const CUDA_ARRAY3D_DESCRIPTOR& descriptor);
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array();
  operator CUarray() const { return handle_; }
  // The test has destroyed the array itself.
  CUarray release();

 private:
  CUarray handle_ = nullptr;
};

// cuMipmappedArrayCreate'd.
class MipmappedArray {
 public:
  MipmappedArray(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels);
  MipmappedArray(const MipmappedArray&) = delete;
  MipmappedArray& operator=(const MipmappedArray&) = delete;
  ~MipmappedArray();
  operator CUmipmappedArray() const { return handle_; }
  CUarray level(unsigned index) const;
  CUmipmappedArray release();

 private:
  CUmipmappedArray handle_ = nullptr;
};

// What creation answers; what it makes is destroyed at once.
CUresult creation(const CUDA_ARRAY3D_DESCRIPTOR& descriptor);
CUresult creation2D(const CUDA_ARRAY_DESCRIPTOR& descriptor);
CUresult mipmappedCreation(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels = 1);

CUDA_ARRAY3D_DESCRIPTOR describe(CUarray array);

// A box of an array: origin and size, x in bytes, y and z in elements (layers are z).
struct Box {
  size_t width, height = 1, depth = 1;
  size_t x = 0, y = 0, z = 0;
  size_t bytes() const { return width * height * depth; }
};

// cuMemcpy3D between a box and tightly packed host memory. write gives what the driver answers; read fails the test.
CUresult write(CUarray array, const Box& box, const Bytes& content);
Bytes read(CUarray array, const Box& box);

// Every box of an array filled by a pattern and read back: the array holds exactly its bytes.
void expectHolds(CUarray array, const Box& whole);

// One of the results that the manual lists for a function.
bool isOneOf(CUresult result, std::initializer_list<CUresult> listed);

// The call waits while a blocking stream works.
template <class Call>
bool waitsForWork(Call call);

}  // namespace suite

bool operator==(const CUDA_ARRAY3D_DESCRIPTOR& a, const CUDA_ARRAY3D_DESCRIPTOR& b);
void PrintTo(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, std::ostream* out);

#include "kernels.h"
#include "results.h"
#include "stream_objects.h"

namespace suite {

template <class Call>
bool waitsForWork(Call call) {
  constexpr double kWork = 0.12;
  Stream stream(CU_STREAM_DEFAULT);
  launchSpin(stream, 0);  // the module is loaded before time counts
  stream.synchronize();
  launchSpin(stream, kWork);
  const double start = now();
  call();
  const bool waited = now() - start > kWork / 2;
  stream.synchronize();
  return waited;
}

}  // namespace suite
