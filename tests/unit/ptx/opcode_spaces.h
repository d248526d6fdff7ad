// Cases of constants, parameters of kernels and of functions, and wmma's loads and stores. Included by opcode_matrix.h,
// whose Builder it fills.
#pragma once

#include "unit/ptx/matrix_products.h"

namespace vg::ptx::matrix {

inline std::string vectorOf(int width) { return width > 1 ? ".v" + std::to_string(width) : ""; }

// Registers prefix + 0, 1, ... as an operand.
inline std::string registersOf(const std::string& prefix, int width) {
  std::string text = prefix + "0";
  for (int k = 1; k < width; ++k) text += ", " + prefix + std::to_string(k);
  return width > 1 ? "{" + text + "}" : text;
}

inline std::string elementRegisters(const Element& e, const std::string& prefix) {
  return ".reg .b" + std::to_string(e.registerBits) + " " + prefix + "<4>; ";
}

// One 64-bit register out of all registers that were loaded.
inline std::string foldTo(const std::string& to, const Element& e, const std::string& prefix, int width) {
  const std::string bits = std::to_string(e.registerBits);
  std::string text = "mov.b64 " + to + ", 0; ";
  for (int k = 0; k < width; ++k) {
    const std::string from = prefix + std::to_string(k);
    text += e.registerBits == 64 ? "mov.b64 wf, " + from + "; " : "cvt.u64.u" + bits + " wf, " + from + "; ";
    text += "mad.lo.u64 " + to + ", " + to + ", 1099511628211, wf; ";
  }
  return text;
}

template <class Add>
void eachElementForm(Add add) {
  for (const Element& e : kElements)
    for (int width : {1, 2, 4})
      if (e.bits * width <= 128) add(e, width, vectorOf(width) + "." + e.type);
}

inline constexpr uint32_t kTableBytes = 256;

// Bytes of a constant or parameter.
inline uint8_t tableByte(uint32_t at) { return static_cast<uint8_t>((at + 1) * 0x9E3779B1u >> 21); }

inline std::string constantTable() {
  std::string text = ".const .align 16 .b8 $table[" + std::to_string(kTableBytes) + "] = {";
  for (uint32_t k = 0; k < kTableBytes; ++k) text += (k ? ", " : "") + std::to_string(tableByte(k));
  return text + "};\n";
}

// Each load once at an address that differs between threads and once at one that does not.
inline void constants(Builder& m) {
  const std::vector<Domain> in{Domain::Int32};
  const std::vector<std::pair<int, Match>> out{{64, Match::Bits}, {64, Match::Bits}};
  const std::string table = constantTable();
  const std::string start =
      "{ .reg .b64 at, wf; .reg .b32 row; and.b32 row, a, 15; mul.wide.u32 wf, row, 16; mov.u64 at, $table; "
      "add.u64 at, at, wf; ";
  const auto load = [&](const Element& e, int width, const std::string& instruction, const std::string& place,
                        const std::string& fixed) {
    const std::string n = registersOf("r", width);
    m.add(instruction + (place == "at" ? "" : " " + place),
          start + elementRegisters(e, "r") + (place == "at" ? "" : "cvta.const.u64 at, at; ") + instruction + " " + n +
              ", [at]; " + foldTo("x", e, "r", width) + instruction + " " + n + ", [" + fixed + "]; " +
              foldTo("y", e, "r", width) + "}",
          in, out);
    m.cases.back().module = table;
  };
  eachElementForm([&](const Element& e, int width, const std::string& tail) {
    load(e, width, "ld.const" + tail, "at", "$table+48");
  });
  for (const Element& e : {kElements[0], kElements[6], kElements[13]})
    load(e, 1, std::string("ld.") + e.type, "generic", "at");
}

// What every kernel with parameters of its own has behind `in` and `out`.
inline const char* const kParameterList =
    ", .param .u8 p8, .param .u16 p16, .param .u32 p32, .param .u64 p64, .param .align 16 .b8 data[256]";
inline constexpr uint32_t kParametersBegin = 16, kParametersEnd = 32 + kTableBytes;  // bytes

inline void kernelParameters(Builder& m) {
  const std::vector<Domain> in{Domain::Int32};
  const std::vector<std::pair<int, Match>> out{{64, Match::Bits}, {64, Match::Bits}};
  const auto add = [&](const std::string& name, const std::string& text) {
    m.add(name, text, in, out);
    m.cases.back().parameters = true;
  };
  eachElementForm([&](const Element& e, int width, const std::string& tail) {
    const std::string n = registersOf("r", width), load = "ld.param" + tail;
    add(load,
        "{ .reg .b64 at, wf; .reg .b32 row; and.b32 row, a, 15; mul.wide.u32 wf, row, 16; mov.u64 at, data; "
        "add.u64 at, at, wf; " +
            elementRegisters(e, "r") + load + " " + n + ", [at]; " + foldTo("x", e, "r", width) + load + " " + n +
            ", [data+80]; " + foldTo("y", e, "r", width) + "}");
  });
  for (const Element& e : kElements) {
    const std::string name = "p" + std::to_string(e.bits);
    add(std::string("ld.param.") + e.type + " " + name,
        "{ .reg .b64 wf; " + elementRegisters(e, "r") + "ld.param." + e.type + " r0, [" + name + "]; " +
            foldTo("x", e, "r", 1) + "ld.param." + e.type + " r0, [data]; " + foldTo("y", e, "r", 1) + "}");
  }
}

// A function that gets a vector and returns it turned by one element.
inline void functionParameters(Builder& m) {
  const std::vector<Domain> in(4, Domain::Int64);
  const std::vector<std::pair<int, Match>> out{{64, Match::Bits}, {64, Match::Bits}};
  const auto add = [&](const Element& e, int width, const std::string& tail, bool plain) {
    const std::string bytes = std::to_string(e.bits * width / 8), bits = std::to_string(e.registerBits);
    const auto variable = [&](const std::string& name) {
      return plain ? ".param ." + std::string(e.type) + " " + name
                   : ".param .align " + bytes + " .b8 " + name + "[" + bytes + "]";
    };
    const std::string n = registersOf("r", width);
    std::string turned = "r" + std::to_string(width - 1), given;
    for (int k = 0; k + 1 < width; ++k) turned += ", r" + std::to_string(k);
    if (width > 1) turned = "{" + turned + "}";
    for (int k = 0; k < width; ++k)
      given += (e.registerBits == 64 ? "mov.b64 r" : "cvt.u" + bits + ".u64 r") + std::to_string(k) + ", " +
               static_cast<char>('a' + k) + "; ";
    m.add("st.param" + tail + (plain ? " plain" : ""),
          "{ .reg .b64 wf; " + elementRegisters(e, "r") + given + "{ " + variable("p") + "; " + variable("q") +
              "; st.param" + tail + " [p], " + n + "; call.uni (q), $turn, (p); ld.param" + tail + " " + n +
              ", [q]; } " + foldTo("x", e, "r", width) + "mov.b64 y, a; }",
          in, out);
    m.cases.back().module = ".func (" + variable("q") + ") $turn(" + variable("p") + ")\n{\n  " +
                            elementRegisters(e, "r") + "\n  ld.param" + tail + " " + n + ", [p];\n  st.param" + tail +
                            " [q], " + turned + ";\n  ret;\n}\n";
  };
  eachElementForm([&](const Element& e, int width, const std::string& tail) {
    add(e, width, tail, false);
    if (width == 1 && e.bits >= 32) add(e, width, tail, true);
  });
}

// wmma's loads and stores. Whole numbers, and quarters that every sum keeps exactly: what is stored has one answer, and
// all of it counts.
inline Domain exactDomainOf(const std::string& type) {
  if (type == "f16") return Domain::QuarterF16x2;
  if (type == "bf16") return Domain::QuarterBf16x2;
  if (type == "tf32" || type == "f32") return Domain::QuarterF32;
  if (type == "f64") return Domain::QuarterF64;
  return Domain::Int32;
}
inline bool isWholeType(const std::string& type) { return type[0] == 's' || type[0] == 'u' || type == "b1"; }
inline int elementBits(const std::string& type) {
  return type == "b1" ? 1 : type[0] == 't' ? 32 : type[0] == 'b' ? 16 : std::atoi(type.c_str() + 1);
}

class WarpMatrices {
 public:
  explicit WarpMatrices(Builder& m) : m_(m) {}

