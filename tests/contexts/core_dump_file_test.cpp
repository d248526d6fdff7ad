// The core dumps that faulting kernels leave behind. When there is one, what it is called and whether the process goes
// on is recorded from driver 580.159.04 on an H200. One process each.
#include <cuda.h>
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstring>
#include <string>

#include "check.h"
#include "dump_reader.h"
#include "in_process.h"

namespace {

constexpr char kText[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry wild(.param .u64 out, .param .u64 bad, .param .u32 thread) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<9>;
  .reg .pred %p<3>;
  .shared .align 4 .b32 tile[64];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  ld.param.u64 %rd1, [bad];
  ld.param.u32 %r3, [thread];
  mov.u32 %r4, tile;
  shl.b32 %r5, %r1, 2;
  add.u32 %r4, %r4, %r5;
  st.shared.u32 [%r4], %r1;
  bar.sync 0;
  setp.eq.u32 %p1, %r1, %r3;
  setp.eq.and.u32 %p1, %r2, 2, %p1;
  @%p1 st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry trapped() { trap; ret; }
.visible .entry endless(.param .u64 out, .param .u64 bad, .param .u32 thread) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [thread];
  st.global.u32 [%rd1], %r1;
L:
  mul.lo.u32 %r1, %r1, 5;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra L;
  st.global.u32 [%rd1+4], %r1;
  ret;
}
.visible .entry stuck() {
  bar.sync 1, 256;
  ret;
}
)";
constexpr uint32_t kStoreLine = 20, kLoopLine = 32, kBarrierLine = 39, kThread = 37, kWord = 0x12345678;

// A folder of its own for each test, the working directory of its processes.
class CoreDumps : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/core-dumps-XXXXXX";
    ASSERT_TRUE(mkdtemp(name));
    folder = name;
  }
  void TearDown() override {
    for (const std::string& file : files()) unlink((folder + "/" + file).c_str());
    rmdir(folder.c_str());
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    DIR* const open = opendir(folder.c_str());
    while (const dirent* entry = open ? readdir(open) : nullptr)
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    if (open) closedir(open);
    return names;
  }
  // Whether there is a dump, to its end.
  bool complete() const {
    for (const std::string& file : files())
      if (file.rfind("core_", 0) == 0 && DumpReader(folder + "/" + file).find(".cudbg.meta")) return true;
    return false;
  }
  // 0, or the negative number of the signal that ended it.
  template <class Work>
  int run(const Settings& settings, Work work) {
    return inProcess(settings, [&] {
      ASSERT_EQ(chdir(folder.c_str()), 0);
      work();
    });
  }
  std::string folder;
};

