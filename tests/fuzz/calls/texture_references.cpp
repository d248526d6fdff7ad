// One texture reference of a sequence, set and asked.
#include "families.h"
#include "objects.h"

namespace calls {
namespace {

CUtexref reference;  // made by the first that needs it

int anyDimension() { return mostly(90, {0, 1, 2}, {3, -1}); }

void setFormat() {
  RECORD(cuTexRefSetFormat, reference, givenAs<CUarray_format>("format", anyArrayFormat()),
         given("channels", mostly(85, {1, 2, 4}, {0, 3, 5})));
}
void askFormat() {
  CUarray_format format{};
  int channels = -1;
  RECORD(cuTexRefGetFormat, out("format", &format, 5), out("channels", &channels, 5), reference);
  output("format", list(format, channels));
}
void setAddressMode() {
  RECORD(cuTexRefSetAddressMode, reference, given("dimension", anyDimension()),
         givenAs<CUaddress_mode>("mode", mostly(90, {0, 1, 2, 3}, {4, -1})));
}
void askAddressMode() {
  CUaddress_mode mode{};
  RECORD(cuTexRefGetAddressMode, &mode, reference, given("dimension", anyDimension()));
  output("mode", mode);
}
void setFilterMode() {
  RECORD(cuTexRefSetFilterMode, reference, givenAs<CUfilter_mode>("mode", mostly(90, {0, 1}, {2, -1})));
}
void askFilterMode() {
  CUfilter_mode mode{};
  RECORD(cuTexRefGetFilterMode, &mode, reference);
  output("mode", mode);
}
void setMipmapFilterMode() {
  RECORD(cuTexRefSetMipmapFilterMode, reference, givenAs<CUfilter_mode>("mode", belowInt(3)));
}
void askMipmapFilterMode() {
  CUfilter_mode mode{};
  RECORD(cuTexRefGetMipmapFilterMode, &mode, reference);
  output("mode", mode);
}
void setFlags() {
  RECORD(cuTexRefSetFlags, reference, given("flags", static_cast<unsigned>(below(chance(80) ? 8 : 0x100))));
}
void askFlags() {
  unsigned flags = 0;
  RECORD(cuTexRefGetFlags, &flags, reference);
  output("flags", flags);
}
void setAnisotropy() { RECORD(cuTexRefSetMaxAnisotropy, reference, given("most", static_cast<unsigned>(below(20)))); }
void askAnisotropy() {
  int most = 0;
  RECORD(cuTexRefGetMaxAnisotropy, &most, reference);
  output("most", most);
}
void setBias() { RECORD(cuTexRefSetMipmapLevelBias, reference, given("bias", oneOf({0.f, 1.f, -20.f, 17.f}))); }
void askBias() {
  float bias = 0;
  RECORD(cuTexRefGetMipmapLevelBias, &bias, reference);
  output("bias", bias);
}
void setClamp() {
  RECORD(cuTexRefSetMipmapLevelClamp, reference, given("least", oneOf({0.f, 1.f, -2.f, 30.f})),
         given("most", oneOf({0.f, 1.f, -2.f, 30.f})));
}
void askClamp() {
  float least = 0, most = 0;
  RECORD(cuTexRefGetMipmapLevelClamp, &least, &most, reference);
  output("clamp", list(least, most));
}
void setBorder() {
  float color[4] = {oneOf({0.f, 1.f}), 0.5f, oneOf({-1.f, 2.f}), 0};
  describe("color", list(color[0], color[2]));
  RECORD(cuTexRefSetBorderColor, reference, color);
}
void askBorder() {
  float color[4] = {};
  RECORD(cuTexRefGetBorderColor, color, reference);
  output("color", list(color[0], color[1], color[2], color[3]));
}
void setArray() {
  const Named<CUarray> array = arrays.any();
  if (array) RECORD(cuTexRefSetArray, reference, given("array", array), given("flags", mostly(85, {1u}, {0u, 2u, 3u})));
}
void askArray() {
  CUarray array = nullptr;
  RECORD(cuTexRefGetArray, &array, reference);
  output("array", arrays.nameOf(array));
}
void setAddress() {
  const Pointer pointer = devicePointer(5);
  size_t offset = 0;
  RECORD(cuTexRefSetAddress, out("offset", &offset, 30), reference, given("pointer", pointer),
         given("bytes", chance(80) ? pointer.room : below(100)));
  output("offset", offset);
}
void askAddress() {
  CUdeviceptr address = 0;
  RECORD(cuTexRefGetAddress, &address, reference);
  output("address", where(address));
}
void setRows() {
  const Pointer pointer = devicePointer(5);
  const CUDA_ARRAY_DESCRIPTOR shape{1 + below(40), 1 + below(8), static_cast<CUarray_format>(anyArrayFormat()),
                                    oneOf({1u, 2u, 4u})};
  describe("shape", list(shape.Width, shape.Height, shape.Format, shape.NumChannels));
  RECORD(cuTexRefSetAddress2D, reference, &shape, given("pointer", pointer),
         given("pitch", chance(70) ? (shape.Width * 16 + 31) & ~size_t{31} : below(900)));
}

}  // namespace

void callTextureReferences() {
  if (!reference && CALL(cuTexRefCreate, &reference)) return;
  pickOf({{1, setFormat},
          {1, askFormat},
          {1, setAddressMode},
          {1, askAddressMode},
          {1, setFilterMode},
          {1, askFilterMode},
          {1, setFlags},
          {1, askFlags},
          {1, setMipmapFilterMode},
          {1, askMipmapFilterMode},
          {1, setAnisotropy},
          {1, askAnisotropy},
          {1, setBias},
          {1, askBias},
          {1, setClamp},
          {1, askClamp},
          {1, setBorder},
          {1, askBorder},
          {1, setArray},
          {1, askArray},
          {1, setAddress},
          {1, askAddress},
          {1, setRows}});
}

void releaseTextureReferences() {
  if (reference) CALL(cuTexRefDestroy, reference);
  reference = nullptr;
}

}  // namespace calls
