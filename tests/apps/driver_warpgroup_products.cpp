// wgmma: products of a warpgroup in every type and width, with each layout of matrices in shared memory, against sums
// made here. All elements are small, so that every sum is exact. Without a device of compute capability 9.0 nothing
// can be loaded: exits with 77.
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "driver_check.h"

namespace {

constexpr uint32_t kThreads = 128, kShared = 96 * 1024, kRows = 64;

struct Type {
  const char* name;
  uint32_t bits;
  bool whole;
  std::vector<double> values;   // that elements have
  std::vector<uint32_t> codes;  // their bits
};

const Type kHalf{"f16", 16, false, {0, 1, -1, 0.5, 2, -1.5}, {0, 0x3c00, 0xbc00, 0x3800, 0x4000, 0xbe00}};
const Type kBrain{"bf16", 16, false, {0, 1, -1, 0.5, 2, -1.5}, {0, 0x3f80, 0xbf80, 0x3f00, 0x4000, 0xbfc0}};
const Type kTensor{
    "tf32", 32, false, {0, 1, -1, 0.5, 2, -1.5}, {0, 0x3f800000, 0xbf800000, 0x3f000000, 0x40000000, 0xbfc00000}};
const Type kE4M3{"e4m3", 8, false, {0, 1, -1, 0.5, 2, -1.5}, {0, 0x38, 0xb8, 0x30, 0x40, 0xbc}};
const Type kE5M2{"e5m2", 8, false, {0, 1, -1, 0.5, 2, -1.5}, {0, 0x3c, 0xbc, 0x38, 0x40, 0xbe}};
const Type kS8{"s8", 8, true, {0, 1, -1, 127, -128, 77}, {0, 1, 0xff, 127, 128, 77}};
const Type kU8{"u8", 8, true, {0, 1, 255, 127, 128, 77}, {0, 1, 255, 127, 128, 77}};
const Type kBit{"b1", 1, true, {0, 1}, {0, 1}};

struct Case {
  const Type *a, *b;
  const char* d;  // f16, f32, s32
  uint32_t columns;
  uint32_t swizzle;  // 0, 32, 64, 128 bytes
  bool registersOfA, turnedA, turnedB;
  int scaleA, scaleB;
  bool accumulates, sparse, saturates;
  std::string name() const {
    return std::string(d) + " " + a->name + " " + b->name + " n" + std::to_string(columns) + " swizzle " +
           std::to_string(swizzle) + (registersOfA ? " registers" : "") + (turnedA ? " turned-a" : "") +
           (turnedB ? " turned-b" : "") + " " + std::to_string(scaleA) + " " + std::to_string(scaleB) +
           (accumulates ? " accumulates" : "") + (sparse ? " sparse" : "") + (saturates ? " saturates" : "");
  }
  uint32_t depth() const { return 256 / a->bits * (sparse ? 2 : 1); }
  uint32_t storedDepth() const { return 256 / a->bits; }
  bool halves() const { return std::string(d) == "f16"; }
  uint32_t accumulators() const { return halves() ? columns / 4 : columns / 2; }
};

// How a matrix of `lines` rows (of A; columns of B) lies in shared memory from `start` on.
struct Layout {
  uint32_t start, leading, stride, swizzle;
  bool turned;
  uint32_t bits;
  // The byte of an element, `bit` counts within it.
  uint32_t byteOf(uint32_t line, uint32_t k) const {
    uint32_t at;
    if (!turned) {
      const uint32_t byte = k * bits / 8;
      if (swizzle == 0)
        at = line / 8 * stride + line % 8 * 16 + byte / 16 * leading + byte % 16;
      else
        at = line / 8 * stride + line % 8 * swizzle + byte / swizzle * leading + byte % swizzle;
    } else if (swizzle == 0) {
      at = line / 8 * stride + line % 8 * 2 + k / 8 * leading + k % 8 * 16;
    } else {
      const uint32_t elements = swizzle / 2;
      at = line / elements * leading + line % elements * 2 + k / 8 * stride + k % 8 * swizzle;
    }
    at += start;
    const uint32_t rows = swizzle == 128 ? 7 : swizzle == 64 ? 3 : swizzle == 32 ? 1 : 0;
    return at ^ (at >> 7 & rows) << 4;
  }
  uint64_t descriptor() const {
    const uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    return uint64_t{start >> 4} | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 | mode << 62;
  }
};

// Without gaps but for a little more than there must be between rows of eight. `steps`: how far into a pattern it
// begins, as when a loop goes along k.
Layout layoutOf(uint32_t lines, uint32_t depth, const Type& type, uint32_t swizzle, bool turned, uint32_t start,
                uint32_t along) {
  Layout l{start, 16, 0, swizzle, turned, type.bits};
  const uint32_t bytes = depth * type.bits / 8;
  if (!turned && swizzle == 0) {
    l.leading = 128;
    l.stride = 128 * (bytes / 16) + 128;
  } else if (!turned) {
    l.stride = 8 * swizzle;
    l.leading = lines / 8 * l.stride;
    l.start += along % (swizzle / 32) * 32;
  } else if (swizzle == 0) {
    l.stride = 128;
    l.leading = lines / 8 * 128 + 256;
  } else {
    l.stride = 8 * swizzle;
    l.leading = depth / 8 * l.stride;
  }
  return l;
}

std::string vectorOf(const char* prefix, uint32_t count) {
  std::string text = "{";
  for (uint32_t i = 0; i < count; ++i) text += (i ? ", " : "") + std::string(prefix) + std::to_string(i);
  return text + "}";
}

// in: shared memory; then a word a thread for each register of A, the metadata, the accumulators.
std::string kernelOf(const Case& c, const std::string& name) {
  const uint32_t r = c.accumulators();
  std::string t =
      ".visible .entry " + name +
      "(.param .u64 in, .param .u64 out, .param .u64 da, .param .u64 db) {\n"
      "  .reg .u64 %i, %o, %a, %b, %p;\n  .reg .u32 %t, %s, %x, %e, %m, %w;\n  .reg .pred %q, %acc;\n"
      "  .reg .b32 %d<" +
      std::to_string(r) +
      ">;\n  .reg .b32 %ra<4>;\n"
      "  ld.param.u64 %i, [in];\n  ld.param.u64 %o, [out];\n  ld.param.u64 %a, [da];\n  ld.param.u64 %b, [db];\n"
      "  mov.u32 %t, %tid.x;\n  mov.u32 %s, memory;\n  shl.b32 %x, %t, 2;\n"
      "more:\n  cvt.u64.u32 %p, %x;\n  add.u64 %p, %p, %i;\n  ld.global.u32 %w, [%p];\n  add.u32 %e, %s, %x;\n"
      "  st.shared.u32 [%e], %w;\n  add.u32 %x, %x, 512;\n  setp.lt.u32 %q, %x, " +
      std::to_string(kShared) +
      ";\n  @%q bra more;\n"
      "  fence.proxy.async;\n  bar.sync 0;\n"
      "  mul.wide.u32 %p, %t, 4;\n  add.u64 %p, %p, %i;\n  add.u64 %p, %p, " +
      std::to_string(kShared) + ";\n";
  uint32_t at = 0;
  const auto load = [&](const std::string& reg) {
    t += "  ld.global.b32 " + reg + ", [%p+" + std::to_string(512 * at++) + "];\n";
  };
  for (uint32_t k = 0; k < 4; ++k) load("%ra" + std::to_string(k));
  load("%m");
  for (uint32_t k = 0; k < r; ++k) load("%d" + std::to_string(k));
  t +=
      "  shr.u32 %e, %s, 4;\n  cvt.u64.u32 %p, %e;\n  add.u64 %a, %a, %p;\n  add.u64 %b, %b, %p;\n";  // where memory is
  t += std::string("  setp.ne.u32 %acc, ") + (c.accumulates ? "%s, 0xffffff" : "%s, %s") + ";\n";
  t += "  wgmma.fence.sync.aligned;\n  wgmma.mma_async" + std::string(c.sparse ? ".sp" : "") + ".sync.aligned.m64n" +
       std::to_string(c.columns) + "k" + std::to_string(c.depth()) + "." + c.d + "." + c.a->name + "." + c.b->name +
       (c.a == &kBit  ? ".and.popc"
        : c.saturates ? ".satfinite"
                      : "");
  t += " " + vectorOf("%d", r) + ", " + (c.registersOfA ? vectorOf("%ra", 4) : "%a") + ", %b, ";
  if (c.sparse) t += "%m, 0, ";
  t += "%acc";
  if (!c.a->whole) {
    t += ", " + std::to_string(c.scaleA) + ", " + std::to_string(c.scaleB);
    if (c.a->bits == 16) {
      if (!c.registersOfA) t += c.turnedA ? ", 1" : ", 0";
      t += c.turnedB ? ", 1" : ", 0";
    }
  }
  t += ";\n  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n"
       "  mul.wide.u32 %p, %t, 4;\n  add.u64 %p, %p, %o;\n";
  for (uint32_t k = 0; k < r; ++k)
    t += "  st.global.b32 [%p+" + std::to_string(512 * k) + "], %d" + std::to_string(k) + ";\n";
  return t + "  ret;\n}\n";
}

double halfOf(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
  const double value = exponent ? __builtin_ldexp(1024 + fraction, exponent - 25) : __builtin_ldexp(fraction, -24);
  return bits & 0x8000 ? -value : value;
}
uint32_t bitsOfHalf(int whole) {  // up to 2048
  uint32_t size = static_cast<uint32_t>(whole < 0 ? -whole : whole), exponent = 25;
  if (!size) return 0;
  for (; size < 1024; size *= 2) --exponent;
  return (whole < 0 ? 0x8000 : 0) | exponent << 10 | (size & 1023);
}

class Run {
 public:
  Run(const Case& c, CUfunction kernel, unsigned seed) : c_(c), kernel_(kernel), random_(seed) {}

