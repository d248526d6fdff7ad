// Cases of textures and surfaces. Included by opcode_matrix.h, whose Builder it fills. A case says what its object is
// made of; which bytes are in it, contentsOf() says. Coordinates are the operands: a, b and c, the layer is c or d.
//
// What a kernel stores in a surface it may not read, so the answer of such a case is what the array holds afterwards:
// every thread stores at a place that no other one stores at, or adds up with the others.
#pragma once

namespace vg::ptx::matrix {

struct Geometry {
  std::string name;
  int axes;
  size_t width, height, depth;
  unsigned flags;
  std::string coordinates;
};
inline const Geometry kBoxes[] = {{"1d", 1, 13, 0, 0, 0, "{a}"},
                                  {"2d", 2, 13, 7, 0, 0, "{a, b}"},
                                  {"3d", 3, 13, 7, 5, 0, "{a, b, c, c}"},
                                  {"a1d", 1, 13, 0, 4, CUDA_ARRAY3D_LAYERED, "{c, a}"},
                                  {"a2d", 2, 13, 7, 4, CUDA_ARRAY3D_LAYERED, "{c, a, b, b}"}};
inline const Geometry kCubes[] = {{"cube", 3, 8, 8, 6, CUDA_ARRAY3D_CUBEMAP, "{a, b, c, c}"},
                                  {"acube", 3, 8, 8, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, "{d, a, b, c}"}};

struct TextureFormat {
  const char* name;
  CUarray_format format;
  unsigned channels;
};
inline constexpr TextureFormat kFloat1{"float", CU_AD_FORMAT_FLOAT, 1}, kFloat2{"float2", CU_AD_FORMAT_FLOAT, 2},
    kFloat4{"float4", CU_AD_FORMAT_FLOAT, 4}, kHalf1{"half", CU_AD_FORMAT_HALF, 1},
    kHalf2{"half2", CU_AD_FORMAT_HALF, 2}, kHalf4{"half4", CU_AD_FORMAT_HALF, 4},
    kByte1{"uchar", CU_AD_FORMAT_UNSIGNED_INT8, 1}, kByte2{"uchar2", CU_AD_FORMAT_UNSIGNED_INT8, 2},
    kByte4{"uchar4", CU_AD_FORMAT_UNSIGNED_INT8, 4}, kChar4{"char4", CU_AD_FORMAT_SIGNED_INT8, 4},
    kUshort1{"ushort", CU_AD_FORMAT_UNSIGNED_INT16, 1}, kUshort2{"ushort2", CU_AD_FORMAT_UNSIGNED_INT16, 2},
    kUshort4{"ushort4", CU_AD_FORMAT_UNSIGNED_INT16, 4}, kShort2{"short2", CU_AD_FORMAT_SIGNED_INT16, 2},
    kShort4{"short4", CU_AD_FORMAT_SIGNED_INT16, 4}, kUint1{"uint", CU_AD_FORMAT_UNSIGNED_INT32, 1},
    kUint2{"uint2", CU_AD_FORMAT_UNSIGNED_INT32, 2}, kUint4{"uint4", CU_AD_FORMAT_UNSIGNED_INT32, 4},
    kInt1{"int", CU_AD_FORMAT_SIGNED_INT32, 1}, kInt2{"int2", CU_AD_FORMAT_SIGNED_INT32, 2};

inline unsigned channelBytesOf(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    default:
      return 4;
  }
}
inline size_t elementBytesOf(const TextureObject& object) {
  return size_t{channelBytesOf(object.array.Format)} * object.array.NumChannels;
}
// Extents of a level; layers and faces stay as many.
inline CUDA_ARRAY3D_DESCRIPTOR levelOf(const TextureObject& object, unsigned level) {
  CUDA_ARRAY3D_DESCRIPTOR d = object.array;
  const auto half = [&](size_t& extent) { extent = extent ? std::max<size_t>(extent >> level, 1) : 0; };
  half(d.Width), half(d.Height);
  if (!(d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP))) half(d.Depth);
  return d;
}
inline size_t elementsOf(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  return d.Width * std::max<size_t>(d.Height, 1) * std::max<size_t>(d.Depth, 1);
}

// Of a number that a normal half holds exactly, or of 0.
inline uint16_t halfBitsOf(float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | (value == 0 ? 0 : ((bits & 0x7fffffff) - 0x38000000) >> 13));
}

// The elements of a level, one after another: whole numbers of any bits, floats that are multiples of 1/8 below 64, so
// that sums by 256ths are exact.
inline std::vector<std::byte> contentsOf(const TextureObject& object, unsigned level) {
  std::vector<std::byte> bytes(elementsOf(levelOf(object, level)) * elementBytesOf(object));
  const size_t each = channelBytesOf(object.array.Format);
  for (size_t at = 0; at < bytes.size(); at += each) {
    const uint64_t random = mix(at / each * 8 + level + 0x7e47);
    uint64_t value = random;
    const float eighths = static_cast<float>(static_cast<int>(random % 1023) - 511) / 8;
    if (object.array.Format == CU_AD_FORMAT_FLOAT && !object.raw) value = __builtin_bit_cast(uint32_t, eighths);
    if (object.array.Format == CU_AD_FORMAT_HALF && !object.raw) value = halfBitsOf(eighths);
    std::memcpy(&bytes[at], &value, each);
  }
  return bytes;
}

