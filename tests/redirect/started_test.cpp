// ptxas and nvlink as programs, started by a process that has the driver: under `verdigris run` (the argument
// `redirected`) they give the PTX back, else what they are. The programs are stand-ins that write native code.
#include <cuda.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "scratch.h"

extern char** environ;

namespace {

bool redirected = false;
const std::string kPtxas = COMPILERS "/bin/ptxas", kNvlink = COMPILERS "/bin/nvlink", kNvcc = COMPILERS "/bin/nvcc";
const std::string kNative = "\177ELF native";
const std::string kHead = ".version 8.0\n.target sm_50\n.address_size 64\n";
const std::string kText = kHead + ".visible .entry one() { ret; }\n";

std::string contentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int statusOf(int wait) { return WIFEXITED(wait) ? WEXITSTATUS(wait) : -1; }

class Started : public testing::Test {
 protected:
  static std::string file(const std::string& name) { return vg::test::scratchFile(name); }
  static std::string written(const std::string& name, const std::string& content) {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }
  void SetUp() override {
    input = written("input.ptx", kText);
    output = file("output");
    std::remove(output.c_str());
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  }
  // By a shell, with what it says in `said`.
  int shell(const std::string& command) {
    const int status = std::system((command + " > " + file("said") + " 2>&1").c_str());
    said = contentOf(file("said"));
    return statusOf(status);
  }
  int spawn(std::vector<const char*> words) const {
    words.push_back(nullptr);
    pid_t child = 0;
    int status = -1;
    EXPECT_EQ(posix_spawn(&child, words[0], nullptr, nullptr, const_cast<char**>(words.data()), environ), 0);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return statusOf(status);
  }
  // With the zero at its end, which native code does not need and PTX does.
  static std::string either(const std::string& text) { return redirected ? text + '\0' : kNative; }
  std::string command(const std::string& options) const { return kPtxas + " " + options + " -o " + output; }

