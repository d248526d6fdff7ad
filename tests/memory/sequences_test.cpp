// Random sequences of calls, right and wrong ones, against a model that holds every allocation as a vector of bytes.
#include <map>
#include <random>

#include "device_test.h"

namespace {

class SequencesTest : public DeviceTest {
 protected:
  using Model = std::map<CUdeviceptr, std::vector<uint8_t>>;

  // A place in some allocation, or now and then outside.
  struct Place {
    CUdeviceptr address;
    std::vector<uint8_t>* content = nullptr;  // null: no allocation
    size_t offset = 0;
    bool holds(size_t bytes) const { return content && offset <= content->size() && bytes <= content->size() - offset; }
    uint8_t* at() const { return content->data() + offset; }
  };

  size_t pick(size_t below) { return below ? random() % below : 0; }

  Place somewhere() {
    if (model.empty() || pick(50) == 0) return {static_cast<CUdeviceptr>(pick(1 << 30) + 1)};
    auto found = std::next(model.begin(), static_cast<long>(pick(model.size())));
    const size_t offset = pick(found->second.size());
    return {found->first + offset, &found->second, offset};
  }

  void allocateSome() {
    const size_t bytes = 1 + pick(pick(16) ? 3000 : 1 << 20);
    CUdeviceptr address = 0;
    ASSERT_OK(cuMemAlloc(&address, bytes));
    const auto value = static_cast<uint8_t>(random());
    ASSERT_OK(cuMemsetD8(address, value, bytes));
    ASSERT_TRUE(model.emplace(address, std::vector<uint8_t>(bytes, value)).second);
  }

