// Names and texts of results are those the vendor's driver gives.
#include "library.h"

namespace {

using Text = CUresult(CUresult, const char**);

TEST(Results, HaveTheVendorsNamesAndTexts) {
  const Library library;
  Text* const name = library.function<Text>("cuGetErrorName");
  Text* const text = library.function<Text>("cuGetErrorString");
  const auto rows = readTable("results.tsv", 0);
  ASSERT_GT(rows.size(), 100u);
  for (const auto& row : rows) {
    const CUresult code = static_cast<CUresult>(std::stoi(row[0]));
    const char* answer = nullptr;
    EXPECT_EQ(name(code, &answer), CUDA_SUCCESS) << row[0];
    EXPECT_STREQ(answer, row[1].c_str());
    EXPECT_EQ(text(code, &answer), CUDA_SUCCESS) << row[0];
    EXPECT_STREQ(answer, row[2].c_str());
  }
}

// What came after the driver that was asked has a name and some text.
TEST(Results, LaterOnesHaveTheirNames) {
  const Library library;
  const struct {
    int code;
    const char* name;
  } later[] = {{47, "CUDA_ERROR_MULTICAST_RESOURCE_FULL"},
               {227, "CUDA_ERROR_INSUFFICIENT_LOADER_VERSION"},
               {917, "CUDA_ERROR_STREAM_DETACHED"},
               {918, "CUDA_ERROR_GRAPH_RECAPTURE_FAILURE"},
               {919, "CUDA_ERROR_FABRIC_NOT_READY"}};
  for (const auto& row : later) {
    const char* answer = nullptr;
    EXPECT_EQ(library.function<Text>("cuGetErrorName")(static_cast<CUresult>(row.code), &answer), CUDA_SUCCESS);
    EXPECT_STREQ(answer, row.name);
    EXPECT_EQ(library.function<Text>("cuGetErrorString")(static_cast<CUresult>(row.code), &answer), CUDA_SUCCESS);
    EXPECT_NE(answer, nullptr);
  }
}

TEST(Results, WhatIsNoResultHasNoName) {
  const Library library;
  for (const char* function : {"cuGetErrorName", "cuGetErrorString"}) {
    const char* answer = "left over";
    EXPECT_EQ(library.function<Text>(function)(static_cast<CUresult>(-7), &answer), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(answer, nullptr);
    EXPECT_EQ(library.function<Text>(function)(CUDA_SUCCESS, nullptr), CUDA_ERROR_INVALID_VALUE);
  }
}

TEST(Version, IsThatOfTheHeaderBeforeInitialisation) {
  const Library library;
  int version = 0;
  EXPECT_EQ(library.function<CUresult(int*)>("cuDriverGetVersion")(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, CUDA_VERSION);
  EXPECT_EQ(library.function<CUresult(int*)>("cuDriverGetVersion")(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST(Gate, EveryCallButAFewNeedsInitialisation) {
  // In a process of its own: nothing in this one must have called cuInit.
  const Library library;
  int count = 0;
  EXPECT_EQ(library.function<CUresult(int*)>("cuDeviceGetCount")(&count), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(library.function<CUresult()>("cuCtxSynchronize")(), CUDA_ERROR_NOT_INITIALIZED);
  CUdeviceptr address = 0;
  EXPECT_EQ(library.function<CUresult(CUdeviceptr*, size_t)>("cuMemAlloc_v2")(&address, 4), CUDA_ERROR_NOT_INITIALIZED);
}

}  // namespace
