// Cases of the matrix instructions. Included by opcode_matrix.h, whose Builder it fills.
//
// The registers of a fragment are the operand of the case and what other lanes hold of it. Each case writes two of the
// registers of D. Sums of floats may differ between machines by what PTX leaves open: their order, and how exactly the
// tensor cores add.
#pragma once

#include "unit/ptx/matrix_products.h"

namespace vg::ptx::matrix {

inline Domain domainOf(const std::string& type) {
  if (type == "f16") return Domain::NearF16x2;
  if (type == "bf16") return Domain::NearBf16x2;
  if (type == "tf32" || type == "f32") return Domain::NearF32;
  if (type == "f64") return Domain::NearF64;
  if (type == "e4m3") return Domain::NearE4m3x4;
  if (type == "e5m2") return Domain::NearE5m2x4;
  return Domain::Int32;
}

inline std::string registerType(const std::string& type) {
  return type == "f64" ? ".f64" : type == "f32" ? ".f32" : ".b32";
}

// Declares `count` registers: the value of `from` in this lane, in the neighbour, and so on.
inline std::string spread(const std::string& prefix, int count, const std::string& type, const std::string& from) {
  const bool isWide = type == "f64";
  std::string text = ".reg " + registerType(type) + " " + prefix + "<8>; ";
  const std::string move = isWide ? "mov.b64 " : "mov.b32 ";
  for (int k = 0; k < count; ++k) {
    const std::string shuffle = ", " + std::to_string(k) + ", 31, -1; ", to = prefix + std::to_string(k);
    if (isWide)
      text += "mov.b64 {low, high}, " + from + "; shfl.sync.bfly.b32 low, low" + shuffle +
              "shfl.sync.bfly.b32 high, high" + shuffle + "mov.b64 " + to + ", {low, high}; ";
    else
      text += "shfl.sync.bfly.b32 low, " + from + shuffle + move + to + ", low; ";
  }
  return text;
}

// How far two machines may be apart, for operands below 2.
inline std::pair<Match, double> toleranceOf(const MatrixProduct& p) {
  const std::string d = p.dType, a = p.aType;
  if (d == "s32") return {Match::Bits, 0};
  if (d == "f64") return {Match::F64, 0};
  if (d == "f16" || std::string(p.cType) == "f16") return {d == "f16" ? Match::F16x2 : Match::ApproxF32, 0x1p-4};
  return {Match::ApproxF32, a[0] == 'e' ? 0x1p-5 : 0x1p-15};
}

inline void product(Builder& m, const MatrixProduct& p, int selector) {
  const auto [match, absolute] = toleranceOf(p);
  const int bits = std::string(p.dType) == "f64" ? 64 : 32;
  for (int first = 0; first < p.d; first += 2) {
    std::string text = "{ .reg .b32 low, high, e; " + spread("fa", p.a, p.aType, "a") +
                       spread("fb", p.b, p.bType, "b") + spread("fc", p.c, p.cType, "c") + ".reg " +
                       registerType(p.dType) + " fd<8>; ";
    if (p.selectors) {  // pairs 0, 2 / 0, 3 / 1, 2 / 1, 3, and for tf32 the first or the second of two
      const bool single = std::string(p.aType) == "tf32";
      text += single ? "and.b32 e, d, 0x11111111; mul.lo.u32 e, e, 10; or.b32 e, e, 0x44444444; "
                     : "and.b32 e, d, 0x55555555; or.b32 e, e, 0x88888888; ";
    }
    text += productText(p, "fd", "fa", "fb", "fc", selector) + " ";
    const std::string move = bits == 64 ? "mov.b64 " : "mov.b32 ";
    text += move + "x, fd" + std::to_string(first) + "; " + move + "y, fd" + std::to_string(first + 1) + "; }";
    std::vector<Domain> in = {domainOf(p.aType), domainOf(p.bType), domainOf(p.cType)};
    if (p.selectors) in.push_back(Domain::Int32);
    std::string name = p.mnemonic;
    if (p.selectors) name += " selector " + std::to_string(selector);
    if (p.d > 2) name += " d" + std::to_string(first);
    m.add(name, text, in, {{bits, match}, {bits, match}}, 0, absolute);
  }
}

// ldmatrix and stmatrix on the 256 bytes of shared memory that are a warp's, movmatrix.
inline void matrixMoves(Builder& m) {
  const std::string warp =
      ".reg .b32 at, row, r<4>; and.b32 at, lane, 31; shl.b32 row, at, 3; sub.u32 row, sslot, row; ";
  const std::pair<int, Match> out{32, Match::Bits};
  const std::vector<Domain> in{Domain::Int32, Domain::Int32, Domain::Lane};
  for (const char* trans : {"", ".trans"}) {
    const std::string fill = "{ " + warp +
                             "st.shared.v2.b32 [sslot], {a, b}; bar.warp.sync -1; and.b32 at, c, 15; "
                             "shl.b32 at, at, 4; add.u32 row, row, at; ";
    const std::string load = std::string("ldmatrix.sync.aligned.m8n8.x");
    const std::string tail = std::string(trans) + ".shared.b16";
    m.add(load + "1" + tail, fill + load + "1" + tail + " {x}, [row]; mov.b32 y, x; }", in, {out, out});
    m.add(load + "2" + tail, fill + load + "2" + tail + " {x, y}, [row]; }", in, {out, out});
    m.add(load + "4" + tail + " low", fill + load + "4" + tail + " {x, y, r0, r1}, [row]; }", in, {out, out});
    m.add(load + "4" + tail + " high", fill + load + "4" + tail + " {r0, r1, x, y}, [row]; }", in, {out, out});
    m.add(load + "2" + tail + " generic",
          fill + ".reg .b64 wide; cvt.u64.u32 wide, row; cvta.shared.u64 wide, wide; " + load + "2" + trans +
              ".b16 {x, y}, [wide]; }",
          in, {out, out});
    const std::string own = "{ " + warp +
                            "st.shared.v2.b32 [sslot], {c, c}; bar.warp.sync -1; and.b32 at, lane, 15; "
                            "shl.b32 at, at, 4; add.u32 row, row, at; ";
    const std::string store = "stmatrix.sync.aligned.m8n8.x",
                      back = " bar.warp.sync -1; ld.shared.v2.b32 {x, y}, [sslot]; }";
    m.add(store + "1" + tail, own + store + "1" + tail + " [row], {a};" + back, in, {out, out});
    m.add(store + "2" + tail, own + store + "2" + tail + " [row], {a, b};" + back, in, {out, out});
  }
  m.add("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16 x, a;", {Domain::Int32}, {out});
}

inline void products(Builder& m) {
  for (const MatrixProduct& p : allProducts())
    for (int selector = 0; selector < (p.selectors ? p.selectors : 1); ++selector) product(m, p, selector);
  matrixMoves(m);
}

}  // namespace vg::ptx::matrix
