// Run-time compilers under `verdigris run`: this program asks stand-ins for native code, found by dlsym and by linking.
// With `redirected` as its argument it expects PTX, else what the compilers made; with `in-process` it redirects NVRTC
// itself.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "scratch.h"

extern "C" {  // linked: nvJitLink's header names functions with their version
int __nvJitLinkCreate_13_0(void** link, uint32_t count, const char** options);
int __nvJitLinkDestroy_13_0(void** link);
int __nvJitLinkAddData_13_0(void* link, int type, const void* data, size_t size, const char* name);
int nvJitLinkAddFile(void* link, int type, const char* path);
int __nvJitLinkComplete_13_0(void* link);
int __nvJitLinkGetLinkedCubinSize_13_0(void* link, size_t* size);
int __nvJitLinkGetLinkedCubin_13_0(void* link, void* to);
}

namespace {

bool redirected = false;
constexpr int kPtx = 2, kIntermediateCode = 3, kLibrary = 6, kAny = 10;

std::string nativeCode(void* program, const char* folder) {
  void* library = dlopen((std::string(folder) + "/libnvrtc.so.13").c_str(), RTLD_NOW);
  EXPECT_TRUE(library) << dlerror();
  const auto size = reinterpret_cast<int (*)(void*, size_t*)>(dlsym(library, "nvrtcGetCUBINSize"));
  const auto get = reinterpret_cast<int (*)(void*, char*)>(dlsym(library, "nvrtcGetCUBIN"));
  size_t bytes = 77;
  EXPECT_EQ(size(program, &bytes), 0);
  std::string code(bytes, 0);
  EXPECT_EQ(get(program, code.data()), 0);
  return code;
}

void* number(uintptr_t value) { return reinterpret_cast<void*>(value); }

TEST(Nvrtc, GivesPtxForNativeCode) {
  const std::string code = nativeCode(number(1), COMPILERS);
  EXPECT_EQ(code.substr(0, 8), redirected ? ".version" : "\177ELF nat");
  EXPECT_EQ(code.back(), 0);
}

TEST(Nvrtc, WithoutNativeCodeNothingChanges) { EXPECT_EQ(nativeCode(number(2), COMPILERS), ""); }

TEST(Nvrtc, FailuresAreItsOwn) {
  const auto size = reinterpret_cast<int (*)(void*, size_t*)>(
      dlsym(dlopen(COMPILERS "/libnvrtc.so.13", RTLD_NOW), "nvrtcGetCUBINSize"));
  size_t bytes;
  EXPECT_EQ(size(nullptr, &bytes), 4);
}

TEST(Nvrtc, AnotherVersionBesideItHasReplacementsOfItsOwn) {
  EXPECT_EQ(nativeCode(number(1), COMPILERS "/other").substr(0, 1), redirected ? "." : "\177");
  EXPECT_EQ(nativeCode(number(3), COMPILERS).substr(0, 1), redirected ? "." : "\177");
}

class NvJitLink : public testing::Test {
 protected:
  void create(std::vector<const char*> options) {
    ASSERT_EQ(__nvJitLinkCreate_13_0(&link, static_cast<uint32_t>(options.size()), options.data()), 0);
  }
  void add(int type, const std::string& text) {
    EXPECT_EQ(__nvJitLinkAddData_13_0(link, type, text.data(), text.size(), "input"), 0);
  }
  std::string linked() {
    EXPECT_EQ(__nvJitLinkComplete_13_0(link), 0);
    size_t bytes = 0;
    EXPECT_EQ(__nvJitLinkGetLinkedCubinSize_13_0(link, &bytes), 0);
    std::string code(bytes, 0);
    EXPECT_EQ(__nvJitLinkGetLinkedCubin_13_0(link, code.data()), 0);
    EXPECT_EQ(__nvJitLinkDestroy_13_0(&link), 0);
    return code.c_str();
  }
  static std::string either(const std::string& text) { return redirected ? text : "\177ELF linked"; }