  // Loads A, B and C from shared memory, multiplies, and stores D there. `pad`: lines that do not follow each other.
  void multiply(const MatrixProduct& p, const std::string& a, const std::string& b, const std::string& d,
                const std::string& space, bool pad) {
    const std::string shape = shapeOf(p.mnemonic), s = dotted(space);
    std::string mma = p.mnemonic;
    mma.replace(mma.find("row.col"), 7, a + "." + b);
    const std::string stride = pad ? " padded" : "";
    const std::string name = "wmma." + shape + " " + a + "." + b + "." + d + " " + p.dType + "." + p.aType + "." +
                             p.cType + suffixOf(p.mnemonic) + " " + (space.empty() ? "generic" : space) + stride;
    std::string text = begin(p, space);
    text += load("a", a, shape, s, p.aType, "fa", p.a, "ma", line(p, 'a', a, pad)) +
            load("b", b, shape, s, p.bType, "fb", p.b, "mb", line(p, 'b', b, pad)) +
            load("c", d, shape, s, p.cType, "fc", p.c, "mc", line(p, 'c', d, pad));
    text +=
        mma + " " + list("fd", p.d) + ", " + list("fa", p.a) + ", " + list("fb", p.b) + ", " + list("fc", p.c) + "; ";
    text += "wmma.store.d.sync.aligned." + d + "." + shape + s + "." + p.dType + " [md], " + list("fd", p.d) + ", " +
            line(p, 'c', d, pad) + "; bar.warp.sync -1; " + sum();
    m_.add(name, text, domains(p), {{64, Match::Bits}, {64, Match::Bits}});
  }