  bool right() {
    fill();
    CUdeviceptr in, out;
    const uint32_t r = c_.accumulators();
    std::vector<uint32_t> seen(r * kThreads);
    CHECK(cuMemAlloc(&in, words_.size() * 4));
    CHECK(cuMemAlloc(&out, seen.size() * 4));
    CHECK(cuMemcpyHtoD(in, words_.data(), words_.size() * 4));
    uint64_t a = a_.descriptor(), b = b_.descriptor();
    void* arguments[] = {&in, &out, &a, &b};
    CHECK(cuLaunchKernel(kernel_, 1, 1, 1, kThreads, 1, 1, kShared, nullptr, arguments, nullptr));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(seen.data(), out, seen.size() * 4));
    CHECK(cuMemFree(in));
    CHECK(cuMemFree(out));
    return compare(seen);
  }

 private:
  uint32_t pick(size_t count) { return static_cast<uint32_t>(random_() % count); }
  uint8_t* bytes() { return reinterpret_cast<uint8_t*>(words_.data()); }
  uint32_t& word(uint32_t slot, uint32_t thread) { return words_[kShared / 4 + slot * kThreads + thread]; }

  void put(const Layout& l, const Type& type, uint32_t line, uint32_t k, uint32_t choice) {
    const uint32_t at = l.byteOf(line, k);
    EXPECT(at + 4 <= kShared);
    if (type.bits == 1)
      bytes()[at] = static_cast<uint8_t>((bytes()[at] & ~(1u << k % 8)) | type.codes[choice] << k % 8);
    else
      memcpy(bytes() + at, &type.codes[choice], type.bits / 8);
  }

