// Every product of the matrix instructions, as a mnemonic with the registers of its operands.
#pragma once

#include <string>
#include <vector>

namespace vg::ptx::matrix {

struct MatrixProduct {
  std::string mnemonic;
  int a = 1, b = 1, c = 2, d = 2;  // registers
  const char *aType = "f16", *bType = "f16", *cType = "f32", *dType = "f32";
  int selectors = 0;  // sparse: how many sparsity selectors there are
};

// The instruction in PTX: registers prefix + 0, 1, ... of each operand, `e` the metadata.
inline std::string productText(const MatrixProduct& p, const std::string& d, const std::string& a, const std::string& b,
                               const std::string& c, int selector = 0) {
  const auto list = [](const std::string& prefix, int count) {
    std::string text = "{";
    for (int k = 0; k < count; ++k) text += (k ? ", " : "") + prefix + std::to_string(k);
    return text + "}";
  };
  std::string text = p.mnemonic + " " + list(d, p.d) + ", " + list(a, p.a) + ", " + list(b, p.b) + ", " + list(c, p.c);
  if (p.selectors) text += ", e, " + std::to_string(selector);
  return text + ";";
}

class ProductList {
 public:
  std::vector<MatrixProduct> products;

  void mma(const char* shape, int a, int b, int c, const char* d, const char* aType, const char* bType,
           const char* suffix = "") {
    const std::string types = std::string(".") + d + "." + aType + "." + bType + "." + d;
    products.push_back(
        {std::string("mma.sync.aligned.") + shape + ".row.col" + suffix + types, a, b, c, c, aType, bType, d, d, 0});
  }
  void bits(const char* shape, const char* operation, int a, int b, int c) {
    products.push_back({std::string("mma.sync.aligned.") + shape + ".row.col.s32.b1.b1.s32." + operation + ".popc", a,
                        b, c, c, "b1", "b1", "s32", "s32", 0});
  }
  void sparse(const char* shape, int selectors, int a, int b, const char* d, const char* aType, const char* bType,
              const char* suffix = "") {
    const std::string types = std::string(".") + d + "." + aType + "." + bType + "." + d;
    const int c = std::string(d) == "f16" ? 2 : 4;
    products.push_back({std::string("mma.sp::ordered_metadata.sync.aligned.") + shape + ".row.col" + suffix + types, a,
                        b, c, c, aType, bType, d, d, selectors});
  }
  // Halves: D and C may differ.
  void wmmaHalves(const char* shape, const char* d, const char* c) {
    const auto registers = [](const char* type) { return type[1] == '1' ? 4 : 8; };
    products.push_back({std::string("wmma.mma.sync.aligned.row.col.") + shape + "." + d + "." + c, 8, 8, registers(c),
                        registers(d), "f16", "f16", c, d, 0});
  }
  void wmma(const char* shape, int a, int b, int c, const char* d, const char* aType, const char* suffix = "") {
    const std::string types = std::string(".") + d + "." + aType + "." + aType + "." + d;
    products.push_back(
        {std::string("wmma.mma.sync.aligned.row.col.") + shape + suffix + types, a, b, c, c, aType, aType, d, d, 0});
  }
};

inline void halfProducts(ProductList& list) {
  for (const char* d : {"f16", "f32"}) {
    const int c = d[1] == '1' ? 2 : 4;
    list.mma("m16n8k8", 2, 1, c, d, "f16", "f16");
    list.mma("m16n8k16", 4, 2, c, d, "f16", "f16");
    list.sparse("m16n8k16", 4, 2, 2, d, "f16", "f16");
    list.sparse("m16n8k32", 2, 4, 4, d, "f16", "f16");
    for (const char* layouts : {"row.row", "row.col", "col.row", "col.col"}) {
      const std::string types = std::string(".") + d + ".f16.f16." + d;
      list.products.push_back(
          {std::string("mma.sync.aligned.m8n8k4.") + layouts + types, 2, 2, 2 * c, 2 * c, "f16", "f16", d, d, 0});
    }
    for (const char* shape : {"m16n16k16", "m32n8k16", "m8n32k16"})
      for (const char* from : {"f16", "f32"}) list.wmmaHalves(shape, d, from);
  }
}

inline void floatProducts(ProductList& list) {
  list.mma("m16n8k8", 2, 1, 4, "f32", "bf16", "bf16");
  list.mma("m16n8k16", 4, 2, 4, "f32", "bf16", "bf16");
  list.sparse("m16n8k16", 4, 2, 2, "f32", "bf16", "bf16");
  list.sparse("m16n8k32", 2, 4, 4, "f32", "bf16", "bf16");
  list.wmma("m16n16k16", 4, 4, 8, "f32", "bf16");
  list.wmma("m32n8k16", 8, 2, 8, "f32", "bf16");
  list.wmma("m8n32k16", 2, 8, 8, "f32", "bf16");
  list.mma("m16n8k4", 2, 1, 4, "f32", "tf32", "tf32");
  list.mma("m16n8k8", 4, 2, 4, "f32", "tf32", "tf32");
  list.sparse("m16n8k8", 4, 2, 2, "f32", "tf32", "tf32");
  list.sparse("m16n8k16", 2, 4, 4, "f32", "tf32", "tf32");
  list.wmma("m16n16k8", 4, 4, 8, "f32", "tf32");
  for (const char* a : {"e4m3", "e5m2"})
    for (const char* b : {"e4m3", "e5m2"}) {
      list.mma("m16n8k32", 4, 2, 4, "f32", a, b);
      list.mma("m16n8k32", 4, 2, 2, "f16", a, b);
      list.mma("m16n8k16", 2, 1, 4, "f32", a, b);
      list.mma("m16n8k16", 2, 1, 2, "f16", a, b);
      list.sparse("m16n8k64", 1, 4, 4, "f32", a, b);
    }
  list.mma("m8n8k4", 1, 1, 2, "f64", "f64", "f64");
  list.mma("m16n8k4", 2, 1, 4, "f64", "f64", "f64");
  list.mma("m16n8k8", 4, 2, 4, "f64", "f64", "f64");
  list.mma("m16n8k16", 8, 4, 4, "f64", "f64", "f64");
  for (const char* rounding : {"", ".rn", ".rz", ".rm", ".rp"}) list.wmma("m8n8k4", 1, 1, 2, "f64", "f64", rounding);
}

inline void wholeProducts(ProductList& list) {
  for (const char* limit : {"", ".satfinite"}) {
    for (const char* a : {"s8", "u8"})
      for (const char* b : {"s8", "u8"}) {
        list.mma("m8n8k16", 1, 1, 2, "s32", a, b, limit);
        list.mma("m16n8k16", 2, 1, 4, "s32", a, b, limit);
        list.mma("m16n8k32", 4, 2, 4, "s32", a, b, limit);
        list.sparse("m16n8k32", 2, 2, 2, "s32", a, b, limit);
        list.sparse("m16n8k64", 1, 4, 4, "s32", a, b, limit);
      }
    for (const char* a : {"s4", "u4"})
      for (const char* b : {"s4", "u4"}) {
        list.mma("m8n8k32", 1, 1, 2, "s32", a, b, limit);
        list.mma("m16n8k32", 2, 1, 4, "s32", a, b, limit);
        list.mma("m16n8k64", 4, 2, 4, "s32", a, b, limit);
        list.sparse("m16n8k64", 2, 2, 2, "s32", a, b, limit);
        list.sparse("m16n8k128", 1, 4, 4, "s32", a, b, limit);
      }
  }
  for (const char* operation : {"xor", "and"}) {
    list.bits("m8n8k128", operation, 1, 1, 2);
    list.bits("m16n8k128", operation, 2, 1, 4);
    list.bits("m16n8k256", operation, 4, 2, 4);
  }
}

// wmma of whole numbers: `.satfinite` stands at the end.
inline void wholeWarpProducts(ProductList& list) {
  const auto add = [&](const char* shape, int a, int b, int c, const char* type, const char* limit) {
    list.wmma(shape, a, b, c, "s32", type);
    list.products.back().mnemonic += limit;
  };
  for (const char* limit : {"", ".satfinite"}) {
    for (const char* type : {"s8", "u8"}) {
      add("m16n16k16", 2, 2, 8, type, limit);
      add("m32n8k16", 4, 1, 8, type, limit);
      add("m8n32k16", 1, 4, 8, type, limit);
    }
    for (const char* type : {"s4", "u4"}) add("m8n8k32", 1, 1, 2, type, limit);
  }
  for (const char* operation : {"xor", "and"})
    list.products.push_back({std::string("wmma.mma.") + operation + ".popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
                             1, 1, 2, 2, "b1", "b1", "s32", "s32", 0});
}

inline std::vector<MatrixProduct> allProducts() {
  ProductList list;
  halfProducts(list);
  floatProducts(list);
  wholeProducts(list);
  wholeWarpProducts(list);
  return std::move(list.products);
}

}  // namespace vg::ptx::matrix
