// The texture or surface of a case, made through a driver.
#pragma once

#include <vector>

#include "ptx_device/driver.h"
#include "unit/ptx/opcode_matrix.h"

namespace vg::ptx::matrix {

class Object {
 public:
  Object(const Driver& driver, const TextureObject& of) : d_(driver), of_(of) { status_ = make(); }
  ~Object() {
    if (handle_) of_.surface ? d_.destroySurface(handle_) : d_.destroyTexture(handle_);
    if (array_) d_.destroyArray(array_);
    if (levels_) d_.destroyLevels(levels_);
    if (memory_) d_.release(memory_);
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  CUresult status() const { return status_; }  // of making it
  uint64_t handle() const { return handle_; }

  // What the array holds, one element after another.
  CUresult read(std::vector<uint64_t>& out) const {
    CUDA_MEMCPY3D copy = boxOf(of_.array);
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array_;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = out.data();
    copy.dstPitch = copy.WidthInBytes;
    copy.dstHeight = copy.Height;
    return d_.copyBox(&copy);
  }

 private:
  CUDA_MEMCPY3D boxOf(const CUDA_ARRAY3D_DESCRIPTOR& d) const {
    CUDA_MEMCPY3D copy{};
    copy.WidthInBytes = d.Width * elementBytesOf(of_);
    copy.Height = std::max<size_t>(d.Height, 1);
    copy.Depth = std::max<size_t>(d.Depth, 1);
    return copy;
  }

  CUresult fill(CUarray array, unsigned level) const {
    const std::vector<std::byte> bytes = contentsOf(of_, level);
    CUDA_MEMCPY3D copy = boxOf(levelOf(of_, level));
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = bytes.data();
    copy.srcPitch = copy.WidthInBytes;
    copy.srcHeight = copy.Height;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    return d_.copyBox(&copy);
  }

  CUresult makeArray(CUDA_RESOURCE_DESC& resource) {
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    if (const CUresult r = d_.createArray(&array_, &of_.array)) return r;
    resource.res.array.hArray = array_;
    return fill(array_, 0);
  }

  CUresult makeLevels(CUDA_RESOURCE_DESC& resource) {
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    if (const CUresult r = d_.createLevels(&levels_, &of_.array, of_.levels)) return r;
    resource.res.mipmap.hMipmappedArray = levels_;
    for (unsigned level = 0; level < of_.levels; ++level) {
      CUarray array = nullptr;
      if (const CUresult r = d_.getLevel(&array, levels_, level)) return r;
      if (const CUresult r = fill(array, level)) return r;
    }
    return CUDA_SUCCESS;
  }

  CUresult makeMemory(CUDA_RESOURCE_DESC& resource) {
    const std::vector<std::byte> bytes = contentsOf(of_, 0);
    const size_t row = of_.array.Width * elementBytesOf(of_), rows = std::max<size_t>(of_.array.Height, 1);
    size_t pitch = 0;
    if (const CUresult r = d_.allocatePitch(&memory_, &pitch, row, rows, 16)) return r;
    for (size_t y = 0; y < rows; ++y)
      if (const CUresult r = d_.copyIn(memory_ + y * pitch, &bytes[y * row], row)) return r;
    if (of_.resource == TextureObject::Resource::Linear) {
      resource.resType = CU_RESOURCE_TYPE_LINEAR;
      resource.res.linear = {memory_, of_.array.Format, of_.array.NumChannels, row};
    } else {
      resource.resType = CU_RESOURCE_TYPE_PITCH2D;
      resource.res.pitch2D = {memory_,         of_.array.Format, of_.array.NumChannels,
                              of_.array.Width, of_.array.Height, pitch};
    }
    return CUDA_SUCCESS;
  }

  CUresult make() {
    CUDA_RESOURCE_DESC resource{};
    const CUresult made = of_.resource == TextureObject::Resource::Array    ? makeArray(resource)
                          : of_.resource == TextureObject::Resource::Levels ? makeLevels(resource)
                                                                            : makeMemory(resource);
    if (made) return made;
    return of_.surface ? d_.createSurface(&handle_, &resource)
                       : d_.createTexture(&handle_, &resource, &of_.texture, nullptr);
  }

  const Driver& d_;
  const TextureObject& of_;
  CUarray array_ = nullptr;
  CUmipmappedArray levels_ = nullptr;
  CUdeviceptr memory_ = 0;
  unsigned long long handle_ = 0;
  CUresult status_;
};

}  // namespace vg::ptx::matrix