  void* link = nullptr;
};

const std::string kText = ".version 8.0\n.target sm_50\n.address_size 64\n.visible .entry one() { ret; }\n";
const std::string kOther = ".version 8.0\n.target sm_50\n.address_size 64\n.visible .entry two() { ret; }\n";

TEST_F(NvJitLink, OneTextComesOutAsItWentIn) {
  create({"-arch=sm_90"});
  add(kPtx, kText);
  EXPECT_EQ(linked(), either(kText));
}

TEST_F(NvJitLink, TextsOfFilesAreKnownByWhatTheyHold) {
  const std::string path = vg::test::scratchFile("input.ptx");
  std::ofstream(path) << kText;
  create({"-arch=sm_90"});
  EXPECT_EQ(nvJitLinkAddFile(link, kAny, path.c_str()), 0);
  EXPECT_EQ(linked(), either(kText));
}

// No context is needed for that, nor a driver that has started.
TEST_F(NvJitLink, SeveralTextsComeOutTogether) {
  create({"-arch=sm_90"});
  add(kPtx, kText);
  add(kAny, kOther);
  const std::string text = linked();
  EXPECT_EQ(text.find(kText) == 0, redirected);
  EXPECT_EQ(text.find(kOther) != std::string::npos, redirected);
}

TEST_F(NvJitLink, ALimitOfRegistersIsInTheText) {
  create({"-arch=sm_90", "-maxrregcount=32"});
  add(kPtx, kText);
  EXPECT_EQ(linked().find("one() .maxnreg 32 {") != std::string::npos, redirected);
}

TEST_F(NvJitLink, TextsBesideIntermediateCodeJoinIt) {
  create({"-arch=sm_90", "-lto"});
  add(kIntermediateCode, "whatever that is");
  add(kPtx, kText);
  const std::string text = linked();
  EXPECT_EQ(text.find(kText) == 0, redirected);
  EXPECT_EQ(text.find(".version 8.0 // linked again") != std::string::npos, redirected);
}

// nvJitLink drops what nothing in the intermediate code uses when it makes PTX of that alone.
TEST_F(NvJitLink, FunctionsThatOnlyTextsNameAreKept) {
  EXPECT_NE(nativeCode(number(1), COMPILERS), "");  // NVRTC is in the process
  create({"-arch=sm_90", "-lto"});
  add(kIntermediateCode, "whatever that is");
  add(kPtx, ".version 8.0\n.extern .func helper();\n.extern .func vprintf();\n.visible .entry one() { ret; }");
  const std::string text = linked();
  EXPECT_EQ(text.find(".visible .func helper() { ret; }") != std::string::npos, redirected);
  EXPECT_EQ(text.find("verdigris_keeps"), std::string::npos);
}

TEST_F(NvJitLink, IntermediateCodeIsLinkedAgain) {
  create({"-arch=sm_90", "-lto"});
  add(kIntermediateCode, "whatever that is");
  EXPECT_EQ(linked(), either(".version 8.0 // linked again"));
}

// libcudadevrt, say, which is added for kernels that wait for their grid.
TEST_F(NvJitLink, NativeLibrariesAreLeftOut) {
  for (const bool intermediate : {false, true}) {
    create(intermediate ? std::vector<const char*>{"-arch=sm_90", "-lto"} : std::vector<const char*>{"-arch=sm_90"});
    add(kPtx, kText);
    add(kLibrary, "!<arch> whatever");
    EXPECT_EQ(linked(), either(kText));
  }
  create({"-arch=sm_90", "-lto"});
  add(kIntermediateCode, "whatever that is");
  add(kLibrary, "!<arch> whatever");
  EXPECT_EQ(linked(), either(".version 8.0 // linked again"));
}

TEST_F(NvJitLink, FailuresAreItsOwn) {
  create({"-arch=sm_90"});
  EXPECT_NE(__nvJitLinkAddData_13_0(link, kPtx, kText.data(), 0, "empty"), 0);
  EXPECT_EQ(__nvJitLinkDestroy_13_0(&link), 0);
}

TEST_F(NvJitLink, SeveralTextsAreLinkedByTheDriver) {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction function;
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(cuDeviceGet(&device, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  create({"-arch=sm_90"});
  add(kPtx, kText);
  add(kPtx, kOther);
  const std::string text = linked();
  if (redirected) {
    ASSERT_EQ(cuModuleLoadData(&module, text.c_str()), CUDA_SUCCESS);
    for (const char* name : {"one", "two"}) {
      EXPECT_EQ(cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
      EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
    }
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  } else {
    EXPECT_EQ(text, "\177ELF linked");
  }
  EXPECT_EQ(cuDevicePrimaryCtxRelease(device), CUDA_SUCCESS);
}

// As Python's activate(): the compilers that dlsym will find are changed in memory. What this program is linked with
// was bound before, and stays.
bool redirectInProcess() {
  void* const library = dlopen(REDIRECT, RTLD_NOW);
  const auto redirect = library ? reinterpret_cast<int (*)(void*)>(dlsym(library, "verdigrisRedirect")) : nullptr;
  if (!redirect || redirect(dlopen("libm.so.6", RTLD_NOW)) != -1 || redirect(nullptr) != -1) return false;
  for (const char* path : {COMPILERS "/libnvrtc.so.13", COMPILERS "/other/libnvrtc.so.13"})
    if (redirect(dlopen(path, RTLD_NOW)) != 2) return false;
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  redirected = count > 1 && !std::strcmp(arguments[1], "redirected");
  if (count > 1 && !std::strcmp(arguments[1], "in-process")) {
    redirected = true;
    if (!redirectInProcess()) return 1;
  }
  return RUN_ALL_TESTS();
}