  // Loads A and B from the 1024 bytes of global memory that are the warp's, lines behind each other.
  void multiplyGlobal(const MatrixProduct& p, const std::string& a, const std::string& b) {
    const std::string shape = shapeOf(p.mnemonic), name = "wmma." + shape + " " + a + "." + b + " " + p.dType + "." +
                                                          p.aType + suffixOf(p.mnemonic) + " global";
    std::string mma = p.mnemonic;
    mma.replace(mma.find("row.col"), 7, a + "." + b);
    const bool wide = std::string(p.dType) == "f64";
    std::string text = begin(p, "shared");
    text += wide ? "st.global.v2.b64 [pin], {a, b}; st.global.v2.b64 [pin+16], {c, d}; "
                 : "st.global.v4.b32 [pin], {a, b, d, b}; st.global.v4.b32 [pin+16], {b, d, a, d}; ";
    text += "bar.warp.sync -1; mul.wide.u32 wf, own, 32; sub.u64 wf, pin, wf; ";
    for (const char* matrix : {"a", "b"}) {
      const bool isA = matrix[0] == 'a';
      text += std::string("wmma.load.") + matrix + ".sync.aligned." + (isA ? a : b) + "." + shape + ".global." +
              (isA ? p.aType : p.bType) + " " + list(isA ? "fa" : "fb", isA ? p.a : p.b) + ", [wf]; ";
    }
    text += load("c", "row", shape, ".shared", p.cType, "fc", p.c, "mc", line(p, 'c', "row", false));
    text +=
        mma + " " + list("fd", p.d) + ", " + list("fa", p.a) + ", " + list("fb", p.b) + ", " + list("fc", p.c) + "; ";
    text += "wmma.store.d.sync.aligned.row." + shape + ".shared." + p.dType + " [md], " + list("fd", p.d) +
            "; bar.warp.sync -1; " + sum();
    const Domain ab = exactDomainOf(p.aType);
    const std::vector<Domain> in{ab, ab, exactDomainOf(p.cType), ab};
    m_.add(name, text, in, {{64, Match::Bits}, {64, Match::Bits}});
  }