class TextureCases {
 public:
  explicit TextureCases(Builder& m) : m_(m) {}

  static TextureObject object(const Geometry& g, const TextureFormat& format) {
    TextureObject object;
    object.array.Width = g.width, object.array.Height = g.height, object.array.Depth = g.depth;
    object.array.Format = format.format, object.array.NumChannels = format.channels;
    object.array.Flags = g.flags;
    return object;
  }
  static TextureObject sampled(const Geometry& g, const TextureFormat& format, CUaddress_mode mode, bool linear,
                               unsigned flags) {
    TextureObject o = object(g, format);
    for (CUaddress_mode& each : o.texture.addressMode) each = mode;
    o.texture.filterMode = linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    o.texture.flags = flags;
    const float border[4] = {0.5f, -2, 7.25f, 1};
    const int32_t words[4] = {5, 0x12345, -3, 0x7fffffff};
    std::memcpy(o.texture.borderColor, flags & CU_TRSF_READ_AS_INTEGER ? static_cast<const void*>(words) : border,
                sizeof border);
    return o;
  }
  static TextureObject withLevels(const Geometry& g, const TextureFormat& format, bool linear, bool linearLevels) {
    Geometry larger = g;
    if (!(g.flags & CUDA_ARRAY3D_CUBEMAP)) larger.width = 16, larger.height = g.height ? 8 : 0;
    if (g.name == "3d") larger.depth = 8;
    TextureObject o = sampled(larger, format, CU_TR_ADDRESS_MODE_CLAMP, linear, CU_TRSF_NORMALIZED_COORDINATES);
    o.resource = TextureObject::Resource::Levels;
    o.levels = 4;
    o.texture.mipmapFilterMode = linearLevels ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    o.texture.maxMipmapLevelClamp = 10;
    return o;
  }
  static std::string described(const TextureObject& o, const TextureFormat& format) {
    static const char* const kModes[] = {"wrap", "clamp", "mirror", "border"};
    std::string text = std::string(" ") + format.name + " " + kModes[o.texture.addressMode[0]] +
                       (o.texture.filterMode == CU_TR_FILTER_MODE_LINEAR ? " linear" : " point");
    if (o.resource == TextureObject::Resource::Linear) text += " memory";
    if (o.resource == TextureObject::Resource::Pitched) text += " pitched";
    if (o.levels > 1) text += o.texture.mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR ? " between levels" : " levels";
    if (o.texture.flags & CU_TRSF_NORMALIZED_COORDINATES) text += " normalised";
    if (o.texture.flags & CU_TRSF_READ_AS_INTEGER) text += " whole";
    if (o.texture.flags & CU_TRSF_SRGB) text += " srgb";
    if (o.texture.flags & CU_TRSF_SEAMLESS_CUBEMAP) text += " seamless";
    if (o.texture.mipmapLevelBias != 0) text += " biased";
    return text + (o.raw ? " raw" : "");
  }

  // Coordinates of the geometry: floats of the range that the object takes, or whole numbers.
  static std::vector<Domain> coordinates(const Geometry& g, const TextureObject& o, bool whole) {
    const Domain d = whole                                              ? Domain::Whole
                     : g.flags & CUDA_ARRAY3D_CUBEMAP                   ? Domain::Direction
                     : o.texture.flags & CU_TRSF_NORMALIZED_COORDINATES ? Domain::Fractions
                                                                        : Domain::Texels;
    std::vector<Domain> in(4, d);
    if (g.name[0] == 'a') in[g.name == "acube" ? 3 : 2] = Domain::Whole;
    return in;
  }

