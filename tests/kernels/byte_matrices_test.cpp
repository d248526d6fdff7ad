// ldmatrix and stmatrix of elements of 8, 6 and 4 bits, as the manual of PTX lays out rows and fragments; against the
// host.
#include <array>
#include <random>

#include "kernels/fixture.h"

namespace kernels {
namespace {

constexpr uint32_t kLanes = 32, kRowBytes = 16;

struct Form {
  std::string words;
  uint32_t registers;
  uint32_t elementBits = 8;

  bool isTurned() const { return words.find(".trans") != std::string::npos; }
};

class ByteMatricesTest : public KernelTest {
 protected:
  ByteMatricesTest() {
    std::mt19937 random(11);
    for (uint32_t& word : words_) word = static_cast<uint32_t>(random());
  }

  // Lane n names row n of 32 rows in shared memory, which are in any order.
  static uint32_t placeOf(uint32_t lane) { return lane * 7 % kLanes; }

  static std::string listOf(uint32_t registers) {
    std::string list;
    for (uint32_t n = 0; n < registers; ++n) list += (n ? ", %r" : "%r") + std::to_string(10 + n);
    return "{" + list + "}";
  }

  // The four words of a lane go to `middle`, and what that leaves is stored.
  std::vector<uint32_t> made(const std::string& middle) {
    const CUfunction kernel = function(module(entry("kernel", {".u64", ".u64"}, R"(
.shared .align 16 .b8 rows[512];
mov.u32 %r0, %laneid;
ld.param.u64 %rd0, [p0];
ld.param.u64 %rd1, [p1];
mul.wide.u32 %rd2, %r0, 16;
add.u64 %rd0, %rd0, %rd2;
add.u64 %rd1, %rd1, %rd2;
mov.u32 %r1, rows;
mul.lo.u32 %r2, %r0, 7;
and.b32 %r2, %r2, 31;
shl.b32 %r2, %r2, 4;
add.u32 %r2, %r1, %r2;
ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd1];
)" + middle + "\nst.global.v4.b32 [%rd0], {%r10, %r11, %r12, %r13};\n"),
                                              "sm_120f", "8.8"));
    const CUdeviceptr in = allocate(sizeof words_), out = allocate(sizeof words_);
    EXPECT_EQ(cuMemcpyHtoD(in, words_.data(), sizeof words_), CUDA_SUCCESS);
    EXPECT_EQ(run(kernel, 1, kLanes, out, in), CUDA_SUCCESS);
    return read(out, words_.size());
  }

  uint32_t byteOf(uint32_t lane, uint32_t byte) const { return words_[lane * 4 + byte / 4] >> byte % 4 * 8 & 255; }
  // Element `column` of the row that a lane has written and names.
  uint32_t element(const Form& form, uint32_t lane, uint32_t column) const {
    uint32_t value = 0;
    for (uint32_t n = 0; n < form.elementBits; ++n) {
      const uint32_t bit = column * form.elementBits + n;
      value |= (byteOf(lane, bit / 8) >> bit % 8 & 1) << n;
    }
    return value;
  }

  void expectLoaded(const Form& form) {
    SCOPED_TRACE(form.words);
    const std::vector<uint32_t> out =
        made("st.shared.v4.b32 [%r2], {%r10, %r11, %r12, %r13};\nbar.warp.sync -1;\nldmatrix.sync.aligned." +
             form.words + " " + listOf(form.registers) + ", [%r2];");
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      for (uint32_t reg = 0; reg < form.registers; ++reg) {
        uint32_t expected = 0;
        for (uint32_t k = 0; k < 4; ++k)
          expected |= (form.isTurned() ? element(form, reg / 2 * 16 + lane % 4 * 4 + k, lane / 4 + reg % 2 * 8)
                                       : element(form, reg * 8 + lane / 4, lane % 4 * 4 + k))
                      << 8 * k;
        EXPECT_EQ(out[lane * 4 + reg], expected) << "lane " << lane << " register " << reg;
      }
  }

  void expectStored(const Form& form) {
    SCOPED_TRACE(form.words);
    const std::vector<uint32_t> out = made(
        "mov.b32 %r3, 0;\nst.shared.v4.b32 [%r2], {%r3, %r3, %r3, %r3};\nbar.warp.sync -1;\n"
        "stmatrix.sync.aligned." +
        form.words + " [%r2], " + listOf(form.registers) +
        ";\nbar.warp.sync -1;\nld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r2];");
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      for (uint32_t column = 0; column < kRowBytes; ++column) {
        // 16 x 8 bytes are in a register as accumulators are: rows g and g + 8, two columns each.
        const uint32_t reg = lane / 8, from = column % 8 * 4 + lane % 8 / 2, byte = column / 8 * 2 + lane % 2;
        const uint32_t expected = reg < form.registers ? words_[from * 4 + reg] >> 8 * byte & 255 : 0;
        EXPECT_EQ(out[lane * 4 + column / 4] >> column % 4 * 8 & 255, expected) << "row " << lane << " " << column;
      }
  }

  std::array<uint32_t, kLanes * 4> words_;
};

TEST_F(ByteMatricesTest, BytesAreLoadedTurned) {
  expectLoaded({"m16n16.x1.trans.shared.b8", 2});
  expectLoaded({"m16n16.x2.trans.shared.b8", 4});
}

TEST_F(ByteMatricesTest, SmallerElementsBecomeBytes) {
  for (const uint32_t bits : {6u, 4u}) {
    const std::string type = bits == 6 ? ".shared.b8x16.b6x16_p32" : ".shared.b8x16.b4x16_p64";
    expectLoaded({"m8n16.x1" + type, 1, bits});
    expectLoaded({"m8n16.x2" + type, 2, bits});
    expectLoaded({"m8n16.x4" + type, 4, bits});
    expectLoaded({"m16n16.x1.trans" + type, 2, bits});
    expectLoaded({"m16n16.x2.trans" + type, 4, bits});
  }
}

TEST_F(ByteMatricesTest, BytesAreStoredTurned) {
  expectStored({"m16n8.x1.trans.shared.b8", 1});
  expectStored({"m16n8.x2.trans.shared.b8", 2});
  expectStored({"m16n8.x4.trans.shared.b8", 4});
}

}  // namespace
}  // namespace kernels