  // C from one layout to the other, through global memory that is the warp's, lines behind each other.
  void turn(const std::string& shape, const std::string& type, int registers, bool byRows) {
    const std::string from = byRows ? "row" : "col", to = byRows ? "col" : "row", r = registerType(type);
    std::string text =
        "{ .reg .b64 own, back, wf; .reg .b32 at; and.b32 at, lane, 31; mul.wide.u32 back, at, 32; "
        "sub.u64 own, pin, back; .reg " +
        r + " f<8>; wmma.load.c.sync.aligned." + from + "." + shape + ".global." + type + " " + list("f", registers) +
        ", [own]; bar.warp.sync -1; " + "wmma.store.d.sync.aligned." + to + "." + shape + ".global." + type +
        " [own], " + list("f", registers) +
        "; bar.warp.sync -1; ld.global.v2.b64 {x, y}, [pin]; "
        "ld.global.v2.b64 {own, back}, [pin+16]; mad.lo.u64 x, x, 1099511628211, own; "
        "mad.lo.u64 y, y, 1099511628211, back; }";
    m_.add("wmma.load.c." + from + "." + shape + ".global." + type, text, std::vector<Domain>(4, Domain::Int64),
           {{64, Match::Bits}, {64, Match::Bits}});
  }

 private:
  static constexpr int kRegion = 1536;  // bytes of a matrix of a warp

  static std::string shapeOf(const std::string& mnemonic) {
    const size_t at = mnemonic.find(".m");
    const size_t shape = mnemonic.find(".m", at + 1);  // behind "wmma.mma"
    const size_t from = (shape == std::string::npos ? at : shape) + 1;
    return mnemonic.substr(from, mnemonic.find('.', from) - from);
  }
  static std::string suffixOf(const std::string& mnemonic) {
    if (mnemonic.find("xor") != std::string::npos) return " xor";
    if (mnemonic.find("satfinite") != std::string::npos) return " satfinite";
    return mnemonic.find("and") != std::string::npos ? " and" : "";
  }
  static std::string list(const std::string& prefix, int count) {
    std::string text;
    for (int k = 0; k < count; ++k) text += (k ? ", " : "") + prefix + std::to_string(k);
    return "{" + text + "}";
  }
  // Elements from one line of a matrix to the next.
  static std::string line(const MatrixProduct& p, char matrix, const std::string& layout, bool pad) {
    int m = 0, n = 0, k = 0;
    std::sscanf(shapeOf(p.mnemonic).c_str(), "m%dn%dk%d", &m, &n, &k);
    const int rows = matrix == 'b' ? k : m, columns = matrix == 'a' ? k : n;
    const int bits = elementBits(matrix == 'a' ? p.aType : matrix == 'b' ? p.bType : p.cType);
    return std::to_string((layout == "row" ? columns : rows) + (pad ? 128 / bits : 0));
  }
  static std::vector<Domain> domains(const MatrixProduct& p) {
    const Domain c = exactDomainOf(p.cType);
    return {exactDomainOf(p.aType), exactDomainOf(p.bType), c, exactDomainOf(p.dType)};
  }
  static std::string load(const std::string& matrix, const std::string& layout, const std::string& shape,
                          const std::string& space, const std::string& type, const std::string& to, int count,
                          const std::string& from, const std::string& stride) {
    return "wmma.load." + matrix + ".sync.aligned." + layout + "." + shape + space + "." + type + " " +
           list(to, count) + ", [" + from + "], " + stride + "; ";
  }
  // Fills what the warp has of shared memory from the operands of its lanes, in another order in each row.
  static std::string begin(const MatrixProduct& p, const std::string& space) {
    const bool wide = std::string(p.dType) == "f64";
    const std::string bytes = wide ? "8" : "4", rows = wide ? "6" : "12", b = wide ? "b64" : "b32";
    std::string text =
        "{ .shared .align 32 .b8 matrices[24576]; .reg .b64 ma, mb, mc, md, wf; .reg .b32 base, at, j, k, own; "
        ".reg .pred q; .reg " +
        registerType(p.aType) + " fa<8>; .reg " + registerType(p.bType) + " fb<8>; .reg " + registerType(p.cType) +
        " fc<8>; .reg " + registerType(p.dType) +
        " fd<8>; "
        "and.b32 own, lane, 31; shr.u32 at, lane, 5; mov.u32 base, matrices; mad.lo.u32 base, at, 6144, base; "
        "mov.u32 j, 0; F: mad.lo.u32 k, j, 2, 1; mul.lo.u32 k, k, own; mad.lo.u32 k, j, 5, k; and.b32 k, k, 31; "
        "mad.lo.u32 k, j, 32, k; mad.lo.u32 at, k, " +
        bytes + ", base; ";
    for (int k = 0; k < 4; ++k)
      text += "st.shared." + b + " [at+" + std::to_string(k * kRegion) + "], " + static_cast<char>('a' + k) + "; ";
    text += "add.u32 j, j, 1; setp.lt.u32 q, j, " + rows + "; @q bra F; bar.warp.sync -1; cvt.u64.u32 ma, base; ";
    if (space.empty()) text += "cvta.shared.u64 ma, ma; ";
    return text + "add.u64 mb, ma, 1536; add.u64 mc, ma, 3072; add.u64 md, ma, 4608; ";
  }
  // Of what lies where D was stored, the lane's twelve words.
  static std::string sum() {
    std::string text = "mad.lo.u32 at, own, 48, base; mov.b64 x, 0; mov.b64 y, 0; ";
    for (int k = 0; k < 6; ++k) {
      const std::string to = k < 3 ? "x" : "y";
      text += "ld.shared.b64 wf, [at+" + std::to_string(4608 + 8 * k) + "]; mad.lo.u64 " + to + ", " + to +
              ", 1099511628211, wf; ";
    }
    return text + "}";
  }