  // `instruction` reads four components of 32 bits into r0 to r3.
  void read(const std::string& instruction, const std::string& tail, const Geometry& g, const TextureObject& o,
            const TextureFormat& format, const std::string& what = "") {
    const bool whole = instruction.size() > 4 && instruction.substr(instruction.size() - 4) == ".s32";
    const bool floats = instruction.find("v4.f32") != std::string::npos;
    const Match match = floats ? Match::F32x2 : Match::Bits;
    add(instruction + what + described(o, format),
        "{ .reg .b32 r<4>; " + instruction + " {r0, r1, r2, r3}, [tex, " + g.coordinates + "]" + tail +
            "; mov.b64 x, {r0, r1}; mov.b64 y, {r2, r3}; }",
        coordinates(g, o, whole), {{64, match}, {64, match}}, o);
  }
  void readHalves(const std::string& instruction, const Geometry& g, const TextureObject& o,
                  const TextureFormat& format) {
    const bool packed = instruction.find("f16x2") != std::string::npos;
    const bool whole = instruction.substr(instruction.size() - 4) == ".s32";
    add(instruction + described(o, format),
        packed ? "{ .reg .b32 r<2>; " + instruction + " {r0, r1}, [tex, " + g.coordinates +
                     "]; mov.b64 x, {r0, r1}; mov.b64 y, 0; }"
               : "{ .reg .b16 h<4>; " + instruction + " {h0, h1, h2, h3}, [tex, " + g.coordinates +
                     "]; mov.b64 x, {h0, h1, h2, h3}; mov.b64 y, 0; }",
        coordinates(g, o, whole), {{64, Match::F16x4}, {64, Match::Bits}}, o);
  }
  void add(const std::string& name, const std::string& text, std::vector<Domain> in,
           std::vector<std::pair<int, Match>> out, const TextureObject& o) {
    m_.add(name, text, std::move(in), std::move(out));
    m_.cases.back().object = o;
  }

 private:
  Builder& m_;
};

inline constexpr unsigned kNormalised = CU_TRSF_NORMALIZED_COORDINATES, kWhole = CU_TRSF_READ_AS_INTEGER;
inline constexpr CUaddress_mode kModes[] = {CU_TR_ADDRESS_MODE_WRAP, CU_TR_ADDRESS_MODE_CLAMP,
                                            CU_TR_ADDRESS_MODE_MIRROR, CU_TR_ADDRESS_MODE_BORDER};

// Every geometry, filter and way to leave the edges.
inline void textureSamples(TextureCases& t) {
  for (const Geometry& g : kBoxes) {
    const TextureFormat& f = g.name == "2d" ? kFloat4 : g.name == "a1d" ? kFloat2 : kFloat1;
    for (const bool linear : {false, true}) {
      for (const CUaddress_mode mode : kModes)
        t.read("tex." + g.name + ".v4.f32.f32", "", g, t.sampled(g, f, mode, linear, kNormalised), f);
      for (const CUaddress_mode mode : {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_BORDER})
        t.read("tex." + g.name + ".v4.f32.f32", "", g, t.sampled(g, f, mode, linear, 0), f);
    }
  }
  for (const Geometry& g : kCubes)
    for (const bool linear : {false, true})
      for (const unsigned seamless : {0u, unsigned{CU_TRSF_SEAMLESS_CUBEMAP}}) {
        const TextureFormat& f = seamless ? kFloat4 : kFloat1;
        t.read("tex." + g.name + ".v4.f32.f32", "", g,
               t.sampled(g, f, CU_TR_ADDRESS_MODE_CLAMP, linear, kNormalised | seamless), f);
      }
  TextureObject raw = t.sampled(kBoxes[1], kFloat2, CU_TR_ADDRESS_MODE_CLAMP, false, 0);
  raw.raw = true;
  t.read("tex.2d.v4.f32.f32", "", kBoxes[1], raw, kFloat2);
}

inline void textureFormats(TextureCases& t) {
  const Geometry& plane = kBoxes[1];
  const CUaddress_mode clamp = CU_TR_ADDRESS_MODE_CLAMP, border = CU_TR_ADDRESS_MODE_BORDER;
  for (const TextureFormat& f :
       {kByte1, kByte2, kByte4, kChar4, kUshort1, kUshort4, kShort2, kHalf1, kHalf2, kHalf4, kFloat2})
    for (const bool linear : {false, true})
      t.read("tex.2d.v4.f32.f32", "", plane, t.sampled(plane, f, linear ? clamp : border, linear, kNormalised), f);
  for (const TextureFormat& f : {kByte1, kByte2})
    t.read("tex.2d.v4.f32.f32", "", plane, t.sampled(plane, f, border, true, kNormalised), f);
  for (const bool linear : {false, true})
    t.read("tex.2d.v4.f32.f32", "", plane, t.sampled(plane, kByte4, clamp, linear, kNormalised | CU_TRSF_SRGB), kByte4);
  const Geometry square{"2d", 2, 24, 24, 0, 0, "{a, b}"};  // large enough for every byte
  t.read("tex.2d.v4.f32.f32", "", square, t.sampled(square, kByte4, clamp, false, CU_TRSF_SRGB), kByte4);
  for (const Geometry& g : {kBoxes[0], kBoxes[2], kBoxes[3], kBoxes[4]}) {
    t.read("tex." + g.name + ".v4.f32.f32", "", g, t.sampled(g, kHalf2, clamp, true, kNormalised), kHalf2);
    t.read("tex." + g.name + ".v4.f32.f32", "", g, t.sampled(g, kByte4, clamp, true, 0), kByte4);
  }
  for (const TextureFormat& f : {kUint1, kUint2, kUint4, kUshort4, kByte4})
    t.read("tex.2d.v4.u32.f32", "", plane, t.sampled(plane, f, f.channels == 4 ? border : clamp, false, kWhole), f);
  for (const TextureFormat& f : {kInt1, kShort2, kChar4})
    t.read("tex.2d.v4.s32.f32", "", plane, t.sampled(plane, f, f.channels == 4 ? border : clamp, false, kWhole), f);
  for (const Geometry& g : {kBoxes[0], kBoxes[2], kBoxes[3], kBoxes[4]}) {
    t.read("tex." + g.name + ".v4.u32.f32", "", g, t.sampled(g, kUint2, clamp, false, kNormalised | kWhole), kUint2);
    t.read("tex." + g.name + ".v4.s32.f32", "", g, t.sampled(g, kChar4, border, false, kWhole), kChar4);
  }
  for (const Geometry& g : kCubes)
    t.read("tex." + g.name + ".v4.u32.f32", "", g, t.sampled(g, kUshort2, clamp, false, kNormalised | kWhole),
           kUshort2);
}

