// Device and host memory, streams, capture: what is left of questions 14 to 84 and 208 to 215.
#include "questions.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool holds(CUdeviceptr p, unsigned char value, size_t bytes) {
  unsigned char back[4096];
  D(cuMemcpyDtoH_v2)(back, p, bytes);
  for (size_t i = 0; i < bytes; ++i)
    if (back[i] != value) return false;
  return true;
}

static void pastTheEnd(void) {
  start();
  CUdeviceptr p = deviceBytes(4096);
  char* m = calloc(1, 8 << 20);
  D(cuMemsetD8_v2)(p, 9, 4096);
  RESULT("Q14: copy past the end", D(cuMemcpyHtoD_v2)(p, m, 8 << 20));
  fact("Q14: anything written", "%s", YES(!holds(p, 9, 4096)));
  RESULT("Q75: memset past the end", D(cuMemsetD8_v2)(p, 1, 8 << 20));
  fact("Q75: anything written", "%s", YES(!holds(p, 9, 4096)));
  RESULT("Q14: cuCtxSynchronize afterwards", D(cuCtxSynchronize)());
}

static void hostBlocks(void) {
  start();
  uintptr_t p[64], all = 0, least = UINTPTR_MAX;
  for (int i = 0; i < 64; ++i) {
    D(cuMemHostAlloc)((void**)&p[i], 1, 0);
    all |= p[i];
  }
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 64; ++j)
      if (p[i] > p[j] && p[i] - p[j] < least) least = p[i] - p[j];
  fact("Q51: alignment of 1-byte pinned allocations", "%llu", (unsigned long long)(all & -all));
  fact("Q51: smallest spacing", "%llu", (unsigned long long)least);
  void* large;
  D(cuMemHostAlloc)(&large, 4 << 20, 0);
  fact("Q51: 4 MiB is aligned to 2 MiB", "%s", YES((uintptr_t)large % (2 << 20) == 0));
}

static const char* content(const unsigned char* m, size_t n) {
  size_t zero = 0, filled = 0;
  for (size_t i = 0; i < n; ++i) {
    zero += m[i] == 0;
    filled += m[i] == 0x5a;
  }
  return zero == n ? "zero" : filled == n ? "what was there" : "mixed";
}

// What a block holds when it is first had, and again after it was filled and freed.
static void reuse(size_t bytes) {
  char name[96];
  unsigned char* m = malloc(bytes);
  for (int i = 0; i < 2; ++i) {
    CUdeviceptr p = deviceBytes(bytes);
    D(cuMemcpyDtoH_v2)(m, p, bytes);
    snprintf(name, sizeof name, "Q53: %zu device bytes, %s", bytes, i ? "reused" : "first");
    fact(name, "%s", content(m, bytes));
    D(cuMemsetD8_v2)(p, 0x5a, bytes);
    D(cuMemFree_v2)(p);
  }
  for (int i = 0; i < 2; ++i) {
    void* h;
    D(cuMemHostAlloc)(&h, bytes, 0);
    snprintf(name, sizeof name, "Q52: %zu pinned bytes, %s", bytes, i ? "reused" : "first");
    fact(name, "%s", content(h, bytes));
    memset(h, 0x5a, bytes);
    D(cuMemFreeHost)(h);
  }
  free(m);
}

static void contents(void) {
  start();
  reuse(65536);
  reuse(16 << 20);
}

