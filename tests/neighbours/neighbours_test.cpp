// The doors to units that no device of ours has, as video programs open them: by the names of libraries and functions.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace {

void* functionOf(const char* library, const char* name) {
  void* const opened = dlopen(library, RTLD_NOW);
  EXPECT_NE(opened, nullptr) << dlerror();
  void* const found = opened ? dlsym(opened, name) : nullptr;
  EXPECT_NE(found, nullptr) << name;
  return found;
}

template <class Result, class... Arguments>
Result call(const char* library, const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<Result (*)(Arguments...)>(functionOf(library, name));
  return function ? function(arguments...) : Result{};
}

template <class... Arguments>
CUresult video(const char* name, Arguments... arguments) {
  return call<CUresult>("libnvcuvid.so.1", name, arguments...);
}

TEST(Neighbours, EveryDocumentedFunctionIsThere) {
  for (const char* name : {"cuvidCreateVideoSource",
                           "cuvidCreateVideoSourceW",
                           "cuvidDestroyVideoSource",
                           "cuvidSetVideoSourceState",
                           "cuvidGetVideoSourceState",
                           "cuvidGetSourceVideoFormat",
                           "cuvidGetSourceAudioFormat",
                           "cuvidCreateVideoParser",
                           "cuvidParseVideoData",
                           "cuvidDestroyVideoParser",
                           "cuvidGetDecoderCaps",
                           "cuvidCreateDecoder",
                           "cuvidDestroyDecoder",
                           "cuvidDecodePicture",
                           "cuvidGetDecodeStatus",
                           "cuvidReconfigureDecoder",
                           "cuvidMapVideoFrame",
                           "cuvidMapVideoFrame64",
                           "cuvidUnmapVideoFrame",
                           "cuvidUnmapVideoFrame64",
                           "cuvidCtxLockCreate",
                           "cuvidCtxLockDestroy",
                           "cuvidCtxLock",
                           "cuvidCtxUnlock"})
    functionOf("libnvcuvid.so.1", name);
  for (const char* name : {"NvEncodeAPICreateInstance", "NvEncodeAPIGetMaxSupportedVersion"})
    functionOf("libnvidia-encode.so.1", name);
  EXPECT_NE(dlopen("libnvidia-ptxjitcompiler.so.1", RTLD_NOW), nullptr) << dlerror();
}

TEST(Neighbours, TheDecoderCanDecodeNothing) {
  // What is asked: codec, chroma format, bits; then reserved words, then a byte that says whether it is supported.
  unsigned words[22 + 4];
  std::memset(words, 0xff, sizeof words);
  words[0] = 4, words[1] = 1, words[2] = 0;
  ASSERT_EQ(video("cuvidGetDecoderCaps", &words[0]), CUDA_SUCCESS);
  EXPECT_EQ(words[0], 4u);
  EXPECT_EQ(words[1], 1u);
  for (int i = 3; i < 22; ++i) EXPECT_EQ(words[i], 0u) << i;
  for (int i = 22; i < 26; ++i) EXPECT_EQ(words[i], ~0u) << "behind the structure";
  EXPECT_EQ(video("cuvidGetDecoderCaps", static_cast<unsigned*>(nullptr)), CUDA_ERROR_INVALID_VALUE);
}

TEST(Neighbours, NothingIsMadeThatWouldDecode) {
  for (const char* name : {"cuvidCreateDecoder", "cuvidCreateVideoParser"}) {
    void* made = &made;
    char description[1024] = {};
    EXPECT_EQ(video(name, &made, static_cast<void*>(description)), CUDA_ERROR_NOT_SUPPORTED) << name;
    EXPECT_EQ(made, nullptr) << name;
    EXPECT_EQ(video(name, static_cast<void**>(nullptr), static_cast<void*>(description)), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(video("cuvidDestroyDecoder", static_cast<void*>(nullptr)), CUDA_ERROR_INVALID_HANDLE);
}

TEST(Neighbours, LocksOfContextsWork) {
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  CUcontext context;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  void* lock = nullptr;
  ASSERT_EQ(video("cuvidCtxLockCreate", &lock, context), CUDA_SUCCESS);
  EXPECT_EQ(video("cuvidCtxLock", lock, 0u), CUDA_SUCCESS);
  EXPECT_EQ(video("cuvidCtxUnlock", lock, 0u), CUDA_SUCCESS);
  EXPECT_EQ(video("cuvidCtxLockDestroy", lock), CUDA_SUCCESS);
  EXPECT_EQ(video("cuvidCtxLock", static_cast<void*>(nullptr), 0u), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST(Neighbours, NoDeviceEncodes) {
  constexpr const char* kLibrary = "libnvidia-encode.so.1";
  uint32_t version = 0, functions[1024] = {};
  EXPECT_EQ(call<int>(kLibrary, "NvEncodeAPIGetMaxSupportedVersion", &version), 0);
  EXPECT_GE(version >> 4, 12u);
  EXPECT_EQ(call<int>(kLibrary, "NvEncodeAPICreateInstance", static_cast<void*>(functions)), 1);  // no encode device
  EXPECT_EQ(call<int>(kLibrary, "NvEncodeAPICreateInstance", static_cast<void*>(nullptr)), 6);    // no pointer
}

}  // namespace