  // Of the registers of A: row and k of what a lane's part of a register is.
  void fill() {
    const uint32_t r = c_.accumulators(), deep = c_.storedDepth();
    words_.assign(kShared / 4 + (5 + r) * kThreads, 0);
    for (uint32_t k = 0; k < kShared / 4; ++k) words_[k] = static_cast<uint32_t>(random_());
    a_ = layoutOf(kRows, deep, *c_.a, c_.swizzle, c_.turnedA, 1024 * 4, pick(4));
    b_ = layoutOf(c_.columns, c_.depth(), *c_.b, c_.swizzle, c_.turnedB, 1024 * 20, c_.sparse ? 0 : pick(4));
    valueA_.assign(kRows * deep, 0);
    valueB_.assign(c_.columns * c_.depth(), 0);
    for (uint32_t row = 0; row < kRows; ++row)
      for (uint32_t k = 0; k < deep; ++k) {
        const uint32_t choice = pick(c_.a->codes.size());
        valueA_[row * deep + k] = c_.a->values[choice];
        if (!c_.registersOfA) {
          put(a_, *c_.a, row, k, choice);
          continue;
        }
        const uint32_t inWord = 32 / c_.a->bits, thread = row / 16 * 32 + row % 8 * 4 + k / inWord % 4;
        word(row % 16 / 8 + 2 * (k / inWord / 4), thread) |= c_.a->codes[choice] << k % inWord * c_.a->bits;
      }
    for (uint32_t column = 0; column < c_.columns; ++column)
      for (uint32_t k = 0; k < c_.depth(); ++k) {
        const uint32_t choice = pick(c_.b->codes.size());
        valueB_[column * c_.depth() + k] = c_.b->values[choice];
        put(b_, *c_.b, column, k, choice);
      }
    // Of four elements (of tf32 of two) the first and the last one: alike in all rows, whatever the order of words.
    for (uint32_t t = 0; t < kThreads; ++t) word(4, t) = c_.a == &kTensor ? 0x44444444 : 0xcccccccc;
    accumulators_.assign(r * kThreads, 0);
    for (uint32_t k = 0; k < r; ++k)
      for (uint32_t t = 0; t < kThreads; ++t) {
        const auto one = [&] { return static_cast<int>(pick(17)) - 8; };
        uint32_t bits;
        if (c_.halves()) {
          bits = bitsOfHalf(one()) | bitsOfHalf(one()) << 16;
        } else if (c_.a->whole) {
          bits = c_.saturates && pick(2) ? 0x7fffff00 : static_cast<uint32_t>(one());
        } else {
          const float value = static_cast<float>(one());
          memcpy(&bits, &value, 4);
        }
        word(5 + k, t) = accumulators_[k * kThreads + t] = bits;
      }
  }