// What arrays of one dimension answer to whole coordinates, and linear memory to others, CUDA leaves open.
inline void textureFetches(TextureCases& t) {
  const CUaddress_mode clamp = CU_TR_ADDRESS_MODE_CLAMP, border = CU_TR_ADDRESS_MODE_BORDER;
  const auto all = [&](const Geometry& g, TextureObject::Resource resource, CUaddress_mode mode) {
    const auto of = [&](const TextureFormat& f, unsigned flags) {
      TextureObject o = t.sampled(g, f, mode, false, flags);
      o.resource = resource;
      return o;
    };
    t.read("tex." + g.name + ".v4.f32.s32", "", g, of(kFloat4, 0), kFloat4);
    t.read("tex." + g.name + ".v4.u32.s32", "", g, of(kUshort2, kWhole), kUshort2);
    t.read("tex." + g.name + ".v4.s32.s32", "", g, of(kInt1, kWhole), kInt1);
    t.read("tex." + g.name + ".v4.f32.s32", "", g, of(kByte4, 0), kByte4);
    t.read("tex." + g.name + ".v4.f32.s32", "", g, of(kFloat1, 0), kFloat1);
  };
  for (const Geometry& g : kBoxes) {
    if (g.name == "1d") continue;
    all(g, TextureObject::Resource::Array, clamp);
    if (g.axes > 1) all(g, TextureObject::Resource::Array, border);
  }
  all(kBoxes[0], TextureObject::Resource::Linear, clamp);
  all(kBoxes[1], TextureObject::Resource::Pitched, clamp);
  for (const bool linear : {false, true})
    for (const CUaddress_mode mode : kModes) {
      TextureObject o = t.sampled(kBoxes[1], linear ? kFloat1 : kByte4, mode, linear, kNormalised);
      o.resource = TextureObject::Resource::Pitched;
      t.read("tex.2d.v4.f32.f32", "", kBoxes[1], o, linear ? kFloat1 : kByte4);
    }
}

inline void textureHalves(TextureCases& t) {
  const CUaddress_mode clamp = CU_TR_ADDRESS_MODE_CLAMP;
  const Geometry& plane = kBoxes[1];
  for (const bool linear : {false, true})
    for (const TextureFormat& f : {kHalf4, kFloat4, kByte4}) {
      t.readHalves("tex.2d.v4.f16.f32", plane, t.sampled(plane, f, clamp, linear, kNormalised), f);
      t.readHalves("tex.2d.v2.f16x2.f32", plane, t.sampled(plane, f, clamp, linear, kNormalised), f);
    }
  for (const Geometry& g : {kBoxes[0], kBoxes[2], kBoxes[3], kBoxes[4], kCubes[0]})
    t.readHalves("tex." + g.name + ".v4.f16.f32", g, t.sampled(g, kHalf2, clamp, true, kNormalised), kHalf2);
  t.readHalves("tex.2d.v4.f16.s32", plane, t.sampled(plane, kHalf4, clamp, false, 0), kHalf4);
}

