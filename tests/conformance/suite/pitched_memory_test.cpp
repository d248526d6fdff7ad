// Pitched device memory (cuMemAllocPitch) and PCI bus ids.
#include <cctype>
#include <cstring>
#include <string>

#include "suite.h"

namespace {

// cuMemAllocPitch'd memory of `height` rows.
class Pitched {
 public:
  Pitched(size_t width, size_t height, unsigned elementSize = 4) : height_(height) {
    EXPECT_OK(cuMemAllocPitch(&address_, &pitch_, width, height, elementSize));
  }
  Pitched(const Pitched&) = delete;
  ~Pitched() { EXPECT_OK(cuMemFree(address_)); }
  CUdeviceptr address() const { return address_; }
  size_t pitch() const { return pitch_; }
  CUdeviceptr row(size_t number) const { return address_ + number * pitch_; }
  Bytes read() const { return readDevice(address_, pitch_ * height_); }

 private:
  CUdeviceptr address_ = 0;
  size_t pitch_ = 0, height_;
};

CUresult copyRows(const Pitched& to, const Pitched& from, size_t width, size_t height) {
  CUDA_MEMCPY2D box = {};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = from.address();
  box.srcPitch = from.pitch();
  box.dstDevice = to.address();
  box.dstPitch = to.pitch();
  box.WidthInBytes = width;
  box.Height = height;
  return cuMemcpy2D(&box);
}

using PitchedMemory = Device;

TEST_F(PitchedMemory, EveryRowIsUsable) {
  PROVES("MEMALLOCPITCH-001", "MEMALLOCPITCH-002");
  const Pitched memory(100, 7);
  EXPECT_GE(memory.pitch(), 100u);
  for (unsigned row = 0; row < 7; ++row) writeDevice(memory.row(row), pattern(100, row));
  for (unsigned row = 0; row < 7; ++row) EXPECT_EQ(readDevice(memory.row(row), 100), pattern(100, row)) << row;
}

// The manual leaves the padding open; the driver makes it the next multiple of 512, for every element size.
TEST_F(PitchedMemory, ThePitchIsTheWidthRoundedUpTo512) {
  PROVES("MEMALLOCPITCH-002", "MEMALLOCPITCH-003", "MEMALLOCPITCH-010");
  EXPECT_EQ(512 % attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT), 0) << "and so suits a texture";
  for (unsigned elementSize : {4u, 8u, 16u})
    for (size_t width = 1; width <= 1300; width += 37) {
      const Pitched memory(width, 4, elementSize);
      EXPECT_EQ(memory.pitch(), (width + 511) / 512 * 512) << width;
      EXPECT_EQ(memory.address() % 512, 0u);
    }
}

TEST_F(PitchedMemory, ElementsOf4And8And16BytesAreAccepted) {
  PROVES("MEMALLOCPITCH-004", "MEMALLOCPITCH-005", "MEMALLOCPITCH-012");
  CUdeviceptr p = 0;
  size_t pitch = 0;
  for (unsigned elementSize : {4u, 8u, 16u}) {
    EXPECT_OK(cuMemAllocPitch(&p, &pitch, 100, 4, elementSize));
    EXPECT_OK(cuMemFree(p));
  }
  for (unsigned elementSize : {0u, 1u, 2u, 3u, 5u, 32u}) {
    const CUresult result = cuMemAllocPitch(&p, &pitch, 100, 4, elementSize);
    EXPECT_INVALID_VALUE(result) << elementSize;
    EXPECT_TRUE(isDocumented("MEMALLOCPITCH-012", result));
  }
}

TEST_F(PitchedMemory, SmallElementSizesServeWideAccesses) {
  PROVES("MEMALLOCPITCH-006");
  const Pitched from(1024, 4, 4), to(1024, 4, 4);
  for (unsigned row = 0; row < 4; ++row) writeDevice(from.row(row), pattern(1024, row));
  EXPECT_OK(copyRows(to, from, 1024, 4));  // as wide as the engine likes
  EXPECT_OK(cuMemsetD2D32(from.address(), from.pitch(), 0x01020304, 256, 1));
  for (unsigned row = 0; row < 4; ++row) EXPECT_EQ(readDevice(to.row(row), 1024), pattern(1024, row));
}

