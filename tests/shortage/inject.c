// Preloaded: refuses the n-th call of a function of the C library, once or from then on, while the program has armed
// it.
//
//   SHORTAGE_OF=malloc|mmap|memfd|thread|write|mprotect|open|ioctl|status   what is refused (also several)
//   SHORTAGE_AT=N      which call, from 1; 0: none
//   SHORTAGE_LASTS=1   all later ones, too
//   SHORTAGE_STACK=N   KiB that threads have which asked for a large stack: those that compile
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(default)

enum What {
  kMalloc = 1,
  kMmap = 2,
  kMemfd = 4,
  kThread = 8,
  kWrite = 16,
  kMprotect = 32,
  kOpen = 64,
  kIoctl = 128,
  kStatus = 256
};

static atomic_int armed;
static atomic_long calls;
static int what, lasts;
static long at, stackKept;
static __thread int paused __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void readSettings(void) {
  static const char* const kNames[] = {"malloc",   "mmap", "memfd", "thread", "write",
                                       "mprotect", "open", "ioctl", "status"};
  const char* const of = getenv("SHORTAGE_OF");
  for (int i = 0; of && i < 9; ++i)
    if (strstr(of, kNames[i])) what |= 1 << i;
  const char* const number = getenv("SHORTAGE_AT");
  at = number ? atol(number) : 0;
  lasts = getenv("SHORTAGE_LASTS") != NULL;
  const char* const stack = getenv("SHORTAGE_STACK");
  stackKept = stack ? atol(stack) * 1024 : 0;
}

// For the program.
void shortageArm(int on) { atomic_store(&armed, on); }
long shortageCalls(void) { return atomic_load(&calls); }
// What this thread does until then is not the library's doing.
void shortagePause(int by) { paused += by; }

// Where a debugger may stop.
__attribute__((noinline)) void shortageRefused(void) { __asm__ volatile(""); }

static int refused(enum What kind) {
  if (!(what & kind) || !atomic_load_explicit(&armed, memory_order_relaxed) || paused) return 0;
  const long now = atomic_fetch_add(&calls, 1) + 1;
  const int refuse = at && (now == at || (lasts && now > at));
  if (refuse) shortageRefused();
  return refuse;
}

// For a program that answers calls of the system itself: whether this one is refused.
int shortageRefuses(int kind) { return refused((enum What)kind); }

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

static void* noMemory(void) {
  errno = ENOMEM;
  return NULL;
}
void* malloc(size_t n) { return refused(kMalloc) ? noMemory() : __libc_malloc(n); }
void* calloc(size_t n, size_t each) { return refused(kMalloc) ? noMemory() : __libc_calloc(n, each); }
void* realloc(void* p, size_t n) { return refused(kMalloc) ? noMemory() : __libc_realloc(p, n); }
void* aligned_alloc(size_t alignment, size_t n) {
  return refused(kMalloc) ? noMemory() : __libc_memalign(alignment, n);
}
int posix_memalign(void** out, size_t alignment, size_t n) {
  if (refused(kMalloc)) return ENOMEM;
  void* const made = __libc_memalign(alignment, n);
  if (made) *out = made;
  return made ? 0 : ENOMEM;
}

#define NEXT(name)               \
  static __typeof__(name)* next; \
  if (!next) next = (__typeof__(name)*)dlsym(RTLD_NEXT, #name)
#define FAIL(code, value) \
  do {                    \
    errno = code;         \
    return value;         \
  } while (0)

void* mmap(void* where, size_t n, int protection, int flags, int file, off_t offset) {
  NEXT(mmap);
  if (refused(kMmap)) FAIL(ENOMEM, MAP_FAILED);
  return next(where, n, protection, flags, file, offset);
}
void* mmap64(void* where, size_t n, int protection, int flags, int file, off64_t offset) {
  NEXT(mmap64);
  if (refused(kMmap)) FAIL(ENOMEM, MAP_FAILED);
  return next(where, n, protection, flags, file, offset);
}
int memfd_create(const char* name, unsigned flags) {
  NEXT(memfd_create);
  if (refused(kMemfd)) FAIL(EMFILE, -1);
  return next(name, flags);
}
// What a thread does that one which was paused has started is not the library's doing either.
struct Start {
  void* (*main)(void*);
  void* argument;
};
static void* startPaused(void* given) {
  const struct Start start = *(struct Start*)given;
  __libc_free(given);
  paused = 1;
  return start.main(start.argument);
}
// What lies further down faults, as the end of a stack does.
static void* startOnLittle(void* made) {
  const struct Start start = *(struct Start*)made;
  __libc_free(made);
  pthread_attr_t attributes;
  void* lowest;
  size_t size;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  const size_t left = (size_t)((char*)__builtin_frame_address(0) - (char*)lowest);
  const size_t taken = (left - (size_t)stackKept) & ~(size_t)4095;
  syscall(SYS_mprotect, lowest, taken, PROT_NONE);
  void* const result = start.main(start.argument);
  syscall(SYS_mprotect, lowest, taken, PROT_READ | PROT_WRITE);
  return result;
}
static int asksForMuch(const pthread_attr_t* attributes) {
  size_t size = 0;
  return attributes && !pthread_attr_getstacksize(attributes, &size) && size > (size_t)32 << 20;
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*main)(void*), void* argument) {
  NEXT(pthread_create);
  if (refused(kThread)) return EAGAIN;
  const int little = stackKept && asksForMuch(attributes);
  if (!paused && !little) return next(thread, attributes, main, argument);
  struct Start* const start = __libc_malloc(sizeof *start);
  start->main = main, start->argument = argument;
  return next(thread, attributes, little ? startOnLittle : startPaused, start);
}
ssize_t write(int file, const void* bytes, size_t n) {
  NEXT(write);
  if (file > 2 && refused(kWrite)) FAIL(ENOSPC, -1);
  return next(file, bytes, n);
}
ssize_t pwrite(int file, const void* bytes, size_t n, off_t offset) {
  NEXT(pwrite);
  if (refused(kWrite)) FAIL(ENOSPC, -1);
  return next(file, bytes, n, offset);
}
int mprotect(void* where, size_t n, int protection) {
  NEXT(mprotect);
  if (refused(kMprotect)) FAIL(ENOMEM, -1);
  return next(where, n, protection);
}

static mode_t modeOf(int flags, va_list more) { return flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0; }
#define OPEN(name, parameters, ...)          \
  int name parameters {                      \
    NEXT(name);                              \
    if (refused(kOpen)) FAIL(EMFILE, -1);    \
    va_list more;                            \
    va_start(more, flags);                   \
    const mode_t mode = modeOf(flags, more); \
    va_end(more);                            \
    return next(__VA_ARGS__, flags, mode);   \
  }
OPEN(open, (const char* path, int flags, ...), path)
OPEN(open64, (const char* path, int flags, ...), path)
OPEN(openat, (int folder, const char* path, int flags, ...), folder, path)
OPEN(openat64, (int folder, const char* path, int flags, ...), folder, path)