inline void textureLevels(TextureCases& t) {
  const auto level = [&](const Geometry& g, const TextureObject& o, const TextureFormat& f) {
    const std::string name = "tex.level." + g.name + ".v4.f32.f32";
    const std::string lod = g.name == "acube" ? "c" : "d",
                      coordinates = g.name == "acube" ? "{b, a, d, d}" : g.coordinates;
    std::vector<Domain> in = t.coordinates(g, o, false);
    in[g.name == "acube" ? 2 : 3] = Domain::LevelOfDetail;
    if (g.name == "acube") in[1] = Domain::Whole, in[3] = Domain::Direction;
    t.add(name + t.described(o, f),
          "{ .reg .b32 r<4>; " + name + " {r0, r1, r2, r3}, [tex, " + coordinates + "], " + lod +
              "; mov.b64 x, {r0, r1}; mov.b64 y, {r2, r3}; }",
          in, {{64, Match::F32x2}, {64, Match::F32x2}}, o);
  };
  for (const Geometry& g : kBoxes) {
    level(g, t.withLevels(g, kFloat1, false, false), kFloat1);
    level(g, t.withLevels(g, kFloat1, true, true), kFloat1);
  }
  for (const Geometry& g : kCubes) {
    level(g, t.withLevels(g, kFloat1, false, false), kFloat1);
    level(g, t.withLevels(g, kFloat1, true, true), kFloat1);
  }
  const Geometry& plane = kBoxes[1];
  level(plane, t.withLevels(plane, kFloat2, true, false), kFloat2);
  level(plane, t.withLevels(plane, kFloat4, false, true), kFloat4);
  level(plane, t.withLevels(plane, kByte4, true, true), kByte4);
  level(plane, t.withLevels(plane, kHalf2, true, true), kHalf2);
  for (const bool linear : {false, true}) {
    TextureObject o = t.withLevels(plane, kFloat1, true, linear);
    o.texture.mipmapLevelBias = 0.75f;
    o.texture.minMipmapLevelClamp = 0.5f;
    o.texture.maxMipmapLevelClamp = 2.25f;
    level(plane, o, kFloat1);
    t.read("tex.2d.v4.f32.f32", "", plane, o, kFloat1);
  }
  t.read("tex.2d.v4.f32.f32", "", plane, t.withLevels(plane, kFloat1, true, true), kFloat1);
  for (const Geometry& g : {kBoxes[1], kBoxes[4]}) {
    const TextureObject o = t.withLevels(g, kFloat1, false, false);
    t.add("tex.level." + g.name + ".v4.f32.s32" + t.described(o, kFloat1),
          "{ .reg .b32 r<4>; tex.level." + g.name + ".v4.f32.s32 {r0, r1, r2, r3}, [tex, " + g.coordinates +
              "], d; mov.b64 x, {r0, r1}; mov.b64 y, {r2, r3}; }",
          std::vector<Domain>(4, Domain::Whole), {{64, Match::F32x2}, {64, Match::F32x2}}, o);
  }
}

// Along the axes, by powers of two. How units approximate others is their own affair.
inline void textureGradients(TextureCases& t) {
  struct Gradient {
    const Geometry& g;
    std::string coordinates, dx, dy;
    std::vector<Domain> in;
  };
  const Domain f = Domain::Fractions, s = Domain::Slope, w = Domain::Whole;
  const std::string none = "0f00000000";
  for (const Gradient& gradient :
       {Gradient{kBoxes[0], "{a}", "{b}", "{c}", {f, s, s}},
        Gradient{kBoxes[1], "{a, b}", "{c, " + none + "}", "{" + none + ", d}", {f, f, s, s}},
        Gradient{kBoxes[2],
                 "{a, b, a, a}",
                 "{c, " + none + ", " + none + ", " + none + "}",
                 "{" + none + ", d, " + none + ", " + none + "}",
                 {f, f, s, s}},
        Gradient{kBoxes[3], "{b, a}", "{c}", "{d}", {f, w, s, s}},
        Gradient{kBoxes[4], "{b, a, a, a}", "{c, " + none + "}", "{" + none + ", d}", {f, w, s, s}}})
    for (const bool linear : {false, true}) {
      const TextureObject o = t.withLevels(gradient.g, kFloat1, true, linear);
      const std::string name = "tex.grad." + gradient.g.name + ".v4.f32.f32";
      t.add(name + t.described(o, kFloat1),
            "{ .reg .b32 r<4>; " + name + " {r0, r1, r2, r3}, [tex, " + gradient.coordinates + "], " + gradient.dx +
                ", " + gradient.dy + "; mov.b64 x, {r0, r1}; mov.b64 y, {r2, r3}; }",
            gradient.in, {{64, Match::F32x2}, {64, Match::F32x2}}, o);
    }
}

inline void textureOffsets(TextureCases& t) {
  for (const CUaddress_mode mode : {CU_TR_ADDRESS_MODE_WRAP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_BORDER})
    for (const bool linear : {false, true}) {
      if (linear && mode == CU_TR_ADDRESS_MODE_WRAP) continue;
      t.read("tex.2d.v4.f32.f32", ", {3, -2}", kBoxes[1], t.sampled(kBoxes[1], kFloat1, mode, linear, kNormalised),
             kFloat1, " offset");
      if (mode == CU_TR_ADDRESS_MODE_WRAP) continue;
      if (mode == CU_TR_ADDRESS_MODE_CLAMP)
        t.read("tex.1d.v4.f32.f32", ", {-5}", kBoxes[0], t.sampled(kBoxes[0], kFloat1, mode, linear, 0), kFloat1,
               " offset");
      t.read("tex.3d.v4.f32.f32", ", {1, -3, 2, 0}", kBoxes[2], t.sampled(kBoxes[2], kFloat1, mode, linear, 0), kFloat1,
             " offset");
      t.read("tex.a2d.v4.f32.f32", ", {-1, 4}", kBoxes[4], t.sampled(kBoxes[4], kFloat1, mode, linear, 0), kFloat1,
             " offset");
    }
  t.read("tex.2d.v4.f32.s32", ", {-8, 7}", kBoxes[1], t.sampled(kBoxes[1], kFloat1, CU_TR_ADDRESS_MODE_CLAMP, false, 0),
         kFloat1, " offset");
}

