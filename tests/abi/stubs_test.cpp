// Every entry point that is not there answers CUDA_ERROR_NOT_SUPPORTED, with a context and every argument zero.
#include <cuda.h>
#include <gtest/gtest.h>

#include "api/entry/interop.h"

#define CU_LIVE(name, since, needs, twin, params, args)
#define CU_STUB(name, since, needs, twin, params, args) extern "C" CUresult name params;
#include "api/entry/entry_points.inc"
#undef CU_STUB

namespace {

template <class... Arguments>
CUresult callWithZeros(CUresult (*function)(Arguments...)) {
  return function(Arguments{}...);
}

TEST(Stubs, AnswerThatTheyAreNotSupported) {
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  CUcontext context = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
#define CU_STUB(name, since, needs, twin, params, args) \
  EXPECT_EQ(callWithZeros(name), CUDA_ERROR_NOT_SUPPORTED) << #name;
#include "api/entry/entry_points.inc"
#undef CU_STUB
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

}  // namespace
