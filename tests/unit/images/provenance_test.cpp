#include "images/provenance.h"

#include <gtest/gtest.h>

namespace vg::images {
namespace {

// Whoever needs kernels that a library holds as native code only reads which version has them.
TEST(Provenance, NativeCodeOfAKnownLibraryComesWithTheVersionThatWorks) {
  for (const char* file : {"libcublas.so.13", "libcublasLt.so.13"})
    EXPECT_NE(wayOutOfNative(file).find("nvidia-cublas 13.0.2.14"), std::string::npos) << wayOutOfNative(file);
  EXPECT_NE(wayOutOfNative("libcurand.so.10").find("nvidia-curand"), std::string::npos);
  for (const char* file : {"", "program", "libmine.so"})
    EXPECT_NE(wayOutOfNative(file).find("verdigris run"), std::string::npos) << wayOutOfNative(file);
}

}  // namespace
}  // namespace vg::images