inline void textureGathers(TextureCases& t) {
  const auto gather = [&](const std::string& head, const std::string& tail, const Geometry& g, TextureObject o,
                          const TextureFormat& f, const std::string& what = "") {
    if (g.name == "2d") o.array.Flags |= CUDA_ARRAY3D_TEXTURE_GATHER;
    t.read(head, tail, g, o, f, what);
  };
  const Geometry& plane = kBoxes[1];
  const CUaddress_mode clamp = CU_TR_ADDRESS_MODE_CLAMP;
  for (const char* channel : {"r", "g", "b", "a"}) {
    const std::string head = std::string("tld4.") + channel + ".2d.v4.";
    gather(head + "f32.f32", "", plane, t.sampled(plane, kFloat4, clamp, false, 0), kFloat4);
    gather(head + "u32.f32", "", plane, t.sampled(plane, kByte4, clamp, false, kWhole), kByte4);
    gather(head + "s32.f32", "", plane, t.sampled(plane, kShort4, clamp, false, kWhole), kShort4);
  }
  for (const CUaddress_mode mode : kModes)
    gather("tld4.g.2d.v4.f32.f32", "", plane,
           t.sampled(plane, kFloat2, mode, mode == CU_TR_ADDRESS_MODE_WRAP, kNormalised), kFloat2);
  gather("tld4.r.2d.v4.f32.f32", "", plane, t.sampled(plane, kByte4, clamp, true, 0), kByte4);
  gather("tld4.r.2d.v4.f32.f32", ", {2, -3}", plane, t.sampled(plane, kFloat1, clamp, true, 0), kFloat1, " offset");
  gather("tld4.r.a2d.v4.f32.f32", "", kBoxes[4], t.sampled(kBoxes[4], kFloat1, clamp, false, 0), kFloat1);
  for (const Geometry& g : kCubes)
    for (const unsigned seamless : {0u, unsigned{CU_TRSF_SEAMLESS_CUBEMAP}})
      gather("tld4.b." + g.name + ".v4.f32.f32", "", g, t.sampled(g, kFloat4, clamp, true, kNormalised | seamless),
             kFloat4);
}

inline void textureQueries(TextureCases& t) {
  const std::vector<std::pair<int, Match>> out{{32, Match::Bits}};
  const auto query = [&](const std::string& instruction, const std::string& of, const TextureObject& o) {
    t.add(instruction + " " + of, instruction + " x, [tex];", {}, out, o);
  };
  for (const Geometry& g : kBoxes) {
    const TextureObject o = t.sampled(g, kFloat2, CU_TR_ADDRESS_MODE_MIRROR, true, kNormalised);
    for (const char* what :
         {"width", "height", "depth", "array_size", "channel_data_type", "channel_order", "num_mipmap_levels",
          "num_samples", "normalized_coords", "filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2"})
      if (g.name == "2d" || std::string(what).find("_") == std::string::npos || what[1] == 'r')
        query(std::string("txq.") + what + ".b32", g.name, o);
    TextureObject surface = t.object(g, kFloat2);
    surface.surface = true;
    surface.array.Flags |= CUDA_ARRAY3D_SURFACE_LDST;
    for (const char* what :
         {"width", "height", "depth", "array_size", "channel_data_type", "channel_order", "memory_layout"})
      if (g.name == "2d" || std::string(what).find("_") == std::string::npos)
        query(std::string("suq.") + what + ".b32", g.name, surface);
  }
  const TextureObject levels = t.withLevels(kBoxes[1], kFloat1, true, true);
  for (const char* what : {"width", "height", "num_mipmap_levels"})
    query(std::string("txq.") + what + ".b32", "levels", levels);
  for (const char* what : {"width", "height"})
    t.add(std::string("txq.level.") + what + ".b32",
          std::string("and.b32 a, a, 3; txq.level.") + what + ".b32 x, [tex], a;", {Domain::Whole}, out, levels);
  TextureObject surface = t.object(kBoxes[1], kUint1);
  surface.surface = true;
  surface.array.Flags |= CUDA_ARRAY3D_SURFACE_LDST;
  for (const char* type : {"texref", "surfref", "samplerref"}) {
    t.add(std::string("istypep.") + type + " texture", std::string("istypep.") + type + " x, tex;", {},
          {{1, Match::Bits}}, levels);
    t.add(std::string("istypep.") + type + " surface", std::string("istypep.") + type + " x, tex;", {},
          {{1, Match::Bits}}, surface);
  }
}

