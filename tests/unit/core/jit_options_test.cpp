#include "core/modules/jit_options.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/modules/device_code.h"

namespace vg::core {
namespace {

TEST(JitOptions, HandLogsAndTimeBack) {
  char error[8] = "#######", info[4] = "###";
  const CUjit_option options[] = {
      CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER,
      CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,  CU_JIT_WALL_TIME,        CU_JIT_OPTIMIZATION_LEVEL};
  void* values[] = {reinterpret_cast<void*>(8), error,   info,
                    reinterpret_cast<void*>(4), nullptr, reinterpret_cast<void*>(4)};
  JitOptions jit;
  ASSERT_EQ(jit.read(6, options, values), CUDA_SUCCESS);
  jit.errorLog() = "line 12: much too long";
  jit.infoLog() = "ok";
  jit.writeBack();
  EXPECT_STREQ(error, "line 12");
  EXPECT_STREQ(info, "ok");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(values[0]), 7u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(values[3]), 2u);
  float milliseconds = -1;
  std::memcpy(&milliseconds, &values[4], sizeof milliseconds);
  EXPECT_GE(milliseconds, 0);
}

TEST(JitOptions, WithoutASizeNothingIsWritten) {
  char error[4] = "###";
  const CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER};
  void* values[] = {error};
  JitOptions jit;
  ASSERT_EQ(jit.read(1, options, values), CUDA_SUCCESS);
  jit.errorLog() = "text";
  jit.writeBack();
  EXPECT_STREQ(error, "###");
}

TEST(JitOptions, UnknownAndMissingOnesAreRefused) {
  const CUjit_option none = CU_JIT_NUM_OPTIONS, known = CU_JIT_LOG_VERBOSE;
  void* value = nullptr;
  EXPECT_EQ(JitOptions().read(1, &none, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(JitOptions().read(1, &known, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(JitOptions().read(1, nullptr, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(JitOptions().read(0, nullptr, nullptr), CUDA_SUCCESS);
}

TEST(Link, OnlyLinkedTextsComeApart) {
  images::Selected selected;
  selected.ptx = {".version 7.0\n// a comment\n.target sm_50\n"};
  separateLinked(selected);
  EXPECT_EQ(selected.ptx.size(), 1u);
  selected.ptx = {"one\n// ---- linked with ----\ntwo\n// ---- linked with ----\nthree"};
  separateLinked(selected);
  EXPECT_EQ(selected.ptx, (std::vector<std::string>{"one", "two", "three"}));
}

}  // namespace
}  // namespace vg::core
