// Page-locked memory in detail: registering every kind of host memory, every flag, limits, attributes that can be set.
#define _GNU_SOURCE
#include "pool_probe.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static CUresult pin(void* p, size_t n, unsigned flags) { return D(cuMemHostRegister_v2)(p, n, flags); }
static CUresult unpin(void* p) { return D(cuMemHostUnregister)(p); }
static char* map(size_t bytes, int protection, int flags, int fd) {
  return mmap(NULL, bytes, protection, flags, fd, 0);
}
static char* pages(size_t count) {
  char* p = map(count * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  memset(p, 1, count * 4096);
  return p;
}

// Registers, copies to and from a device, ends it.
static void kind(const char* name, void* p, size_t n, unsigned flags) {
  CUdeviceptr d;
  if (p == MAP_FAILED) {
    fact(name, "no such memory here");
    return;
  }
  D(cuMemAlloc_v2)(&d, n);
  CUresult made = pin(p, n, flags), in = 0, out = 0, ended = 0;
  if (!made) {
    in = D(cuMemcpyHtoD_v2)(d, p, n);
    out = flags & CU_MEMHOSTREGISTER_READ_ONLY ? 0 : D(cuMemcpyDtoH_v2)(p, d, n);
    ended = unpin(p);
  }
  fact(name, "%s %s %s %s", resultName(made), resultName(in), resultName(out), resultName(ended));
  D(cuMemFree_v2)(d);
}

static char global[8192] __attribute__((aligned(4096))) = {1};
static const char constant[8192] __attribute__((aligned(4096))) = {1};

static void kinds(void) {
  start();
  const int rw = PROT_READ | PROT_WRITE;
  char path[] = "/tmp/probe-XXXXXX";
  int fd = mkstemp(path);
  unlink(path);
  if (ftruncate(fd, 65536)) return;
  int memory = memfd_create("probe", MFD_CLOEXEC);
  if (ftruncate(memory, 65536)) return;
  kind("private file mapping", map(8192, rw, MAP_PRIVATE, fd), 8192, 0);
  kind("shared file mapping", map(8192, rw, MAP_SHARED, fd), 8192, 0);
  kind("read-only private file mapping", map(8192, PROT_READ, MAP_PRIVATE, fd), 8192, 0);
  kind("read-only private file mapping, READ_ONLY", map(8192, PROT_READ, MAP_PRIVATE, fd), 8192, 8);
  kind("read-only shared file mapping", map(8192, PROT_READ, MAP_SHARED, fd), 8192, 0);
  kind("read-only shared file mapping, READ_ONLY", map(8192, PROT_READ, MAP_SHARED, fd), 8192, 8);
  kind("memfd", map(8192, rw, MAP_SHARED, memory), 8192, 0);
  kind("mapping beyond the file's end", map(131072, rw, MAP_SHARED, fd), 131072, 0);
  kind("shared anonymous", map(8192, rw, MAP_SHARED | MAP_ANONYMOUS, -1), 8192, 0);
  kind("huge pages", map(2 << 20, rw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1), 2 << 20, 0);
  kind("PROT_NONE", map(8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1), 8192, 0);
  kind("PROT_NONE, READ_ONLY", map(8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1), 8192, 8);
  kind("untouched", map(8192, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1), 8192, 0);
  kind("write-only", map(8192, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1), 8192, 0);
  kind("executable", map(8192, rw | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1), 8192, 0);
  kind("global variable", global, 8192, 0);
  kind("constant", (void*)constant, 8192, 0);
  kind("constant, READ_ONLY", (void*)constant, 8192, 8);
  kind("/dev/zero", map(8192, rw, MAP_PRIVATE, open("/dev/zero", O_RDWR)), 8192, 0);
  kind("heap", malloc(100000), 100000, 0);
  kind("one byte", pages(1) + 77, 1, 0);
  kind("kernel addresses", (void*)0xffff800000000000ull, 4096, 0);
  kind("the last page", (void*)0xfffffffffffff000ull, 4096, 0);
  kind("wraps around", (void*)0xfffffffffffff000ull, 8192, 0);
  char* half = pages(4);
  mprotect(half + 8192, 8192, PROT_READ);
  kind("half read-only", half, 16384, 0);
  kind("half read-only, READ_ONLY", half, 16384, 8);
  kind("vast", pages(1), (size_t)1 << 46, 0);
}

static void flags(void) {
  start();
  char name[64];
  for (unsigned f = 0; f < 32; ++f) {
    char* p = pages(2);
    unsigned got = 99;
    CUresult made = pin(p, 8192, f), asked = CUDA_SUCCESS;
    CUdeviceptr d = 0;
    if (!made) asked = D(cuMemHostGetFlags)(&got, p);
    CUresult mapped = made ? made : D(cuMemHostGetDevicePointer_v2)(&d, p + 100, 0);
    snprintf(name, sizeof name, "cuMemHostRegister flags %u", f);
    fact(name, "%s, flags %s %u, device pointer %s %s", resultName(made), resultName(asked), got, resultName(mapped),
         d == (CUdeviceptr)(uintptr_t)(p + 100) ? "same" : "other");
  }
  char* p = pages(4);
  pin(p, 8192, 0);
  RESULT("registered and unknown flag", pin(p, 8192, 0x80));
  RESULT("registered and IOMEMORY", pin(p, 8192, CU_MEMHOSTREGISTER_IOMEMORY));
  RESULT("registered and size 0", pin(p, 0, 0));
  RESULT("NULL and unknown flag", pin(NULL, 4096, 0x80));
  RESULT("unregister without a context", (D(cuCtxSetCurrent)(NULL), unpin(p)));
  RESULT("register without a context", pin(p, 8192, 0));
  D(cuCtxSetCurrent)(context);
  CUcontext other;
  pin(p + 8192, 8192, 0);
  D(cuCtxCreate_v2)(&other, 0, device);
  RESULT("register in another context", pin(p + 8192, 8192, 0));
  RESULT("unregister in another context", unpin(p + 8192));
  D(cuCtxSetCurrent)(context);
  CUdeviceptr d;
  void* h;
  D(cuMemAlloc_v2)(&d, 4096);
  D(cuMemHostAlloc)(&h, 4096, 0);
  RESULT("device memory", pin((void*)(uintptr_t)d, 4096, 0));
  RESULT("unregister device memory", unpin((void*)(uintptr_t)d));
  RESULT("inside cuMemHostAlloc memory", pin((char*)h + 100, 100, 0));
  for (unsigned f = 0; f < 64; f = f ? f * 2 : 1) {
    CUresult made = D(cuMemHostAlloc)(&h, 4096, f);
    unsigned got = 99;
    if (!made) D(cuMemHostGetFlags)(&got, h);
    snprintf(name, sizeof name, "cuMemHostAlloc flags %u", f);
    fact(name, "%s %u", resultName(made), got);
  }
  RESULT("cuMemHostAlloc zero bytes and unknown flag", D(cuMemHostAlloc)(&h, 0, 0x80));
  RESULT("cuMemHostAlloc NULL and zero bytes", D(cuMemHostAlloc)(NULL, 0, 0));
  RESULT("cuMemAllocHost NULL", D(cuMemAllocHost_v2)(NULL, 64));
  RESULT("cuMemHostGetFlags NULL output", D(cuMemHostGetFlags)(NULL, h));
  unsigned got = 99;
  RESULT("cuMemHostGetFlags NULL", D(cuMemHostGetFlags)(&got, NULL));
  RESULT("cuMemHostGetFlags device memory", D(cuMemHostGetFlags)(&got, (void*)(uintptr_t)d));
  h = NULL;
  CUdeviceptr low = 0;
  for (int i = 0; i < 8; ++i) D(cuMemHostAlloc)(&h, 1, 0), low |= (CUdeviceptr)(uintptr_t)h;
  fact("alignment of cuMemHostAlloc memory", "%llu", (unsigned long long)(low & -low));
  D(cuMemHostAlloc)(&h, 1 << 20, 0);
  bool zero = true;
  for (int i = 0; i < 1 << 20; ++i) zero = zero && !((char*)h)[i];
  fact("fresh cuMemHostAlloc memory is zero", "%s", YES(zero));
}

static void limits(void) {
  start();
  const struct rlimit low = {64 << 10, 64 << 10};
  if (setrlimit(RLIMIT_MEMLOCK, &low)) return;
  void* h;
  RESULT("RLIMIT_MEMLOCK 64 KiB: cuMemHostAlloc 16 MiB", D(cuMemHostAlloc)(&h, 16 << 20, 0));
  char* m = pages(4096);
  RESULT("RLIMIT_MEMLOCK 64 KiB: cuMemHostRegister 16 MiB", pin(m, 16 << 20, 0));
  if (setgid(65534) || setuid(65534)) return;
  RESULT("unprivileged: cuMemHostAlloc 16 MiB", D(cuMemHostAlloc)(&h, 16 << 20, 0));
  m = pages(4096);
  RESULT("unprivileged: cuMemHostRegister 16 MiB", pin(m, 16 << 20, 0));
  RESULT("unprivileged: IOMEMORY", pin(pages(1), 4096, CU_MEMHOSTREGISTER_IOMEMORY));
}

static void addresses(void) {
  start();
  void* h;
  struct rlimit now_ = {0, 0};
  getrlimit(RLIMIT_NOFILE, &now_);
  now_.rlim_cur = 3;
  setrlimit(RLIMIT_NOFILE, &now_);
  CUdeviceptr d, v;
  RESULT("no descriptors: cuMemHostAlloc", D(cuMemHostAlloc)(&h, 1 << 20, 0));
  RESULT("no descriptors: cuMemAlloc", D(cuMemAlloc_v2)(&d, 64 << 20));
  RESULT("no descriptors: cuMemAllocManaged", D(cuMemAllocManaged)(&v, 1 << 20, 1));
  RESULT("no descriptors: cuMemHostRegister", pin(pages(2), 8192, 0));
}

static void readOnly(void) {
  start();
  char* a = map(4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  RESULT("register", pin(a, 4096, CU_MEMHOSTREGISTER_READ_ONLY | CU_MEMHOSTREGISTER_DEVICEMAP));
  CUdeviceptr d = 0;
  RESULT("device pointer", D(cuMemHostGetDevicePointer_v2)(&d, a, 0));
  pointerFacts("read-only", d);
  RESULT("memset", D(cuMemsetD8_v2)(d, 1, 4));
  RESULT("synchronise", D(cuCtxSynchronize)());
  unsigned what = 1;
  void* arguments[] = {&d, &what};
  launch(kernel("store"), 0, arguments);
  RESULT("kernel store", D(cuCtxSynchronize)());
}

static void afterContext(void) {
  start();
  void* h;
  D(cuMemHostAlloc)(&h, 4096, 0);
  CUcontext other;
  D(cuCtxCreate_v2)(&other, 0, device);
  CUdeviceptr p;
  D(cuMemAlloc_v2)(&p, 4096);
  RESULT("copy in a later context", D(cuMemcpyHtoDAsync_v2)(p, h, 4096, 0));
  RESULT("synchronise", D(cuCtxSynchronize)());
  D(cuCtxDestroy_v2)(other);
  D(cuCtxDestroy_v2)(context);
  *(volatile char*)h = 1;
  fact("host writes after its context ended", "%d", *(volatile char*)h);
}

static void forked(void) {
  start();
  char* m = pages(2);
  void* h;
  D(cuMemHostAlloc)(&h, 4096, 0);
  ((char*)h)[0] = 5;
  pin(m, 8192, 0);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    fact("a child reads registered memory", "%d", m[0]);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  RESULT("unregister after fork", unpin(m));
  pin(m, 8192, 0);
  mprotect(m, 8192, PROT_READ);
  RESULT("unregister after mprotect", unpin(m));
  child = fork();
  if (child == 0) {
    fact("a child reads cuMemHostAlloc memory", "%d", ((volatile char*)h)[0]);
    _exit(0);
  }
  waitpid(child, &status, 0);
  fact("the child", "%s", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "ends well");
}

static void setting(void) {
  start();
  CUdeviceptr d, v, a;
  void* h;
  char name[64];
  char* r = pages(2);
  D(cuMemAlloc_v2)(&d, 4096);
  D(cuMemAllocManaged)(&v, 4096, 1);
  D(cuMemAllocAsync)(&a, 4096, 0);
  D(cuMemHostAlloc)(&h, 4096, 0);
  pin(r, 8192, 0);
  const CUdeviceptr at[] = {
      d, v, a, (CUdeviceptr)(uintptr_t)h, (CUdeviceptr)(uintptr_t)r, (CUdeviceptr)(uintptr_t)malloc(64), 0};
  const char* const what[] = {"device", "managed", "async", "pinned", "registered", "malloc", "zero"};
  for (int i = 0; i < 7; ++i) {
    unsigned on = 1, off = 0, got = 99;
    snprintf(name, sizeof name, "%s: set SYNC_MEMOPS", what[i]);
    RESULT(name, D(cuPointerSetAttribute)(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at[i]));
    D(cuPointerGetAttribute)(&got, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at[i]);
    fact("then", "%u", got);
    snprintf(name, sizeof name, "%s: clear SYNC_MEMOPS", what[i]);
    RESULT(name, D(cuPointerSetAttribute)(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at[i]));
    D(cuPointerGetAttribute)(&got, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at[i]);
    fact("then", "%u", got);
    snprintf(name, sizeof name, "%s: P2P tokens", what[i]);
    CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
    RESULT(name, D(cuPointerGetAttribute)(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, at[i]));
  }
  unsigned value = 1;
  for (int a2 = 1; a2 <= 22; ++a2) {
    if (a2 == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) continue;
    snprintf(name, sizeof name, "set attribute %d", a2);
    uint64_t word[8] = {0};
    RESULT(name, D(cuPointerSetAttribute)(word, (CUpointer_attribute)a2, d));
  }
  RESULT("interior", D(cuPointerSetAttribute)(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d + 8));
  value = 7;
  RESULT("value 7", D(cuPointerSetAttribute)(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d));
  RESULT("NULL", D(cuPointerSetAttribute)(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d));
  CUpointer_attribute list[2] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  unsigned type = 99, managed = 99;
  void* data[2] = {&type, NULL};
  RESULT("list with a NULL", D(cuPointerGetAttributes)(2, list, data, d));
  data[1] = &managed;
  RESULT("list NULL", D(cuPointerGetAttributes)(2, NULL, data, d));
  RESULT("data NULL", D(cuPointerGetAttributes)(2, list, NULL, d));
  list[1] = (CUpointer_attribute)99;
  RESULT("list with an unknown one", D(cuPointerGetAttributes)(2, list, data, d));
  list[1] = CU_POINTER_ATTRIBUTE_P2P_TOKENS;
  CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
  data[1] = &tokens;
  RESULT("list with tokens", D(cuPointerGetAttributes)(2, list, data, d));
}

const Group kPinnedGroups[] = {
    {"pinned.kinds", kinds},         {"pinned.flags", flags},        {"pinned.limits", limits},
    {"pinned.addresses", addresses}, {"pinned.read-only", readOnly}, {"pinned.after-context", afterContext},
    {"pinned.forked", forked},       {"pinned.setting", setting},    {NULL, NULL}};
