// Sizes that PTX may declare: what is refused when it is loaded, and what the log says to do. The borders are those of
// ptxas 13.0.
#include <gtest/gtest.h>

#include <string>

#include "ptx/text/parser.h"

namespace vg::ptx {
namespace {

std::string text(const char* version, const char* target, const std::string& rest) {
  return std::string(".version ") + version + "\n.target " + target + "\n.address_size 64\n" + rest;
}

std::string kernelWith(const std::string& declarations) {
  return ".visible .entry k()\n{\n.reg .b32 %r<3>;\n" + declarations + "\nret;\n}\n";
}

std::string parameters(uint64_t bytes) {
  return ".visible .entry k(.param .align 4 .b8 p[" + std::to_string(bytes) + "])\n{ ret; }\n";
}

// Empty when the text is accepted.
std::string refusal(const std::string& ptx) {
  std::string log;
  const auto module = parse(ptx, &log);
  if (module.ok()) return "";
  EXPECT_EQ(module.error(), CUDA_ERROR_INVALID_PTX);
  EXPECT_FALSE(log.empty());
  return log;
}

bool says(const std::string& ptx, const char* what) { return refusal(ptx).find(what) != std::string::npos; }

std::string modern(const std::string& rest) { return text("8.1", "sm_75", rest); }

TEST(Limits, OlderKernelsHave4352BytesOfParameters) {
  for (const char* target : {"sm_60", "sm_75"}) {
    EXPECT_EQ(refusal(text("8.0", target, parameters(4352))), "");
    EXPECT_TRUE(says(text("8.0", target, parameters(4353)), "over the limit of 4352; from .version 8.1"));
  }
  EXPECT_TRUE(says(text("8.1", "sm_60", parameters(4353)), "over the limit of 4352"));
}

TEST(Limits, NewerKernelsHave32764BytesOfParameters) {
  EXPECT_EQ(refusal(modern(parameters(32764))), "");
  for (uint64_t bytes : {uint64_t{32765}, uint64_t{1} << 32, (uint64_t{1} << 32) + 8, uint64_t{1} << 40})
    EXPECT_TRUE(says(modern(parameters(bytes)), "over the limit of 32764; pass a pointer")) << bytes;
  EXPECT_TRUE(says(text("8.0", "sm_75", parameters(uint64_t{1} << 32)), "over the limit of 4352; pass a pointer"));
}

TEST(Limits, ParametersCountTogetherWithTheirAlignment) {
  const auto two = [](uint32_t first, uint32_t alignment) {
    return ".visible .entry k(.param .b8 p[" + std::to_string(first) + "], .param .align " + std::to_string(alignment) +
           " .b8 q[4])\n{ ret; }\n";
  };
  EXPECT_EQ(refusal(modern(two(32760, 4))), "");
  EXPECT_NE(refusal(modern(two(32760, 128))), "");
  EXPECT_NE(refusal(modern(two(32764, 1))), "");
}

TEST(Limits, AKernelHas48KiBOfStaticSharedMemory) {
  EXPECT_EQ(refusal(modern(kernelWith(".shared .align 4 .b8 a[49152];"))), "");
  for (uint64_t bytes : {uint64_t{49153}, uint64_t{65536}, uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 40})
    EXPECT_TRUE(says(modern(kernelWith(".shared .align 4 .b8 a[" + std::to_string(bytes) + "];")),
                     "over the limit of 49152; declare it .extern"))
        << bytes;
  EXPECT_NE(refusal(modern(kernelWith(".shared .b8 a[40000];\n.shared .b8 b[40000];"))), "");
}

TEST(Limits, SharedMemoryOfTheModuleCountsWhereItIsUsed) {
  const std::string two = ".shared .align 4 .b8 a[40000];\n.shared .align 4 .b8 b[40000];\n";
  const auto uses = [](const std::string& name) {
    return ".visible .entry use_" + name + "()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, " + name +
           ";\nst.shared.u32 [%r1], %r1;\nret;\n}\n";
  };
  EXPECT_EQ(refusal(modern(two + kernelWith("") + uses("a") + uses("b"))), "");
  EXPECT_NE(refusal(modern(two + kernelWith("mov.u32 %r1, a;\nmov.u32 %r2, b;"))), "");
}

TEST(Limits, DynamicSharedMemoryHasNone) {
  EXPECT_EQ(refusal(modern(".extern .shared .align 16 .b8 a[];\n" + kernelWith("mov.u32 %r1, a;"))), "");
}

TEST(Limits, AModuleHas64KiBOfConstants) {
  EXPECT_EQ(refusal(modern(".const .align 4 .b8 a[65536];\n" + kernelWith(""))), "");
  EXPECT_TRUE(says(modern(".const .align 4 .b8 a[65537];\n" + kernelWith("")), "over the limit of 65536"));
  EXPECT_NE(refusal(modern(".const .b8 a[40000];\n.const .b8 b[40000];\n" + kernelWith(""))), "");
  EXPECT_NE(refusal(modern(".const .b8 a[4294967296];\n" + kernelWith(""))), "");
}

TEST(Limits, WhatAThreadDeclaresFitsItsFrame) {
  EXPECT_EQ(refusal(modern(kernelWith(".local .align 4 .b8 a[524288];"))), "");
  for (const char* bytes : {"4294967296", "4294967312", "1099511627776"}) {
    EXPECT_TRUE(says(modern(kernelWith(std::string(".local .align 4 .b8 a[") + bytes + "];")), "over 1 GiB")) << bytes;
    EXPECT_TRUE(says(modern(std::string(".func f(.param .align 4 .b8 p[") + bytes + "])\n{ ret; }\n" + kernelWith("")),
                     "over 1 GiB"))
        << bytes;
  }
}

TEST(Limits, AlignmentsArePowersOfTwo) {
  for (const char* alignment : {"0", "3", "24"})
    EXPECT_TRUE(
        says(modern(std::string(".global .align ") + alignment + " .b8 a[8];\n" + kernelWith("")), "bad alignment"));
  EXPECT_EQ(refusal(modern(".global .align 65536 .b8 a[8];\n" + kernelWith(""))), "");
}

TEST(Limits, LinesOfAPreprocessorSayWhereTextIsFrom) {
  for (const char* marker : {"# 1 \"file.cu\"\n", "#line 1 \"file.cu\"\n", "  # 12 \"a\" 2\n"})
    EXPECT_EQ(refusal(modern(marker + kernelWith(marker))), "") << marker;
  for (const char* other : {"#define FOUR 4\n", "#if 0\n", "#include \"other.ptx\"\n", "#pragma once\n", "#\n"})
    EXPECT_TRUE(says(modern(other + kernelWith("")), "for a preprocessor")) << other;
  EXPECT_NE(refusal(modern(kernelWith("#define FOUR 4\n"))), "");
  EXPECT_TRUE(says(modern(".include \"other.ptx\"\n" + kernelWith("")), "put the text of the file here"));
}

}  // namespace
}  // namespace vg::ptx