static void afterDestroy(void) {
  start();
  void *plain, *portable;
  CUdeviceptr v;
  char* m = hostPages(1);
  D(cuMemHostAlloc)(&plain, 4096, 0);
  D(cuMemHostAlloc)(&portable, 4096, CU_MEMHOSTALLOC_PORTABLE);
  D(cuMemAllocManaged)(&v, 4096, CU_MEM_ATTACH_GLOBAL);
  D(cuMemHostRegister_v2)(m, 4096, 0);
  fact("Q56: CPU can read pinned memory before", "%s", YES(readable(plain)));
  RESULT("Q56: cuCtxDestroy", D(cuCtxDestroy_v2)(context));
  fact("Q213: CPU can read pinned memory after", "%s", YES(readable(plain)));
  fact("Q56: CPU can read portable memory after", "%s", YES(readable(portable)));
  fact("Q56: CPU can read managed memory after", "%s", YES(readable(host(v))));
  fact("Q56: CPU can read registered memory after", "%s", YES(readable(m)));
  D(cuCtxCreate_v2)(&context, 0, device);
  unsigned type = 0;
  RESULT("Q56: memory type of the portable pointer in a new context",
         D(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at(portable)));
  RESULT("Q57: cuMemFree of managed memory of a destroyed context", D(cuMemFree_v2)(v));
}

static void newContext(void) {
  start();
  void* h;
  CUcontext other;
  D(cuMemHostAlloc)(&h, 4096, 0);
  memset(h, 3, 4096);
  D(cuCtxCreate_v2)(&other, 0, device);
  CUdeviceptr p = deviceBytes(4096);
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  RESULT("Q212: copy of earlier pinned memory in a newer context", D(cuMemcpyHtoDAsync_v2)(p, h, 4096, s));
  RESULT("Q212: its stream", D(cuStreamSynchronize)(s));
  fact("Q212: arrived", "%s", YES(holds(p, 3, 4096)));
}

static const char* overlapResult(const unsigned char* now_, const unsigned char* before, size_t to, size_t from,
                                 size_t n) {
  unsigned char forward[1 << 16];
  if (!memcmp(now_ + to, before + from, n)) return "like memmove";
  memcpy(forward, before, sizeof forward);
  for (size_t i = 0; i < n; ++i) forward[to + i] = forward[from + i];
  return !memcmp(now_, forward, sizeof forward) ? "like a forward copy" : "otherwise";
}

static void overlaps(void) {
  start();
  enum { kBytes = 1 << 16 };
  static unsigned char pattern[kBytes], back[kBytes];
  for (int i = 0; i < kBytes; ++i) pattern[i] = (unsigned char)(i * 7 + i / 256);
  CUdeviceptr p = deviceBytes(kBytes);
  void* h;
  D(cuMemHostAlloc)(&h, kBytes, 0);
  const struct {
    const char* name;
    CUdeviceptr memory;
    size_t to, from, n;
  } cases[] = {{"device, up by 1", p, 1, 0, 32768},          {"device, up by 256", p, 256, 0, 32768},
               {"device, down by 1", p, 0, 1, 32768},        {"device, up by 16384", p, 16384, 0, 32768},
               {"pinned, up by 1", at(h), 1, 0, 32768},      {"pinned, down by 1", at(h), 0, 1, 32768},
               {"pageable, up by 1", at(back), 1, 0, 32768}, {"pageable, down by 1", at(back), 0, 1, 32768}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    D(cuMemcpy)(cases[i].memory, at(pattern), kBytes);
    D(cuCtxSynchronize)();
    CUresult r = D(cuMemcpy)(cases[i].memory + cases[i].to, cases[i].memory + cases[i].from, cases[i].n);
    D(cuCtxSynchronize)();
    static unsigned char after[kBytes];
    D(cuMemcpy)(at(after), cases[i].memory, kBytes);
    char name[96];
    snprintf(name, sizeof name, "Q71: cuMemcpy within %s", cases[i].name);
    fact(name, "%s, %s", resultName(r), overlapResult(after, pattern, cases[i].to, cases[i].from, cases[i].n));
  }
}

static void destroyedStreamFill(void) {
  start();
  CUdeviceptr p = deviceBytes(4096);
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  D(cuStreamDestroy_v2)(s);
  RESULT("Q81: memset on a destroyed stream", D(cuMemsetD8Async)(p, 0, 4, s));
}

