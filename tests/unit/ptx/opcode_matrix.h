// Every legal one-instruction kernel that the tests of the PTX machines run: opcodes x types x modifiers, with operands
// that mix corner cases and random bits. The same list runs in the interpreter, in compiled code and on a GPU.
//
// A case's kernel has two pointers as parameters. Thread t of kThreads reads operand k as the 8-byte word
// in[t * kOperands + k] (its low bits) and writes result k to out[t * kResults + k], zero-extended.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptx/operations/tensor_map.h"

namespace vg::ptx::matrix {

inline constexpr uint32_t kThreads = 1024, kBlock = 128, kOperands = 4, kResults = 2;

inline uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// What values an operand takes.
enum class Domain {
  Pred,
  Int8,
  Int16,
  Int32,
  Int64,
  Small,
  Lane,
  F16,
  Bf16,
  F16x2,
  Bf16x2,
  F32,
  F64,
  Angle,
  Fp8x2,
  // Numbers of either sign between 1/8 and 2, for sums of products.
  NearF16x2,
  NearBf16x2,
  NearF32,
  NearF64,
  NearE4m3x4,
  NearE5m2x4,
  // Multiples of 1/4 from -1 to 1, whose products have exact sums.
  QuarterF16x2,
  QuarterBf16x2,
  QuarterF32,
  QuarterF64,
  // Coordinates of textures: elements, 0 to 1, whole ones, directions, levels, gradients.
  Texels,
  Fractions,
  Whole,
  Direction,
  LevelOfDetail,
  Slope,
  // Zeros, denormals, numbers, infinities and NaNs: opcode_floats.h.
  EdgeF16,
  EdgeF16x2,
  EdgeBf16,
  EdgeBf16x2,
  EdgeF32,
  EdgeF64
};
// How results are compared; floats: any NaN equals any NaN.
enum class Match {
  Bits,
  F16,
  Bf16,
  F16x2,
  Bf16x2,
  F16x4,
  F32,
  F32x2,
  F64,
  ApproxF32,
  ApproxF64,
  ApproxF16,
  ApproxBf16,
  // By bits, but what was rounded up to the smallest normal number may have been flushed to zero.
  FlushedF32,
  FlushedF16,
  Loose
};

// What a case's texture or surface is made of.
struct TextureObject {
  enum class Resource { Array, Levels, Linear, Pitched };
  Resource resource = Resource::Array;
  CUDA_ARRAY3D_DESCRIPTOR array{};
  unsigned levels = 1;
  CUDA_TEXTURE_DESC texture{};
  bool surface = false;
  bool stores = false;  // the answer is what the array holds afterwards
  bool raw = false;     // floats of any bits
};

struct Case {
  std::string name;  // the mnemonic, and what distinguishes it
  std::string text;  // instructions that read a, b, c, d and write x, y
  std::vector<Domain> operands;
  std::vector<std::pair<int, Match>> results;  // bits (1: predicate) and comparison
  double relative = 0, absolute = 0;           // of the Approx matches; both 0: bit for bit
  bool cluster = false;                        // runs in clusters of one block
  std::optional<TensorMap> map;                // of a tensor; its address comes when the case runs
  std::string module = {};                     // what the module has besides; $ begins names, see named()
  bool parameters = false;                     // the kernel has parameters of kParameterList
  std::optional<TextureObject> object;         // a texture or surface, whose number is in register tex
  bool oneNaN = false;     // lanes where a and b are NaNs of f64 do not count: which of them goes on is open
  std::string loads = {};  // for each operand the letter of the type that it is loaded as, b where there is none
};

inline int bitsOf(Domain d) {
  switch (d) {
    case Domain::Pred:
      return 1;
    case Domain::Int16:
    case Domain::F16:
    case Domain::Bf16:
    case Domain::Fp8x2:
    case Domain::EdgeF16:
    case Domain::EdgeBf16:
      return 16;
    case Domain::EdgeF64:
    case Domain::Int64:
    case Domain::F64:
    case Domain::NearF64:
    case Domain::QuarterF64:
      return 64;
    default:
      return 32;  // 8-bit operands live in 32-bit registers
  }
}

class Builder {
 public:
  std::vector<Case> cases;