TEST_F(PitchedMemory, ElementsLieAtRowTimesPitchPlusColumn) {
  PROVES("MEMALLOCPITCH-007");
  constexpr size_t kColumns = 33, kRows = 5;
  const Pitched memory(kColumns * 4, kRows);
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned column = 0; column < kColumns; ++column)
      launchStore(nullptr, memory.address() + row * memory.pitch() + column * sizeof(uint32_t), row * 1000 + column);
  std::vector<uint32_t> tight(kColumns * kRows);
  CUDA_MEMCPY2D box = {};
  box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = memory.address();
  box.srcPitch = memory.pitch();
  box.dstMemoryType = CU_MEMORYTYPE_HOST;
  box.dstHost = tight.data();
  box.dstPitch = box.WidthInBytes = kColumns * 4;
  box.Height = kRows;
  ASSERT_OK(cuMemcpy2D(&box));
  for (unsigned i = 0; i < tight.size(); ++i) EXPECT_EQ(tight[i], i / kColumns * 1000 + i % kColumns);
}

TEST_F(PitchedMemory, CopiesOfEveryWidthWorkWithThePitch) {
  PROVES("MEMALLOCPITCH-008", "MEMCPY2D-024");
  const Pitched from(600, 3), to(600, 3);
  for (unsigned row = 0; row < 3; ++row) writeDevice(from.row(row), pattern(600, row));
  for (size_t width : {size_t{1}, size_t{3}, size_t{511}, size_t{600}, from.pitch()}) {
    EXPECT_OK(cuMemsetD8(to.address(), 0xee, to.pitch() * 3));
    EXPECT_OK(copyRows(to, from, width, 3)) << width;
    const Bytes source = from.read(), got = to.read();
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], i % to.pitch() < width ? source[i] : 0xee) << "byte " << i << " of width " << width;
  }
}

TEST_F(PitchedMemory, NothingAndTooMuchAreRefused) {
  PROVES("MEMALLOCPITCH-001", "MEMALLOCPITCH-012");
  CUdeviceptr p = 0;
  size_t pitch = 0;
  EXPECT_INVALID_VALUE(cuMemAllocPitch(&p, &pitch, 0, 4, 4));
  EXPECT_INVALID_VALUE(cuMemAllocPitch(&p, &pitch, 4, 0, 4));
  EXPECT_INVALID_VALUE(cuMemAllocPitch(&p, nullptr, 4, 4, 4));
  EXPECT_INVALID_VALUE(cuMemAllocPitch(nullptr, &pitch, 4, 4, 4));
  EXPECT_INVALID_VALUE(cuMemAllocPitch(&p, &pitch, size_t{1} << 40, size_t{1} << 40, 4)) << "the product overflows";
  EXPECT_EQ(cuMemAllocPitch(&p, &pitch, size_t{1} << 30, size_t{1} << 20, 4), CUDA_ERROR_OUT_OF_MEMORY);
}

// The limit on pitches binds copies, not allocations.
TEST_F(PitchedMemory, MayBeWiderThanTheLargestPitch) {
  PROVES("MEMALLOCPITCH-001");
  const Pitched memory(size_t(attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH)) + 1, 1);
  EXPECT_GT(memory.pitch(), size_t(attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH)));
}

// ---- PCI bus ids ----

class BusId : public Device {
 protected:
  void SetUp() override {
    Device::SetUp();
    char text[64];
    ASSERT_OK(cuDeviceGetPCIBusId(text, sizeof text, device));
    id = text;
  }
  static CUresult find(const std::string& text, CUdevice* found) {
    *found = -7;
    return cuDeviceGetByPCIBusId(found, text.c_str());
  }
  std::string id;
};

TEST_F(BusId, IsFourHexadecimalFieldsIn13Characters) {
  PROVES("DEVPCIID-001", "DEVPCIID-002", "DEVPCIID-003");
  char text[13];
  memset(text, '?', sizeof text);
  ASSERT_OK(cuDeviceGetPCIBusId(text, sizeof text, device));
  ASSERT_EQ(text[12], 0) << "terminated";
  ASSERT_EQ(strlen(text), 12u);
  for (size_t i = 0; i < 12; ++i) {
    const char wanted = i == 4 || i == 7 ? ':' : i == 10 ? '.' : 'x';
    if (wanted == 'x') {
      EXPECT_TRUE(isxdigit(static_cast<unsigned char>(text[i]))) << text;
    } else {
      EXPECT_EQ(text[i], wanted) << text;
    }
  }
}

