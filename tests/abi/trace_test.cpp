// The call trace: one decoded line a call, where VERDIGRIS_TRACE says. The traced program is a process of its own.
#include <unistd.h>

#include <cstdio>
#include <regex>

#include "library.h"

namespace {

std::string outputOf(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

void expectTraced(const std::string& trace) {
  const char* const lines[] = {
      R"(\[\d+\] cuInit\(Flags=0\) = CUDA_SUCCESS \d+\.\d us\n)",
      R"(cuDriverGetVersion\(driverVersion=0x[0-9a-f]+ -> 13050\) = CUDA_SUCCESS)",
      R"(cuGetErrorName\(error=CUDA_ERROR_OUT_OF_MEMORY, pStr=0x[0-9a-f]+ -> "CUDA_ERROR_OUT_OF_MEMORY"\) = CUDA_SUCCESS)",
      R"(cuDeviceGetAttribute\(pi=\(nil\), attrib=CU_DEVICE_ATTRIBUTE_WARP_SIZE, dev=0\) = CUDA_ERROR_)",
      // A pointer to nowhere prints as an address and is not followed.
      R"(cuGetProcAddress_v2\(symbol="cuInit", pfn=0x[0-9a-f]+ -> 0x[0-9a-f]+, cudaVersion=13000, flags=0, )",
      R"(cuModuleLoad\(module=0x10, fname="no \\"such\\" file\\n"\) = CUDA_ERROR_)",
  };
  for (const char* line : lines) EXPECT_TRUE(std::regex_search(trace, std::regex(line))) << line << "\nin\n" << trace;
}

TEST(Trace, GoesToStderr) { expectTraced(outputOf("VERDIGRIS_TRACE=1 VERDIGRIS_LOG=off " TRACE_SUBJECT " 2>&1")); }

TEST(Trace, GoesToAFile) {
  const std::string file = testing::TempDir() + "trace-" + std::to_string(getpid());
  EXPECT_EQ(outputOf("VERDIGRIS_TRACE=" + file + " VERDIGRIS_LOG=off " TRACE_SUBJECT " 2>&1"), "");
  expectTraced(outputOf("cat " + file));
  unlink(file.c_str());
}

TEST(Trace, IsOffUnlessAskedFor) {
  EXPECT_EQ(outputOf("env -u VERDIGRIS_TRACE VERDIGRIS_LOG=off " TRACE_SUBJECT " 2>&1"), "");
}

TEST(Trace, FileThatCannotBeWrittenIsReportedAndStderrUsed) {
  const std::string text = outputOf("VERDIGRIS_TRACE=/no/such/folder/file VERDIGRIS_LOG=warn " TRACE_SUBJECT " 2>&1");
  EXPECT_NE(text.find("cannot write /no/such/folder/file"), std::string::npos) << text;
  expectTraced(text);
}

}  // namespace
