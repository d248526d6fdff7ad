// What came with PTX ISA 9.1 to 9.5: each is computed as the host does, taken as what changes nothing on an emulated
// device, or refused with the name of the instruction.
#include <cmath>
#include <cstring>

#include "kernels/fixture.h"

namespace kernels {
namespace {

constexpr uint32_t kWords[] = {0,          1,          0xffffffff, 0x80808080, 0x7f7f7f7f, 0xff01807f,
                               0x02ff8081, 0x80007fff, 0x7fff8000, 0x12345678, 0xfedcba98, 0x00ff00ff};
constexpr size_t kCount = std::size(kWords);

class LaterIsaTest : public KernelTest {
 protected:
  // Runs `body` for each pair of kWords, in %r10 and %r11, of a target that has it; the result is %r12.
  std::vector<uint32_t> ofPairs(const std::string& body, const std::string& version = "9.5",
                                const std::string& target = "sm_120f") {
    const CUfunction kernel = function(module(entry("kernel", {".u64", ".u64"}, std::string(kIndices) + R"(
ld.param.u64 %rd1, [p1];
div.u32 %r13, %r2, )" + std::to_string(kCount) + R"(;
rem.u32 %r14, %r2, )" + std::to_string(kCount) + R"(;
mul.wide.u32 %rd2, %r13, 4;
add.u64 %rd2, %rd1, %rd2;
ld.global.u32 %r10, [%rd2];
mul.wide.u32 %rd3, %r14, 4;
add.u64 %rd3, %rd1, %rd3;
ld.global.u32 %r11, [%rd3];
)" + body + "\nmov.b32 %r5, %r12;\n" + kStore),
                                              target, version));
    const CUdeviceptr words = allocate(sizeof kWords), out = allocate(4 * kCount * kCount);
    EXPECT_EQ(cuMemcpyHtoD(words, kWords, sizeof kWords), CUDA_SUCCESS);
    EXPECT_EQ(run(kernel, 1, kCount * kCount, out, words), CUDA_SUCCESS);
    return read(out, kCount * kCount);
  }

  template <class Expected>
  void expectOfPairs(const std::string& instruction, Expected expected) {
    const std::vector<uint32_t> made = ofPairs(instruction);
    for (size_t a = 0; a < kCount; ++a)
      for (size_t b = 0; b < kCount; ++b)
        EXPECT_EQ(made[a * kCount + b], expected(kWords[a], kWords[b]))
            << instruction << " of " << std::hex << kWords[a] << " and " << kWords[b];
  }
};

// Of each number of `bits` bits in a and b what `operation` makes of them, cut to its size.
template <class Operation>
uint32_t ofParts(uint32_t a, uint32_t b, int bits, bool isSigned, Operation operation) {
  uint32_t out = 0;
  for (int at = 0; at < 32; at += bits) {
    const auto part = [&](uint32_t word) {
      const auto up = static_cast<int64_t>(static_cast<uint64_t>(word >> at) << (64 - bits));
      return isSigned ? up >> (64 - bits) : static_cast<int64_t>(static_cast<uint64_t>(up) >> (64 - bits));
    };
    out |=
        static_cast<uint32_t>((static_cast<uint64_t>(operation(part(a), part(b))) & ((uint64_t{1} << bits) - 1)) << at);
  }
  return out;
}

TEST_F(LaterIsaTest, NumbersSideBySideInAWord) {
  struct Kind {
    const char* type;
    int bits;
    bool isSigned;
  };
  for (const Kind& kind :
       {Kind{"u8x4", 8, false}, Kind{"s8x4", 8, true}, Kind{"u16x2", 16, false}, Kind{"s16x2", 16, true}}) {
    const int64_t most = (int64_t{1} << (kind.bits - (kind.isSigned ? 1 : 0))) - 1,
                  least = kind.isSigned ? -most - 1 : 0;
    const auto check = [&](const std::string& word, auto operation) {
      expectOfPairs(word + "." + kind.type + " %r12, %r10, %r11;",
                    [&](uint32_t a, uint32_t b) { return ofParts(a, b, kind.bits, kind.isSigned, operation); });
    };
    const auto clamped = [&](int64_t v) { return std::min(std::max(v, least), most); };
    check("add", [](int64_t a, int64_t b) { return a + b; });
    check("add.sat", [&](int64_t a, int64_t b) { return clamped(a + b); });
    check("min", [](int64_t a, int64_t b) { return std::min(a, b); });
    check("max", [](int64_t a, int64_t b) { return std::max(a, b); });
    if (kind.isSigned) check("max.relu", [](int64_t a, int64_t b) { return std::max({a, b, int64_t{0}}); });
    if (kind.bits == 16) continue;
    check("sub", [](int64_t a, int64_t b) { return a - b; });
    check("sub.sat", [&](int64_t a, int64_t b) { return clamped(a - b); });
  }
  expectOfPairs("neg.s8x4 %r12, %r10;",
                [](uint32_t a, uint32_t) { return ofParts(a, 0, 8, true, [](int64_t v, int64_t) { return -v; }); });
}

TEST_F(LaterIsaTest, UnsignedSumsSaturate) {
  expectOfPairs("add.sat.u32 %r12, %r10, %r11;", [](uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{a} + b, 0xffffffff));
  });
}

