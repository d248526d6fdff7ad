// Result codes in assertions: printed by name, compared by one short macro.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <ostream>

// Found by GoogleTest: CUDA_ERROR_INVALID_VALUE instead of 1.
void PrintTo(CUresult result, std::ostream* out);

#define EXPECT_OK(call) EXPECT_EQ(call, CUDA_SUCCESS)
#define ASSERT_OK(call) ASSERT_EQ(call, CUDA_SUCCESS)
#define EXPECT_INVALID_VALUE(call) EXPECT_EQ(call, CUDA_ERROR_INVALID_VALUE)
