// Host memory that is not there, or not writable, when a copy gets to it: a group a question, since each may end the
// process. And what is left to know of page-locked memory: alignments, flags, calls after a fault.
#define _GNU_SOURCE
#include "questions.h"

#include <sys/mman.h>
#include <unistd.h>

enum { kSmall = 8192, kLarge = 16 << 20 };

static void copyTo(char* m, size_t bytes, bool async) {
  CUdeviceptr p = deviceBytes(bytes);
  RESULT("copy to it", async ? D(cuMemcpyDtoHAsync_v2)(m, p, bytes, 0) : D(cuMemcpyDtoH_v2)(m, p, bytes));
  RESULT("synchronise", D(cuCtxSynchronize)());
}

static void copyFrom(const char* m, size_t bytes, bool async) {
  CUdeviceptr p = deviceBytes(bytes);
  RESULT("copy from it", async ? D(cuMemcpyHtoDAsync_v2)(p, m, bytes, 0) : D(cuMemcpyHtoD_v2)(p, m, bytes));
  RESULT("synchronise", D(cuCtxSynchronize)());
}

// `bytes` of memory of which the last page is gone.
static char* cut(size_t bytes) {
  char* m = hostPages(bytes / 4096);
  munmap(m + bytes - 4096, 4096);
  return m;
}

static char* readOnly(size_t bytes) {
  char* m = hostPages(bytes / 4096);
  mprotect(m, bytes, PROT_READ);
  return m;
}

// A file mapping that reaches past the end of its file.
static char* shortFile(void) {
  int file = memfd_create("probe", MFD_CLOEXEC);
  if (ftruncate(file, 4096)) return NULL;
  return mmap(NULL, kSmall, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}

static void fromSmall(void) { start(), copyFrom(cut(kSmall), kSmall, false); }
static void fromLarge(void) { start(), copyFrom(cut(kLarge), kLarge, false); }
static void fromSmallAsync(void) { start(), copyFrom(cut(kSmall), kSmall, true); }
static void fromLargeAsync(void) { start(), copyFrom(cut(kLarge), kLarge, true); }
static void toSmall(void) { start(), copyTo(cut(kSmall), kSmall, false); }
static void toLarge(void) { start(), copyTo(cut(kLarge), kLarge, false); }
static void toReadOnlySmall(void) { start(), copyTo(readOnly(kSmall), kSmall, false); }
static void toReadOnlyLarge(void) { start(), copyTo(readOnly(kLarge), kLarge, false); }
static void toReadOnlyAsync(void) { start(), copyTo(readOnly(kLarge), kLarge, true); }
static void fromShortFile(void) { start(), copyFrom(shortFile(), kSmall, false); }
static void toShortFile(void) { start(), copyTo(shortFile(), kSmall, false); }

static char* goneRegistered(size_t bytes) {
  char* m = hostPages(bytes / 4096);
  D(cuMemHostRegister_v2)(m, bytes, 0);
  // Whatever addresses and threads the library needs for a copy it has before the range becomes free.
  D(cuMemcpyDtoH_v2)(m, deviceBytes(bytes), bytes);
  D(cuMemcpyDtoHAsync_v2)(m, deviceBytes(bytes), bytes, 0);
  D(cuCtxSynchronize)();
  munmap(m, bytes);
  return m;
}

static void registeredFrom(void) { start(), copyFrom(goneRegistered(kSmall), kSmall, false); }
static void registeredTo(void) { start(), copyTo(goneRegistered(kSmall), kSmall, false); }
static void registeredAsync(void) { start(), copyTo(goneRegistered(kLarge), kLarge, true); }
static void registeredFill(void) {
  start();
  RESULT("fill", D(cuMemsetD8_v2)(at(goneRegistered(kSmall)), 1, 64));
  RESULT("synchronise", D(cuCtxSynchronize)());
}

static void protectedStore(void) {
  start();
  char* m = hostPages(1);
  D(cuMemHostRegister_v2)(m, 4096, 0);
  mprotect(m, 4096, PROT_READ);
  void* arguments[] = {&(CUdeviceptr){at(m)}, &(unsigned){7}};
  launch(kernel("store"), 0, arguments);
  RESULT("kernel stores to registered memory made read-only", D(cuCtxSynchronize)());
  fact("value", "%s", *(unsigned*)m == 7 ? "stored" : "not stored");
}

static void alignments(void) {
  start();
  char name[64];
  for (size_t bytes = 512; bytes <= 8 << 20; bytes *= 2) {
    CUdeviceptr all = 0;
    for (int i = 0; i < 4; ++i) {
      void* h = NULL;
      D(cuMemHostAlloc)(&h, bytes, 0);
      all |= at(h);
    }
    snprintf(name, sizeof name, "alignment of %zu bytes is 4096 or more", bytes);
    fact(name, "%s", YES(!(all & 4095)));
  }
}

static void flagBits(void) {
  start();
  char name[64];
  for (int bit = 3; bit < 32; ++bit) {
    void* h = NULL;
    snprintf(name, sizeof name, "cuMemHostAlloc bit %d", bit);
    RESULT(name, D(cuMemHostAlloc)(&h, 64, 1u << bit));
    snprintf(name, sizeof name, "cuMemHostRegister bit %d", bit);
    if (bit > 3) RESULT(name, D(cuMemHostRegister_v2)(hostPages(1), 4096, 1u << bit));
  }
}

static void afterFault(void) {
  start();
  char* m = hostPages(2);
  void* h;
  unsigned flags;
  CUdeviceptr p;
  D(cuMemHostAlloc)(&h, 64, 0);
  D(cuMemHostRegister_v2)(m, 4096, 0);
  void* arguments[] = {&(CUdeviceptr){0}, &(unsigned){7}};
  launch(kernel("store"), 0, arguments);
  RESULT("synchronise", D(cuCtxSynchronize)());
  RESULT("cuMemAllocHost", D(cuMemAllocHost_v2)(&h, 64));
  RESULT("cuMemHostGetDevicePointer", D(cuMemHostGetDevicePointer_v2)(&p, h, 0));
  RESULT("cuMemHostGetFlags", D(cuMemHostGetFlags)(&flags, h));
  RESULT("cuMemHostRegister", D(cuMemHostRegister_v2)(m + 4096, 4096, 0));
  RESULT("cuMemHostUnregister", D(cuMemHostUnregister)(m));
}

const Group kVanishingGroups[] = {{"vanishing.from-small", fromSmall},
                                  {"vanishing.from-large", fromLarge},
                                  {"vanishing.from-small-async", fromSmallAsync},
                                  {"vanishing.from-large-async", fromLargeAsync},
                                  {"vanishing.to-small", toSmall},
                                  {"vanishing.to-large", toLarge},
                                  {"vanishing.to-read-only-small", toReadOnlySmall},
                                  {"vanishing.to-read-only-large", toReadOnlyLarge},
                                  {"vanishing.to-read-only-async", toReadOnlyAsync},
                                  {"vanishing.from-short-file", fromShortFile},
                                  {"vanishing.to-short-file", toShortFile},
                                  {"vanishing.registered-from", registeredFrom},
                                  {"vanishing.registered-to", registeredTo},
                                  {"vanishing.registered-async", registeredAsync},
                                  {"vanishing.registered-fill", registeredFill},
                                  {"vanishing.protected-store", protectedStore},
                                  {"vanishing.alignments", alignments},
                                  {"vanishing.flag-bits", flagBits},
                                  {"vanishing.after-fault", afterFault},
                                  {NULL, NULL}};
