#include "box_copies.h"

#include <cstring>

#include "results.h"

namespace suite {
namespace {

// For members that must not be looked at.
constexpr uintptr_t kGarbage = 0xdead'beef'0000'0ff1;

CUmemorytype typeOf(Where where) {
  switch (where) {
    case Where::Host:
    case Where::HostPinned:
      return CU_MEMORYTYPE_HOST;
    case Where::Device:
      return CU_MEMORYTYPE_DEVICE;
    case Where::Array:
      return CU_MEMORYTYPE_ARRAY;
    default:
      return CU_MEMORYTYPE_UNIFIED;
  }
}

CUarray makeArray(Size size) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = size.width;
  descriptor.Height = size.height;
  descriptor.Depth = size.depth > 1 ? size.depth : 0;
  descriptor.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  descriptor.NumChannels = 1;
  CUarray array = nullptr;
  EXPECT_OK(cuArray3DCreate(&array, &descriptor));
  return array;
}

CUDA_MEMCPY3D_PEER ofCurrentContext(const CUDA_MEMCPY3D& box) {
  CUcontext context = nullptr;
  EXPECT_OK(cuCtxGetCurrent(&context));
  CUDA_MEMCPY3D_PEER peer;
  static_assert(sizeof peer == sizeof box);
  memcpy(&peer, &box, sizeof peer);
  peer.srcContext = peer.dstContext = context;
  return peer;
}

}  // namespace

const std::vector<Where> kLinearPlaces = {
    Where::Host,          Where::HostPinned,    Where::Device,        Where::UnifiedPageable,
    Where::UnifiedPinned, Where::UnifiedDevice, Where::UnifiedManaged};

const char* nameOf(Where where) {
  const char* const names[] = {"host",         "pinned host",    "device",         "array",
                               "unified host", "unified pinned", "unified device", "unified managed"};
  return names[static_cast<int>(where)];
}

BoxMemory::BoxMemory(Where where, Size size, const Bytes& content) : where_(where), size_(size), pageable_(content) {
  switch (where) {
    case Where::Array: {
      array_ = makeArray(size);
      CUDA_MEMCPY3D box = {};
      box.srcMemoryType = CU_MEMORYTYPE_HOST;
      box.srcHost = pageable_.data();
      box.srcPitch = size_.width;
      box.srcHeight = size_.height;
      box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
      box.dstArray = array_;
      transfer(box);
      break;
    }
    case Where::Host:
    case Where::UnifiedPageable:
      address_ = reinterpret_cast<CUdeviceptr>(pageable_.data());
      break;
    case Where::HostPinned:
    case Where::UnifiedPinned:
      pinned_ = std::make_unique<PinnedBuffer>(content);
      address_ = *pinned_;
      break;
    case Where::Device:
    case Where::UnifiedDevice:
      device_ = std::make_unique<DeviceBuffer>(content);
      address_ = *device_;
      break;
    case Where::UnifiedManaged:
      managed_ = std::make_unique<ManagedBuffer>(content.size());
      memcpy(managed_->data(), content.data(), content.size());
      address_ = *managed_;
      break;
  }
}

BoxMemory::~BoxMemory() {
  if (array_) {
    EXPECT_OK(cuArrayDestroy(array_));
  }
}

void BoxMemory::transfer(CUDA_MEMCPY3D box) const {
  box.WidthInBytes = size_.width;
  box.Height = size_.height;
  box.Depth = size_.depth;
  EXPECT_OK(cuMemcpy3D(&box));
  EXPECT_OK(cuStreamSynchronize(nullptr));  // pageable bytes may still be on their way when the copy returns
}

void BoxMemory::describeSource(CUDA_MEMCPY3D& box) const {
  box.srcMemoryType = typeOf(where_);
  const bool isArray = where_ == Where::Array, isHost = box.srcMemoryType == CU_MEMORYTYPE_HOST;
  box.srcArray = isArray ? array_ : reinterpret_cast<CUarray>(kGarbage);
  box.srcHost = isHost ? host() : reinterpret_cast<void*>(kGarbage);
  box.srcDevice = isArray || isHost ? kGarbage : address_;
  box.srcPitch = isArray ? 3 : size_.width;
  box.srcHeight = isArray ? 1 : size_.height;
}

void BoxMemory::describeDestination(CUDA_MEMCPY3D& box) const {
  box.dstMemoryType = typeOf(where_);
  const bool isArray = where_ == Where::Array, isHost = box.dstMemoryType == CU_MEMORYTYPE_HOST;
  box.dstArray = isArray ? array_ : reinterpret_cast<CUarray>(kGarbage);
  box.dstHost = isHost ? host() : reinterpret_cast<void*>(kGarbage);
  box.dstDevice = isArray || isHost ? kGarbage : address_;
  box.dstPitch = isArray ? 3 : size_.width;
  box.dstHeight = isArray ? 1 : size_.height;
}