inline const Geometry kSurfaces[] = {{"1d", 1, 64, 0, 0, 0, "{a}"},
                                     {"2d", 2, 16, 8, 0, 0, "{a, b}"},
                                     {"3d", 3, 8, 4, 4, 0, "{a, b, c, c}"},
                                     {"a1d", 1, 32, 0, 4, CUDA_ARRAY3D_LAYERED, "{c, a}"},
                                     {"a2d", 2, 8, 4, 4, CUDA_ARRAY3D_LAYERED, "{c, a, b, b}"}};

class SurfaceCases {
 public:
  explicit SurfaceCases(TextureCases& t) : t_(t) {}

  static TextureObject surface(const Geometry& g, const TextureFormat& format) {
    TextureObject o = TextureCases::object(g, format);
    o.surface = true;
    o.array.Flags |= CUDA_ARRAY3D_SURFACE_LDST;
    return o;
  }
  // Elements of the size of what is moved.
  static TextureFormat formatOf(const Element& e, int width) {
    const unsigned each = e.bits == 64 ? 2 : 1;
    return {"",
            e.bits == 8    ? CU_AD_FORMAT_UNSIGNED_INT8
            : e.bits == 16 ? CU_AD_FORMAT_UNSIGNED_INT16
                           : CU_AD_FORMAT_UNSIGNED_INT32,
            each * static_cast<unsigned>(width)};
  }

  void load(const Geometry& g, const Element& e, int width, const std::string& mode) {
    const std::string name = "suld.b." + g.name + vectorOf(width) + "." + e.type + "." + mode;
    const std::string inside = mode == "trap" ? inBox(g) : "max.s32 c, c, -1000; ";
    t_.add(name,
           "{ .reg .b64 wf; " + elementRegisters(e, "r") + inside + inBytes(e.bits / 8 * width) + name + " " +
               registersOf("r", width) + ", [tex, " + g.coordinates + "]; " + foldTo("x", e, "r", width) +
               "mov.b64 y, 0; }",
           std::vector<Domain>(3, Domain::Whole), {{64, Match::Bits}, {64, Match::Bits}},
           surface(g, formatOf(e, width)));
  }

  void store(const Geometry& g, const Element& e, int width, const std::string& mode) {
    const std::string name = "sust.b." + g.name + vectorOf(width) + "." + e.type + "." + mode;
    std::string given;
    for (int k = 0; k < width; ++k)
      given += (e.registerBits == 64 ? "mov.b64 r" : "cvt.u" + std::to_string(e.registerBits) + ".u64 r") +
               std::to_string(k) + ", " + static_cast<char>('a' + k) + "; ";
    put(name,
        elementRegisters(e, "r") + given + own(g, mode != "trap") + placed(e.bits / 8 * width) + "@q " + name +
            " [tex, " + placedCoordinates(g) + "], " + registersOf("r", width) + ";",
        std::vector<Domain>(4, Domain::Int64), g, formatOf(e, width));
  }

  void storeFormatted(const Geometry& g, const TextureFormat& f, const std::string& mode) {
    const std::string name = "sust.p." + g.name + vectorOf(static_cast<int>(f.channels)) + ".b32." + mode;
    const bool floats = f.format == CU_AD_FORMAT_FLOAT || f.format == CU_AD_FORMAT_HALF;
    const std::string letters[] = {"", "a", "{a, b}", "", "{a, b, c, d}"};
    put(name + " " + f.name,
        own(g, mode != "trap") + "@q " + name + " [tex, " + placedCoordinates(g) + "], " + letters[f.channels] + ";",
        std::vector<Domain>(4, floats ? Domain::F32 : Domain::Int32), g, f);
  }

  // All threads at places that they share.
  void reduce(const std::string& head, const Geometry& g, const std::string& type, const std::string& mode,
              const TextureFormat& f, bool elements) {
    const bool wide = type.substr(1) == "64";
    const std::string name = head + "." + g.name + "." + type + "." + mode;
    put(name + (elements ? std::string(" ") + f.name : ""),
        (mode == "trap" ? inBox(g) : "") + (elements ? "" : inBytes(wide ? 8 : 4)) +
            (wide ? ".reg .b64 v; mov.b64 v, {d, thread}; " : ".reg .b32 v; mov.b32 v, d; ") + name + " [tex, " +
            g.coordinates + "], v;",
        {Domain::Whole, Domain::Whole, Domain::Whole, Domain::Int32}, g, f);
  }