TEST_F(LaterIsaTest, ProductsWithoutCarries) {
  for (const bool high : {false, true})
    for (const bool upper : {false, true}) {
      const std::string body = std::string("mov.b64 %rd10, {%r10, %r11};\nmov.b64 %rd11, {%r11, %r10};\nclmad.") +
                               (high ? "hi" : "lo") + ".u64 %rd12, %rd10, %rd11, %rd10;\nshr.u64 %rd12, %rd12, " +
                               (upper ? "32" : "0") + ";\ncvt.u32.u64 %r12, %rd12;";
      expectOfPairs(body, [&](uint32_t a, uint32_t b) {
        const uint64_t x = uint64_t{b} << 32 | a, y = uint64_t{a} << 32 | b;
        unsigned __int128 product = 0;
        for (int k = 0; k < 64; ++k)
          if (y >> k & 1) product ^= static_cast<unsigned __int128>(x) << k;
        const uint64_t out = static_cast<uint64_t>(high ? product >> 64 : product) ^ x;
        return static_cast<uint32_t>(upper ? out >> 32 : out);
      });
    }
}

// What spdecompress makes of one word of indexes and one of elements: bytes in `out`, of zeros at first.
std::vector<uint8_t> decompressed(uint32_t indexes, uint32_t elements, int elementBits, int indexBits, int kept,
                                  int whole, int groups) {
  const int size = elementBits / 8;
  std::vector<uint8_t> out(static_cast<size_t>(whole * groups * size));
  for (int n = 0; n < kept * groups; ++n) {
    const int place = static_cast<int>(indexes >> n * indexBits) & ((1 << indexBits) - 1);
    for (int byte = 0; byte < size; ++byte)
      out[static_cast<size_t>((n / kept * whole + place) * size + byte)] =
          static_cast<uint8_t>(elements >> (n * size + byte) * 8);
  }
  return out;
}

TEST_F(LaterIsaTest, SparseVectorsAreDecompressed) {
  struct Form {
    const char* words;
    int elementBits, indexBits, kept, whole, groups;
  };
  for (const Form& form : {Form{"b8.b4.sp::2:4.x2", 8, 4, 2, 4, 2}, Form{"b8.b2.sp::2:4.x2", 8, 2, 2, 4, 2},
                           Form{"b16.b2.sp::1:4.x2", 16, 2, 1, 4, 2}, Form{"b16.b4.sp::2:16.x1", 16, 4, 2, 16, 1},
                           Form{"b8.b4.sp::4:16.x1", 8, 4, 4, 16, 1}, Form{"b8.b4.sp::1:2.x4", 8, 4, 1, 2, 4}}) {
    const uint32_t places = 0x11111111u * static_cast<uint32_t>(form.whole - 1);
    const uint32_t mask = form.indexBits == 4 ? places : ~0u;
    const int words = form.whole * form.groups * form.elementBits / 32;
    std::string out;
    for (int k = 0; k < words; ++k) out += (k ? ", %r" : "%r") + std::to_string(20 + k);
    for (int k = 0; k < words; ++k) {
      const std::string body = "and.b32 %r11, %r11, " + std::to_string(mask) + ";\nspdecompress." + form.words + " {" +
                               out + "}, {%r11}, {%r10};\nmov.b32 %r12, %r" + std::to_string(20 + k) + ";";
      expectOfPairs(body, [&](uint32_t a, uint32_t b) {
        const std::vector<uint8_t> bytes =
            decompressed(b & mask, a, form.elementBits, form.indexBits, form.kept, form.whole, form.groups);
        uint32_t word;
        std::memcpy(&word, &bytes[static_cast<size_t>(k) * 4], sizeof word);
        return word;
      });
    }
  }
}