Bytes BoxMemory::read() const {
  if (where_ == Where::Host || where_ == Where::UnifiedPageable) return pageable_;
  if (pinned_) return pinned_->bytes();
  if (device_) return device_->read();
  if (managed_) return Bytes(managed_->data(), managed_->data() + managed_->size());
  Bytes content(size_.bytes());
  CUDA_MEMCPY3D box = {};
  box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  box.srcArray = array_;
  box.dstMemoryType = CU_MEMORYTYPE_HOST;
  box.dstHost = content.data();
  box.dstPitch = size_.width;
  box.dstHeight = size_.height;
  transfer(box);
  return content;
}

std::string BoxCopy::rule(int number) const {
  char text[32];
  snprintf(text, sizeof text, "%s-%03d", prefix, number);
  return text;
}

CUDA_MEMCPY2D flat(const CUDA_MEMCPY3D& box) {
  CUDA_MEMCPY2D two = {};
  two.srcXInBytes = box.srcXInBytes;
  two.srcY = box.srcY;
  two.srcMemoryType = box.srcMemoryType;
  two.srcHost = box.srcHost;
  two.srcDevice = box.srcDevice;
  two.srcArray = box.srcArray;
  two.srcPitch = box.srcPitch;
  two.dstXInBytes = box.dstXInBytes;
  two.dstY = box.dstY;
  two.dstMemoryType = box.dstMemoryType;
  two.dstHost = box.dstHost;
  two.dstDevice = box.dstDevice;
  two.dstArray = box.dstArray;
  two.dstPitch = box.dstPitch;
  two.WidthInBytes = box.WidthInBytes;
  two.Height = box.Height;
  return two;
}

CUDA_MEMCPY3D boxOf(const BoxMemory& to, Offset at, const BoxMemory& from, Offset start, Size size) {
  CUDA_MEMCPY3D box = {};
  to.describeDestination(box);
  from.describeSource(box);
  box.dstXInBytes = at.x;
  box.dstY = at.y;
  box.dstZ = at.z;
  box.srcXInBytes = start.x;
  box.srcY = start.y;
  box.srcZ = start.z;
  box.WidthInBytes = size.width;
  box.Height = size.height;
  box.Depth = size.depth;
  return box;
}

Bytes copied(Bytes to, Size toSize, Offset at, const Bytes& from, Size fromSize, Offset start, Size size) {
  for (size_t z = 0; z < size.depth; ++z)
    for (size_t y = 0; y < size.height; ++y)
      memcpy(&to[((at.z + z) * toSize.height + at.y + y) * toSize.width + at.x],
             &from[((start.z + z) * fromSize.height + start.y + y) * fromSize.width + start.x], size.width);
  return to;
}

const std::vector<BoxCopy> kBoxCopies = {
    {"cuMemcpy2D", "MEMCPY2D", 2, false,
     [](const CUDA_MEMCPY3D& box, CUstream) {
       const CUDA_MEMCPY2D two = flat(box);
       return cuMemcpy2D(&two);
     }},
    {"cuMemcpy2DUnaligned", "MEMCPY2DUNAL", 2, false,
     [](const CUDA_MEMCPY3D& box, CUstream) {
       const CUDA_MEMCPY2D two = flat(box);
       return cuMemcpy2DUnaligned(&two);
     }},
    {"cuMemcpy2DAsync", "MEMCPY2DASYNC", 2, true,
     [](const CUDA_MEMCPY3D& box, CUstream stream) {
       const CUDA_MEMCPY2D two = flat(box);
       return cuMemcpy2DAsync(&two, stream);
     }},
    {"cuMemcpy3D", "MEMCPY3D", 3, false, [](const CUDA_MEMCPY3D& box, CUstream) { return cuMemcpy3D(&box); }},
    {"cuMemcpy3DAsync", "MEMCPY3DASYNC", 3, true,
     [](const CUDA_MEMCPY3D& box, CUstream stream) { return cuMemcpy3DAsync(&box, stream); }},
};

const std::vector<BoxCopy> kPeerBoxCopies = {
    {"cuMemcpy3DPeer", "MEMCPY3DPEER", 3, false,
     [](const CUDA_MEMCPY3D& box, CUstream) {
       const CUDA_MEMCPY3D_PEER peer = ofCurrentContext(box);
       return cuMemcpy3DPeer(&peer);
     }},
    {"cuMemcpy3DPeerAsync", "MEMCPY3DPEERASYNC", 3, true,
     [](const CUDA_MEMCPY3D& box, CUstream stream) {
       const CUDA_MEMCPY3D_PEER peer = ofCurrentContext(box);
       return cuMemcpy3DPeerAsync(&peer, stream);
     }},
};

void PrintTo(const BoxCopy& copy, std::ostream* out) { *out << copy.name; }

}  // namespace suite