 private:
  static std::string text(size_t n) { return std::to_string(n); }
  // Brings a, b and c inside; the extents are powers of two.
  static std::string inBox(const Geometry& g) {
    std::string t = "and.b32 a, a, " + text(g.width - 1) + "; ";
    if (g.height) t += "and.b32 b, b, " + text(g.height - 1) + "; ";
    if (g.depth) t += "and.b32 c, c, " + text(g.depth - 1) + "; ";
    return t;
  }
  static std::string inBytes(int bytes) { return "mul.lo.u32 a, a, " + std::to_string(bytes) + "; "; }
  static std::string placed(int bytes) { return "mul.lo.u32 px, px, " + std::to_string(bytes) + "; "; }
  static std::string placedCoordinates(const Geometry& g) {
    if (g.name == "1d") return "{px}";
    if (g.name == "2d") return "{px, py}";
    if (g.name == "a1d") return "{pz, px}";
    return g.name == "3d" ? "{px, py, pz, pz}" : "{pz, px, py, py}";
  }
  // The thread's element in px, py and pz, if q; with `beyond` those at an edge ask further out.
  static std::string own(const Geometry& g, bool beyond) {
    const size_t rows = std::max<size_t>(g.height, 1), slices = std::max<size_t>(g.depth, 1);
    std::string t = ".reg .b32 px, py, pz, rest; .reg .pred q, edge; setp.lt.u32 q, thread, " +
                    text(g.width * rows * slices) + "; rem.u32 px, thread, " + text(g.width) +
                    "; div.u32 rest, thread, " + text(g.width) + "; rem.u32 py, rest, " + text(rows) +
                    "; div.u32 pz, rest, " + text(rows) + "; ";
    const auto push = [&](const std::string& p, size_t size) {
      t += "setp.eq.u32 edge, " + p + ", 0; @edge mov.u32 " + p + ", -3; setp.eq.u32 edge, " + p + ", " +
           text(size - 1) + "; @edge mov.u32 " + p + ", " + text(size + 2) + "; ";
    };
    if (!beyond) return t;
    push("px", g.width);
    if (g.height) push("py", rows);
    if (g.name == "3d") push("pz", slices);
    return t;
  }
  void put(const std::string& name, const std::string& body, std::vector<Domain> in, const Geometry& g,
           const TextureFormat& f) {
    TextureObject o = surface(g, f);
    o.stores = true;
    t_.add(name, "{ " + body + " mov.b64 x, 0; mov.b64 y, 0; }", std::move(in), {{64, Match::Bits}, {64, Match::Bits}},
           o);
  }

  TextureCases& t_;
};

inline void surfaceMoves(SurfaceCases& s) {
  const Element elements[] = {{"b8", 8, 16}, {"b16", 16, 16}, {"b32", 32, 32}, {"b64", 64, 64}};
  for (const Geometry& g : kSurfaces)
    for (const Element& e : elements)
      for (int width : {1, 2, 4}) {
        if (e.bits * width > 128) continue;
        s.load(g, e, width, "trap");
        s.store(g, e, width, "trap");
        const bool some =
            g.name == "2d" ? width != 2 || e.bits == 32 : (e.bits == 32 && width == 1) || (e.bits == 8 && width == 4);
        if (!some) continue;
        for (const char* mode : {"clamp", "zero"}) {
          s.load(g, e, width, mode);
          s.store(g, e, width, mode);
        }
      }
  for (const TextureFormat& f :
       {kFloat1, kFloat4, kHalf1, kHalf2, kHalf4, kByte1, kByte4, kChar4, kUshort2, kShort4, kUint2, kInt1})
    s.storeFormatted(kSurfaces[1], f, "trap");
  for (const char* mode : {"clamp", "zero"}) s.storeFormatted(kSurfaces[1], kHalf4, mode);
  for (const Geometry& g : {kSurfaces[0], kSurfaces[2], kSurfaces[3], kSurfaces[4]})
    s.storeFormatted(g, kHalf2, "trap");
}

inline void surfaceReductions(SurfaceCases& s) {
  const Geometry& plane = kSurfaces[1];
  const auto reduce = [&](const std::string& op, const char* type) {
    s.reduce("sured.b." + op, plane, type, "trap", type[1] == '6' ? kUint2 : kUint1, false);
  };
  for (const char* op : {"add", "min", "max"})
    for (const char* type : {"u32", "s32", "u64"}) reduce(op, type);
  for (const char* op : {"min", "max"}) reduce(op, "s64");
  for (const char* op : {"and", "or"}) reduce(op, "b32");
  for (const Geometry& g : {kSurfaces[0], kSurfaces[1], kSurfaces[2]})
    for (const char* mode : {"trap", "clamp", "zero"})
      if (g.name != "2d" || mode[0] != 't') s.reduce("sured.b.add", g, "u32", mode, kUint1, false);
  for (const char* op : {"add", "min", "max", "and", "or"})
    for (const TextureFormat& f : {kUint1, kInt1})
      s.reduce(std::string("sured.p.") + op, plane, "b32", "trap", f, true);
}

inline void textures(Builder& m) {
  TextureCases t(m);
  textureSamples(t);
  textureFormats(t);
  textureFetches(t);
  textureHalves(t);
  textureLevels(t);
  textureGradients(t);
  textureOffsets(t);
  textureGathers(t);
  textureQueries(t);
  SurfaceCases s(t);
  surfaceMoves(s);
  surfaceReductions(s);
}

}  // namespace vg::ptx::matrix