  // The column of a stored element of a sparse A.
  uint32_t columnOf(uint32_t k) const {
    if (!c_.sparse) return k;
    if (c_.a == &kTensor) return 2 * k;  // 0100: the first
    return k / 2 * 4 + (k % 2 ? 3 : 0);  // 1100: the first and the last
  }

  double sum(uint32_t row, uint32_t column) const {
    double total = 0;
    for (uint32_t k = 0; k < c_.storedDepth(); ++k) {
      const double a = valueA_[row * c_.storedDepth() + k], b = valueB_[column * c_.depth() + columnOf(k)];
      total += a * b;
    }
    return total * c_.scaleA * c_.scaleB;
  }

  bool compare(const std::vector<uint32_t>& seen) const {
    for (uint32_t t = 0; t < kThreads; ++t)
      for (uint32_t k = 0; k < c_.accumulators(); ++k) {
        const uint32_t bits = seen[k * kThreads + t], before = accumulators_[k * kThreads + t];
        for (uint32_t part = 0; part < (c_.halves() ? 2u : 1u); ++part) {
          const uint32_t perBlock = c_.halves() ? 2 : 4, within = k % perBlock;
          const uint32_t row = t / 32 * 16 + t % 32 / 4 + (c_.halves() ? within : within / 2) * 8;
          const uint32_t column = k / perBlock * 8 + t % 4 * 2 + (c_.halves() ? part : within % 2);
          double c, d;
          if (c_.halves()) {
            c = halfOf(before >> 16 * part & 0xffff);
            d = halfOf(bits >> 16 * part & 0xffff);
          } else if (c_.a->whole) {
            c = static_cast<int32_t>(before);
            d = static_cast<int32_t>(bits);
          } else {
            float f;
            memcpy(&f, &before, 4);
            c = f;
            memcpy(&f, &bits, 4);
            d = f;
          }
          double want = sum(row, column) + (c_.accumulates ? c : 0);
          if (c_.saturates) want = want > INT32_MAX ? INT32_MAX : want < INT32_MIN ? INT32_MIN : want;
          if (d == want) continue;
          fprintf(stderr, "%s: row %u, column %u: %g, not %g\n", c_.name().c_str(), row, column, d, want);
          return false;
        }
      }
    return true;
  }