  Builder& m_;
};

// The products of wmma.mma that differ in what they load and store.
inline std::vector<MatrixProduct> warpProducts() {
  std::vector<MatrixProduct> list;
  for (const MatrixProduct& p : allProducts()) {
    const auto has = [&](const char* part) { return p.mnemonic.find(part) != std::string::npos; };
    const bool rounds = has(".rn.") || has(".rz.") || has(".rm.") || has(".rp.");
    if (p.mnemonic.rfind("wmma", 0) == 0 && !rounds && !has("satfinite") && std::string(p.cType) == p.dType)
      list.push_back(p);
  }
  return list;
}

inline void warpMatrices(Builder& m) {
  WarpMatrices w(m);
  for (const MatrixProduct& p : warpProducts()) {
    const bool shared = std::string(p.aType) == "f16" || isWholeType(p.aType);
    w.multiply(p, "row", "col", "row", shared ? "shared" : "", false);
    if (elementBits(p.aType) < 8) {
      w.multiply(p, "row", "col", "col", "", true);
      w.multiplyGlobal(p, "row", "col");
      continue;
    }
    w.multiply(p, "col", "row", "col", shared ? "" : "shared", true);
    w.multiply(p, "row", "row", "row", "shared", true);
    w.multiply(p, "col", "col", "col", "shared", false);
    w.multiplyGlobal(p, "row", "col");
    w.multiplyGlobal(p, "col", "row");
  }
  MatrixProduct rounded;
  rounded.mnemonic = "wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64.rn";
  rounded.a = rounded.b = 1;
  rounded.aType = rounded.bType = rounded.cType = rounded.dType = "f64";
  w.multiply(rounded, "row", "col", "row", "", true);
  for (const bool byRows : {true, false}) {
    for (const char* shape : {"m16n16k16", "m32n8k16", "m8n32k16"}) {
      w.turn(shape, "f16", 4, byRows);
      w.turn(shape, "f32", 8, byRows);
      w.turn(shape, "s32", 8, byRows);
    }
    w.turn("m16n16k8", "f32", 8, byRows);
    w.turn("m8n8k4", "f64", 2, byRows);
    w.turn("m8n8k32", "s32", 2, byRows);
    w.turn("m8n8k128", "s32", 2, byRows);
  }
}

inline void spaces(Builder& m) {
  constants(m);
  kernelParameters(m);
  functionParameters(m);
  warpMatrices(m);
}

}  // namespace vg::ptx::matrix
