// Which stores may go past the caches (streaming.h), and that they leave what they should: at every alignment, for all
// widths, in warps that are not full.
#include <gtest/gtest.h>

#include <cstring>

#include "ptx_compiler/harness.h"

namespace vg::ptx::test {
namespace {

// A kernel (in, out, n): `body` of each thread i below n. %rd1 is its element of the input and %rd2 of the output, of
// `bytes` bytes each; %rd3 is the output itself, %r1 i.
std::string kernelOf(const std::string& body, uint32_t bytes) {
  return R"(.version 7.8
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
{
  .reg .b32 %r<20>;
  .reg .b64 %rd<20>;
  .reg .b16 %h<20>;
  .reg .pred %p<4>;
  ld.param.u64 %rd10, [in];
  ld.param.u64 %rd11, [out];
  ld.param.u32 %r10, [n];
  cvta.to.global.u64 %rd12, %rd10;
  cvta.to.global.u64 %rd3, %rd11;
  mov.u32 %r11, %ctaid.x;
  mov.u32 %r12, %ntid.x;
  mov.u32 %r13, %tid.x;
  mad.lo.s32 %r1, %r11, %r12, %r13;
  setp.ge.s32 %p1, %r1, %r10;
  @%p1 bra DONE;
  mul.wide.s32 %rd13, %r1, )" +
         std::to_string(bytes) + R"(;
  add.s64 %rd1, %rd12, %rd13;
  add.s64 %rd2, %rd3, %rd13;
)" + body +
         R"(
DONE:
  ret;
}
)";
}

struct Case {
  const char* name;
  uint32_t bytes;     // of an element
  uint32_t streamed;  // bytes a thread
  const char* body;   // leaves a copy of the input
};

const Case kCases[] = {
    {"Bytes", 1, 0, "ld.global.u8 %r2, [%rd1]; st.global.u8 [%rd2], %r2;"},
    {"Halves", 2, 2, "ld.global.u16 %h1, [%rd1]; st.global.u16 [%rd2], %h1;"},
    {"Words", 4, 4, "ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd2], %r2;"},
    {"GenericWords", 4, 4, "ld.global.u32 %r2, [%rd1]; cvta.global.u64 %rd4, %rd2; st.u32 [%rd4], %r2;"},
    {"Doubles", 8, 8, "ld.global.u64 %rd4, [%rd1]; st.global.u64 [%rd2], %rd4;"},
    {"PairsOfWords", 8, 8, "ld.global.v2.u32 {%r2, %r3}, [%rd1]; st.global.v2.u32 [%rd2], {%r2, %r3};"},
    {"FourWords", 16, 16,
     "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1]; st.global.v4.u32 [%rd2], {%r2, %r3, %r4, %r5};"},
    {"BranchesOfBothKinds", 4, 8,
     "ld.global.u32 %r2, [%rd1]; setp.lt.u32 %p2, %r1, 77; @%p2 bra A; st.global.u32 [%rd2], %r2; bra.uni B;\n"
     "A: st.global.u32 [%rd2], %r2;\nB:"},
    {"SharedBarrier", 4, 4,
     "ld.global.u32 %r2, [%rd1]; .shared .u32 s[4]; st.shared.u32 [s], %r10; bar.sync 0; st.global.u32 [%rd2], %r2;"},
    {"AsynchronousCopy", 16, 16,
     ".shared .align 16 .b8 s[2048]; mov.u32 %r2, s; mov.u32 %r3, %tid.x; shl.b32 %r3, %r3, 4; add.u32 %r2, %r2, %r3;"
     "cp.async.cg.shared.global [%r2], [%rd1], 16; cp.async.wait_all; ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r2];"
     "st.global.v4.u32 [%rd2], {%r4, %r5, %r6, %r7};"},
    // What is read again stays in the caches.
    {"ReadAgain", 4, 0,
     "ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd2], %r2; ld.global.u32 %r3, [%rd2]; st.global.u32 [%rd2], %r3;"},
    // Others may be waiting for the result.
    {"Fence", 4, 0, "ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd2], %r2; membar.gl;"},
    {"Volatile", 4, 0, "ld.global.u32 %r2, [%rd1]; st.volatile.global.u32 [%rd2], %r2;"},
    {"Release", 4, 0, "ld.global.u32 %r2, [%rd1]; st.release.gpu.global.u32 [%rd2], %r2;"},
    {"Atomic", 4, 0, "ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd2], %r2; atom.global.add.u32 %r3, [%rd1], 0;"},
    {"Call", 4, 0,
     "ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd2], %r2; { .param .b64 f; .param .b64 a; .param .b32 r; "
     "st.param.b64 [f], %rd1; st.param.b64 [a], %rd1; call (r), vprintf, (f, a); }"},
    // How much that is, nobody knows.
    {"Loop", 4, 0,
     "mov.u32 %r4, 0;\nL: ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd2], %r2; add.u32 %r4, %r4, 1; "
     "setp.lt.u32 %p2, %r4, 2; @%p2 bra L;"},
    // A pointer that comes out of memory.
    {"UnknownPointer", 4, 0,
     "ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd2], %r2; .shared .u64 q[1]; st.shared.u64 [q], %rd1; "
     "ld.shared.u64 %rd5, [q]; ld.global.u32 %r3, [%rd5];  xor.b32 %r3, %r3, %r3; @%p1 st.global.u32 [%rd2], %r3;"},
};

class Streaming : public testing::TestWithParam<Case> {};

TEST_P(Streaming, LeavesACopy) {
  const Case& c = GetParam();
  const std::string text = kernelOf(c.body, c.bytes);
  for (const Target& target : targets()) {
    for (const Shape3 block : {Shape3{128}, Shape3{96}, Shape3{40}}) {
      CompiledKernel kernel;
      std::string log;
      ASSERT_EQ(kernel.compile(text, "k", target, block, &log), CUDA_SUCCESS) << log << text;
      EXPECT_EQ(kernel.blob.traits.streamedPerThread, c.streamed) << target.name;
      for (const size_t shift : {0u, 16u, 32u, 48u}) {
        const uint32_t n = 3 * block.x - 5;
        const size_t bytes = size_t{n} * c.bytes, room = bytes + 256;
        struct alignas(64) Line {
          uint8_t bytes[64];
        };
        std::vector<Line> in(room / 64 + 1), out(room / 64 + 1);
        uint8_t* const from = in[0].bytes;
        uint8_t* const to = out[0].bytes;
        for (size_t k = 0; k < room; ++k) from[k] = static_cast<uint8_t>(k * 7 + k / 251);
        std::memset(to, 0xEE, room);
        LaunchSpec spec;
        spec.grid = {3};
        spec.block = block;
        spec.streams = true;
        spec.parameters.resize(20);
        const uint64_t pointers[2] = {reinterpret_cast<uint64_t>(from), reinterpret_cast<uint64_t>(to + shift)};
        std::memcpy(spec.parameters.data(), pointers, 16);
        std::memcpy(spec.parameters.data() + 16, &n, 4);
        ASSERT_TRUE(runGrid(kernel.entry(), nullptr, kernel.blob.traits, spec));
        ASSERT_EQ(std::memcmp(to + shift, from, bytes), 0) << target.name << " block " << block.x << " shift " << shift;
        for (size_t k = 0; k < room; ++k) {
          if (k >= shift && k < shift + bytes) continue;
          ASSERT_EQ(to[k], 0xEE) << target.name << " at " << k;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, Streaming, testing::ValuesIn(kCases),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace vg::ptx::test
