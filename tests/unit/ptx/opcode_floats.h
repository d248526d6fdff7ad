// Cases about the bits of floating-point results: NaNs, zeros, denormals and infinities through every operation, NaNs
// that go on through what only moves them, and products and sums that a compiler may fuse. Included by opcode_matrix.h,
// whose Builder it fills.
#pragma once

namespace vg::ptx::matrix {

// A type's domain of special values, and how results are compared.
struct FloatKind {
  const char* name;
  Domain domain;
  int bits;
};
inline const FloatKind kSingleKind{"f32", Domain::EdgeF32, 32}, kDoubleKind{"f64", Domain::EdgeF64, 64};
inline const FloatKind kHalfKinds[] = {{"f16", Domain::EdgeF16, 16},
                                       {"f16x2", Domain::EdgeF16x2, 32},
                                       {"bf16", Domain::EdgeBf16, 16},
                                       {"bf16x2", Domain::EdgeBf16x2, 32}};

// name x, a, b, ...; as a case of its own beside the one that compares any NaN with any.
inline void edges(Builder& m, const std::string& name, std::vector<Domain> in, int bits, Match match = Match::Bits,
                  double relative = 0, double absolute = 0) {
  std::string text = name + " x";
  for (size_t k = 0; k < in.size(); ++k) text += std::string(", ") + static_cast<char>('a' + k);
  m.add("edges " + name, text + ";", std::move(in), {{bits, match}}, relative, absolute);
}
// Which of two NaNs of f64 goes on, and with which sign, is not settled.
inline void wideEdges(Builder& m, const std::string& name, std::vector<Domain> in) {
  edges(m, name, std::move(in), 64, Match::F64);
}

inline void singleEdges(Builder& m) {
  const Domain f = Domain::EdgeF32;
  for (const char* round : {"", ".rn", ".rz", ".rm", ".rp"})
    for (const char* ftz : {"", ".ftz"}) {
      for (const char* sat : {"", ".sat"}) {
        const std::string tail = std::string(round) + ftz + sat + ".f32";
        for (const char* op : {"add", "sub"}) edges(m, op + tail, {f, f}, 32);
        edges(m, "mul" + tail, {f, f}, 32, *ftz ? Match::FlushedF32 : Match::Bits);
        if (*round) edges(m, "fma" + tail, {f, f, f}, 32);
      }
      const std::string tail = std::string(round) + ftz + ".f32";
      if (!*round) continue;
      edges(m, "div" + tail, {f, f}, 32, *ftz ? Match::FlushedF32 : Match::Bits);
      for (const char* op : {"rcp", "sqrt"}) edges(m, op + tail, {f}, 32);
    }
  for (const char* ftz : {"", ".ftz"}) {
    for (const char* op : {"abs", "neg"}) edges(m, str("@@.f32", op, ftz), {f}, 32);
    for (const char* op : {"min", "max"})
      for (const char* nan : {"", ".NaN"})
        for (const char* sign : {"", ".xorsign.abs"}) edges(m, std::string(op) + ftz + nan + sign + ".f32", {f, f}, 32);
    for (const char* op : {"div.approx", "div.full"})
      edges(m, str("@@.f32", op, ftz), {f, f}, 32, Match::ApproxF32, 0x1p-22);
    for (const char* op : {"rcp", "sqrt", "rsqrt", "ex2", "lg2"})
      edges(m, str("@.approx@.f32", op, ftz), {f}, 32, Match::ApproxF32, 0x1p-21, 0x1p-21);
    for (const char* op : {"sin", "cos"}) edges(m, str("@.approx@.f32", op, ftz), {f}, 32, Match::ApproxF32, 0, 2);
    edges(m, str("set.lt@.f32.f32", ftz), {f, f}, 32);
    edges(m, str("slct@.f32.f32", ftz), {f, f, f}, 32);
  }
  edges(m, "tanh.approx.f32", {f}, 32, Match::ApproxF32, 0x1p-10);
  edges(m, "copysign.f32", {f, f}, 32);
  edges(m, "selp.f32", {f, f, Domain::Pred}, 32);
  edges(m, "mov.f32", {f}, 32);
}

inline void doubleEdges(Builder& m) {
  const Domain d = Domain::EdgeF64;
  for (const char* round : {"", ".rn", ".rz", ".rm", ".rp"}) {
    const std::string tail = std::string(round) + ".f64";
    for (const char* op : {"add", "sub", "mul"}) wideEdges(m, op + tail, {d, d});
    if (!*round) continue;
    wideEdges(m, "fma" + tail, {d, d, d});
    wideEdges(m, "div" + tail, {d, d});
    for (const char* op : {"rcp", "sqrt"}) edges(m, op + tail, {d}, 64);
  }
  for (const char* op : {"abs", "neg"}) wideEdges(m, str("@.f64", op), {d});
  for (const char* op : {"min", "max"}) edges(m, str("@.f64", op), {d, d}, 64);
  for (const char* op : {"rcp.approx.ftz", "rsqrt.approx.ftz", "rsqrt.approx"})
    edges(m, str("@.f64", op), {d}, 64, Match::ApproxF64, 0x1p-19);
  edges(m, "copysign.f64", {d, d}, 64);
  edges(m, "selp.f64", {d, d, Domain::Pred}, 64);
}

inline void halfEdges(Builder& m) {
  for (const FloatKind& t : kHalfKinds) {
    const Domain h = t.domain;
    const bool isHalf = t.name[0] == 'f';
    for (const char* ftz : {"", ".ftz"}) {
      if (*ftz && !isHalf) continue;
      for (const char* sat : {"", ".sat"}) {
        if (*sat && !isHalf) continue;
        const std::string tail = std::string(ftz) + sat + "." + t.name;
        for (const char* op : {"add", "sub", "mul", "add.rn", "sub.rn", "mul.rn"})
          edges(m, op + tail, {h, h}, t.bits, *ftz && *op == 'm' ? Match::FlushedF16 : Match::Bits);
        edges(m, "fma.rn" + tail, {h, h, h}, t.bits);
      }
      edges(m, std::string("fma.rn") + ftz + ".relu." + t.name, {h, h, h}, t.bits);
      for (const char* op : {"min", "max"})
        for (const char* nan : {"", ".NaN"})
          for (const char* sign : {"", ".xorsign.abs"})
            edges(m, std::string(op) + ftz + nan + sign + "." + t.name, {h, h}, t.bits);
      for (const char* op : {"abs", "neg"}) edges(m, std::string(op) + ftz + "." + t.name, {h}, t.bits);
    }
    const Match near = isHalf ? Match::ApproxF16 : Match::ApproxBf16;
    const double bound = isHalf ? 0x1p-9 : 0x1p-6;
    edges(m, std::string("ex2.approx.") + (isHalf ? "" : "ftz.") + t.name, {h}, t.bits, near, bound);
    edges(m, std::string("tanh.approx.") + t.name, {h}, t.bits, near, bound);
    edges(m, std::string("set.lt.") + t.name + "." + t.name, {h, h}, t.bits);
  }
}

inline void conversionEdges(Builder& m) {
  const Domain f = Domain::EdgeF32, d = Domain::EdgeF64, h = Domain::EdgeF16, b = Domain::EdgeBf16;
  for (const char* sat : {"", ".sat"}) {
    for (const char* ftz : {"", ".ftz"}) {
      edges(m, str("cvt@@.f32.f32", ftz, sat), {f}, 32);
      edges(m, str("cvt@@.f64.f32", ftz, sat), {f}, 64);
      edges(m, str("cvt@@.f32.f16", ftz, sat), {h}, 32);
      for (const char* round : {".rn", ".rz", ".rm", ".rp"}) {
        edges(m, str("cvt@@@.f32.f64", round, ftz, sat), {d}, 32);
        edges(m, str("cvt@@@.f16.f32", round, ftz, sat), {f}, 16);
      }
      for (const char* round : {".rni", ".rzi", ".rmi", ".rpi"})
        edges(m, str("cvt@@@.f32.f32", round, ftz, sat), {f}, 32);
    }
    edges(m, str("cvt@.f64.f16", sat), {h}, 64);
    edges(m, str("cvt@.f64.f64", sat), {d}, 64);
    edges(m, str("cvt@.f16.f16", sat), {h}, 16);
    for (const char* round : {".rn", ".rz", ".rm", ".rp"}) edges(m, str("cvt@@.f16.f64", round, sat), {d}, 16);
    for (const char* round : {".rni", ".rzi", ".rmi", ".rpi"}) {
      edges(m, str("cvt@@.f64.f64", round, sat), {d}, 64);
      edges(m, str("cvt@@.f16.f16", round, sat), {h}, 16);
    }
  }
  edges(m, "cvt.f32.bf16", {b}, 32);
  edges(m, "cvt.f64.bf16", {b}, 64);
  for (const char* round : {".rn", ".rz", ".rm", ".rp"}) {
    edges(m, str("cvt@.f16.bf16", round), {b}, 16);
    edges(m, str("cvt@.bf16.f16", round), {h}, 16);
    edges(m, str("cvt@.bf16.f64", round), {d}, 16);
    edges(m, str("cvt@i.bf16.bf16", round), {b}, 16);
  }
  for (const char* round : {".rn", ".rz"})
    for (const char* relu : {"", ".relu"})
      for (const char* finite : {"", ".satfinite"}) {
        const std::string tail = std::string(round) + relu + finite;
        edges(m, "cvt" + tail + ".bf16.f32", {f}, 16);
        if (*relu || *finite) edges(m, "cvt" + tail + ".f16.f32", {f}, 16);
        edges(m, "cvt" + tail + ".f16x2.f32", {f, f}, 32);
        edges(m, "cvt" + tail + ".bf16x2.f32", {f, f}, 32);
        if (!*finite) edges(m, "cvt" + tail + ".tf32.f32", {f}, 32);
      }
  edges(m, "cvt.rna.tf32.f32", {f}, 32);
  edges(m, "cvt.rna.satfinite.tf32.f32", {f}, 32);
  for (const char* t : {"e4m3x2", "e5m2x2"})
    for (const char* relu : {"", ".relu"}) {
      edges(m, str("cvt.rn.satfinite@.@.f32", relu, t), {f, f}, 16);
      edges(m, str("cvt.rn.satfinite@.@.f16x2", relu, t), {Domain::EdgeF16x2}, 16);
      edges(m, str("cvt.rn@.f16x2.@", relu, t), {Domain::Fp8x2}, 32);
    }
}

// a in memory, b comes to it; what was there and what is.
inline void atomicEdges(Builder& m) {
  std::vector<std::pair<std::string, FloatKind>> kinds{{"add.f32", kSingleKind}, {"add.f64", kDoubleKind}};
  for (const FloatKind& t : kHalfKinds) kinds.push_back({std::string("add.noftz.") + t.name, t});
  for (const auto& [tail, t] : kinds)
    for (const std::string space : {"global", "shared"}) {
      const std::string slot = std::string("[") + space[0] + "slot]", bits = ".b" + std::to_string(t.bits);
      const std::string before = "st." + space + bits + " " + slot + ", a; ",
                        after = " ld." + space + bits + " y, " + slot + ";";
      const Match match = t.bits == 64 ? Match::F64 : Match::Bits;
      const std::vector<std::pair<int, Match>> out{{t.bits, match}, {t.bits, match}};
      m.add("edges atom." + space + "." + tail, before + "atom." + space + "." + tail + " x, " + slot + ", b;" + after,
            {t.domain, t.domain}, out);
      m.add("edges red." + space + "." + tail,
            before + "red." + space + "." + tail + " " + slot + ", b;" + after + " mov" + bits + " x, y;",
            {t.domain, t.domain}, out);
    }
  const auto vectors = [&](const std::string& tail, Domain d) {
    m.add(
        "edges red.global." + tail,
        "st.global.v2.b32 [gslot], {a, b}; red.global." + tail + " [gslot], {b, a}; ld.global.v2.b32 {x, y}, [gslot];",
        {d, d}, {{32, Match::Bits}, {32, Match::Bits}});
  };
  vectors("add.v2.f32", Domain::EdgeF32);
  for (const char* op : {"add", "min", "max"}) {
    vectors(str("@.noftz.v2.f16x2", op), Domain::EdgeF16x2);
    vectors(str("@.noftz.v2.bf16x2", op), Domain::EdgeBf16x2);
  }
}

// A result that may be NaN, and what looks at its bits.
inline void passedOn(Builder& m) {
  const Domain f = Domain::EdgeF32, d = Domain::EdgeF64, h = Domain::EdgeF16, h2 = Domain::EdgeF16x2;
  const std::pair<int, Match> out{32, Match::Bits}, out64{64, Match::Bits}, out16{16, Match::Bits};
  const std::string t = "{ .reg .b32 t, u; .reg .b64 w; .reg .b16 s; .reg .pred p; ";
  const char* const makers[][2] = {{"add", "add.f32 t, a, b; "},
                                   {"sub", "sub.f32 t, a, b; "},
                                   {"mul", "mul.f32 t, a, b; "},
                                   {"fma", "fma.rn.f32 t, a, b, a; "},
                                   {"div", "div.rn.f32 t, a, b; "},
                                   {"sqrt", "mul.f32 t, a, b; sqrt.rn.f32 t, t; "},
                                   {"max", "max.NaN.f32 t, a, b; "},
                                   {"rcp", "add.f32 t, a, b; rcp.rn.f32 t, t; "},
                                   {"neg add", "add.f32 t, a, b; neg.f32 t, t; "},
                                   {"abs mul", "mul.f32 t, a, b; abs.f32 t, t; "},
                                   {"add add", "add.f32 t, a, b; sub.f32 t, t, a; "}};
  const char* const users[][2] = {
      {"mov", "mov.b32 x, t; "},
      {"xor", "xor.b32 x, t, 0x55; "},
      {"not", "not.b32 x, t; "},
      {"add.s32", "add.s32 x, t, 3; "},
      {"shr", "shr.u32 x, t, 3; "},
      {"prmt", "prmt.b32 x, t, a, 0x4321; "},
      {"copysign", "copysign.f32 x, t, b; "},
      {"copysign of", "copysign.f32 x, b, t; "},
      {"min", "min.f32 x, t, b; "},
      {"max.xorsign", "max.xorsign.abs.f32 x, t, b; "},
      {"shfl", "shfl.sync.bfly.b32 x, t, 1, 31, -1; "},
      {"shared", "st.shared.f32 [sslot], t; ld.shared.b32 x, [sslot]; "},
      {"local", "st.local.f32 [lslot], t; ld.local.u32 x, [lslot]; "},
      {"global", "st.global.v2.f32 [gslot], {t, a}; ld.global.b32 x, [gslot]; "},
      {"exch", "st.global.b32 [gslot], 0; atom.global.exch.b32 u, [gslot], t; ld.global.b32 x, [gslot]; "},
      {"selp", "setp.lt.f32 p, a, b; selp.f32 x, t, b, p; "},
      {"predicated mov", "setp.lt.f32 p, a, b; mov.f32 x, a; @p mov.f32 x, t; "},
      {"cvt.s32", "cvt.rni.s32.f32 x, t; "},
      {"cvt.f16x2", "cvt.rn.f16x2.f32 x, t, a; "},
      {"match", "match.any.sync.b32 x, t, -1; "},
      {"setp", "setp.eq.s32 p, t, 0x7fffffff; selp.b32 x, 1, 2, p; "},
      {"slct", "slct.f32.s32 x, a, b, t; "},
      {"slct.f32", "slct.f32.f32 x, a, b, t; "},
      {"cvt.sat", "cvt.sat.f32.f32 x, t; "},
      {"redux", "redux.sync.xor.b32 x, t, -1; "}};
  // A compiler may turn the sign of a chosen value behind the choice.
  const auto turnsLate = [](const std::string& maker, const std::string& user) {
    return maker == "neg add" && (user == "selp" || user == "predicated mov");
  };
  for (const auto& maker : makers)
    for (const auto& user : users)
      m.add(std::string("passed ") + maker[0] + " " + user[0], t + maker[1] + user[1] + "}", {f, f},
            {{32, turnsLate(maker[0], user[0]) ? Match::F32 : Match::Bits}});
  for (const auto& maker : makers) {
    m.add(std::string("passed ") + maker[0] + " pack", t + maker[1] + "mov.b64 x, {t, a}; }", {f, f}, {out64});
    m.add(std::string("passed ") + maker[0] + " cvt.f64", t + maker[1] + "cvt.f64.f32 x, t; }", {f, f}, {out64});
    m.add(std::string("passed ") + maker[0] + " cvt.f16", t + maker[1] + "cvt.rn.f16.f32 x, t; }", {f, f}, {out16});
    m.add(std::string("passed ") + maker[0] + " call",
          t + maker[1] +
              "{ .param .b32 in0; .param .b32 out0; st.param.f32 [in0], t; call (out0), $same, (in0); "
              "ld.param.b32 x, [out0]; } }",
          {f, f}, {out});
    m.cases.back().module =
        ".func (.param .b32 result) $same(.param .b32 value) { .reg .b32 r; ld.param.b32 r, [value]; xor.b32 r, r, 1; "
        "st.param.b32 [result], r; ret; }\n";
    if (std::string(maker[0]) == "mul") continue;  // product and sum may be one
    m.add(std::string("passed ") + maker[0] + " loop",
          t + maker[1] +
              "mov.u32 u, 0; again: add.f32 t, t, b; add.u32 u, u, 1; setp.lt.u32 p, u, 3; @p bra again; "
              "mov.b32 x, t; }",
          {f, f}, {out});
  }
  for (const char* op : {"add", "mul"}) {
    const std::string made = t + op + ".f64 w, a, b; ";
    m.add(std::string("passed ") + op + ".f64 neg", made + "neg.f64 x, w; }", {d, d}, {{64, Match::F64}});
    m.add(std::string("passed ") + op + ".f64 unpack", made + "mov.b64 {x, y}, w; }", {d, d}, {out, out});
    m.cases.back().oneNaN = true;
    m.add(std::string("passed ") + op + ".f64 cvt.f32", made + "cvt.rn.f32.f64 x, w; }", {d, d}, {out});
    m.cases.back().oneNaN = true;
    const std::string small = t + op + ".f16 s, a, b; ", pair = t + op + ".f16x2 t, a, b; ";
    m.add(std::string("passed ") + op + ".f16 neg", small + "neg.f16 x, s; }", {h, h}, {out16});
    m.add(std::string("passed ") + op + ".f16 cvt.f32", small + "cvt.f32.f16 x, s; }", {h, h}, {out});
    m.add(std::string("passed ") + op + ".f16x2 abs", pair + "abs.f16x2 x, t; }", {h2, h2}, {out});
    m.add(std::string("passed ") + op + ".f16x2 neg", pair + "neg.f16x2 x, t; }", {h2, h2}, {out});
    m.add(std::string("passed ") + op + ".f16x2 xor", pair + "xor.b32 x, t, 5; }", {h2, h2}, {out});
  }
}

// Operands of tensor cores that meet NaNs and infinities: everything else is a small whole number, so that no sum
// rounds.
inline void productEdges(Builder& m) {
  const Domain h2 = Domain::EdgeF16x2, b2 = Domain::EdgeBf16x2;
  const std::pair<int, Match> out{32, Match::Bits};
  // a and b become one of eight values by their own bits: mostly numbers.
  const auto few = [](const char* name, const std::string& nan, const std::string& infinity, const std::string& one) {
    const std::string n = name;
    return "{ .reg .b32 k; .reg .pred p; and.b32 k, lane, 31; mad.lo.u32 k, " + n +
           ", 0x9E3779B1, k; "
           "shr.u32 k, k, 25; setp.eq.u32 p, k, 3; mov.b32 " +
           n + ", " + one + "; @p mov.b32 " + n + ", " + nan + "; setp.eq.u32 p, k, 7; @p mov.b32 " + n + ", " +
           infinity + "; setp.gt.u32 p, k, 64; @p mov.b32 " + n + ", 0; } ";
  };
  const auto product = [&](const std::string& shape, const std::string& types, Domain domain, const std::string& sets,
                           const std::string& d, const std::string& a, const std::string& b, const std::string& c,
                           const std::string& results) {
    m.add("edges mma." + shape + "." + types,
          "{ .reg .b32 r0, r1, r2, r3; " + sets + "mma.sync.aligned." + shape + ".row.col." + types + " {" + d +
              "}, {" + a + "}, {" + b + "}, {" + c + "}; " + results + " }",
          {domain, domain}, {out, out});
  };
  const std::string halves = few("a", "0x7e123c00", "0xfc00bc00", "0x3c00bc00") +
                             few("b", "0x3c00fd01", "0x7c00", "0x3c004000"),
                    brains = few("a", "0x7fd23f80", "0xff80bf80", "0x3f80bf80") +
                             few("b", "0x3f80ff91", "0x7f80", "0x3f804000"),
                    singles = few("a", "0x7fc12000", "0xff800000", "0x3f800000") +
                              few("b", "0xff814000", "0x7f800000", "0xc0000000");
  const std::string sums = "r0, r1, r2, r3",
                    zero = "mov.b32 r0, 0; mov.b32 r1, 0x3f800000; mov.b32 r2, 0x40000000; mov.b32 r3, 0; ";
  const std::string nanSum =
      "mov.b32 r0, 0xff812345; mov.b32 r1, 0x7f800000; mov.b32 r2, 0x7fc54321; mov.b32 r3, 0xff800000; ";
  const std::string kept = "xor.b32 x, r0, 0; mov.b32 y, r1;", others = "mov.b32 x, r2; mov.b32 y, r3;";
  for (const bool second : {false, true}) {
    const std::string& results = second ? others : kept;
    const std::string& start = second ? nanSum : zero;
    const std::string tail = second ? " " : "";
    product("m16n8k16", "f32.f16.f16.f32" + tail, h2, halves + start, sums, "a, b, a, b", "b, a", sums, results);
    product("m16n8k16", "f32.bf16.bf16.f32" + tail, b2, brains + start, sums, "a, b, a, b", "b, a", sums, results);
    product("m16n8k8", "f32.tf32.tf32.f32" + tail, Domain::EdgeF32, singles + start, sums, "a, b, a, b", "b, a", sums,
            results);
  }
  product("m16n8k16", "f16.f16.f16.f16", h2, halves + "mov.b32 r0, 0; mov.b32 r1, 0x3c00fd01; ", "r0, r1", "a, b, a, b",
          "b, a", "r0, r1", kept);
}

inline void floatForms(Builder& m) {
  singleEdges(m);
  doubleEdges(m);
  halfEdges(m);
  conversionEdges(m);
  atomicEdges(m);
  passedOn(m);
  productEdges(m);
}

// The values of a domain of special ones: ten that say most, then the others. 32 in all.
inline const std::vector<uint64_t>& specialsOf(Domain domain) {
  static const std::vector<uint64_t> single{
      0x00000000, 0x80000000, 0x3f800000, 0xbfc00000, 0x7f800000, 0xff800000, 0x7fc12345, 0xff812345,
      0x00012345, 0x7f7fffff, 0x7fffffff, 0xffffffff, 0x7f800001, 0xffc00000, 0x7fc00000, 0x7fa00000,
      0x80000001, 0x807fffff, 0x00800000, 0x80800000, 0xff7fffff, 0x40490fdb, 0xc2c80000, 0x34000000,
      0x4b800001, 0x7e800001, 0xfe800001, 0x7e000000, 0x3f7fffff, 0x42fe0000, 0xc3160000, 0x3effffff};
  static const std::vector<uint64_t> half{0x0000, 0x8000, 0x3c00, 0xbe00, 0x7c00, 0xfc00, 0x7e12, 0xfd12,
                                          0x0123, 0x7bff, 0x7fff, 0xffff, 0x7c01, 0xfe00, 0x7e00, 0x7d00,
                                          0x8001, 0x83ff, 0x0400, 0x8400, 0xfbff, 0x4248, 0xd640, 0x1400,
                                          0x6401, 0x7801, 0xf801, 0x3bff, 0x4b80, 0xcb80, 0x37ff, 0x7bfe};
  static const std::vector<uint64_t> brain{0x0000, 0x8000, 0x3f80, 0xbfc0, 0x7f80, 0xff80, 0x7fd2, 0xffa5,
                                           0x0012, 0x7f7f, 0x7fff, 0xffff, 0x7f81, 0xffc0, 0x7fc0, 0x7fa0,
                                           0x8001, 0x807f, 0x0080, 0x8080, 0xff7f, 0x4049, 0xc2c8, 0x3400,
                                           0x4b81, 0x7e81, 0xfe81, 0x7e00, 0x3f7f, 0x42fe, 0xc316, 0x3eff};
  static const std::vector<uint64_t> wide{
      0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff8000000000000, 0x7ff0000000000000,
      0xfff0000000000000, 0x7ffabcde12345678, 0xfff2345678abcdef, 0x000123456789abcd, 0x7fefffffffffffff,
      0x7fffffffffffffff, 0xffffffffffffffff, 0x7ff0000000000001, 0xfff8000000000000, 0x7ff8000000000000,
      0x7ff4000000000000, 0x7ff0000080000000, 0x8000000000000001, 0x800fffffffffffff, 0x0010000000000000,
      0x8010000000000000, 0xffefffffffffffff, 0x400921fb54442d18, 0xc059000000000000, 0x3e80000000000000,
      0x4340000000000001, 0x7fd0000000000001, 0xffd0000000000001, 0x7fc0000000000000, 0x47efffffe0000000,
      0x47efffffffffffff, 0x36a0000000000000};
  switch (domain) {
    case Domain::EdgeF32:
      return single;
    case Domain::EdgeF64:
      return wide;
    case Domain::EdgeF16:
    case Domain::EdgeF16x2:
      return half;
    default:
      return brain;
  }
}
inline bool isSpecial(Domain d) { return d >= Domain::EdgeF16; }

// Operand k of thread t in a case of so many special operands: all pairs, or all triples of the first ten; a single one
// is each of them, then any bits.
inline uint64_t specialOf(Domain domain, size_t operands, size_t k, uint32_t t, uint64_t random) {
  const std::vector<uint64_t>& values = specialsOf(domain);
  uint64_t value;
  if (operands == 1)
    value = t < values.size() ? values[t] : random;
  else if (operands == 2)
    value = values[k == 0 ? t % 32 : t / 32];
  else
    value = t < 1000 ? values[k == 0 ? t % 10 : k == 1 ? t / 10 % 10 : t / 100] : values[random % 32];
  if (domain == Domain::EdgeF64) return value;
  if (domain == Domain::EdgeF32) return value & 0xffffffff;
  const uint64_t low = value & 0xffff;
  const bool pair = domain == Domain::EdgeF16x2 || domain == Domain::EdgeBf16x2;
  return pair ? low | values[mix(random + 9) % 32] << 16 : low;
}

}  // namespace vg::ptx::matrix