static void errorsTogether(void) {
  start();
  CUdeviceptr p = deviceBytes(8 << 20);
  char* m = hostPages(2);
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  D(cuMemFree_v2)(p);
  D(cuMemHostRegister_v2)(m, 4096, 0);
  RESULT("Q214: registered, unknown flag", D(cuMemHostRegister_v2)(m, 4096, 0x80));
  RESULT("Q214: NULL, unknown flag", D(cuMemHostRegister_v2)(NULL, 4096, 0x80));
  RESULT("Q214: registered, size 0", D(cuMemHostRegister_v2)(m, 0, 0));
  RESULT("Q215: freed destination, NULL source", D(cuMemcpyHtoDAsync_v2)(p, NULL, 4, s));
  RESULT("Q215: NULL both, 0 bytes", D(cuMemcpyHtoDAsync_v2)(0, NULL, 0, s));
}

static void errorsTogetherStream(void) {
  start();
  RESULT("Q215: garbage stream, NULL both, 4 bytes", D(cuMemcpyHtoDAsync_v2)(0, NULL, 4, (CUstream)0x1234));
}

static void errorsTogetherNothing(void) {
  start();
  RESULT("Q215: garbage stream, 0 bytes", D(cuMemcpyHtoDAsync_v2)(0, NULL, 0, (CUstream)0x1234));
}

static void partPages(void) {
  start();
  char* m = hostPages(3);
  CUdeviceptr d, p = deviceBytes(4096);
  RESULT("Q41: register 1000 bytes from 100", D(cuMemHostRegister_v2)(m + 100, 1000, 0));
  RESULT("Q41: device pointer of its start", D(cuMemHostGetDevicePointer_v2)(&d, m + 100, 0));
  RESULT("Q41: device pointer of its page", D(cuMemHostGetDevicePointer_v2)(&d, m, 0));
  RESULT("Q41: device pointer of its last byte", D(cuMemHostGetDevicePointer_v2)(&d, m + 1099, 0));
  RESULT("Q41: device pointer one past it", D(cuMemHostGetDevicePointer_v2)(&d, m + 1100, 0));
  RESULT("Q41: copy from the device view", D(cuMemcpyDtoD_v2)(p, at(m + 100), 1000));
  CUdeviceptr base = 0;
  size_t size = 0;
  D(cuMemGetAddressRange_v2)(&base, &size, at(m + 200));
  fact("Q41: its range", "%lld %zu", (long long)(base - at(m)), size);
  void* arguments[] = {&(CUdeviceptr){at(m) + 2048}, &p};
  launch(kernel("load"), 0, arguments);
  RESULT("Q41: kernel reads the rest of the page", D(cuCtxSynchronize)());
}

static void mappings(void) {
  start();
  char path[] = "/tmp/verdigris-probe-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0 || ftruncate(fd, 16384)) return;
  unlink(path);
  char* shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  char* private_ = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  char* untouched = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* readOnly = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
  char* none = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  RESULT("Q211: shared file mapping", D(cuMemHostRegister_v2)(shared, 8192, 0));
  RESULT("Q211: private file mapping", D(cuMemHostRegister_v2)(private_, 8192, 0));
  RESULT("Q211: private memory never touched", D(cuMemHostRegister_v2)(untouched, 8192, 0));
  RESULT("Q207: read-only shared file mapping", D(cuMemHostRegister_v2)(readOnly, 8192, 0));
  RESULT("Q207: read-only shared file mapping with READ_ONLY",
         D(cuMemHostRegister_v2)(readOnly, 8192, CU_MEMHOSTREGISTER_READ_ONLY));
  RESULT("Q207: inaccessible mapping with READ_ONLY",
         D(cuMemHostRegister_v2)(none, 8192, CU_MEMHOSTREGISTER_READ_ONLY));
}

