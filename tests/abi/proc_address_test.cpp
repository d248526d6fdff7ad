// cuGetProcAddress: every answer for names, versions and flags.
#include "library.h"

namespace {

using Search = CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

struct Answer {
  CUresult result;
  void* address;
  int status;
};

class ProcAddress : public testing::Test {
 protected:
  Answer ask(const char* name, int version, cuuint64_t flags = 0) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult status = static_cast<CUdriverProcAddressQueryResult>(77);
    const CUresult result = search_(name, &address, version, flags, &status);
    return {result, address, status};
  }

  Library library_;
  Search* search_ = library_.function<Search>("cuGetProcAddress_v2");
};

TEST_F(ProcAddress, EveryNameTheRuntimeAsksForIsTheSymbolItMeans) {
  const auto rows = readTable("runtime_symbols.tsv", 1);
  ASSERT_GT(rows.size(), 480u);
  for (const auto& row : rows) {
    const std::string& symbol = row[3];
    const Answer answer = ask(row[0].c_str(), std::stoi(row[1]), std::stoull(row[2]));
    EXPECT_EQ(answer.result, CUDA_SUCCESS) << row[0] << " " << row[1];
    EXPECT_EQ(answer.status, CU_GET_PROC_ADDRESS_SUCCESS) << row[0] << " " << row[1];
    ASSERT_NE(answer.address, nullptr) << row[0] << " " << row[1];
    if (symbol != "-") EXPECT_EQ(answer.address, library_.symbol(symbol)) << row[0] << " " << row[1] << " " << row[2];
  }
}

TEST_F(ProcAddress, TheNewestVersionNotAfterTheOneAskedForIsTaken) {
  EXPECT_EQ(ask("cuCtxCreate", 2000).address, library_.symbol("cuCtxCreate"));
  EXPECT_EQ(ask("cuCtxCreate", 3020).address, library_.symbol("cuCtxCreate_v2"));
  EXPECT_EQ(ask("cuCtxCreate", 11040).address, library_.symbol("cuCtxCreate_v3"));
  EXPECT_EQ(ask("cuCtxCreate", 12040).address, library_.symbol("cuCtxCreate_v3"));
  EXPECT_EQ(ask("cuCtxCreate", 12050).address, library_.symbol("cuCtxCreate_v4"));
  EXPECT_EQ(ask("cuCtxCreate", 13000).address, library_.symbol("cuCtxCreate_v4"));
  EXPECT_EQ(ask("cuCtxCreate", -1).address, library_.symbol("cuCtxCreate_v4"));
}

TEST_F(ProcAddress, PerThreadFlagGivesTwinsWhereThereAreSome) {
  constexpr cuuint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  EXPECT_EQ(ask("cuMemcpyHtoD", 3020, kPerThread).status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(ask("cuMemcpyHtoD", 7000, kPerThread).address, library_.symbol("cuMemcpyHtoD_v2_ptds"));
  EXPECT_EQ(ask("cuLaunchKernel", 13000, kPerThread).address, library_.symbol("cuLaunchKernel_ptsz"));
  EXPECT_EQ(ask("cuLaunchKernel", 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM).address, library_.symbol("cuLaunchKernel"));
  EXPECT_EQ(ask("cuInit", 13000, kPerThread).address, library_.symbol("cuInit"));
}

TEST_F(ProcAddress, UnknownNamesAndTooOldVersionsAreToldApart) {
  for (const char* name : {"cuNoSuchThing", "", "cuMemAlloc_v2", "cuMemcpy_ptds", "CUINIT"}) {
    const Answer answer = ask(name, 13000);
    EXPECT_EQ(answer.result, CUDA_SUCCESS) << name;
    EXPECT_EQ(answer.address, nullptr) << name;
    EXPECT_EQ(answer.status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) << name;
  }
  const Answer answer = ask("cuMemAllocAsync", 11010);
  EXPECT_EQ(answer.result, CUDA_SUCCESS);
  EXPECT_EQ(answer.address, nullptr);
  EXPECT_EQ(answer.status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

TEST_F(ProcAddress, BadArgumentsAreRefused) {
  void* address = nullptr;
  EXPECT_EQ(search_(nullptr, &address, 13000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(search_("cuInit", nullptr, 13000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(search_("cuInit", &address, 13000, 1u << 10, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(search_("cuInit", &address, CUDA_VERSION + 10, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(search_("cuInit", &address, 13000, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(address, library_.symbol("cuInit"));
}

TEST_F(ProcAddress, EveryExportOfTheTableIsFoundUnderItsBaseName) {
  auto rows = readTable("driver_symbols.txt", 0);
  const auto later = readTable("later_symbols.txt", 0);
  ASSERT_GT(later.size(), 43u);
  rows.insert(rows.end(), later.begin(), later.end());
  for (const auto& row : rows) {
    const std::string& symbol = row[0];
    if (symbol.rfind("cudbg", 0) == 0 || symbol.rfind("cuMemGetAttribute", 0) == 0 || symbol == "cuEGLApiInit")
      continue;
    std::string base = symbol.substr(0, symbol.find("_v"));
    const size_t twin = base.find("_pts") != std::string::npos ? base.find("_pts") : base.find("_ptd");
    const bool isTwin = symbol.find("_ptsz") != std::string::npos || symbol.find("_ptds") != std::string::npos;
    base = base.substr(0, twin);
    bool found = false;
    for (int version = 2000; version <= CUDA_VERSION && !found; version += 10)
      found = ask(base.c_str(), version, isTwin ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : 0).address ==
              library_.symbol(symbol);
    EXPECT_TRUE(found) << symbol;
  }
}

TEST_F(ProcAddress, AgreesWithTheRecordOfTheVendorsDriver) {
  const auto record = readTable("proc_address_record.tsv", 0);
  if (record.empty()) GTEST_SKIP() << "no record of a vendor's driver";
  FILE* ours = popen("VERDIGRIS_DRIVER_VERSION=13.0 " RECORDER " " LIBCUDA " " ABI_DATA "/driver_symbols.txt", "r");
  ASSERT_NE(ours, nullptr);
  size_t i = 0;
  char line[512];
  while (fgets(line, sizeof line, ours)) {
    std::string expected;
    if (i < record.size())
      for (const std::string& cell : record[i]) expected += (expected.empty() ? "" : "\t") + cell;
    EXPECT_EQ(std::string(line), expected + "\n") << "line " << i + 1;
    ++i;
  }
  EXPECT_EQ(pclose(ours), 0);
  EXPECT_EQ(i, record.size());
}

}  // namespace
