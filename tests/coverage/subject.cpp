// A program of the driver's API for the tests of coverage: kernels of written PTX, run in several ways.
//
//     coverage_subject run           once
//     coverage_subject threads       from four threads with streams of their own, 100 times each
//     coverage_subject child         by itself, and by a child process
//     coverage_subject kill          once, and then it kills itself
//     coverage_subject wait          once, says "ready", and again when something comes in
//     coverage_subject plain         a kernel whose text has no line information
//     coverage_subject fault         a kernel that ends in a fault after some lanes went their way
#include <cuda.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: %d\n", what, static_cast<int>(result));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

// 64 threads in two blocks: 10 of them, of the first block, are below the limit.
const char kBody[] = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .entry kernel(.param .u64 cell)
{
  .reg .u64 %p;
  .reg .u32 %t<8>;
  .reg .pred %q<3>;
LOC1  ld.param.u64 %p, [cell];
  mov.u32 %t1, %tid.x;
  mov.u32 %t2, %ctaid.x;
  mad.lo.u32 %t1, %t2, 32, %t1;
LOC2  setp.lt.u32 %q1, %t1, 10;
  @%q1 bra LOW;
LOC3  atom.global.add.u32 %t3, [%p], 1;
  bra END;
LOW:
LOC4  atom.global.add.u32 %t3, [%p], 2;
END:
LOC5  setp.eq.u32 %q2, %t1, 99;
  @%q2 st.global.u32 [%p], %t1;
  ret;
}
.visible .entry other(.param .u64 cell)
{
LOC6  ret;
}
)";

// The text with or without directives of lines 1 to 6 of a file.
std::string text(const char* file) {
  std::string out = kBody;
  for (int n = 1; n <= 6; ++n) {
    const std::string mark = "LOC" + std::to_string(n) + "  ";
    out.replace(out.find(mark), mark.size(), file ? ".loc 1 " + std::to_string(n) + " 3\n\t" : "\t");
  }
  return file ? out + ".file 1 \"" + file + "\"\n" : out;
}

struct Kernel {
  CUcontext context = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr cell = 0;

  explicit Kernel(const char* file) {
    CHECK(cuInit(0));
    CUdevice device;
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CUmodule module;
    CHECK(cuModuleLoadData(&module, text(file).c_str()));
    CHECK(cuModuleGetFunction(&function, module, "kernel"));
    CHECK(cuMemAlloc(&cell, 256));
    CHECK(cuMemsetD32(cell, 0, 64));
  }

  void launch(CUstream stream = nullptr) {
    void* parameters[] = {&cell};
    CHECK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
  }
  void run() {
    launch();
    CHECK(cuCtxSynchronize());
  }
};

void runThreads(Kernel& kernel) {
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&kernel] {
      CHECK(cuCtxSetCurrent(kernel.context));
      CUstream stream;
      CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
      for (int round = 0; round < 100; ++round) kernel.launch(stream);
      CHECK(cuStreamSynchronize(stream));
    });
  for (std::thread& thread : threads) thread.join();
}

int runChild(const char* program) {
  const pid_t child = fork();
  if (!child) {
    execl(program, program, "run", nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "run";
  int status = how == "child" ? runChild(argv[0]) : 0;
  Kernel kernel(how == "plain" ? nullptr : "/nowhere/lines.cu");
  if (how == "fault") kernel.cell = 16;
  if (how == "fault") {
    kernel.launch();
    return cuCtxSynchronize() == CUDA_SUCCESS;
  }
  how == "threads" ? runThreads(kernel) : kernel.run();
  if (how == "kill") raise(SIGKILL);
  if (how == "wait") {
    std::puts("ready");
    std::fflush(stdout);
    std::getchar();
    kernel.run();
  }
  return status;
}