  void freeSome() {
    const Place place = somewhere();
    const bool valid = place.content && place.offset == 0;
    ASSERT_EQ(cuMemFree(place.address), valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    if (valid) model.erase(place.address);
  }

  void upload() {
    const Place to = somewhere();
    const std::vector<uint8_t> host = bytesFrom(static_cast<uint8_t>(random()), 1 + pick(4000));
    const bool valid = to.holds(host.size());
    ASSERT_EQ(cuMemcpyHtoD(to.address, host.data(), host.size()), valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    if (valid) std::copy(host.begin(), host.end(), to.at());
  }

  void moveInside() {
    const Place to = somewhere(), from = somewhere();
    const size_t bytes = 1 + pick(5000);
    const bool valid = to.holds(bytes) && from.holds(bytes);
    ASSERT_EQ(cuMemcpyDtoDAsync(to.address, from.address, bytes, stream),
              valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    if (valid) std::memmove(to.at(), from.at(), bytes);
  }

  void fillRows() {
    const Place to = somewhere();
    const size_t element = size_t{1} << pick(3), width = pick(40), height = pick(6), pitch = pick(200);
    const size_t row = width * element;
    const bool empty = !width || !height;
    const bool aligned = to.address % element == 0 && (height == 1 || pitch % element == 0);
    const bool valid = empty || (aligned && (height == 1 || pitch >= row) && to.holds((height - 1) * pitch + row));
    const auto value = static_cast<uint32_t>(random());
    CUresult result;
    switch (element) {
      case 1:
        result = cuMemsetD2D8Async(to.address, pitch, static_cast<uint8_t>(value), width, height, stream);
        break;
      case 2:
        result = cuMemsetD2D16Async(to.address, pitch, static_cast<uint16_t>(value), width, height, stream);
        break;
      default:
        result = cuMemsetD2D32Async(to.address, pitch, value, width, height, stream);
        break;
    }
    ASSERT_EQ(result, valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE)
        << width << 'x' << height << " elements of " << element << " at pitch " << pitch;
    for (size_t y = 0; valid && !empty && y < height; ++y)
      for (size_t x = 0; x < width; ++x) std::memcpy(to.at() + y * pitch + x * element, &value, element);
  }

  void copyBox() {
    const Place to = somewhere(), from = somewhere();
    if (to.content == from.content) return;  // overlapping boxes have no defined outcome
    CUDA_MEMCPY3D box{};
    box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    box.srcDevice = from.address;
    box.dstDevice = to.address;
    box.WidthInBytes = pick(50);
    box.Height = pick(5);
    box.Depth = pick(4);
    box.srcPitch = pick(80);
    box.dstPitch = pick(80);
    box.srcHeight = pick(8);
    box.dstHeight = pick(8);
    box.srcXInBytes = pick(4) ? 0 : pick(10);
    box.dstY = pick(4) ? 0 : pick(3);
    box.srcZ = pick(4) ? 0 : pick(3);
    const bool empty = !box.WidthInBytes || !box.Height || !box.Depth;
    const size_t srcPitch = box.srcPitch ? box.srcPitch : box.srcXInBytes + box.WidthInBytes;
    const size_t dstPitch = box.dstPitch ? box.dstPitch : box.WidthInBytes;
    const size_t srcHeight = box.srcHeight ? box.srcHeight : box.Height;
    const size_t dstHeight = box.dstHeight ? box.dstHeight : box.dstY + box.Height;
    const auto reach = [&](size_t pitch, size_t height, size_t x, size_t y, size_t z) {
      return ((z + box.Depth - 1) * height + y + box.Height - 1) * pitch + x + box.WidthInBytes;
    };
    const bool valid = empty || (srcPitch >= box.srcXInBytes + box.WidthInBytes && dstPitch >= box.WidthInBytes &&
                                 srcHeight >= box.Height && dstHeight >= box.dstY + box.Height &&
                                 from.holds(reach(srcPitch, srcHeight, box.srcXInBytes, 0, box.srcZ)) &&
                                 to.holds(reach(dstPitch, dstHeight, 0, box.dstY, 0)));
    // A wild unified address would be taken for pageable memory.
    if (!to.content || !from.content) return;
    // What counts is where the box starts, which may be in another allocation.
    const size_t fromStart = box.srcZ * srcHeight * srcPitch + box.srcXInBytes, toStart = box.dstY * dstPitch;
    if (from.offset + fromStart >= from.content->size() || to.offset + toStart >= to.content->size()) return;
    ASSERT_EQ(cuMemcpy3D(&box), valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    for (size_t z = 0; valid && !empty && z < box.Depth; ++z)
      for (size_t y = 0; y < box.Height; ++y)
        std::memcpy(to.at() + (z * dstHeight + box.dstY + y) * dstPitch,
                    from.at() + ((box.srcZ + z) * srcHeight + y) * srcPitch + box.srcXInBytes, box.WidthInBytes);
  }

  void ask() {
    const Place place = somewhere();
    CUdeviceptr base = 0;
    size_t size = 0;
    ASSERT_EQ(cuMemGetAddressRange(&base, &size, place.address), place.content ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
    if (!place.content) return;
    ASSERT_EQ(base, place.address - place.offset);
    ASSERT_EQ(size, place.content->size());
    ASSERT_OK(cuStreamSynchronize(stream));
    ASSERT_EQ(read(base, size), *place.content);
  }

  std::mt19937_64 random{20};
  Model model;
  CUstream stream = nullptr;  // the legacy stream: everything is in order with it
};

TEST_F(SequencesTest, EveryCallDoesWhatTheModelDoes) {
  for (int step = 0; step < 15000 && !HasFatalFailure(); ++step) {
    switch (pick(16)) {
      case 0:
        allocateSome();
        break;
      case 1:
        model.size() > 40 ? freeSome() : allocateSome();
        break;
      case 2:
      case 3:
      case 4:
        upload();
        break;
      case 5:
      case 6:
      case 7:
        moveInside();
        break;
      case 8:
      case 9:
      case 10:
        fillRows();
        break;
      case 11:
      case 12:
      case 13:
        copyBox();
        break;
      case 14:
        freeSome();
        break;
      default:
        ask();
    }
  }
  ASSERT_OK(cuCtxSynchronize());
  for (const auto& [address, content] : model) {
    EXPECT_TRUE(read(address, content.size()) == content);
    EXPECT_OK(cuMemFree(address));
  }
}

}  // namespace