  std::string input, output, said;
};

TEST_F(Started, PtxasGivesThePtxBack) {
  EXPECT_EQ(spawn({kPtxas.c_str(), "-v", "--gpu-name=sm_90a", "-O3", input.c_str(), "-o", output.c_str()}), 0);
  EXPECT_EQ(contentOf(output), either(kText));
}

TEST_F(Started, ByAShellToo) {
  EXPECT_EQ(shell(command("-arch sm_80 " + input)), 0) << said;
  EXPECT_EQ(contentOf(output), either(kText));
}

TEST_F(Started, ByForkAndExecToo) {
  const pid_t child = fork();
  if (!child) execl(kPtxas.c_str(), "ptxas", "-arch", "sm_80", input.c_str(), "-o", output.c_str(), nullptr), _exit(9);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(statusOf(status), 0);
  EXPECT_EQ(contentOf(output), either(kText));
}

// What builds a program wants native code in it.
TEST_F(Started, OfNvccItStaysWhatItIs) {
  EXPECT_EQ(spawn({kNvcc.c_str(), command("-arch=sm_90 " + input).c_str()}), 0);
  EXPECT_EQ(contentOf(output), kNative);
}

// A module by itself is for the program that started nvcc (PyCUDA does).
TEST_F(Started, OfNvccForALoneModuleItGivesThePtxBack) {
  for (const char* option : {"-cubin", "--cubin"}) {
    EXPECT_EQ(spawn({kNvcc.c_str(), command("-arch=sm_90 " + input).c_str(), option}), 0);
    EXPECT_EQ(contentOf(output), either(kText)) << option;
  }
  EXPECT_EQ(spawn({kNvcc.c_str(), command("-arch=sm_90 " + input).c_str(), "-fatbin"}), 0);
  EXPECT_EQ(contentOf(output), kNative);
}

// TileLang builds a library with native code for one target, and opens it.
TEST_F(Started, NvccPutsPtxBesideNativeCode) {
  const std::string own = "-gencode arch=compute_90a,code=sm_90a ", ptx = "-gencode arch=compute_90a,code=compute_90a ";
  const struct {
    std::string given, more;
  } cases[] = {
      {"--shared " + own + "-o x ", ptx},
      {"--generate-code=arch=compute_90a,code=sm_90a -c ", ptx},
      {own + "-gencode arch=compute_120,code=[sm_120] ", ptx + "-gencode arch=compute_120,code=compute_120 "},
      {own + "-gencode arch=compute_80,code=compute_80 ", ""},
      {"-gencode arch=compute_90,code=[sm_90,compute_90] ", ""},
      {"-cubin " + own, ""},
      {"-dlink " + own, ""},
      {"-arch=sm_90 ", ""},
      {"-gencode what ", ""},
  };
  for (const auto& [given, more] : cases) {
    EXPECT_EQ(shell(kNvcc + " true " + given), 0) << said;
    EXPECT_EQ(said, given + (redirected ? more : "")) << given;
  }
}

TEST_F(Started, TellsItsVersionAndThatItIsRedirected) {
  EXPECT_EQ(shell(kPtxas + " --version"), 0);
  EXPECT_NE(said.find("release 13.0, V13.0.88"), std::string::npos) << said;
  EXPECT_EQ(said.find("Verdigris") != std::string::npos, redirected) << said;
}

TEST_F(Started, WhatItLoadsCanBeRun) {
  if (!redirected) GTEST_SKIP();
  ASSERT_EQ(shell(command("-v -arch=sm_90 " + input)), 0) << said;
  EXPECT_NE(said.find("Compiling entry function 'one' for 'sm_90'"), std::string::npos) << said;
  EXPECT_NE(said.find("0 bytes spill stores, 0 bytes spill loads"), std::string::npos) << said;
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction function;
  ASSERT_EQ(cuDeviceGet(&device, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleLoad(&module, output.c_str()), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "one"), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(device), CUDA_SUCCESS);
}

// Each of these fails with the compiler's status, says why, and writes nothing.
TEST_F(Started, WhatIsWrongIsRefused) {
  if (!redirected) GTEST_SKIP();
  const std::string unknown = written("unknown.ptx", kHead + ".visible .entry one() {\n no.such.thing;\n ret; }\n");
  const std::string open =
      written("open.ptx", kHead + ".extern .func two();\n.visible .entry one() { call two; ret; }\n");
  const struct {
    std::string options, words;
  } cases[] = {
      {"-arch=sm_90 " + unknown, "line 5; error   : unknown instruction 'no.such.thing'"},
      {"-arch=sm_90 " + written("none.ptx", "whatever"), "Ptx assembly aborted due to errors"},
      {"-arch=sm_90 --input-as-string '.version 99.99'",
       "line 1; fatal   : Unsupported .version 99.99; current version is '"},
      {"-arch=sm_90 " + open, "unresolved function 'two'"},
      {"-arch=sm_17 " + input, "Value 'sm_17' is not defined for option 'gpu-name'"},
      {"-arch=sm_90 /no/such/file", "Could not open input file '/no/such/file'"},
      {"-arch=sm_90", "0 inputs"},
  };
  for (const auto& [options, words] : cases) {
    EXPECT_EQ(shell(command(options)), 255) << options;
    EXPECT_NE(said.find(words), std::string::npos) << options << ": " << said;
    EXPECT_EQ(access(output.c_str(), F_OK), -1) << options;
  }
  EXPECT_EQ(shell(kPtxas + " -arch=sm_90 -o /no/such/folder/file " + input), 255);
  EXPECT_EQ(shell(command("-arch=sm_90 -c " + open)), 0) << said;
}

TEST_F(Started, OptionsAreReadAsPtxasReadsThem) {
  if (!redirected) GTEST_SKIP();
  const std::string words = written("options", "--gpu-name sm_80 -O 2");
  for (const std::string& options :
       {"--gpu-name sm_90 --opt-level 3 --machine 64 " + input, "-O3 -m64 -arch sm_90 --fmad=false " + input,
        "--options-file " + words + " " + input, "-arch=sm_90 --no-such-option=7 " + input, input,
        "-arch=sm_121 --input-as-string '" + kText + "'"}) {
    std::remove(output.c_str());
    EXPECT_EQ(shell(command(options)), 0) << options << ": " << said;
    EXPECT_EQ(contentOf(output), kText + '\0') << options;
  }
}

TEST_F(Started, KeepsToALimitOfRegisters) {
  if (!redirected) GTEST_SKIP();
  EXPECT_EQ(shell(command("-arch=sm_90 -maxrregcount 40 " + input)), 0) << said;
  EXPECT_NE(contentOf(output).find("one() .maxnreg 40 {"), std::string::npos) << contentOf(output);
}

TEST_F(Started, NvlinkPutsTextsTogether) {
  const std::string caller =
      written("caller.ptx", kHead + ".extern .func two();\n.visible .entry one() { call two; ret; }\n");
  const std::string callee = written("callee.ptx", kHead + ".visible .func two() { ret; }\n");
  EXPECT_EQ(spawn({kNvlink.c_str(), "-arch=sm_90", caller.c_str(), callee.c_str(), "-o", output.c_str()}), 0);
  EXPECT_EQ(contentOf(output).find(".version") == 0, redirected);
  EXPECT_EQ(contentOf(output).find("two() { ret; }") != std::string::npos, redirected);
}

TEST_F(Started, NvlinkOfNativeCodeStaysWhatItIs) {
  const std::string native = written("native.o", "\177ELF whatever");
  EXPECT_EQ(spawn({kNvlink.c_str(), "-arch=sm_90", native.c_str(), input.c_str(), "-o", output.c_str()}), 0);
  EXPECT_EQ(contentOf(output), kNative);
}

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  redirected = count > 1 && !std::strcmp(arguments[1], "redirected");
  return RUN_ALL_TESTS();
}