void setFlags(unsigned flags) {
  size_t size = sizeof flags;
  OK(cuCoredumpSetAttribute(CU_COREDUMP_GENERATION_FLAGS, &flags, &size));
}
void begin(unsigned contextFlags) {
  CUcontext context = nullptr;
  OK(cuInit(0));
  OK(cuCtxCreate(&context, nullptr, contextFlags, 0));
}
CUdeviceptr filled(size_t bytes) {
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc(&memory, bytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32(memory, kWord, 16), CUDA_SUCCESS);
  return memory;
}
// Five blocks of 48 x 2 threads, of which two store to an address that is not there.
CUresult fault(CUdeviceptr memory, const char* name = "wild") {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, kText), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
  CUdeviceptr bad = 0x10;
  uint32_t thread = kThread;
  void* arguments[] = {&memory, &bad, &thread};
  EXPECT_EQ(cuLaunchKernel(function, 5, 1, 1, 48, 2, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
  return cuCtxSynchronize();
}

TEST_F(CoreDumps, AFaultWritesOneAndEndsTheProcess) {
  const int ended = run({}, [] {
    begin(CU_CTX_COREDUMP_ENABLE);
    fault(filled(4096));
  });
  EXPECT_EQ(ended, -SIGABRT);
  ASSERT_EQ(files().size(), 1u);
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string name = files()[0];
  EXPECT_EQ(name.rfind("core_", 0), 0u) << name;
  EXPECT_NE(name.find(std::string("_") + host + "_"), std::string::npos) << name;
  EXPECT_EQ(name.substr(name.size() - 8), ".nvcudmp");
  EXPECT_TRUE(DumpReader(folder + "/" + name).find(".cudbg.devtbl"));
}

TEST_F(CoreDumps, TheProcessGoesOnWhenItsFlagsSaySo) {
  const int ended = run({}, [] {
    begin(CU_CTX_COREDUMP_ENABLE);
    setFlags(CU_COREDUMP_SKIP_ABORT);
    EXPECT_EQ(fault(filled(4096)), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(CoreDumps, ThereIsNoneWhereNobodyWantsOneOrTheContextBeganWithoutThem) {
  for (const bool late : {false, true})
    EXPECT_EQ(run({},
                  [&] {
                    begin(0);
                    bool enabled = true;
                    size_t size = 1;
                    if (late) {
                      OK(cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &enabled, &size));
                    }
                    EXPECT_EQ(fault(filled(4096)), CUDA_ERROR_ILLEGAL_ADDRESS);
                  }),
              0);
  EXPECT_TRUE(files().empty());
}

TEST_F(CoreDumps, TheEnvironmentNamesIt) {
  const int ended = run({{"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"},
                         {"CUDA_COREDUMP_FILE", "named.%p"},
                         {"CUDA_COREDUMP_GENERATION_FLAGS", "skip_abort,skip_global_memory"}},
                        [] {
                          begin(0);
                          EXPECT_EQ(fault(filled(4096), "trapped"), CUDA_ERROR_LAUNCH_FAILED);
                        });
  EXPECT_EQ(ended, 0);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(files()[0].rfind("named.", 0), 0u);
  const DumpReader dump(folder + "/" + files()[0]);
  EXPECT_FALSE(dump.findLike(".cudbg.global"));
  EXPECT_TRUE(dump.findLike(".cudbg.gridtbl"));
}

// Lines of the PTX that the threads of a warp stand at, by its row in the dump.
std::vector<uint64_t> linesOf(const DumpReader& dump, size_t warp) {
  std::vector<uint64_t> lines;
  for (const DumpReader::Section& section : dump.sections())
    if (section.name.rfind(".cudbg.lntbl", 0) == 0 && section.header.sh_info == warp)
      for (size_t lane = 0; lane < dump.rows(section); ++lane)
        lines.push_back(dump.value<uint64_t>(section, 8, lane) / 16);
  return lines;
}

// What a lane of the first warp has in a register, by the words before it.
uint32_t registerOf(const DumpReader& dump, uint32_t lane, size_t word) {
  const std::string ending = ".wp0.ln" + std::to_string(lane);
  for (const DumpReader::Section& section : dump.sections())
    if (section.name.rfind(".cudbg.regs", 0) == 0 && section.name.size() > ending.size() &&
        section.name.substr(section.name.size() - ending.size()) == ending)
      return dump.value<uint32_t>(section, 0, word);
  ADD_FAILURE() << "no registers of lane " << lane;
  return 0;
}

class StoppedKernels : public CoreDumps, public testing::WithParamInterface<bool> {
 protected:
  void stop(const char* kernel) {
    const int ended = run({{"VERDIGRIS_KERNELS", GetParam() ? "interpret" : "compile"},
                           {"VERDIGRIS_LAUNCH_TIMEOUT", "0.3"},
                           {"CUDA_COREDUMP_FILE", "stopped"}},
                          [&] {
                            begin(CU_CTX_COREDUMP_ENABLE);
                            setFlags(CU_COREDUMP_SKIP_ABORT);
                            EXPECT_EQ(fault(filled(4096), kernel), CUDA_ERROR_LAUNCH_TIMEOUT);
                          });
    EXPECT_EQ(ended, 0);
  }
};

TEST_P(StoppedKernels, LeaveOneThatTellsWhereAWarpWas) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer delays signals";
#endif
  stop("endless");
  const DumpReader dump(folder + "/stopped");
  const DumpReader::Section* const warps = dump.findLike(".cudbg.wptbl");
  ASSERT_TRUE(warps);
  ASSERT_EQ(dump.rows(*warps), 1u);
  EXPECT_EQ(dump.value<uint32_t>(*warps, 24), 0u);  // no instruction is to blame
  const std::vector<uint64_t> lines = linesOf(dump, 0);
  ASSERT_EQ(lines.size(), 32u);
  // Of compiled code, the last one before it that may fault.
  for (const uint64_t line : lines) {
    EXPECT_GE(line, GetParam() ? kLoopLine : kLoopLine - 2);
    EXPECT_LT(line, kLoopLine + 3);
  }
  const DumpReader::Section* const threads = dump.findLike(".cudbg.lntbl");
  for (size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(dump.value<uint32_t>(*threads, 32, lane), 0u);
}

TEST_P(StoppedKernels, LeaveOneThatTellsOfTheWarpsAtABarrier) {
  stop("stuck");
  const DumpReader dump(folder + "/stopped");
  const DumpReader::Section* const warps = dump.findLike(".cudbg.wptbl");
  ASSERT_TRUE(warps);
  ASSERT_EQ(dump.rows(*warps), 3u);
  for (uint32_t warp = 0; warp < 3; ++warp) {
    EXPECT_EQ(dump.value<uint32_t>(*warps, 8, warp), warp);
    EXPECT_EQ(linesOf(dump, warp), std::vector<uint64_t>(32, kBarrierLine));
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, StoppedKernels, testing::Bool(),
                         [](const auto& info) { return info.param ? "Interpreted" : "Compiled"; });

// The access does not happen and the kernel runs to its end; only then the process may end.
TEST_F(CoreDumps, CheckedModeWritesOneOfItsFirstFault) {
  for (const bool abort : {false, true}) {
    const int ended =
        run({{"VERDIGRIS_CHECK", "memory"}, {"VERDIGRIS_LOG_FILE", "log"}, {"CUDA_COREDUMP_FILE", "checked"}}, [&] {
          begin(CU_CTX_COREDUMP_ENABLE);
          if (!abort) setFlags(CU_COREDUMP_SKIP_ABORT);
          EXPECT_EQ(fault(filled(4096)), CUDA_ERROR_ILLEGAL_ADDRESS);
        });
    EXPECT_EQ(ended, abort ? -SIGABRT : 0);
    const DumpReader dump(folder + "/checked");
    const DumpReader::Section* const warps = dump.findLike(".cudbg.wptbl");
    ASSERT_TRUE(warps);
    const uint32_t warp = dump.value<uint32_t>(*warps, 8);
    EXPECT_EQ(warp, kThread / 32);
    EXPECT_EQ(linesOf(dump, 0)[kThread % 32], kStoreLine);
    const DumpReader::Section* const threads = dump.findLike(".cudbg.lntbl");
    for (uint32_t lane = 0; lane < 32; ++lane)
      EXPECT_EQ(dump.value<uint32_t>(*threads, 32, lane), lane == kThread % 32 ? 14u : 0u) << lane;
    unlink((folder + "/checked").c_str());
  }
}

TEST_F(CoreDumps, WhatCannotBeWrittenIsLeft) {
  const int ended = run({}, [] {
    begin(CU_CTX_COREDUMP_ENABLE);
    setFlags(CU_COREDUMP_SKIP_ABORT);
    char name[] = "no/such/folder";
    size_t size = sizeof name;
    OK(cuCoredumpSetAttribute(CU_COREDUMP_FILE, name, &size));
    EXPECT_EQ(fault(filled(4096)), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
  EXPECT_EQ(ended, 0);
  EXPECT_TRUE(files().empty());
}

TEST_F(CoreDumps, WhoWritesToThePipeGetsOne) {
  for (const bool abort : {false, true}) {
    const int ended = run({}, [&] {
      begin(CU_CTX_USER_COREDUMP_ENABLE);
      if (!abort) setFlags(CU_COREDUMP_SKIP_ABORT);
      const CUdeviceptr memory = filled(4096);
      OK(cuCtxSynchronize());
      char name[1024] = {}, host[256] = {};
      size_t size = sizeof name;
      OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_PIPE, name, &size));
      gethostname(host, sizeof host - 1);
      EXPECT_EQ(name, std::string("corepipe_") + host + "_" + std::to_string(getpid()));
      struct stat facts;
      ASSERT_EQ(stat(name, &facts), 0);
      EXPECT_EQ(facts.st_mode & (S_IFMT | 0777), unsigned{S_IFIFO | 0640});
      const int pipe = open(name, O_WRONLY | O_NONBLOCK);
      ASSERT_GE(pipe, 0);
      EXPECT_EQ(write(pipe, "1", 1), 1);
      for (int i = 0; i < 500 && (abort || !complete()); ++i) usleep(10000);
      unlink(name);
      EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
    });
    EXPECT_EQ(ended, abort ? -SIGABRT : 0);
    ASSERT_EQ(files().size(), 1u);
    const std::string path = folder + "/" + files()[0];
    const DumpReader dump(path);
    EXPECT_TRUE(dump.find(".cudbg.ctxtbl.dev0"));
    EXPECT_TRUE(dump.findLike(".cudbg.global"));
    unlink(path.c_str());
  }
}

// What the dump tells, of compiled code as of the interpreter.
class CoreDumpContents : public CoreDumps, public testing::WithParamInterface<bool> {};

TEST_P(CoreDumpContents, TellOfTheGridTheFaultAndTheMemory) {
  const bool interpreted = GetParam();
  uint64_t memory[2] = {};
  int up[2];
  ASSERT_EQ(pipe(up), 0);
  const int ended = run({{"VERDIGRIS_KERNELS", interpreted ? "interpret" : "compile"}}, [&] {
    begin(CU_CTX_COREDUMP_ENABLE);
    setFlags(CU_COREDUMP_SKIP_ABORT);
    const CUdeviceptr made[2] = {filled(4096), filled(size_t{256} << 20)};  // nearly all of the latter is untouched
    EXPECT_EQ(write(up[1], made, sizeof made), static_cast<ssize_t>(sizeof made));
    EXPECT_EQ(fault(made[0]), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(read(up[0], memory, sizeof memory), static_cast<ssize_t>(sizeof memory));
  close(up[0]);
  close(up[1]);
  ASSERT_EQ(files().size(), 1u);
  const std::string path = folder + "/" + files()[0];
  struct stat facts;
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_GT(facts.st_size, off_t{256} << 20);
  EXPECT_LT(facts.st_blocks * 512, off_t{16} << 20);
  const DumpReader dump(path);

  EXPECT_EQ(dump.head().e_machine, 190);  // EM_CUDA
  EXPECT_EQ(dump.head().e_type, ET_CORE);
  EXPECT_EQ(dump.head().e_ident[EI_OSABI], 0x33);
  const DumpReader::Section* const devices = dump.find(".cudbg.devtbl");
  ASSERT_TRUE(devices);
  EXPECT_NE(dump.text(dump.value<uint64_t>(*devices, 0)), "");
  EXPECT_EQ(dump.text(dump.value<uint64_t>(*devices, 16)).rfind("sm_", 0), 0u);
  EXPECT_EQ(dump.value<uint32_t>(*devices, 44), 32u);  // lanes

  const DumpReader::Section* const grids = dump.find(".cudbg.gridtbl.dev0");
  ASSERT_TRUE(grids);
  const uint32_t expected[] = {5, 1, 1, 48, 2, 1};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(dump.value<uint32_t>(*grids, 72 + 4 * i), expected[i]) << i;
  const DumpReader::Section* const parameters = dump.find(".cudbg.param.dev0.grid0");
  ASSERT_TRUE(parameters);
  EXPECT_EQ(dump.value<uint64_t>(*parameters, 0), memory[0]);
  EXPECT_EQ(dump.value<uint64_t>(*parameters, 8), 0x10u);
  EXPECT_EQ(dump.value<uint32_t>(*parameters, 16), kThread);

  const DumpReader::Section* const blocks = dump.findLike(".cudbg.ctatbl");
  ASSERT_TRUE(blocks);
  EXPECT_EQ(dump.value<uint32_t>(*blocks, 8), 2u);  // of five
  const DumpReader::Section* const warps = dump.findLike(".cudbg.wptbl");
  ASSERT_TRUE(warps);
  const uint32_t warp = dump.value<uint32_t>(*warps, 8);
  EXPECT_TRUE(warp == 1 || warp == 2) << warp;  // threads 37 and 85
  EXPECT_EQ(dump.value<uint32_t>(*warps, 12), ~0u);
  EXPECT_EQ(dump.value<uint32_t>(*warps, 24), 1u);  // the place is known
  const uint64_t place = dump.value<uint64_t>(*warps, 0);
  const DumpReader::Section* const threads = dump.findLike(".cudbg.lntbl");
  ASSERT_TRUE(threads);
  ASSERT_EQ(dump.rows(*threads), 32u);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t linear = warp * 32 + lane;
    EXPECT_EQ(dump.value<uint64_t>(*threads, 0, lane), place);
    EXPECT_EQ(dump.value<uint64_t>(*threads, 8, lane), kStoreLine * 16);
    EXPECT_EQ(dump.value<uint32_t>(*threads, 16, lane), lane);
    EXPECT_EQ(dump.value<uint32_t>(*threads, 20, lane), linear % 48);
    EXPECT_EQ(dump.value<uint32_t>(*threads, 24, lane), linear / 48);
    EXPECT_EQ(dump.value<uint32_t>(*threads, 32, lane), linear % 48 == kThread ? 14u : 0u) << lane;
    EXPECT_TRUE(
        dump.find(".cudbg.regs" + threads->name.substr(std::strlen(".cudbg.lntbl")) + ".ln" + std::to_string(lane)));
  }
  // %r1, %r2, %rd1 and %r3, as the text names them first.
  const uint32_t first = warp * 32 % 48;
  const uint32_t known[] = {first, 2, 0x10, 0, kThread};
  for (size_t word = 0; word < 5; ++word) EXPECT_EQ(registerOf(dump, 0, word), known[word]) << word;
  EXPECT_EQ(registerOf(dump, 5, 0), first + 5);
  const DumpReader::Section* const shared = dump.findLike(".cudbg.shared");
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->header.sh_size, 256u);
  for (uint32_t i = 0; i < 48; ++i) EXPECT_EQ(dump.value<uint32_t>(*shared, 4 * i), i);
  for (const uint64_t address : memory) {
    EXPECT_EQ(dump.wordAt(address), kWord);
    EXPECT_EQ(dump.wordAt(address + 60), kWord);
    EXPECT_EQ(dump.wordAt(address + 64), 0u);
  }
  const DumpReader::Section* const image = dump.find(".cudbg.relfimg.dev0.ctx0");
  ASSERT_TRUE(image);
  EXPECT_EQ(std::memcmp(dump.data(*image), ELFMAG, SELFMAG), 0);
}

// Then code keeps none, and runs as fast as any.
TEST_F(CoreDumps, HaveNoRegistersOfCompiledKernelsWhereTheSettingSaysSo) {
  const int ended = run({{"VERDIGRIS_DUMP_REGISTERS", "0"}, {"CUDA_COREDUMP_FILE", "without"}}, [] {
    begin(CU_CTX_COREDUMP_ENABLE);
    setFlags(CU_COREDUMP_SKIP_ABORT);
    EXPECT_EQ(fault(filled(4096)), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
  EXPECT_EQ(ended, 0);
  const DumpReader dump(folder + "/without");
  for (size_t word = 0; word < 5; ++word) EXPECT_EQ(registerOf(dump, 5, word), 0u) << word;
}

INSTANTIATE_TEST_SUITE_P(Ways, CoreDumpContents, testing::Bool(),
                         [](const auto& info) { return info.param ? "Interpreted" : "Compiled"; });

}  // namespace
