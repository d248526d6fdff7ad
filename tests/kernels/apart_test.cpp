// Kernels that call functions through registers in which lanes and warps meet, more of them than a kernel can hold:
// each has code of its own, made when it is called first (RuntimeCalls::callApart).
#include "kernels/fixture.h"

namespace kernels {
namespace {

constexpr unsigned kFunctions = 48, kWarpsEach = 4, kNoFunction = ~0u;

std::string number(uint64_t value) { return std::to_string(value); }

// What function f makes of a thread's value, in 90 steps that are its own.
uint32_t stepped(unsigned f, uint32_t value) {
  for (unsigned step = 0; step < 90; ++step) value = value * (2 * f + 3) + step;
  return value;
}

// The functions find their values in shared memory: values[tid]. Each has its lanes and its warps meet: a thread's
// value becomes what the steps make of it, plus those of the lane beside it and of the same thread of the next warp.
std::string functionText(unsigned f) {
  std::string text = ".func f" + number(f) + "()\n{\n.reg .b32 %r<16>;\n" +
                     "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, values;\nadd.u32 %r2, %r2, %r3;\n"
                     "ld.shared.u32 %r4, [%r2];\n";
  for (unsigned step = 0; step < 90; ++step)
    text += "mad.lo.u32 %r4, %r4, " + number(2 * f + 3) + ", " + number(step) + ";\n";
  return text + R"(
bar.sync 1;
st.shared.u32 [%r2], %r4;
shfl.sync.bfly.b32 %r5, %r4, 1, 31, -1;
bar.sync 1;
mov.u32 %r6, %ntid.x;
add.u32 %r7, %r1, 32;
rem.u32 %r7, %r7, %r6;
shl.b32 %r7, %r7, 2;
add.u32 %r7, %r7, %r3;
ld.shared.u32 %r8, [%r7];
bar.sync 1;
add.u32 %r4, %r4, %r5;
add.u32 %r4, %r4, %r8;
st.shared.u32 [%r2], %r4;
ret;
}
)";
}

// For lanes that go different ways: nobody is met.
std::string aloneText(unsigned f) {
  return ".func alone" + number(f) + R"(()
{
.reg .b32 %r<8>;
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, values;
add.u32 %r2, %r2, %r3;
ld.shared.u32 %r4, [%r2];
mad.lo.u32 %r4, %r4, 10, )" +
         number(f) + ";\nst.shared.u32 [%r2], %r4;\nret;\n}\n";
}

// Calls for each of p1's `p2` entries, one per block and round, the function of that number: those beyond kFunctions
// are an address of none. Then each lane calls alone(lane % 4).
std::string wholeText() {
  std::string text = ".shared .align 4 .b8 values[4096];\n", table;
  for (unsigned f = 0; f < kFunctions; ++f) text += functionText(f), table += (f ? ", f" : "f") + number(f);
  for (unsigned f = 0; f < 4; ++f) text += aloneText(f), table += ", alone" + number(f);
  text += ".global .align 8 .u64 table[" + number(kFunctions + 4) + "] = {" + table + "};\n";
  return text + entry("kernel", {".u64", ".u64", ".u32"},
                      std::string(kIndices) + R"(
ld.param.u64 %rd10, [p1];
ld.param.u32 %r10, [p2];
mul.lo.u32 %r11, %r3, %r10;
mul.wide.u32 %rd11, %r11, 4;
add.u64 %rd10, %rd10, %rd11;
mov.u32 %r20, values;
shl.b32 %r21, %r1, 2;
add.u32 %r20, %r20, %r21;
st.shared.u32 [%r20], %r2;
mov.u64 %rd14, table;
mov.u32 %r12, 0;
LOOP:
ld.global.u32 %r13, [%rd10];
mul.wide.u32 %rd13, %r13, 8;
add.u64 %rd15, %rd14, %rd13;
setp.ge.u32 %p2, %r13, )" +
                          number(kFunctions) +
                          R"(;
@%p2 mov.u64 %rd16, 64;
@!%p2 ld.global.u64 %rd16, [%rd15];
proto: .callprototype ()_ ();
call %rd16, (), proto;
add.u64 %rd10, %rd10, 4;
add.u32 %r12, %r12, 1;
setp.lt.u32 %p1, %r12, %r10;
@%p1 bra LOOP;
and.b32 %r14, %r1, 3;
add.u32 %r14, %r14, )" + number(kFunctions) +
                          R"(;
mul.wide.u32 %rd13, %r14, 8;
add.u64 %rd15, %rd14, %rd13;
ld.global.u64 %rd16, [%rd15];
setp.ne.u32 %p3, %r14, )" +
                          number(kFunctions + 2) +
                          R"(;
proto2: .callprototype ()_ ();
@%p3 call %rd16, (), proto2;
ld.shared.u32 %r5, [%r20];
)" + kStore);
}

std::vector<uint32_t> expected(const std::vector<uint32_t>& calls, unsigned blocks, unsigned threads) {
  std::vector<uint32_t> all;
  const size_t rounds = calls.size() / blocks;
  for (unsigned block = 0; block < blocks; ++block) {
    std::vector<uint32_t> values(threads), next(threads);
    for (unsigned t = 0; t < threads; ++t) values[t] = block * threads + t;
    for (size_t round = 0; round < rounds; ++round) {
      for (uint32_t& value : values) value = stepped(calls[block * rounds + round], value);
      for (unsigned t = 0; t < threads; ++t) next[t] = values[t] + values[t ^ 1] + values[(t + 32) % threads];
      values = next;
    }
    for (unsigned t = 0; t < threads; ++t) all.push_back(t % 4 == 2 ? values[t] : values[t] * 10 + t % 4);
  }
  return all;
}

class ApartTest : public KernelTest {
 protected:
  CUdeviceptr given(const std::vector<uint32_t>& values) {
    const CUdeviceptr pointer = allocate(4 * values.size());
    EXPECT_EQ(cuMemcpyHtoD(pointer, values.data(), 4 * values.size()), CUDA_SUCCESS);
    return pointer;
  }
};

TEST_F(ApartTest, FunctionsInWhichWarpsMeetAreCalledByAddress) {
  const CUfunction kernel = function(module(wholeText()));
  for (const unsigned threads : {32u * kWarpsEach, 32u, 64u, 48u}) {
    const unsigned blocks = 3;
    const std::vector<uint32_t> calls{0, 5, 5, 1, 23, 7, 7, 0, 2};
    const CUdeviceptr out = allocate(4 * blocks * threads), list = given(calls);
    ASSERT_EQ(run(kernel, blocks, threads, out, list, 3u), CUDA_SUCCESS);
    EXPECT_EQ(read(out, blocks * threads), expected(calls, blocks, threads)) << threads;
    cuMemFree(out);
    cuMemFree(list);
  }
}

TEST_F(ApartTest, ACallOfWhatIsNoFunctionEndsTheLaunch) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto body = [&] {
    const CUfunction kernel = function(module(wholeText()));
    const CUdeviceptr out = allocate(4 * 32), list = given({3, kNoFunction});
    EXPECT_EQ(run(kernel, 1, 32, out, list, 2u), CUDA_ERROR_ILLEGAL_INSTRUCTION);
    std::exit(HasFailure());
  };
  EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), "in block .*PTX line [0-9]+");
}

}  // namespace
}  // namespace kernels