// A place that is named twice has the later element; one beyond the group is none.
TEST_F(LaterIsaTest, SparseElementsAreWrittenInOrder) {
  const auto made = [&](const std::string& words, const char* indexes, const char* elements) {
    return ofPairs("mov.b32 %r15, " + std::string(indexes) + ";\nmov.b32 %r16, " + elements + ";\nspdecompress." +
                   words + " %r12, {%r15}, {%r16};")[0];
  };
  EXPECT_EQ(made("b8.b4.sp::2:4.x1", "0x21", "0x03f9"), 0x0003f900u);
  EXPECT_EQ(made("b8.b4.sp::2:4.x1", "0x31", "0x0605"), 0x06000500u);
  EXPECT_EQ(made("b8.b4.sp::2:4.x1", "0x22", "0x0605"), 0x00060000u);
  EXPECT_EQ(made("b8.b4.sp::2:4.x1", "0x72", "0x0605"), 0x00050000u);
}

TEST_F(LaterIsaTest, SinesOfTurns) {
  for (const bool cosine : {false, true}) {
    const std::vector<uint32_t> made = ofPairs(
        "sub.s32 %r15, %r13, 6;\nmul.lo.s32 %r16, %r15, 12;\nadd.s32 %r16, %r16, %r14;\ncvt.rn.f32.s32 %f1, %r16;\n"
        "mul.f32 %f1, %f1, 0f3d3a1cac;\n" +
        std::string(cosine ? "cos" : "sin") + ".approx.ftz.2pi.f32 %f2, %f1;\nmov.b32 %r12, %f2;");
    for (size_t n = 0; n < made.size(); ++n) {
      float step;
      const uint32_t bits = 0x3d3a1cac;
      std::memcpy(&step, &bits, sizeof step);
      const double angle = 2 * M_PI * static_cast<double>(static_cast<float>(static_cast<int>(n) - 72) * step);
      float value;
      std::memcpy(&value, &made[n], sizeof value);
      EXPECT_NEAR(value, cosine ? std::cos(angle) : std::sin(angle), 2e-6) << n;
    }
  }
}

// In global memory sums of f32 lose subnormal numbers, but not with .noftz.
TEST_F(LaterIsaTest, SumsOfAtomicsKeepSubnormalNumbers) {
  for (const bool keeps : {false, true}) {
    const CUfunction kernel = function(
        module(entry("kernel", {".u64"},
                     std::string("ld.param.u64 %rd1, [p0];\nmov.f32 %f1, 0f00000003;\nred.relaxed.gpu.global.add") +
                         (keeps ? ".noftz" : "") + ".f32 [%rd1], %f1;\n"),
               "sm_90", "9.4"));
    const CUdeviceptr out = allocate(4);
    ASSERT_EQ(run(kernel, 1, 1, out), CUDA_SUCCESS);
    EXPECT_EQ(read(out, 1)[0], keeps ? 3u : 0u);
  }
}