static void changedMappings(void) {
  start();
  char* m = hostPages(2);
  CUdeviceptr p = deviceBytes(8192);
  RESULT("Q210: register", D(cuMemHostRegister_v2)(m, 8192, 0));
  pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  RESULT("Q210: copy to it after fork", D(cuMemcpyDtoH_v2)(m, p, 4));
  RESULT("Q210: unregister after fork", D(cuMemHostUnregister)(m));
  char* gone = hostPages(2);
  D(cuMemHostRegister_v2)(gone, 8192, 0);
  munmap(gone, 8192);
  char* again = mmap(gone, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  RESULT("Q210: register anew where registered memory was unmapped", D(cuMemHostRegister_v2)(again, 8192, 0));
}

static void protectedMapping(void) {
  start();
  char* m = hostPages(512);
  CUdeviceptr p = deviceBytes(2 << 20);
  D(cuMemHostRegister_v2)(m, 2 << 20, 0);
  mprotect(m, 2 << 20, PROT_READ);
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  RESULT("Q210: asynchronous copy to registered memory made read-only", D(cuMemcpyDtoHAsync_v2)(m, p, 2 << 20, s));
  RESULT("Q210: its stream", D(cuStreamSynchronize)(s));
  RESULT("Q210: cuMemcpyDtoH of 4 bytes to it", D(cuMemcpyDtoH_v2)(m, p, 4));
}

static void readOnlyStore(void) {
  start();
  char* m = hostPages(1);
  CUdeviceptr d = 0;
  unsigned value = 7;
  RESULT("Q208: register",
         D(cuMemHostRegister_v2)(m, 4096, CU_MEMHOSTREGISTER_READ_ONLY | CU_MEMHOSTREGISTER_DEVICEMAP));
  RESULT("Q208: device pointer", D(cuMemHostGetDevicePointer_v2)(&d, m, 0));
  void* reads[] = {&d, &(CUdeviceptr){deviceBytes(64)}};
  launch(kernel("load"), 0, reads);
  RESULT("Q208: kernel loads from it", D(cuCtxSynchronize)());
  RESULT("Q208: cuMemcpyDtoH to it", D(cuMemcpyDtoH_v2)(m, *(CUdeviceptr*)reads[1], 4));
  RESULT("Q208: cuMemsetD8 of it", D(cuMemsetD8_v2)(d, 1, 4));
  RESULT("Q208: its context", D(cuCtxSynchronize)());
  void* stores[] = {&d, &value};
  launch(kernel("store"), 0, stores);
  RESULT("Q208: kernel stores to it", D(cuCtxSynchronize)());
  fact("Q208: value", "%s", *(unsigned*)m == 7 ? "stored" : "not stored");
}

static void lockedLimit(void) {
  start();
  struct rlimit small = {65536, 65536};
  fact("Q209: setrlimit", "%s", setrlimit(RLIMIT_MEMLOCK, &small) ? "refused" : "done");
  void* h;
  RESULT("Q209: cuMemHostAlloc 16 MiB", D(cuMemHostAlloc)(&h, 16 << 20, 0));
  RESULT("Q209: cuMemHostRegister 16 MiB", D(cuMemHostRegister_v2)(hostPages(4096), 16 << 20, 0));
}

const Group kQuestionMemoryGroups[] = {{"questions.memory.past-the-end", pastTheEnd},
                                       {"questions.memory.host-blocks", hostBlocks},
                                       {"questions.memory.contents", contents},
                                       {"questions.memory.after-destroy", afterDestroy},
                                       {"questions.memory.new-context", newContext},
                                       {"questions.memory.overlaps", overlaps},
                                       {"questions.memory.destroyed-stream-fill", destroyedStreamFill},
                                       {"questions.memory.errors-combined", errorsTogether},
                                       {"questions.memory.errors-together-stream", errorsTogetherStream},
                                       {"questions.memory.errors-together-nothing", errorsTogetherNothing},
                                       {"questions.memory.part-pages", partPages},
                                       {"questions.memory.mappings", mappings},
                                       {"questions.memory.changed-mappings", changedMappings},
                                       {"questions.protected-mapping", protectedMapping},
                                       {"questions.memory.read-only-store", readOnlyStore},
                                       {"questions.memory.locked-limit", lockedLimit},
                                       {NULL, NULL}};
