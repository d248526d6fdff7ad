#include "check/races/host_instruction.h"

#include <gtest/gtest.h>

#include <vector>

namespace vg::check {
namespace {

struct Case {
  const char* text;
  std::vector<uint8_t> code;
  uint32_t bytes;
};

TEST(HostInstructions, AccessAsManyBytesAsTheirOperandsHave) {
  for (const Case& c : {
           Case{"mov (%rax), %ecx", {0x8b, 0x08}, 4},
           Case{"mov (%rax), %rcx", {0x48, 0x8b, 0x08}, 8},
           Case{"mov (%rax), %cx", {0x66, 0x8b, 0x08}, 2},
           Case{"mov %cl, (%rax)", {0x88, 0x08}, 1},
           Case{"movl $7, (%rax)", {0xc7, 0x00, 7, 0, 0, 0}, 4},
           Case{"movb $7, (%rax)", {0xc6, 0x00, 7}, 1},
           Case{"add %ecx, (%rax)", {0x01, 0x08}, 4},
           Case{"cmp (%rax), %cl", {0x3a, 0x08}, 1},
           Case{"addq $1, (%rax)", {0x48, 0x83, 0x00, 1}, 8},
           Case{"movslq (%rax), %rcx", {0x48, 0x63, 0x08}, 4},
           Case{"movzbl (%rax), %ecx", {0x0f, 0xb6, 0x08}, 1},
           Case{"movzwl (%rax), %ecx", {0x0f, 0xb7, 0x08}, 2},
           Case{"lock xadd %ecx, (%rax)", {0xf0, 0x0f, 0xc1, 0x08}, 4},
           Case{"lock cmpxchg %rcx, (%rdx)", {0xf0, 0x48, 0x0f, 0xb1, 0x0a}, 8},
           Case{"rep stosq", {0xf3, 0x48, 0xab}, 8},
           Case{"rep movsb", {0xf3, 0xa4}, 1},
           Case{"movss (%rax), %xmm0", {0xf3, 0x0f, 0x10, 0x00}, 4},
           Case{"movsd %xmm0, (%rax)", {0xf2, 0x0f, 0x11, 0x00}, 8},
           Case{"movups (%rax), %xmm0", {0x0f, 0x10, 0x00}, 16},
           Case{"movdqa %xmm0, (%rax)", {0x66, 0x0f, 0x7f, 0x00}, 16},
           Case{"movq %xmm0, (%rax)", {0x66, 0x0f, 0xd6, 0x00}, 8},
           Case{"addsd (%rax), %xmm0", {0xf2, 0x0f, 0x58, 0x00}, 8},
           Case{"cvtsi2sdl (%rax), %xmm0", {0xf2, 0x0f, 0x2a, 0x00}, 4},
           Case{"vmovups (%rax), %ymm0", {0xc5, 0xfc, 0x10, 0x00}, 32},
           Case{"vmovss (%rax), %xmm0", {0xc5, 0xfa, 0x10, 0x00}, 4},
           Case{"vmovdqu %xmm0, (%rax)", {0xc5, 0xfa, 0x7f, 0x00}, 16},
           Case{"vfmadd231sd (%rax), %xmm1, %xmm0", {0xc4, 0xe2, 0xf1, 0xb9, 0x00}, 8},
           Case{"vfmadd231ps (%rax), %ymm1, %ymm0", {0xc4, 0xe2, 0x75, 0xb8, 0x00}, 32},
           Case{"vbroadcastss (%rax), %ymm0", {0xc4, 0xe2, 0x7d, 0x18, 0x00}, 4},
           Case{"cvtps2pd (%rax), %xmm0", {0x0f, 0x5a, 0x00}, 8},
           Case{"vcvtps2pd (%rax), %ymm0", {0xc5, 0xfc, 0x5a, 0x00}, 16},
           Case{"cvtpd2ps (%rax), %xmm0", {0x66, 0x0f, 0x5a, 0x00}, 16},
           Case{"cvtss2sd (%rax), %xmm0", {0xf3, 0x0f, 0x5a, 0x00}, 4},
           Case{"cvtdq2pd (%rax), %xmm0", {0xf3, 0x0f, 0xe6, 0x00}, 8},
           Case{"cvttps2dq (%rax), %xmm0", {0xf3, 0x0f, 0x5b, 0x00}, 16},
           Case{"vmovups (%rax), %zmm0", {0x62, 0xf1, 0x7c, 0x48, 0x10, 0x00}, 64},
           Case{"vmovups (%rax), %zmm0 {%k1}", {0x62, 0xf1, 0x7c, 0x49, 0x10, 0x00}, 1},
       })
    EXPECT_EQ(accessedBytes(c.code.data()), c.bytes) << c.text;
}

TEST(HostInstructions, UnknownOnesAccessOneByte) {
  for (const Case& c :
       {Case{"pshufb (%rax), %xmm0", {0x66, 0x0f, 0x38, 0x00, 0x00}, 1}, Case{"fbld (%rax)", {0xdf, 0x20}, 1},
        Case{"vpgatherdd", {0xc4, 0xe2, 0x75, 0x90, 0x04, 0x08}, 1}})
    EXPECT_EQ(accessedBytes(c.code.data()), c.bytes) << c.text;
}

// The processor gives the first byte of the second page; how much of the operand lies there is counted.
TEST(HostInstructions, OperandsThatCrossIntoAPageEndInIt) {
  uint64_t registers[16] = {};
  constexpr uint64_t kPage = 0x7000;
  registers[0] = kPage - 3;   // rax
  registers[1] = 2;           // rcx
  registers[6] = kPage - 6;   // rsi
  registers[7] = 0x123400;    // rdi
  registers[12] = kPage - 1;  // r12
  const struct {
    const char* text;
    std::vector<uint8_t> code;
    uint32_t bytes;
  } cases[] = {
      {"mov (%rax), %rcx", {0x48, 0x8b, 0x08}, 5},
      {"mov -1(%rax), %rcx", {0x48, 0x8b, 0x48, 0xff}, 4},
      {"mov 2(%rax), %ecx", {0x8b, 0x88, 2, 0, 0, 0}, 3},
      {"mov (%rax,%rcx,1), %edx", {0x8b, 0x14, 0x08}, 3},
      {"mov (%r12), %rdx", {0x49, 0x8b, 0x14, 0x24}, 7},
      {"movups (%rax), %xmm0", {0x0f, 0x10, 0x00}, 13},
      {"vmovups (%rax), %ymm0", {0xc5, 0xfc, 0x10, 0x00}, 29},
      {"movsq", {0x48, 0xa5}, 2},
      {"mov 3(%rax), %rcx", {0x48, 0x8b, 0x48, 3}, 8},  // it begins there
      {"mov (%rip), %rcx", {0x48, 0x8b, 0x0d, 0, 0, 0, 0}, 1},
  };
  for (const auto& c : cases) EXPECT_EQ(accessedBytesFrom(kPage, c.code.data(), registers), c.bytes) << c.text;
  const std::vector<uint8_t> inside = {0x48, 0x8b, 0x08};
  EXPECT_EQ(accessedBytesFrom(kPage + 8, inside.data(), registers), 8u);
}

}  // namespace
}  // namespace vg::check