  const Case c_;
  const CUfunction kernel_;
  std::mt19937 random_;
  Layout a_{}, b_{};
  std::vector<uint32_t> words_, accumulators_;
  std::vector<double> valueA_, valueB_;
};

std::vector<Case> allCases() {
  std::vector<Case> all;
  unsigned turn = 0;
  const auto add = [&](const Type& a, const Type& b, const char* d, uint32_t columns, uint32_t swizzle, bool registers,
                       bool turnedA, bool turnedB, bool sparse = false) {
    ++turn;
    const bool isBrief = a.whole;
    all.push_back({&a, &b, d, columns, swizzle, registers, turnedA, turnedB, isBrief || turn % 3 ? 1 : -1,
                   isBrief || turn % 5 ? 1 : -1, turn % 4 != 0, sparse, a.whole && a.bits == 8 && turn % 2 == 0});
  };
  const struct {
    const Type *a, *b;
    const char* d;
  } kinds[] = {{&kHalf, &kHalf, "f32"}, {&kHalf, &kHalf, "f16"}, {&kBrain, &kBrain, "f32"}, {&kTensor, &kTensor, "f32"},
               {&kE4M3, &kE4M3, "f32"}, {&kE4M3, &kE5M2, "f16"}, {&kE5M2, &kE4M3, "f32"},   {&kE5M2, &kE5M2, "f16"},
               {&kS8, &kS8, "s32"},     {&kU8, &kS8, "s32"},     {&kS8, &kU8, "s32"},       {&kU8, &kU8, "s32"},
               {&kBit, &kBit, "s32"}};
  for (const auto& kind : kinds) {
    const bool turns = kind.a->bits == 16;
    for (uint32_t swizzle : {0u, 32u, 64u, 128u}) {
      for (uint32_t columns : {8u, 24u, 64u, 128u, 256u}) {
        if (columns == 24 && swizzle) continue;
        add(*kind.a, *kind.b, kind.d, columns, swizzle, columns % 3 == 2, false, false);
      }
      for (int how = 1; turns && how < 4; ++how) add(*kind.a, *kind.b, kind.d, 64, swizzle, false, how & 1, how & 2);
      if (turns) add(*kind.a, *kind.b, kind.d, 128, swizzle, true, false, true);
      if (kind.a != &kBit && swizzle != 32)
        for (const bool registers : {false, true})
          add(*kind.a, *kind.b, kind.d, registers ? 32 : 96, swizzle, registers, false, false, true);
    }
  }
  return all;
}

}  // namespace

int main(int count, char** arguments) {
  CUdevice device;
  CUcontext context;
  int major = 0;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  if (major != 9) {
    puts("no device of compute capability 9.0");
    return 77;
  }
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  const std::vector<Case> all = allCases();
  const std::string only = count > 1 ? arguments[1] : "";
  unsigned wrong = 0, ran = 0;
  constexpr size_t kAtOnce = 16;
  for (size_t first = 0; first < all.size(); first += kAtOnce) {
    std::string text = ".version 8.4\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 memory[];\n";
    const size_t end = first + kAtOnce < all.size() ? first + kAtOnce : all.size();
    for (size_t k = first; k < end; ++k) text += kernelOf(all[k], "k" + std::to_string(k));
    CUmodule module;
    CHECK(cuModuleLoadData(&module, text.c_str()));
    for (size_t k = first; k < end; ++k) {
      if (all[k].name().find(only) == std::string::npos) continue;
      CUfunction kernel;
      CHECK(cuModuleGetFunction(&kernel, module, ("k" + std::to_string(k)).c_str()));
      CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kShared));
      wrong += !Run(all[k], kernel, static_cast<unsigned>(k)).right();
      ++ran;
    }
    CHECK(cuModuleUnload(module));
  }
  printf("%u products, %u wrong\n", ran, wrong);
  return wrong ? 1 : passed();
}
