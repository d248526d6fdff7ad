// The result sets that the manual documents: a rule "The complete documented result set of cuX is CUDA_SUCCESS, ..."
// carries the names, and a test checks each answer that it sees against them.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <string_view>

namespace suite {

// Success when the text of rule `id` lists `result`; the codes that the rule only denies ("... is absent") do not
// count.
testing::AssertionResult isDocumented(std::string_view id, CUresult result);

}  // namespace suite