  void add(const std::string& name, const std::string& text, std::vector<Domain> in,
           std::vector<std::pair<int, Match>> out, double relative = 0, double absolute = 0) {
    cases.push_back({name, text, std::move(in), std::move(out), relative, absolute, false, std::nullopt});
  }
  void addInCluster(const std::string& name, const std::string& text, std::vector<Domain> in,
                    std::vector<std::pair<int, Match>> out) {
    add(name, text, std::move(in), std::move(out));
    cases.back().cluster = true;
  }
  // name x, a, b, ...;
  void plain(const std::string& name, std::vector<Domain> in, std::pair<int, Match> out, double relative = 0,
             double absolute = 0) {
    std::string text = name + " x";
    for (size_t i = 0; i < in.size(); ++i) text += std::string(", ") + static_cast<char>('a' + i);
    add(name, text + ";", std::move(in), {out}, relative, absolute);
  }
};

struct Scalar {
  const char* name;
  Domain domain;
  int bits;
  Match match;
};
inline const Scalar kInts[] = {{"s16", Domain::Int16, 16, Match::Bits}, {"u16", Domain::Int16, 16, Match::Bits},
                               {"s32", Domain::Int32, 32, Match::Bits}, {"u32", Domain::Int32, 32, Match::Bits},
                               {"s64", Domain::Int64, 64, Match::Bits}, {"u64", Domain::Int64, 64, Match::Bits}};
inline const Scalar kBits[] = {{"b16", Domain::Int16, 16, Match::Bits},
                               {"b32", Domain::Int32, 32, Match::Bits},
                               {"b64", Domain::Int64, 64, Match::Bits}};
inline const Scalar kHalves[] = {{"f16", Domain::F16, 16, Match::F16},
                                 {"f16x2", Domain::F16x2, 32, Match::F16x2},
                                 {"bf16", Domain::Bf16, 16, Match::Bf16},
                                 {"bf16x2", Domain::Bf16x2, 32, Match::Bf16x2}};

inline std::string str(const char* format, const char* a, const char* b = "", const char* c = "") {
  std::string out;
  const char* arguments[] = {a, b, c};
  int next = 0;
  for (; *format; ++format) {
    if (*format == '@')
      out += arguments[next++];
    else
      out += *format;
  }
  return out;
}

inline void integers(Builder& m) {
  for (const Scalar& t : kInts) {
    const std::pair<int, Match> out{t.bits, Match::Bits};
    const Domain d = t.domain;
    const bool isSigned = t.name[0] == 's';
    for (const char* op : {"add", "sub", "div", "rem", "min", "max"}) m.plain(str("@.@", op, t.name), {d, d}, out);
    for (const char* op : {"mul.lo", "mul.hi"}) m.plain(str("@.@", op, t.name), {d, d}, out);
    for (const char* op : {"mad.lo", "mad.hi", "sad"}) m.plain(str("@.@", op, t.name), {d, d, d}, out);
    if (isSigned) {
      m.plain(str("abs.@", t.name), {d}, out);
      m.plain(str("neg.@", t.name), {d}, out);
    }
    if (t.bits < 64) {
      m.plain(str("mul.wide.@", t.name), {d, d}, {t.bits * 2, Match::Bits});
      m.plain(str("mad.wide.@", t.name), {d, d, t.bits == 16 ? Domain::Int32 : Domain::Int64},
              {t.bits * 2, Match::Bits});
    }
    m.plain(str("shr.@", t.name), {d, Domain::Small}, out);
    if (t.bits >= 32) {
      m.plain(str("bfe.@", t.name), {d, Domain::Small, Domain::Small}, out);
      m.plain(str("bfind.@", t.name), {d}, {32, Match::Bits});
      m.plain(str("bfind.shiftamt.@", t.name), {d}, {32, Match::Bits});
    }
  }
  const Domain i32 = Domain::Int32, i64 = Domain::Int64, small = Domain::Small;
  const std::pair<int, Match> out32{32, Match::Bits}, out64{64, Match::Bits}, predicate{1, Match::Bits};
  for (const char* op : {"add.sat.s32", "sub.sat.s32"}) m.plain(op, {i32, i32}, out32);
  m.plain("mad.hi.sat.s32", {i32, i32, i32}, out32);
  for (const char* t : {"s32", "u32"}) {
    for (const char* half : {"lo", "hi"}) {
      m.plain(str("mul24.@.@", half, t), {i32, i32}, out32);
      m.plain(str("mad24.@.@", half, t), {i32, i32, i32}, out32);
    }
    for (const char* mode : {"clamp", "wrap"}) m.plain(str("szext.@.@", mode, t), {i32, small}, out32);
    for (const char* u : {"s32", "u32"}) {
      m.plain(str("dp4a.@.@", t, u), {i32, i32, i32}, out32);
      for (const char* half : {"lo", "hi"}) m.plain(str("dp2a.@.@.@", half, t, u), {i32, i32, i32}, out32);
    }
  }
  m.plain("mad24.hi.sat.s32", {i32, i32, i32}, out32);
  for (const char* op : {"add", "min", "max"})
    for (const char* t : {"u16x2", "s16x2"}) m.plain(str("@.@", op, t), {i32, i32}, out32);
  for (const char* op : {"add", "add.sat", "sub", "sub.sat", "min", "max"})
    for (const char* t : {"u8x4", "s8x4"}) m.plain(str("@.@", op, t), {i32, i32}, out32);
  for (const char* op : {"add.sat.u16x2", "add.sat.s16x2", "add.sat.u32", "min.relu.s8x4", "max.relu.s8x4"})
    m.plain(op, {i32, i32}, out32);
  m.plain("neg.s8x4", {i32}, out32);
  for (const char* half : {"lo", "hi"}) m.plain(str("clmad.@.u64", half), {i64, i64, i64}, {64, Match::Bits});
  for (const char* op : {"min.relu.s16x2", "max.relu.s16x2", "min.relu.s32", "max.relu.s32"})
    m.plain(op, {i32, i32}, out32);
  for (const Scalar& t : kBits) {
    const Domain d = t.domain;
    const std::pair<int, Match> out{t.bits, Match::Bits};
    for (const char* op : {"and", "or", "xor"}) m.plain(str("@.@", op, t.name), {d, d}, out);
    for (const char* op : {"not", "cnot", "mov"}) m.plain(str("@.@", op, t.name), {d}, out);
    for (const char* op : {"shl", "shr"}) m.plain(str("@.@", op, t.name), {d, small}, out);
    if (t.bits < 32) continue;
    m.plain(str("popc.@", t.name), {d}, out32);
    m.plain(str("clz.@", t.name), {d}, out32);
    m.plain(str("brev.@", t.name), {d}, out);
    m.plain(str("bfi.@", t.name), {d, d, small, small}, out);
  }
  for (const char* op : {"and", "or", "xor"}) m.plain(str("@.pred", op), {Domain::Pred, Domain::Pred}, predicate);
  for (const char* op : {"not.pred", "mov.pred"}) m.plain(op, {Domain::Pred}, predicate);
  for (int lut : {0x00, 0x01, 0x17, 0x2a, 0x3c, 0x69, 0x80, 0x96, 0xac, 0xca, 0xd8, 0xe8, 0xf0, 0xf8, 0xfe, 0xff}) {
    const std::string n = std::to_string(lut);
    m.add("lop3.b32 lut " + n, "lop3.b32 x, a, b, c, " + n + ";", {i32, i32, i32}, {out32});
  }
  for (const char* op : {"or", "and"})
    m.add(str("lop3.@.b32", op), str("lop3.@.b32 x|y, a, b, c, 0x96, d;", op), {i32, i32, i32, Domain::Pred},
          {out32, predicate});
  for (const char* direction : {"l", "r"})
    for (const char* mode : {"wrap", "clamp"}) m.plain(str("shf.@.@.b32", direction, mode), {i32, i32, small}, out32);
  m.plain("prmt.b32", {i32, i32, i32}, out32);
  for (const char* mode : {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})
    m.plain(str("prmt.b32.@", mode), {i32, i32, small}, out32);
  for (const char* mode : {"clamp", "wrap"}) m.plain(str("bmsk.@.b32", mode), {small, small}, out32);
  m.plain("fns.b32", {i32, Domain::Lane, small}, out32);
  // Carry chains: two words each.
  for (const char* t : {"u32", "s32"}) {
    m.add(str("add.cc addc.@", t), str("add.cc.@ x, a, b; addc.@ y, c, d;", t, t), {i32, i32, i32, i32},
          {out32, out32});
    m.add(str("sub.cc subc.@", t), str("sub.cc.@ x, a, b; subc.@ y, c, d;", t, t), {i32, i32, i32, i32},
          {out32, out32});
    m.add(str("mad.lo.cc madc.hi.@", t), str("mad.lo.cc.@ x, a, b, c; madc.hi.@ y, a, b, d;", t, t),
          {i32, i32, i32, i32}, {out32, out32});
    m.add(str("add.cc madc.lo.cc addc.@", t),
          str("add.cc.@ x, a, b; madc.lo.cc.@ x, a, b, c; addc.@ y, c, d;", t, t, t), {i32, i32, i32, i32},
          {out32, out32});
    m.add(str("sub.cc subc.cc subc.@", t), str("sub.cc.@ x, a, b; subc.cc.@ x, x, c; subc.@ y, c, d;", t, t, t),
          {i32, i32, i32, i32}, {out32, out32});
  }
  m.add("add.cc addc.u64", "add.cc.u64 x, a, b; addc.u64 y, c, d;", {i64, i64, i64, i64}, {out64, out64});
  m.add("sub.cc subc.u64", "sub.cc.u64 x, a, b; subc.u64 y, c, d;", {i64, i64, i64, i64}, {out64, out64});
  m.add("mad.lo.cc madc.hi.u64", "mad.lo.cc.u64 x, a, b, c; madc.hi.u64 y, a, b, d;", {i64, i64, i64, i64},
        {out64, out64});
  // Pack and unpack.
  const Domain i16 = Domain::Int16;
  m.add("mov.b32 pack", "mov.b32 x, {a, b};", {i16, i16}, {out32});
  m.add("mov.b64 pack", "mov.b64 x, {a, b};", {i32, i32}, {out64});
  m.add("mov.b64 pack4", "mov.b64 x, {a, b, c, d};", {i16, i16, i16, i16}, {out64});
  m.add("mov.b32 unpack", "mov.b32 {x, y}, a;", {i32}, {{16, Match::Bits}, {16, Match::Bits}});
  m.add("mov.b64 unpack", "mov.b64 {x, y}, a;", {i64}, {out32, out32});
  // Video.
  for (const char* t : {"u32", "s32"}) {
    for (const char* op : {"vabsdiff4", "vadd4", "vsub4", "vmin4", "vmax4", "vavrg4", "vabsdiff2", "vadd2", "vsub2",
                           "vmin2", "vmax2", "vavrg2"}) {
      const std::string n = str("@.@.@", op, t, t) + std::string(".") + t;
      m.plain(n, {i32, i32, i32}, out32);
      m.plain(str("@.@.@", op, t, t) + "." + t + ".add", {i32, i32, i32}, out32);
    }
    for (const char* op : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"}) {
      const std::string n = str("@.@.@", op, t, t) + "." + t;
      m.plain(n, {i32, i32}, out32);
      m.add(n + " bytes", n + " x, a.b1, b.b3;", {i32, i32}, {out32});
      m.add(n + ".sat add", str("@.@.@", op, t, t) + "." + t + ".sat.add x, a.h1, b.h0, c;", {i32, i32, i32}, {out32});
    }
    for (const char* op : {"vshl", "vshr"})
      for (const char* mode : {"clamp", "wrap"})
        m.plain(std::string(op) + "." + t + "." + t + ".u32." + mode, {i32, small}, out32);
  }
}

inline void comparisons(Builder& m) {
  const std::pair<int, Match> predicate{1, Match::Bits}, out32{32, Match::Bits};
  const auto both = [&](const std::string& cmp, const std::string& type, Domain d) {
    m.plain("setp." + cmp + "." + type, {d, d}, predicate);
    m.plain("set." + cmp + ".u32." + type, {d, d}, out32);
  };
  for (const Scalar& t : kInts)
    for (const char* cmp : {"eq", "ne", "lt", "le", "gt", "ge"}) both(cmp, t.name, t.domain);
  for (const char* t : {"u32", "u64"})
    for (const char* cmp : {"lo", "ls", "hi", "hs"}) both(cmp, t, t[1] == '6' ? Domain::Int64 : Domain::Int32);
  for (const Scalar& t : kBits)
    for (const char* cmp : {"eq", "ne"}) both(cmp, t.name, t.domain);
  for (const char* cmp : {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}) {
    both(cmp, "f32", Domain::F32);
    both(cmp, "f64", Domain::F64);
    m.plain(str("setp.@.ftz.f32", cmp), {Domain::F32, Domain::F32}, predicate);
    m.plain(str("set.@.ftz.f32.f32", cmp), {Domain::F32, Domain::F32}, out32);
    m.plain(str("setp.@.f16", cmp), {Domain::F16, Domain::F16}, predicate);
    m.plain(str("setp.@.ftz.f16", cmp), {Domain::F16, Domain::F16}, predicate);
    m.plain(str("setp.@.bf16", cmp), {Domain::Bf16, Domain::Bf16}, predicate);
    m.plain(str("set.@.f16x2.f16x2", cmp), {Domain::F16x2, Domain::F16x2}, out32);
    m.plain(str("set.@.bf16x2.bf16x2", cmp), {Domain::Bf16x2, Domain::Bf16x2}, out32);
    m.plain(str("set.@.u32.f16x2", cmp), {Domain::F16x2, Domain::F16x2}, out32);
    m.plain(str("set.@.f16.f16", cmp), {Domain::F16, Domain::F16}, {16, Match::Bits});
    m.add(str("setp.@.f16x2", cmp), str("setp.@.f16x2 x|y, a, b;", cmp), {Domain::F16x2, Domain::F16x2},
          {predicate, predicate});
    m.add(str("setp.@.bf16x2", cmp), str("setp.@.bf16x2 x|y, a, b;", cmp), {Domain::Bf16x2, Domain::Bf16x2},
          {predicate, predicate});
  }
  for (const char* op : {"and", "or", "xor"}) {
    for (const char* t : {"lt.@.s32", "ne.@.b32", "gtu.@.f32"}) {
      const Domain d = t[0] == 'g' ? Domain::F32 : Domain::Int32;
      const std::string n = "setp." + str(t, op);
      m.add(n, n + " x|y, a, b, !c;", {d, d, Domain::Pred}, {predicate, predicate});
      m.add(n + " one", n + " x, a, b, c;", {d, d, Domain::Pred}, {predicate});
    }
    m.plain(str("set.ge.@.s32.s32", op), {Domain::Int32, Domain::Int32, Domain::Pred}, out32);
    m.plain(str("set.le.@.f32.s32", op), {Domain::Int32, Domain::Int32, Domain::Pred}, {32, Match::Bits});
  }
  const Scalar all[] = {kBits[0],
                        kBits[1],
                        kBits[2],
                        kInts[0],
                        kInts[1],
                        kInts[2],
                        kInts[3],
                        kInts[4],
                        kInts[5],
                        {"f32", Domain::F32, 32, Match::Bits},
                        {"f64", Domain::F64, 64, Match::Bits}};
  for (const Scalar& t : all) {
    m.plain(str("selp.@", t.name), {t.domain, t.domain, Domain::Pred}, {t.bits, Match::Bits});
    m.plain(str("slct.@.s32", t.name), {t.domain, t.domain, Domain::Int32}, {t.bits, Match::Bits});
    m.plain(str("slct.@.f32", t.name), {t.domain, t.domain, Domain::F32}, {t.bits, Match::Bits});
    m.plain(str("slct.ftz.@.f32", t.name), {t.domain, t.domain, Domain::F32}, {t.bits, Match::Bits});
  }
  for (const char* t : {"f32", "f64"})
    for (const char* kind : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"})
      m.plain(str("testp.@.@", kind, t), {t[1] == '3' ? Domain::F32 : Domain::F64}, predicate);
}

inline void floats(Builder& m) {
  const Domain f = Domain::F32, d = Domain::F64;
  const std::pair<int, Match> out{32, Match::F32}, out64{64, Match::F64}, approx{32, Match::ApproxF32};
  for (const char* round : {"", ".rn", ".rz", ".rm", ".rp"}) {
    for (const char* ftz : {"", ".ftz"})
      for (const char* sat : {"", ".sat"}) {
        const std::string tail = std::string(round) + ftz + sat + ".f32";
        for (const char* op : {"add", "sub", "mul"}) m.plain(op + tail, {f, f}, out);
        if (*round) m.plain("fma" + tail, {f, f, f}, out);
        if (*round) m.plain("mad" + tail, {f, f, f}, out);
        if (*round && !*sat) {
          m.plain(std::string("div") + tail, {f, f}, out);
          m.plain(std::string("rcp") + tail, {f}, out);
          m.plain(std::string("sqrt") + tail, {f}, out);
        }
      }
    const std::string tail = std::string(round) + ".f64";
    for (const char* op : {"add", "sub", "mul"}) m.plain(op + tail, {d, d}, out64);
    if (!*round) continue;
    m.plain("fma" + tail, {d, d, d}, out64);
    m.plain("div" + tail, {d, d}, out64);
    m.plain("rcp" + tail, {d}, out64);
    m.plain("sqrt" + tail, {d}, out64);
  }
  for (const char* ftz : {"", ".ftz"}) {
    for (const char* op : {"abs", "neg"}) m.plain(str("@@.f32", op, ftz), {f}, out);
    for (const char* op : {"min", "max"})
      for (const char* nan : {"", ".NaN"})
        for (const char* sign : {"", ".xorsign.abs"}) m.plain(std::string(op) + ftz + nan + sign + ".f32", {f, f}, out);
    m.plain(str("div.approx@.f32", ftz), {f, f}, approx, 0x1p-22);
    m.plain(str("div.full@.f32", ftz), {f, f}, approx, 0x1p-22);
    m.plain(str("rcp.approx@.f32", ftz), {f}, approx, 0x1p-23);
    m.plain(str("sqrt.approx@.f32", ftz), {f}, approx, 0x1p-22);
    m.plain(str("rsqrt.approx@.f32", ftz), {f}, approx, 0x1p-22);
    m.plain(str("ex2.approx@.f32", ftz), {f}, approx, 0x1p-21);
    m.plain(str("lg2.approx@.f32", ftz), {f}, approx, 0x1p-21, 0x1p-21);
    m.plain(str("sin.approx@.f32", ftz), {Domain::Angle}, approx, 0, 0x1p-14);
    m.plain(str("cos.approx@.f32", ftz), {Domain::Angle}, approx, 0, 0x1p-14);
  }
  for (const char* op : {"abs", "neg"}) m.plain(str("@.f64", op), {d}, out64);
  for (const char* op : {"min", "max"}) m.plain(str("@.f64", op), {d, d}, out64);
  for (const char* op : {"sin", "cos"}) m.plain(str("@.approx.ftz.2pi.f32", op), {Domain::Angle}, approx, 0, 0x1p-14);
  m.plain("tanh.approx.f32", {f}, approx, 0x1p-10);
  m.plain("rcp.approx.ftz.f64", {d}, {64, Match::ApproxF64}, 0x1p-19);
  m.plain("rsqrt.approx.ftz.f64", {d}, {64, Match::ApproxF64}, 0x1p-19);
  m.plain("rsqrt.approx.f64", {d}, {64, Match::ApproxF64}, 0x1p-19);
  m.plain("copysign.f32", {f, f}, {32, Match::Bits});
  m.plain("copysign.f64", {d, d}, {64, Match::Bits});
  for (const Scalar& t : kHalves) {
    const Domain h = t.domain;
    const std::pair<int, Match> o{t.bits, t.match};
    const bool isHalf = t.name[0] == 'f';
    for (const char* ftz : {"", ".ftz"}) {
      if (*ftz && !isHalf) continue;
      for (const char* sat : {"", ".sat"}) {
        if (*sat && !isHalf) continue;
        for (const char* op : {"add", "sub", "mul"})
          for (const char* round : {"", ".rn"}) m.plain(std::string(op) + round + ftz + sat + "." + t.name, {h, h}, o);
        m.plain(std::string("fma.rn") + ftz + sat + "." + t.name, {h, h, h}, o);
      }
      m.plain(std::string("fma.rn") + ftz + ".relu." + t.name, {h, h, h}, o);
      for (const char* op : {"min", "max"})
        for (const char* nan : {"", ".NaN"})
          for (const char* sign : {"", ".xorsign.abs"})
            m.plain(std::string(op) + ftz + nan + sign + "." + t.name, {h, h}, o);
      for (const char* op : {"abs", "neg"}) m.plain(std::string(op) + ftz + "." + t.name, {h}, o);
    }
    m.plain(std::string("fma.rn.oob.") + t.name, {h, h, h}, o);
    const Match near = isHalf ? Match::ApproxF16 : Match::ApproxBf16;
    const double bound = isHalf ? 0x1p-9 : 0x1p-6;
    if (isHalf)
      m.plain(std::string("ex2.approx.") + t.name, {h}, {t.bits, near}, bound);
    else
      m.plain(std::string("ex2.approx.ftz.") + t.name, {h}, {t.bits, near}, bound);
    m.plain(std::string("tanh.approx.") + t.name, {h}, {t.bits, near}, bound);
  }
}

inline void conversions(Builder& m) {
  struct Int {
    const char* name;
    Domain domain;
    int bits;
  };
  const Int ints[] = {{"s8", Domain::Int8, 32},   {"u8", Domain::Int8, 32},   {"s16", Domain::Int16, 16},
                      {"u16", Domain::Int16, 16}, {"s32", Domain::Int32, 32}, {"u32", Domain::Int32, 32},
                      {"s64", Domain::Int64, 64}, {"u64", Domain::Int64, 64}};
  const Scalar real[] = {
      {"f16", Domain::F16, 16, Match::F16}, {"f32", Domain::F32, 32, Match::F32}, {"f64", Domain::F64, 64, Match::F64}};
  for (const Int& to : ints)
    for (const Int& from : ints)
      for (const char* sat : {"", ".sat"}) {
        if (to.name == from.name && !*sat) continue;
        // The assembler refuses .sat where it can do nothing.
        const int toBits = std::atoi(to.name + 1), fromBits = std::atoi(from.name + 1);
        const bool covers = to.name[0] == from.name[0] ? toBits >= fromBits : to.name[0] == 's' && toBits > fromBits;
        if (*sat && covers) continue;
        m.plain("cvt" + std::string(sat) + "." + to.name + "." + from.name, {from.domain}, {to.bits, Match::Bits});
      }
  for (const Int& from : ints)
    for (const Scalar& to : real)
      for (const char* round : {".rn", ".rz", ".rm", ".rp"})
        m.plain("cvt" + std::string(round) + "." + to.name + "." + from.name, {from.domain}, {to.bits, to.match});
  for (const Int& to : ints)
    for (const Scalar& from : real)
      for (const char* round : {".rni", ".rzi", ".rmi", ".rpi"})
        for (const char* tail : {"", ".ftz", ".sat"}) {
          if (!std::strcmp(tail, ".ftz") && std::strcmp(from.name, "f32")) continue;
          m.plain("cvt" + std::string(round) + tail + "." + to.name + "." + from.name, {from.domain},
                  {to.bits, Match::Bits});
        }
  for (const Scalar& t : real)
    for (const char* round : {".rni", ".rzi", ".rmi", ".rpi"})
      for (const char* tail : {"", ".ftz", ".sat"}) {
        if (!std::strcmp(tail, ".ftz") && std::strcmp(t.name, "f32")) continue;
        m.plain("cvt" + std::string(round) + tail + "." + t.name + "." + t.name, {t.domain}, {t.bits, t.match});
      }
  const std::pair<int, Match> h{16, Match::F16}, b{16, Match::Bf16}, f{32, Match::F32}, d{64, Match::F64},
      h2{32, Match::F16x2}, b2{32, Match::Bf16x2};
  for (const char* sat : {"", ".sat"}) {
    m.plain(str("cvt@.f32.f32", sat), {Domain::F32}, f);
    m.plain(str("cvt.ftz@.f32.f32", sat), {Domain::F32}, f);
    m.plain(str("cvt@.f32.f16", sat), {Domain::F16}, f);
    m.plain(str("cvt@.f64.f16", sat), {Domain::F16}, d);
    m.plain(str("cvt@.f64.f32", sat), {Domain::F32}, d);
    for (const char* round : {".rn", ".rz", ".rm", ".rp"}) {
      m.plain(str("cvt@@.f16.f32", round, sat), {Domain::F32}, h);
      m.plain(str("cvt@@.f16.f64", round, sat), {Domain::F64}, h);
      m.plain(str("cvt@@.f32.f64", round, sat), {Domain::F64}, f);
      m.plain(str("cvt@.ftz@.f32.f64", round, sat), {Domain::F64}, f);
    }
  }
  m.plain("cvt.ftz.f64.f32", {Domain::F32}, d);
  m.plain("cvt.f32.bf16", {Domain::Bf16}, f);
  m.plain("cvt.f64.bf16", {Domain::Bf16}, d);
  for (const char* tail : {".rn", ".rz"}) {
    m.plain(str("cvt@.bf16.f32", tail), {Domain::F32}, b);
    m.plain(str("cvt@.relu.bf16.f32", tail), {Domain::F32}, b);
    m.plain(str("cvt@.relu.f16.f32", tail), {Domain::F32}, h);
    for (const char* relu : {"", ".relu"}) {
      m.plain(str("cvt@@.f16x2.f32", tail, relu), {Domain::F32, Domain::F32}, h2);
      m.plain(str("cvt@@.bf16x2.f32", tail, relu), {Domain::F32, Domain::F32}, b2);
    }
  }
  for (const Int& from : ints)
    for (const char* round : {".rn", ".rz"})
      if (from.name[1] != '8') m.plain(str("cvt@.bf16.@", round, from.name), {from.domain}, b);
  for (const Int& to : ints)
    if (to.name[1] != '8') m.plain(str("cvt.rni.@.bf16", to.name), {Domain::Bf16}, {to.bits, Match::Bits});
  m.plain("cvt.rna.tf32.f32", {Domain::F32}, {32, Match::Bits});
  for (const char* t : {"e4m3x2", "e5m2x2"})
    for (const char* relu : {"", ".relu"}) {
      m.plain(str("cvt.rn.satfinite@.@.f32", relu, t), {Domain::F32, Domain::F32}, {16, Match::Bits});
      m.plain(str("cvt.rn.satfinite@.@.f16x2", relu, t), {Domain::F16x2}, {16, Match::Bits});
      m.plain(str("cvt.rn@.f16x2.@", relu, t), {Domain::Fp8x2}, h2);
    }
  for (const char* t : {"s16", "u16"})
    m.plain(str("cvt.pack.sat.@.s32", t), {Domain::Int32, Domain::Int32}, {32, Match::Bits});
  for (const char* t : {"s8", "u8"})
    m.plain(str("cvt.pack.sat.@.s32.b32", t), {Domain::Int32, Domain::Int32, Domain::Int32}, {32, Match::Bits});
}

// Loads of narrow types, atomics on memory that the case writes first.
inline void memory(Builder& m) {
  struct Width {
    const char* name;
    int bits, from;
  };
  const Domain wide = Domain::Int64;
  for (const Width& t : {Width{"s8", 32, 8},
                         {"u8", 32, 8},
                         {"b8", 32, 8},
                         {"s16", 32, 16},
                         {"u16", 32, 16},
                         {"b16", 32, 16},
                         {"s32", 64, 32},
                         {"u32", 64, 32},
                         {"b32", 64, 32},
                         {"f32", 32, 32},
                         {"s64", 64, 64},
                         {"f64", 64, 64}})
    for (const char* space : {"global", "shared", "local"}) {
      const std::string store = std::string("st.") + space + ".b64 [" + space[0] + "slot], a; ";
      m.add(std::string("ld.") + space + "." + t.name,
            store + "ld." + space + "." + t.name + " x, [" + space[0] + "slot+" +
                std::to_string(t.from < 64 ? t.from / 8 : 0) + "];",
            {wide}, {{t.bits, Match::Bits}});
      m.add(std::string("st.") + space + "." + t.name,
            std::string("st.") + space + ".b64 [" + space[0] + "slot], b; st." + space + "." + t.name + " [" +
                space[0] + "slot], " + (t.from == 64 || t.bits == 64 ? "a" : "c") + "; ld." + space + ".b64 x, [" +
                space[0] + "slot];",
            {wide, wide, Domain::Int32}, {{64, Match::Bits}});
    }
  for (const char* space : {"global", "shared"})
    m.add(std::string("ld.v2.b32 ") + space,
          std::string("st.") + space + ".b64 [" + space[0] + "slot], a; ld." + space + ".v2.b32 {x, y}, [" + space[0] +
              "slot];",
          {wide}, {{32, Match::Bits}, {32, Match::Bits}});
  m.add("st.v4.b16 global", "st.global.v4.b16 [gslot], {a, b, c, d}; ld.global.b64 x, [gslot];",
        {Domain::Int16, Domain::Int16, Domain::Int16, Domain::Int16}, {{64, Match::Bits}});
  struct Atomic {
    const char* tail;
    Domain domain;
    int bits;
    Match match;
    int values;
  };
  const Domain i32 = Domain::Int32, i64 = Domain::Int64;
  std::vector<std::pair<std::string, Atomic>> list;
  const auto atomic = [&](const char* tail, Domain domain, int bits, Match match, int values = 1) {
    list.push_back({tail, {tail, domain, bits, match, values}});
  };
  for (const char* t : {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "inc.u32", "dec.u32",
                        "and.b32", "or.b32", "xor.b32", "exch.b32"})
    atomic(t, i32, 32, Match::Bits);
  for (const char* t :
       {"add.u64", "min.u64", "min.s64", "max.u64", "max.s64", "and.b64", "or.b64", "xor.b64", "exch.b64"})
    atomic(t, i64, 64, Match::Bits);
  atomic("cas.b32", i32, 32, Match::Bits, 2);
  atomic("cas.b64", i64, 64, Match::Bits, 2);
  atomic("cas.b16", Domain::Int16, 16, Match::Bits, 2);
  atomic("add.f32", Domain::F32, 32, Match::F32);
  atomic("add.f64", Domain::F64, 64, Match::F64);
  for (const Scalar& t : kHalves) {
    const std::string tail = std::string("add.noftz.") + t.name;
    list.push_back({tail, {nullptr, t.domain, t.bits, t.match, 1}});
  }
  for (const auto& [tail, a] : list)
    for (const char* space : {"global", "shared"}) {
      const std::string slot = std::string("[") + space[0] + "slot]", bits = ".b" + std::to_string(a.bits);
      const std::string values = a.values == 2 ? ", b, c" : ", b";
      std::vector<Domain> in{a.domain, a.domain};
      if (a.values == 2) in.push_back(a.domain);
      const std::string before = std::string("st.") + space + bits + " " + slot + ", a; ";
      const std::string after = std::string(" ld.") + space + bits + " y, " + slot + ";";
      m.add(std::string("atom.") + space + "." + tail,
            before + "atom." + space + "." + tail + " x, " + slot + values + ";" + after, in,
            {{a.bits, a.match}, {a.bits, a.match}});
      if (a.values == 1 && tail.rfind("exch", 0) != 0)
        m.add(std::string("red.") + space + "." + tail,
              before + "red." + space + "." + tail + " " + slot + values + ";" + after + " mov" + bits + " x, y;", in,
              {{a.bits, a.match}, {a.bits, a.match}});
      if (a.values == 2)
        m.add(std::string("atom.") + space + "." + tail + " hit",
              before + "atom." + space + "." + tail + " x, " + slot + ", a, b;" + after, {a.domain, a.domain},
              {{a.bits, a.match}, {a.bits, a.match}});
    }
}

inline void warps(Builder& m) {
  const Domain i32 = Domain::Int32;
  const std::pair<int, Match> out32{32, Match::Bits}, predicate{1, Match::Bits};
  for (const char* mode : {"up", "down", "bfly", "idx"}) {
    for (int clamp : {0x0, 0x1f, 0x181f, 0x1c00, 0x1e1f, 0x10ff}) {
      const std::string c = std::to_string(clamp);
      m.add(str("shfl.sync.@ clamp ", mode) + c, str("shfl.sync.@.b32 x|y, a, b, ", mode) + c + ", -1;",
            {i32, Domain::Lane}, {out32, predicate});
    }
    m.add(str("shfl.sync.@ any", mode), str("shfl.sync.@.b32 x|y, a, b, c, -1;", mode),
          {i32, Domain::Lane, Domain::Int8}, {out32, predicate});
  }
  for (const char* mode : {"all", "any", "uni"}) {
    m.add(str("vote.sync.@", mode), str("vote.sync.@.pred x, a, -1;", mode), {Domain::Pred}, {predicate});
    m.add(str("vote.sync.@ not", mode), str("setp.ne.b32 x, a, 77777; vote.sync.@.pred x, !x, -1;", mode), {i32},
          {predicate});
  }
  m.add("vote.sync.ballot", "vote.sync.ballot.b32 x, a, -1;", {Domain::Pred}, {out32});
  m.add("match.any.b32", "match.any.sync.b32 x, a, -1;", {Domain::Lane}, {out32});
  m.add("match.any.b64", "match.any.sync.b64 x, a, -1;", {Domain::Int64}, {out32});
  m.add("match.all.b32", "match.all.sync.b32 x|y, a, -1;", {Domain::Lane}, {out32, predicate});
  m.add("match.all same", "and.b32 x, a, 0; match.all.sync.b32 x|y, x, -1;", {Domain::Lane}, {out32, predicate});
  for (const char* op :
       {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"})
    m.add(std::string("redux.sync.") + op, std::string("redux.sync.") + op + " x, a, -1;", {i32}, {out32});
  m.add("activemask", "activemask.b32 x;", {}, {out32});
  m.add("elect.sync", "elect.sync x|y, -1;", {}, {out32, predicate});
  for (const char* s : {"laneid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "tid.x",
                        "ntid.x", "ctaid.x", "nctaid.x"})
    m.add(std::string("mov %") + s, std::string("mov.u32 x, %") + s + ";", {}, {out32});
  m.add("bar.red.popc", "bar.red.popc.u32 x, 0, a;", {Domain::Pred}, {out32});
  m.add("bar.red.and", "bar.red.and.pred x, 0, a;", {Domain::Pred}, {predicate});
  m.add("bar.red.or", "bar.red.or.pred x, 1, !a;", {Domain::Pred}, {predicate});
  for (const char* s : {"global", "shared", "local", "const"})
    m.add(std::string("isspacep.") + s, std::string("cvta.shared.u64 sgen, sslot64; isspacep.") + s + " x, sgen;", {},
          {predicate});
}

}  // namespace vg::ptx::matrix

#include "unit/ptx/opcode_async.h"
#include "unit/ptx/opcode_control.h"
#include "unit/ptx/opcode_floats.h"
#include "unit/ptx/opcode_forms.h"
#include "unit/ptx/opcode_products.h"
#include "unit/ptx/opcode_spaces.h"
#include "unit/ptx/opcode_sparse.h"
#include "unit/ptx/opcode_tensor.h"
#include "unit/ptx/opcode_textures.h"

namespace vg::ptx::matrix {

// Forms that came after the first record: appended, so that older records can still be read.
inline void videoForms(Builder& m) {
  const Domain i32 = Domain::Int32;
  const std::pair<int, Match> out{32, Match::Bits};
  const auto three = [&](const std::string& name, const std::string& operands) {
    m.add(name + " " + operands, name + " " + operands + ";", {i32, i32, i32}, {out});
  };
  for (const char* op : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"})
    for (const char* types : {"s32.u32.s32", "u32.s32.u32", "s32.s32.u32"}) {
      const std::string n = str("@.@", op, types);
      for (const char* second : {".add", ".min", ".max"}) three(n + second, "x, a.b2, b.h1, c");
      for (const char* destination : {"x.b0", "x.b3", "x.h0", "x.h1"}) {
        three(n, std::string(destination) + ", a, b.b1, c");
        three(n + ".sat", std::string(destination) + ", a.h0, b, c");
      }
    }
  for (const char* op : {"vshl", "vshr"})
    for (const char* mode : {".clamp", ".wrap"}) {
      for (const char* second : {".add", ".min", ".max"})
        three(std::string(op) + ".u32.u32.u32" + mode + second, "x, a.h1, b.b0, c");
      three(std::string(op) + ".s32.s32.u32" + mode, "x.b1, a, b.b0, c");
    }
  for (const char* compare : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    m.plain(str("vset.u32.s32.@", compare), {i32, i32}, out);
    three(str("vset.s32.s32.@", compare), "x.b2, a.b0, b.b1, c");
    three(str("vset.u32.u32.@", compare) + ".add", "x, a.h0, b.h1, c");
    for (const char* op : {"vset2", "vset4"})
      for (const char* tail : {"", ".add"}) three(str("@.u32.s32.@@", op, compare, tail), "x, a, b, c");
  }
  for (const char* types : {"s32.s32.s32", "u32.u32.u32", "s32.u32.s32"})
    for (const char* tail : {"", ".sat", ".shr7", ".sat.shr15", ".po"})
      three(str("vmad.@@", types, tail), !std::strcmp(tail, ".po") ? "x, a.b0, b.h1, c" : "x, a, b, c");
  three("vmad.s32.s32.s32.sat", "x, -a, b, c");
  three("vmad.s32.u32.u32", "x, a.h0, b.h0, -c");
  for (const char* op : {"vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2"}) {
    three(std::string(op) + ".s32.s32.s32.sat", "x, a, b, c");
    three(std::string(op) + ".u32.s32.u32", "x.h1, a.h32, b.h01, c");
    three(std::string(op) + ".s32.u32.s32", "x.h0, a.h13, b.h20, c");
  }
  for (const char* op : {"vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4"}) {
    three(std::string(op) + ".s32.s32.s32.sat", "x, a, b, c");
    three(std::string(op) + ".u32.s32.u32", "x.b310, a.b7610, b.b0123, c");
    three(std::string(op) + ".s32.u32.s32", "x.b2, a.b1111, b.b4567, c");
    three(std::string(op) + ".u32.u32.u32.add", "x.b21, a, b.b3322, c");
  }
}

inline void conversionForms(Builder& m) {
  const Domain f = Domain::F32;
  const std::pair<int, Match> h{16, Match::F16}, b{16, Match::Bf16}, h2{32, Match::F16x2}, b2{32, Match::Bf16x2};
  for (const char* round : {".rn", ".rz"})
    for (const char* relu : {"", ".relu"}) {
      m.plain(str("cvt@@.tf32.f32", round, relu), {f}, {32, Match::F32});
      m.plain(str("cvt@@.satfinite.f16.f32", round, relu), {f}, h);
      m.plain(str("cvt@@.satfinite.bf16.f32", round, relu), {f}, b);
      m.plain(str("cvt@@.satfinite.f16x2.f32", round, relu), {f, f}, h2);
      m.plain(str("cvt@@.satfinite.bf16x2.f32", round, relu), {f, f}, b2);
    }
  m.plain("cvt.rna.satfinite.tf32.f32", {f}, {32, Match::F32});
  for (const char* round : {".rn", ".rz", ".rm", ".rp"}) {
    m.plain(str("cvt@.f16.bf16", round), {Domain::Bf16}, h);
    m.plain(str("cvt@.bf16.f16", round), {Domain::F16}, b);
    m.plain(str("cvt@.bf16.f64", round), {Domain::F64}, b);
    m.plain(str("cvt@i.bf16.bf16", round), {Domain::Bf16}, b);
  }
  for (const char* t : {"s16", "u16"})
    m.plain(str("cvt.pack.sat.@.s32", t), {Domain::Int32, Domain::Int32}, {32, Match::Bits});
  for (const char* t : {"s8", "u8", "s4", "u4", "s2", "u2"})
    m.plain(str("cvt.pack.sat.@.s32.b32", t), {Domain::Int32, Domain::Int32, Domain::Int32}, {32, Match::Bits});
}

inline void vectorAtomics(Builder& m) {
  const auto add = [&](const std::string& tail, Domain d, Match match) {
    const std::string set = "st.global.v2.b32 [gslot], {a, b}; ", get = " ld.global.v2.b32 {x, y}, [gslot];";
    const std::vector<Domain> in{d, d, d, d};
    const std::vector<std::pair<int, Match>> out{{32, match}, {32, match}};
    m.add("atom.global." + tail, set + "atom.global." + tail + " {x, y}, [gslot], {c, d};", in, out);
    m.add("red.global." + tail, set + "red.global." + tail + " [gslot], {c, d};" + get, in, out);
  };
  add("add.v2.f32", Domain::F32, Match::F32);
  for (const char* op : {"add", "min", "max"}) {
    add(str("@.noftz.v2.f16x2", op), Domain::F16x2, Match::F16x2);
    add(str("@.noftz.v2.bf16x2", op), Domain::Bf16x2, Match::Bf16x2);
  }
}

// Defined in opcode_cases.cpp, which alone compiles what is above.
std::vector<Case> allCases();
std::vector<Case> objectCases();  // of textures and surfaces, which want a driver
std::vector<Case> everyCase();    // both
void chains(Builder& m);          // opcode_chains.cpp

inline constexpr const char* kHeader = ".version 8.7\n.target sm_90\n.address_size 64\n";

// Names of a case's own begin with $; in a module they begin with the kernel's name.
inline std::string named(std::string text, const std::string& kernel) {
  for (size_t at = 0; (at = text.find('$', at)) != std::string::npos;) text.replace(at, 1, kernel + "_");
  return text;
}

// The kernel of a case, without the module header.
inline std::string kernelText(const Case& c, const std::string& name) {
  const auto registerOf = [](int bits, const std::string& n) {
    const std::string type = bits == 1 ? ".pred" : ".b" + std::to_string(bits);
    return "  .reg " + type + " " + n + ";\n";
  };
  std::string t = named(c.module, name) + ".visible .entry " + name + "(.param .u64 in, .param .u64 out";
  if (c.map) t += ", .param .u64 tensor, .param .align 64 .b8 map[128]";
  if (c.parameters) t += kParameterList;
  if (c.object) t += ", .param .u64 object";
  t += ")\n";
  if (c.cluster) t += ".reqnctapercluster 1, 1, 1\n";
  t += "{\n";
  t += "  .shared .align 8 .b8 sbuffer[1024];\n  .local .align 8 .b8 lbuffer[8];\n";
  t += "  .reg .b32 thread, lane, raw, sslot, wide32;\n  .reg .b64 pin, pout, offset, gslot, wide, lslot, sslot64, "
       "sgen;\n"
       "  .reg .b16 wide16;\n";
  for (size_t k = 0; k < c.operands.size(); ++k)
    t += registerOf(bitsOf(c.operands[k]), std::string(1, static_cast<char>('a' + k)));
  for (size_t k = 0; k < c.results.size(); ++k)
    t += registerOf(c.results[k].first, std::string(1, static_cast<char>('x' + k)));
  t += "  mov.u32 lane, %tid.x;\n  mov.u32 raw, %ctaid.x;\n  mov.u32 thread, %ntid.x;\n"
       "  mad.lo.u32 thread, raw, thread, lane;\n"
       "  ld.param.u64 pin, [in];\n  ld.param.u64 pout, [out];\n  cvta.to.global.u64 pin, pin;\n"
       "  cvta.to.global.u64 pout, pout;\n"
       "  mul.wide.u32 offset, thread, 32;\n  add.u64 pin, pin, offset;\n"
       "  mul.wide.u32 offset, thread, 16;\n  add.u64 pout, pout, offset;\n"
       "  mov.u64 gslot, pout;\n  mov.u64 lslot, lbuffer;\n  mov.u32 sslot, sbuffer;\n"
       "  shl.b32 raw, lane, 3;\n  add.u32 sslot, sslot, raw;\n  cvt.u64.u32 sslot64, sslot;\n";
  if (c.object) t += "  .reg .b64 tex;\n  ld.param.u64 tex, [object];\n";
  for (size_t k = 0; k < c.operands.size(); ++k) {
    const std::string n(1, static_cast<char>('a' + k)), at = "[pin+" + std::to_string(8 * k) + "]";
    const int bits = bitsOf(c.operands[k]);
    if (bits == 1)
      t += "  ld.global.u32 raw, " + at + ";\n  and.b32 raw, raw, 1;\n  setp.ne.u32 " + n + ", raw, 0;\n";
    else
      t += std::string("  ld.global.") + (k < c.loads.size() ? c.loads[k] : 'b') + std::to_string(bits) + " " + n +
           ", " + at + ";\n";
  }
  t += "  " + named(c.text, name) + "\n";
  for (size_t k = 0; k < kResults; ++k) {
    const std::string n(1, static_cast<char>('x' + k)), at = "[pout+" + std::to_string(8 * k) + "]";
    const int bits = k < c.results.size() ? c.results[k].first : 0;
    if (bits == 0)
      t += "  mov.u64 wide, 0;\n";
    else if (bits == 1)
      t += "  selp.b64 wide, 1, 0, " + n + ";\n";
    else if (bits == 16)
      t += "  cvt.u64.u16 wide, " + n + ";\n";
    else if (bits == 32)
      t += "  cvt.u64.u32 wide, " + n + ";\n";
    else
      t += "  mov.b64 wide, " + n + ";\n";
    t += "  st.global.u64 " + at + ", wide;\n";
  }
  return t + "  ret;\n}\n";
}

// Values -----------------------------------------------------------------------------------------------------------

// What cases with a map find in their tensor.
inline void fillTensor(uint64_t* words) {
  for (size_t k = 0; k < kTensorBytes / 8; ++k) words[k] = mix(k + 0x7e50);
}

// The tensor of a case that runs on the host; nothing where the case has no map.
class HostTensor {
 public:
  explicit HostTensor(const Case& c) : words_(c.map ? kTensorBytes / 8 + kAlignment / 8 : 0) {
    if (c.map) fillTensor(reinterpret_cast<uint64_t*>(address()));
  }
  uint64_t address() const {
    return (reinterpret_cast<uint64_t>(words_.data()) + kAlignment - 1) / kAlignment * kAlignment;
  }

 private:
  static constexpr uint64_t kAlignment = 256;
  std::vector<uint64_t> words_;
};

// The bits of the case's map of the tensor at `address`. Requires: c.map.
inline TensorMapBits mapOf(const Case& c, uint64_t address) {
  TensorMap map = *c.map;
  map.address = address;
  return encode(map);
}

// The bytes of a kernel's parameters. `tensor`: for cases with a map. Requires: the case has no object.
inline std::vector<std::byte> parametersOf(const Case& c, uint64_t in, uint64_t out, uint64_t tensor) {
  constexpr size_t kMapOffset = 64;
  std::vector<std::byte> bytes(c.map ? kMapOffset + sizeof(TensorMapBits) : c.parameters ? kParametersEnd : 16);
  for (uint32_t at = kParametersBegin; c.parameters && at < kParametersEnd; ++at) bytes[at] = std::byte{tableByte(at)};
  const uint64_t pointers[3] = {in, out, tensor};
  std::memcpy(bytes.data(), pointers, c.map ? 24 : 16);
  if (!c.map) return bytes;
  const TensorMapBits map = mapOf(c, tensor);
  std::memcpy(&bytes[kMapOffset], map.words, sizeof map);
  return bytes;
}

inline std::vector<uint64_t> floatBits(std::initializer_list<float> values) {
  std::vector<uint64_t> bits;
  for (float value : values) bits.push_back(__builtin_bit_cast(uint32_t, value));
  return bits;
}

inline const std::vector<uint64_t>& edgesOf(Domain domain) {
  static const std::vector<uint64_t> pred{0, 1};
  static const std::vector<uint64_t> i8{0, 1, 2, 0x7f, 0x80, 0x81, 0xfe, 0xff, 0x55};
  static const std::vector<uint64_t> i16{0,     1,      2,      3,      7,      0x7f,   0x80,   0xff,
                                         0x100, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff, 0x5555};
  static const std::vector<uint64_t> i32{0,          1,          2,          3,          7,          31,
                                         0x7f,       0x80,       0xff,       0x7fff,     0x8000,     0xffff,
                                         0x10000,    0x7fffff,   0x800000,   0xffffff,   0x7ffffffe, 0x7fffffff,
                                         0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x55555555, 0xff008180};
  static const std::vector<uint64_t> i64{0,
                                         1,
                                         2,
                                         3,
                                         0x7f,
                                         0xff,
                                         0x7fff,
                                         0xffff,
                                         0x7fffffff,
                                         0x80000000,
                                         0xffffffff,
                                         0x100000000,
                                         0xffffffff80000000ull,
                                         0xffffffff7fffffffull,
                                         0x7fffffffffffffffull,
                                         0x8000000000000000ull,
                                         0x8000000000000001ull,
                                         0xffffffffffffffffull,
                                         0xfffffffffffffffeull,
                                         0x5555555555555555ull};
  static const std::vector<uint64_t> small{0,  1,  2,  4,  8,  15,  16,  17,  24,         31,         32,
                                           33, 40, 63, 64, 65, 127, 255, 256, 0x7fffffff, 0x80000000, 0xffffffff};
  static const std::vector<uint64_t> lane{0, 1, 2, 3, 8, 15, 16, 17, 30, 31};
  static const std::vector<uint64_t> f16{0,      0x8000, 1,      0x8001, 0x3ff,  0x83ff, 0x400,  0x8400,
                                         0x3c00, 0xbc00, 0x3c01, 0x3800, 0x3e00, 0x4000, 0x7bff, 0xfbff,
                                         0x7c00, 0xfc00, 0x7e00, 0x7d01, 0xfe00, 0x6400, 0x57f0, 0x5bf8};
  static const std::vector<uint64_t> bf16{0,      0x8000, 1,      0x8001, 0x7f,   0x807f, 0x80,   0x8080,
                                          0x3f80, 0xbf80, 0x3f81, 0x3f00, 0x3fc0, 0x4000, 0x7f7f, 0xff7f,
                                          0x7f80, 0xff80, 0x7fc0, 0x7f81, 0xffc0, 0x4f00, 0x4e80, 0x437f};
  static const std::vector<uint64_t> f32{0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x807fffff,
                                         0x800000,   0x80800000, 0x3f800000, 0xbf800000, 0x3f800001, 0x3f000000,
                                         0xbf000000, 0x3fc00000, 0x40200000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                         0xff800000, 0x7fc00000, 0x7f800001, 0xffc00001, 0x4b800001, 0x4f000000,
                                         0x4effffff, 0xcf000000, 0x5f000000, 0x437f8000, 0x7e800001};
  static const std::vector<uint64_t> f64{0,
                                         0x8000000000000000ull,
                                         1,
                                         0x8000000000000001ull,
                                         0xfffffffffffffull,
                                         0x10000000000000ull,
                                         0x3ff0000000000000ull,
                                         0xbff0000000000000ull,
                                         0x3ff0000000000001ull,
                                         0x3fe0000000000000ull,
                                         0xbfe0000000000000ull,
                                         0x3ff8000000000000ull,
                                         0x4004000000000000ull,
                                         0x7fefffffffffffffull,
                                         0xffefffffffffffffull,
                                         0x7ff0000000000000ull,
                                         0xfff0000000000000ull,
                                         0x7ff8000000000000ull,
                                         0x7ff0000000000001ull,
                                         0x41e0000000000000ull,
                                         0x41dfffffffc00000ull,
                                         0xc1e0000000200000ull,
                                         0x43e0000000000000ull,
                                         0x36a0000000000000ull,
                                         0x47efffffe0000000ull,
                                         0x47effffff0000000ull,
                                         0x380fffffc0000000ull};
  static const std::vector<uint64_t> fp8{0x0000, 0x8000, 0x0180, 0x7f7e, 0xff7e,
                                         0x7c7b, 0x7dfc, 0x3c38, 0x0807, 0x8485};
  static const std::vector<uint64_t> near16{0, 0x80000000, 0x3c003c00, 0xbc003c00, 0x38003e00, 0x3555b555, 0x3fff3001};
  static const std::vector<uint64_t> nearBf16{0,          0x80000000, 0x3f803f80, 0xbf803f80,
                                              0x3f003fc0, 0x3eabbeab, 0x3fff3e01};
  static const std::vector<uint64_t> near32{0,          0x80000000, 0x3f800000, 0xbf800000,
                                            0x3f000000, 0x3eaaaaab, 0x3fffffff, 0x3f801fff};
  static const std::vector<uint64_t> near64{0,
                                            0x8000000000000000ull,
                                            0x3ff0000000000000ull,
                                            0xbff0000000000000ull,
                                            0x3fe0000000000000ull,
                                            0x3fd5555555555555ull,
                                            0x3fffffffffffffffull};
  static const std::vector<uint64_t> nearE4m3{0, 0x80008000, 0x38383838, 0xb838b838, 0x303c2a3f};
  static const std::vector<uint64_t> nearE5m2{0, 0x80008000, 0x3c3c3c3c, 0xbc3cbc3c, 0x383e353f};
  static const std::vector<uint64_t> texels = floatBits({0,
                                                         -0.0f,
                                                         0.5f,
                                                         -0.5f,
                                                         1,
                                                         -1,
                                                         0.25f,
                                                         0.001f,
                                                         -0.001f,
                                                         2.5f,
                                                         6.5f,
                                                         6.75f,
                                                         7,
                                                         7.5f,
                                                         12.5f,
                                                         12.9f,
                                                         13,
                                                         13.5f,
                                                         1e9f,
                                                         -1e9f,
                                                         3e38f,
                                                         -3e38f,
                                                         __builtin_inff(),
                                                         -__builtin_inff(),
                                                         __builtin_nanf(""),
                                                         1e-40f});
  static const std::vector<uint64_t> fractions = floatBits({0,
                                                            -0.0f,
                                                            0.5f,
                                                            -0.5f,
                                                            1,
                                                            -1,
                                                            0.25f,
                                                            0.75f,
                                                            0.9999999f,
                                                            1.0000001f,
                                                            -1e-9f,
                                                            1.5f,
                                                            2,
                                                            -2,
                                                            2.5f,
                                                            -3.75f,
                                                            100.25f,
                                                            -99.5f,
                                                            1e-7f,
                                                            3e38f,
                                                            -3e38f,
                                                            __builtin_inff(),
                                                            -__builtin_inff(),
                                                            __builtin_nanf(""),
                                                            1e-40f,
                                                            0.0625f});
  static const std::vector<uint64_t> whole{0,  1,  2,  3,  6,  7,  8,   12,         13,         14,         15,
                                           16, 31, 32, 63, 64, 99, 100, 0xffffffff, 0xfffffffe, 0x7fffffff, 0x80000000};
  static const std::vector<uint64_t> directions =
      floatBits({0, -0.0f, 1, -1, 0.5f, -0.5f, 2, -2, 0.999f, 0.01f, -0.01f, 1e-30f, 3e38f, 0.125f, 0.875f});
  static const std::vector<uint64_t> levels = floatBits({0,
                                                         -1,
                                                         0.25f,
                                                         0.5f,
                                                         0.49f,
                                                         1,
                                                         1.5f,
                                                         2,
                                                         2.75f,
                                                         3,
                                                         3.5f,
                                                         4,
                                                         10,
                                                         -10,
                                                         0.001f,
                                                         0.998f,
                                                         0.00390625f,
                                                         __builtin_inff(),
                                                         -__builtin_inff(),
                                                         __builtin_nanf("")});
  static const std::vector<uint64_t> slopes =
      floatBits({0, 0.015625f, 0.03125f, 0.0625f, 0.125f, 0.25f, 0.5f, 1, 2, -0.0625f, -0.25f});
  static const std::vector<uint64_t> quarter16{0, 0x3c00b400, 0xb8003a00, 0xbc003c00};
  static const std::vector<uint64_t> quarterBf16{0, 0x3f80be80, 0xbf003f40, 0xbf803f80};
  static const std::vector<uint64_t> quarter32{0, 0x3e800000, 0xbf400000, 0xbf800000};
  static const std::vector<uint64_t> quarter64{0, 0x3fd0000000000000ull, 0xbfe8000000000000ull, 0xbff0000000000000ull};
  switch (domain) {
    case Domain::Pred:
      return pred;
    case Domain::Int8:
      return i8;
    case Domain::Int16:
      return i16;
    case Domain::Int32:
      return i32;
    case Domain::Int64:
      return i64;
    case Domain::Small:
      return small;
    case Domain::Lane:
      return lane;
    case Domain::F16:
    case Domain::F16x2:
      return f16;
    case Domain::Bf16:
    case Domain::Bf16x2:
      return bf16;
    case Domain::F32:
    case Domain::Angle:
      return f32;
    case Domain::F64:
      return f64;
    case Domain::Fp8x2:
      return fp8;
    case Domain::NearF16x2:
      return near16;
    case Domain::NearBf16x2:
      return nearBf16;
    case Domain::NearF32:
      return near32;
    case Domain::NearF64:
      return near64;
    case Domain::NearE4m3x4:
      return nearE4m3;
    case Domain::NearE5m2x4:
      return nearE5m2;
    case Domain::QuarterF16x2:
      return quarter16;
    case Domain::QuarterBf16x2:
      return quarterBf16;
    case Domain::QuarterF32:
      return quarter32;
    case Domain::QuarterF64:
      return quarter64;
    case Domain::Texels:
      return texels;
    case Domain::Fractions:
      return fractions;
    case Domain::Whole:
      return whole;
    case Domain::Direction:
      return directions;
    case Domain::LevelOfDetail:
      return levels;
    case Domain::Slope:
      return slopes;
    default:
      return specialsOf(domain);
  }
  return pred;
}

// A multiple of 1/4 from -1 to 1, in the float format that has so many bits of fraction.
inline uint64_t quarterOf(uint64_t r, int fractionBits) {
  const int exponentBits = fractionBits == 52 ? 11 : fractionBits == 10 ? 5 : 8;
  const uint64_t bias = (uint64_t{1} << (exponentBits - 1)) - 1, one = uint64_t{1} << fractionBits;
  const uint64_t magnitudes[] = {0, (bias - 2) * one, (bias - 1) * one, (bias - 1) * one + one / 2, bias * one};
  return magnitudes[r % 5] | (r >> 8 & 1) << (exponentBits + fractionBits);
}

// Half of them multiples of 1 / steps.
inline uint64_t between(uint64_t r, float low, float high, float steps) {
  float value = low + (high - low) * static_cast<float>(r >> 40) * 0x1p-24f;
  if (r & 1) value = __builtin_floorf(value * steps) / steps;
  return __builtin_bit_cast(uint32_t, value);
}

inline uint64_t randomOf(Domain domain, uint64_t r) {
  const uint64_t choice = mix(r + 1) % 4;
  const auto eachByte = [&](uint64_t kept, uint64_t lowest, int shift) {
    uint64_t value = r & kept * 0x01010101;
    for (uint64_t k = 0; k < 4; ++k) value |= (lowest + mix(r + 2 + k) % 4) << (shift + 8 * k);
    return value;
  };
  switch (domain) {
    case Domain::Pred:
      return r & 1;
    case Domain::Int8:
      return r & 0xff;
    case Domain::Int16:
      return r & 0xffff;
    case Domain::Int32:
      return (r & 0xffffffff) >> (choice == 0 ? mix(r + 2) % 32 : 0);
    case Domain::Int64:
      return r >> (choice == 0 ? mix(r + 2) % 64 : 0);
    case Domain::Small:
      return r % 70;
    case Domain::Lane:
      return r % 32;
    case Domain::Fp8x2:
      return r & 0xffff;
    case Domain::F16:
      return choice < 2 ? r & 0xffff : (r & 0x83ff) | (13 + mix(r + 2) % 5) << 10;
    case Domain::Bf16:
      return choice < 2 ? r & 0xffff : (r & 0x807f) | (124 + mix(r + 2) % 8) << 7;
    case Domain::F16x2:
      return randomOf(Domain::F16, r) | randomOf(Domain::F16, mix(r + 3)) << 16;
    case Domain::Bf16x2:
      return randomOf(Domain::Bf16, r) | randomOf(Domain::Bf16, mix(r + 3)) << 16;
    case Domain::F32:
      return choice < 2 ? r & 0xffffffff : (r & 0x807fffff) | (120 + mix(r + 2) % 14) << 23;
    case Domain::Angle:
      return (r & 0x807fffff) | (110 + mix(r + 2) % 25) << 23;
    case Domain::NearF16x2:
      return (r & 0x83ff83ff) | (12 + mix(r + 2) % 4) << 10 | (12 + mix(r + 3) % 4) << 26;
    case Domain::NearBf16x2:
      return (r & 0x807f807f) | (124 + mix(r + 2) % 4) << 7 | (124 + mix(r + 3) % 4) << 23;
    case Domain::NearF32:
      return (r & 0x807fffff) | (124 + mix(r + 2) % 4) << 23;
    case Domain::NearF64:
      return (r & 0x800fffffffffffffull) | (1020 + mix(r + 2) % 4) << 52;
    case Domain::NearE4m3x4:
      return eachByte(0x87, 4, 3);
    case Domain::NearE5m2x4:
      return eachByte(0x83, 12, 2);
    case Domain::QuarterF16x2:
      return quarterOf(r, 10) | quarterOf(mix(r + 2), 10) << 16;
    case Domain::QuarterBf16x2:
      return quarterOf(r, 7) | quarterOf(mix(r + 2), 7) << 16;
    case Domain::QuarterF32:
      return quarterOf(r, 23);
    case Domain::QuarterF64:
      return quarterOf(r, 52);
    case Domain::Texels:
      return between(r, -8, 24, 512);
    case Domain::Fractions:
      return between(r, -2, 3, 4096);
    case Domain::Whole:
      return (r % 24 - 4) & 0xffffffff;
    case Domain::Direction:
      return between(r & ~uint64_t{1}, -2, 2, 1);
    case Domain::LevelOfDetail:
      return between(r, -1, 5, 64);
    case Domain::Slope:
      return (r & 1) << 31 | (118 + mix(r + 2) % 9) << 23;
    case Domain::F64:
      return choice < 2 ? r : (r & 0x800fffffffffffffull) | (1000 + mix(r + 2) % 60) << 52;
    default:
      break;
  }
  return 0;
}

// Operands of all threads, in the layout that the kernels read.
inline std::vector<uint64_t> inputsOf(const Case& c) {
  std::vector<uint64_t> in(size_t{kThreads} * kOperands);
  uint64_t seed = 1469598103934665603ull;
  for (char ch : c.name) seed = (seed ^ static_cast<uint8_t>(ch)) * 1099511628211ull;
  const auto specials = static_cast<size_t>(std::count_if(c.operands.begin(), c.operands.end(), isSpecial));
  for (uint32_t t = 0; t < kThreads; ++t) {
    uint64_t rest = t;
    for (size_t k = 0; k < c.operands.size(); ++k) {
      const std::vector<uint64_t>& edges = edgesOf(c.operands[k]);
      const size_t n = edges.size();
      const uint64_t random = mix(seed + t * 7919 + k * 104729);
      uint64_t value;
      if (isSpecial(c.operands[k])) {
        in[size_t{t} * kOperands + k] = specialOf(c.operands[k], specials, k, t, random);
        continue;
      }
      if (k < 2 && t < 768) {  // the first two operands go through all pairs of edges
        value = edges[rest % n];
        rest /= n;
      } else if (k >= 2 && random % 3 == 0) {
        value = edges[mix(random) % n];
      } else {
        value = randomOf(c.operands[k], random);
      }
      if ((c.operands[k] == Domain::F16x2 || c.operands[k] == Domain::Bf16x2) && value < 0x10000)
        value |= edges[mix(random + 5) % n] << 16;
      in[size_t{t} * kOperands + k] = value;
    }
  }
  return in;
}

}  // namespace vg::ptx::matrix