TEST_F(BusId, NothingIsWrittenPastTheBuffer) {
  PROVES("DEVPCIID-004", "DEVPCIID-005");
  for (int length = 0; length <= 16; ++length) {
    char text[32];
    memset(text, '?', sizeof text);
    const CUresult result = cuDeviceGetPCIBusId(text, length, device);
    for (size_t i = size_t(length); i < sizeof text; ++i)
      EXPECT_EQ(text[i], '?') << "length " << length << " byte " << i;
    EXPECT_EQ(result, length >= 13 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE) << length;
    EXPECT_TRUE(isDocumented("DEVPCIID-005", result));
  }
}

TEST_F(BusId, BadArgumentsAreRefused) {
  PROVES("DEVPCIID-005");
  char text[32];
  EXPECT_INVALID_VALUE(cuDeviceGetPCIBusId(nullptr, 32, device));
  for (CUdevice none : {-1, 1000}) {
    const CUresult result = cuDeviceGetPCIBusId(text, sizeof text, none);
    EXPECT_EQ(result, CUDA_ERROR_INVALID_DEVICE);
    EXPECT_TRUE(isDocumented("DEVPCIID-005", result));
  }
}

TEST_F(BusId, LeadsBackToTheDevice) {
  PROVES("DEVBYPCI-001", "DEVBYPCI-002");
  int count = 0;
  ASSERT_OK(cuDeviceGetCount(&count));
  for (int i = 0; i < count; ++i) {
    CUdevice one = -1, found = -1;
    char text[32];
    ASSERT_OK(cuDeviceGet(&one, i));
    ASSERT_OK(cuDeviceGetPCIBusId(text, sizeof text, one));
    EXPECT_OK(cuDeviceGetByPCIBusId(&found, text));
    EXPECT_EQ(found, one);
  }
}

TEST_F(BusId, TheFunctionMayBeLeftOut) {
  PROVES("DEVBYPCI-003");
  CUdevice found;
  EXPECT_OK(find(id.substr(0, 10), &found));
  EXPECT_EQ(found, device);
}

TEST_F(BusId, TheDomainMayBeLeftOut) {
  PROVES("DEVBYPCI-004");
  CUdevice found;
  const CUresult result = find(id.substr(5), &found);
  // Without a domain 0 is meant, so a device of another domain is not found this way.
  EXPECT_EQ(result, id.substr(0, 4) == "0000" ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE) << id;
}

TEST_F(BusId, FieldsAreHexadecimal) {
  PROVES("DEVBYPCI-005");
  int domain = attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID), bus = attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
      number = attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  char upper[32], lower[32];
  snprintf(upper, sizeof upper, "%04X:%02X:%02X.0", domain, bus, number);
  snprintf(lower, sizeof lower, "%04x:%02x:%02x.0", domain, bus, number);
  CUdevice found;
  EXPECT_OK(find(upper, &found));
  EXPECT_EQ(found, device);
  EXPECT_OK(find(lower, &found));
  EXPECT_EQ(found, device);
}

TEST_F(BusId, OtherTextsNameNoDevice) {
  PROVES("DEVBYPCI-006");
  CUdevice found;
  EXPECT_INVALID_VALUE(cuDeviceGetByPCIBusId(nullptr, id.c_str()));
  EXPECT_INVALID_VALUE(cuDeviceGetByPCIBusId(&found, nullptr));
  for (const char* text : {"", "zz"}) {
    const CUresult result = find(text, &found);
    EXPECT_INVALID_VALUE(result) << '"' << text << '"';
    EXPECT_TRUE(isDocumented("DEVBYPCI-006", result));
  }
  const CUresult absent = find("ffff:1f:1f.0", &found);
  EXPECT_EQ(absent, CUDA_ERROR_INVALID_DEVICE);
  EXPECT_TRUE(isDocumented("DEVBYPCI-006", absent));
}

}  // namespace