TEST_F(LaterIsaTest, WhatChangesNothingHereIsTaken) {
  const std::vector<uint32_t> made = ofPairs(R"(
.shared .align 8 .b64 object;
.pragma "mma_throughput";
ld.proxy::readonly.global.u32 %r12, [%rd2];
prefetch.global.L1::32B.valid_addr [%rd2];
fence.proxy.alias.release.sys;
fence.alias.sync_restrict::read.release.sys;
fence.proxy.generic::fabric.alias.release.sys;
fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
cp.async.bulk.wait_group.sync_restrict::proxy::async 0;
mov.u32 %r15, %locality_domain_id;
add.u32 %r12, %r12, %r15;
setp.eq.u32 %p1, %r2, 0;
@%p1 mbarrier.init.layout::v0.shared.b64 [object], 1;
)",
                                             "9.5", "sm_100");
  for (size_t n = 0; n < made.size(); ++n) EXPECT_EQ(made[n], kWords[n / kCount]);
}

TEST_F(LaterIsaTest, DirectivesWithATextAreTaken) {
  EXPECT_EQ(
      run(function(module(entry("kernel", {}, "", ".language \"CUDA C++\"\n.minperctamemory 16\n"), "sm_90", "9.4")), 1,
          1),
      CUDA_SUCCESS);
}

