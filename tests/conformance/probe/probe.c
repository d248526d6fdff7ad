// probe LIBRARY [group ...]: asks a driver library the questions that the manual leaves open and prints its answers.
#include "probe.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void* library;
const char* group = "";
CUdevice device;
CUcontext context;
static const char* libraryPath;

void* symbol(const char* name) {
  void* address = dlsym(library, name);
  if (!address) {
    printf("%s\t%s\tno such symbol\n", group, name);
    fflush(stdout);
    _exit(0);
  }
  return address;
}

const char* resultName(CUresult result) {
  static char unnamed[32];
  const char* name = NULL;
  CUresult (*getName)(CUresult, const char**) = (CUresult(*)(CUresult, const char**))dlsym(library, "cuGetErrorName");
  if (getName && getName(result, &name) == CUDA_SUCCESS && name) return strncmp(name, "CUDA_", 5) ? name : name + 5;
  snprintf(unnamed, sizeof unnamed, "%d", (int)result);
  return unnamed;
}

void fact(const char* name, const char* format, ...) {
  va_list args;
  va_start(args, format);
  printf("%s\t%s\t", group, name);
  vprintf(format, args);
  printf("\n");
  fflush(stdout);
  va_end(args);
}

void start(void) {
  CUresult result = D(cuInit)(0);
  if (!result) result = D(cuDeviceGet)(&device, 0);
  if (!result) result = D(cuCtxCreate_v2)(&context, 0, device);
  if (result) {
    RESULT("start", result);
    _exit(0);
  }
}

static const char kPtx[] =
    ".version 6.5\n.target sm_50\n.address_size 64\n"
    ".visible .entry nop() { ret; }\n"
    ".visible .entry spin(.param .u64 ns) {\n"
    "  .reg .u64 %t<4>; .reg .pred %p;\n"
    "  ld.param.u64 %t2, [ns]; mov.u64 %t0, %globaltimer;\n"
    "again: mov.u64 %t1, %globaltimer; sub.u64 %t3, %t1, %t0; setp.lt.u64 %p, %t3, %t2; @%p bra again;\n  ret; }\n"
    ".visible .entry store(.param .u64 where, .param .u32 what) {\n"
    "  .reg .u64 %a; .reg .u32 %v;\n"
    "  ld.param.u64 %a, [where]; ld.param.u32 %v, [what]; st.global.u32 [%a], %v; ret; }\n"
    ".visible .entry load(.param .u64 from, .param .u64 to) {\n"
    "  .reg .u64 %a<2>; .reg .u32 %v;\n"
    "  ld.param.u64 %a0, [from]; ld.param.u64 %a1, [to]; ld.global.u32 %v, [%a0]; st.global.u32 [%a1], %v; ret; }\n"
    ".visible .entry stop() { trap; }\n"
    ".visible .entry divide(.param .u64 to, .param .u32 by) {\n"
    "  .reg .u64 %a; .reg .u32 %v<5>;\n"
    "  ld.param.u64 %a, [to]; ld.param.u32 %v0, [by]; mov.u32 %v1, 7; div.u32 %v2, %v1, %v0; rem.u32 %v3, %v1, %v0;\n"
    "  st.global.u32 [%a], %v2; st.global.u32 [%a+4], %v3; div.s32 %v4, %v1, %v0; st.global.u32 [%a+8], %v4; ret; }\n"
    ".visible .entry shared() { .shared .align 4 .b8 room[1024]; .reg .u32 %v; mov.u32 %v, 1; st.shared.u32 [room], "
    "%v; ret; }\n"
    ".visible .entry limited() .maxntid 64, 1, 1 { ret; }\n"
    ".visible .entry required() .reqntid 32, 1, 1 { ret; }\n"
    ".visible .global .align 4 .u32 counter = 42;\n"
    ".visible .const .align 4 .u32 constant[4] = {1, 2, 3, 4};\n";

CUfunction kernel(const char* name) {
  static CUmodule module;
  static CUcontext owner;
  CUcontext current = NULL;
  CUfunction function = NULL;
  D(cuCtxGetCurrent)(&current);
  if (!module || owner != current) {
    CUresult result = D(cuModuleLoadData)(&module, kPtx);
    if (result) RESULT("load of the probe's kernels", result);
    owner = current;
  }
  CUresult result = D(cuModuleGetFunction)(&function, module, name);
  if (result) RESULT(name, result);
  return function;
}

void launch(CUfunction function, CUstream stream, void** arguments) {
  CUresult result = D(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
  if (result) RESULT("launch", result);
}

void busy(CUstream stream, int milliseconds) {
  uint64_t nanoseconds = (uint64_t)milliseconds * 1000000;
  void* arguments[] = {&nanoseconds};
  launch(kernel("spin"), stream, arguments);
}

double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

const char* waited(double started, int milliseconds) {
  return (now() - started) * 1000 > milliseconds / 2.0 ? "waits" : "returns at once";
}

static void runGroup(const Group* g) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    group = g->name;
    alarm(60);
    library = dlopen(libraryPath, RTLD_NOW);
    if (!library) {
      fact("open", "%s", dlerror());
      _exit(0);
    }
    g->run();
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) printf("%s\tended by signal\t%s\n", g->name, strsignal(WTERMSIG(status)));
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s LIBRARY [group ...]\n", argv[0]);
    return 2;
  }
  libraryPath = argv[1];
  static const Group* const tables[] = {
#define TABLE(name) name,
#include "tables.inc"
#undef TABLE
  };
  for (size_t t = 0; t < sizeof tables / sizeof *tables; ++t)
    for (const Group* g = tables[t]; g->name; ++g) {
      bool wanted = argc == 2;
      for (int i = 2; i < argc; ++i) wanted = wanted || strncmp(g->name, argv[i], strlen(argv[i])) == 0;
      if (wanted) runGroup(g);
    }
  return 0;
}
