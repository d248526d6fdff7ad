// Compiling with whatever this machine has; skipped where it has nothing.
#include "cubin/compiler.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "cubin/compiler_tools.h"
#include "cubin/device_functions.h"
#include "unit/cubin/cubin_files.h"

namespace vg::cubin::testing {
namespace {

// Settings are read once: a cache of this process's own from the start.
const bool kOwnCache = [] {
  const std::string folder = ::testing::TempDir() + "/cubin-cache-" + std::to_string(getpid());
  setenv("CUDA_CACHE_PATH", folder.c_str(), 1);
  static std::string toRemove = folder;
  std::atexit([] { std::filesystem::remove_all(toRemove); });
  return true;
}();

constexpr char kHeader[] = ".version 7.8\n.target sm_80\n.address_size 64\n";

Input text(const std::string& body, const std::string& header = kHeader) {
  return {InputKind::Ptx, "test", header + body};
}

const std::string kScale =
    ".visible .entry scale(.param .u64 data, .param .f32 by) { .reg .u64 %a; .reg .f32 %x, %y; ld.param.u64 %a, "
    "[data]; ld.param.f32 %y, [by]; ld.global.f32 %x, [%a]; mul.f32 %x, %x, %y; st.global.f32 [%a], %x; ret; }";

using Compiler = Outcome (*)(const Request&, std::string&, const Logs&);

class Compile : public ::testing::TestWithParam<Compiler> {
 protected:
  // Empty, and skipped, where the compiler is not there.
  std::string made(const Request& request) {
    std::string bytes, error;
    const Outcome outcome = GetParam()(request, bytes, {nullptr, &error});
    EXPECT_NE(outcome, Outcome::Refused) << error;
    return outcome == Outcome::Made ? bytes : std::string();
  }
};
INSTANTIATE_TEST_SUITE_P(EveryCompiler, Compile, ::testing::Values(compileWithNvJitLink, compileWithPrograms),
                         [](const auto& info) { return info.index ? "Programs" : "NvJitLink"; });

TEST_P(Compile, MakesNativeCodeOfText) {
  const std::string bytes = made({90, {text(kScale)}});
  if (bytes.empty()) GTEST_SKIP() << "not on this machine";
  const Cubin cubin = read(bytes);
  EXPECT_EQ(cubin.architecture, 90u);
  ASSERT_TRUE(cubin.kernel("scale"));
  EXPECT_EQ(cubin.kernel("scale")->parameters.size(), 2u);
  EXPECT_GT(cubin.kernel("scale")->registers, 0u);
}

TEST_P(Compile, LinksParts) {
  const Input caller = text(
      ".extern .func (.param .u32 r) twice(.param .u32 v); .visible .entry use(.param .u64 to) { .reg .u64 %a; .reg "
      ".u32 %x; ld.param.u64 %a, [to]; ld.global.u32 %x, [%a]; { .param .u32 v; .param .u32 r; st.param.u32 [v], %x; "
      "call (r), twice, (v); ld.param.u32 %x, [r]; } st.global.u32 [%a], %x; ret; }");
  const Input callee = text(
      ".visible .func (.param .u32 r) twice(.param .u32 v) { .reg .u32 %x; ld.param.u32 %x, [v]; add.u32 %x, %x, %x; "
      "st.param.u32 [r], %x; ret; }");
  const std::string bytes = made({90, {caller, callee}});
  if (bytes.empty()) GTEST_SKIP() << "not on this machine";
  const Cubin cubin = read(bytes);
  EXPECT_TRUE(cubin.kernel("use"));
  EXPECT_FALSE(cubin.relocatable);
  EXPECT_TRUE(cubin.externals.empty());
}

TEST_P(Compile, RefusesWhatIsNoPtxWithTheCompilersWords) {
  std::string bytes, error;
  const Outcome outcome = GetParam()({90, {text("nonsense")}}, bytes, {nullptr, &error});
  if (outcome == Outcome::NotThere) GTEST_SKIP() << "not on this machine";
  EXPECT_EQ(outcome, Outcome::Refused);
  EXPECT_FALSE(error.empty());
}

TEST(CompileTarget, FollowsTheText) {
  EXPECT_EQ((Request{90, {text(kScale)}}.target()), "sm_90");
  EXPECT_EQ((Request{90, {text("", ".version 8.0\n.target sm_90a\n")}}.target()), "sm_90a");
  EXPECT_EQ((Request{103, {text("", ".version 8.8\n.target sm_100f, debug\n")}}.target()), "sm_103f");
}

TEST(CompileCache, WhatWasMadeIsKept) {
  const Request request{90, {text(kScale)}};
  Result<std::string> first = compile(request, {});
  if (!first) GTEST_SKIP() << "no compiler on this machine";
  const std::string path = getenv("PATH");
  setenv("PATH", "", 1);
  const auto before = std::chrono::steady_clock::now();
  Result<std::string> again = compile(request, {});
  const auto took = std::chrono::steady_clock::now() - before;
  setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*first, *again);
  EXPECT_LT(took, std::chrono::milliseconds(5)) << "read, not made";
}

// Fails when device_functions.inc has changed: run scripts/gpu-kernels.
TEST(DeviceFunctions, OfHopperNeedNoCompiler) {
  const std::string path = getenv("PATH");
  setenv("PATH", "", 1);
  const Result<const DeviceFunctions&> functions = deviceFunctions(90);
  setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(functions.ok());
  EXPECT_TRUE(functions.value().comesAlong);
  EXPECT_EQ(functions.value().code->architecture, 90u);
}

TEST(DeviceFunctions, AreAllThereWithFewRegisters) {
  for (const uint32_t architecture : {80, 90, 100}) {
    const Result<const DeviceFunctions&> functions = deviceFunctions(architecture);
    if (functions.error() == CUDA_ERROR_JIT_COMPILER_NOT_FOUND) GTEST_SKIP() << "no compiler on this machine";
    ASSERT_TRUE(functions.ok());
    for (const char* name : {"vprintf", "malloc", "free", "__assertfail"}) EXPECT_TRUE(functions.value().find(name));
    EXPECT_FALSE(functions.value().find("memcpy"));
    EXPECT_LE(functions.value().registers, 32u);
    EXPECT_GT(functions.value().stackBytes, 0u);
    EXPECT_LT(functions.value().stackBytes, 1024u);
    const Variable* const state = functions.value().code->variable(kDeviceState);
    ASSERT_TRUE(state);
    EXPECT_EQ(state->size, sizeof(DeviceState));
    EXPECT_TRUE(functions.value().code->externals.empty());
  }
}

TEST(CompileErrors, RefusedTextIsInvalidPtx) {
  std::string error;
  const Result<std::string> made = compile({90, {text("nonsense")}}, {nullptr, &error});
  if (made.error() == CUDA_ERROR_JIT_COMPILER_NOT_FOUND) GTEST_SKIP() << "no compiler on this machine";
  EXPECT_EQ(made.error(), CUDA_ERROR_INVALID_PTX);
  EXPECT_FALSE(error.empty());
  EXPECT_EQ(compile({90, {text("", ".version 99.0\n.target sm_80\n")}}, {}).error(),
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
}

}  // namespace
}  // namespace vg::cubin::testing