// CUB's scans of CUDA 13.4 begin and end so, where arrays are not aligned.
TEST_F(LaterIsaTest, BulkCopiesLeaveOutWhatIsNotThereAtTheirEnds) {
  const CUfunction kernel = function(module(entry("kernel", {".u64", ".u64", ".u32", ".u32", ".u32"}, R"(
.shared .align 16 .b8 tile[64];
.shared .align 8 .b64 object;
ld.param.u64 %rd1, [p0];
ld.param.u64 %rd2, [p1];
ld.param.u32 %r1, [p2];
ld.param.u32 %r2, [p3];
ld.param.u32 %r3, [p4];
mov.u32 %r4, tile;
mov.u32 %r5, object;
mov.b64 %rd3, 0x7777777777777777;
mov.u32 %r6, 0;
CLEAR:
add.u32 %r7, %r4, %r6;
st.shared.b64 [%r7], %rd3;
add.u32 %r6, %r6, 8;
setp.lt.u32 %p1, %r6, 64;
@%p1 bra CLEAR;
mbarrier.init.shared.b64 [%r5], 1;
fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared.b64 %rd4, [%r5], %r1;
fence.proxy.async;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [%r4], [%rd2], %r1, %r2, %r3, [%r5];
WAIT:
mbarrier.try_wait.parity.shared.b64 %p1, [%r5], 0;
@!%p1 bra WAIT;
mov.u32 %r6, 0;
STORE:
add.u32 %r7, %r4, %r6;
ld.shared.b64 %rd3, [%r7];
cvt.u64.u32 %rd5, %r6;
add.u64 %rd5, %rd1, %rd5;
st.global.b64 [%rd5], %rd3;
add.u32 %r6, %r6, 8;
setp.lt.u32 %p1, %r6, 64;
@%p1 bra STORE;
)"),
                                            "sm_90", "9.2"));
  std::vector<unsigned char> bytes(64), made(64);
  for (size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<unsigned char>(128 + k);
  const CUdeviceptr in = allocate(64), out = allocate(64);
  ASSERT_EQ(cuMemcpyHtoD(in, bytes.data(), 64), CUDA_SUCCESS);
  for (const uint32_t size : {0u, 16u, 32u, 64u})
    for (const uint32_t left : {0u, 1u, 4u, 8u, 15u})
      for (const uint32_t right : {0u, 1u, 12u, 15u}) {
        ASSERT_EQ(run(kernel, 1, 1, out, in, size, left, right), CUDA_SUCCESS);
        ASSERT_EQ(cuMemcpyDtoH(made.data(), out, 64), CUDA_SUCCESS);
        for (uint32_t k = 0; k < 64; ++k) {
          const bool copied = k < size && k >= left && k + right < size;
          const bool free = k < size && !copied;  // anything
          EXPECT_TRUE(free || made[k] == (copied ? bytes[k] : 0x77)) << size << ' ' << left << ' ' << right << ' ' << k;
        }
      }
}

// TileLang clears shared memory so, for compute capability 12.0.
TEST_F(LaterIsaTest, BulkStoresClearMemory) {
  const CUfunction kernel = function(module(entry("kernel", {".u64", ".u64"}, R"(
.shared .align 16 .b8 tile[64];
ld.param.u64 %rd1, [p0];
ld.param.u64 %rd2, [p1];
mov.u32 %r4, tile;
cvt.u64.u32 %rd3, %r4;
cvta.shared.u64 %rd3, %rd3;
mov.b64 %rd4, 0x7777777777777777;
mov.u32 %r6, 0;
FILL:
add.u32 %r7, %r4, %r6;
st.shared.b64 [%r7], %rd4;
add.u32 %r6, %r6, 8;
setp.lt.u32 %p1, %r6, 64;
@%p1 bra FILL;
st.bulk.weak.shared::cta [%r4+8], %rd2, 0;
st.bulk.weak [%rd3+48], 8, 0;
mov.u32 %r6, 0;
STORE:
add.u32 %r7, %r4, %r6;
ld.shared.b64 %rd4, [%r7];
cvt.u64.u32 %rd5, %r6;
add.u64 %rd5, %rd1, %rd5;
st.global.b64 [%rd5], %rd4;
add.u32 %r6, %r6, 8;
setp.lt.u32 %p1, %r6, 64;
@%p1 bra STORE;
)"),
                                            "sm_100", "8.6"));
  std::vector<unsigned char> made(64);
  const CUdeviceptr out = allocate(64);
  for (const uint64_t size : {uint64_t{0}, uint64_t{8}, uint64_t{24}, uint64_t{40}}) {
    ASSERT_EQ(run(kernel, 1, 1, out, size), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyDtoH(made.data(), out, 64), CUDA_SUCCESS);
    for (uint32_t k = 0; k < 64; ++k) {
      const bool cleared = (k >= 8 && k < 8 + size) || (k >= 48 && k < 56);
      EXPECT_EQ(made[k], cleared ? 0 : 0x77) << size << ' ' << k;
    }
  }
}

// Units and targets that an emulated device does not have, and forms that no device has.
TEST_F(LaterIsaTest, WhatCannotRunIsNamed) {
  const std::string unknown = "unknown instruction '", noForm = "there is no such form";
  const std::pair<const char*, std::string> refused[] = {
      {"cvt.rn.satfinite.s2f6x2.f32 %r20, %f1, %f2;", unknown},
      {"mbarrier.check_layout.layout::v1.shared::cta.b64 %p1, [%r20];", unknown},
      {"mbarrier.test_wait.phase_type::conditional.acquire.cta.shared::cta.b64 %p1, [%r20], %rd1;", unknown},
      {"add.rn.satfinite.e4m3x4 %r1, %r2, %r3;", unknown},
      {"ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4 {%r1}, [%r20];", noForm},
      {"ldmatrix.sync.aligned.m16n16.x1.shared.b8 {%r1, %r2}, [%r20];", noForm},  // not turned
      {"ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 {%r1, %r2, %r3, %r4}, [%r20];", noForm},
      {"stmatrix.sync.aligned.m8n8.x1.shared.b8 [%r20], {%r1};", noForm},
      {"spcompress.b8.b2.sp::2:4.x1 {%r1}, {%r2}, {%r3, %r4}, %r5;", unknown},
      {"spdecompress.b8.b2.sp::2:8.x1 {%r1, %r2}, {%r3}, {%r4};", noForm},  // two bits count to four
      {"spdecompress.b8.b4.sp::2:4.x1 {%r1, %r2}, {%r3}, {%r4};", noForm},  // the results fit into one
      {"spdecompress.b8.b4.sp::1:2.x1 %r1, %r3, %r4;", noForm},             // the results are no whole register
  };
  for (const auto& [text, why] : refused) {
    CUmodule loaded = nullptr;
    char log[1024] = {};
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    const std::string whole = module(entry("kernel", {".u64"}, text), "sm_100", "9.5");
    EXPECT_EQ(cuModuleLoadDataEx(&loaded, whole.c_str(), 2, options, values), CUDA_ERROR_INVALID_PTX) << text;
    const std::string word(text, std::strcspn(text, " "));
    EXPECT_NE(std::string(log).find(word), std::string::npos) << log;
    EXPECT_NE(std::string(log).find(why), std::string::npos) << log;
  }
}

}  // namespace
}  // namespace kernels
