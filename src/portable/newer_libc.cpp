// What compilers and static libraries take from glibc and glibc 2.28 does not have yet, in terms of what it has. Linked
// into every product as hidden symbols, so that none of them asks for a newer glibc: cmake/portable.cmake.
//
// A function is here when a link of a product misses it. All are thread-safe where glibc's are.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "portable/newer_libc.h"

#define VG_STAND_IN [[gnu::visibility("hidden"), gnu::used]]

// Headers declare some of these with attributes of their own; the stand-ins have the plain prototypes.
#pragma GCC diagnostic ignored "-Wattributes"
#pragma GCC diagnostic ignored "-Wredundant-decls"

// NOLINTBEGIN(bugprone-reserved-identifier): names of the C library
extern "C" {

// 2.32. False is always right: atomic operations that could be plain ones.
VG_STAND_IN char __libc_single_threaded = 0;

// 2.33; before, headers made them calls of these.
int __xstat(int version, const char* path, struct stat* to);
int __lxstat(int version, const char* path, struct stat* to);
int __fxstat(int version, int file, struct stat* to);
int __fxstatat(int version, int folder, const char* path, struct stat* to, int flags);

// By their symbols, since newer headers give these names to newer functions.
long oldStrtol(const char* text, char** end, int base) asm("strtol");
unsigned long oldStrtoul(const char* text, char** end, int base) asm("strtoul");
long long oldStrtoll(const char* text, char** end, int base) asm("strtoll");
unsigned long long oldStrtoull(const char* text, char** end, int base) asm("strtoull");
int oldVsscanf(const char* text, const char* format, va_list arguments) asm("__isoc99_vsscanf");
int oldVfscanf(FILE* file, const char* format, va_list arguments) asm("__isoc99_vfscanf");
}

namespace {

constexpr int kStatVersion = 1;  // of struct stat on x86-64, the only one there

using ClockWait = int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);

// The C library's own, where it is new enough; `dlsym` finds no hidden symbol.
ClockWait* ownClockWait() {
  static std::atomic<ClockWait*> found{nullptr};
  static std::atomic<bool> looked{false};
  if (!looked.load(std::memory_order_acquire)) {
    found.store(reinterpret_cast<ClockWait*>(dlsym(RTLD_DEFAULT, "pthread_cond_clockwait")));
    looked.store(true, std::memory_order_release);
  }
  return found.load(std::memory_order_relaxed);
}

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return nanoseconds(time);
}

// The unwinding table of the loaded object that holds an address.
struct Search {
  uintptr_t address;
  dl_find_object* to;
  bool found = false;
};

bool holds(const dl_phdr_info& object, const Search& search, dl_find_object& to) {
  bool inside = false;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    const uintptr_t at = object.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) to.dlfo_eh_frame = reinterpret_cast<void*>(at);
    if (part.p_type != PT_LOAD) continue;
    inside |= search.address - at < part.p_memsz;
    begin = at < begin ? at : begin;
    end = at + part.p_memsz > end ? at + part.p_memsz : end;
  }
  to.dlfo_map_start = reinterpret_cast<void*>(begin);
  to.dlfo_map_end = reinterpret_cast<void*>(end);
  return inside && to.dlfo_eh_frame;
}

int visit(dl_phdr_info* object, size_t, void* state) {
  Search& search = *static_cast<Search*>(state);
  dl_find_object candidate{};
  if (!holds(*object, search, candidate)) return 0;
  *search.to = candidate;
  search.found = true;
  return 1;
}

}  // namespace

// The rest of the time is measured anew when the clock of the day was set meanwhile.
int vg::portable::waitByClockOfDay(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                   const timespec* until) {
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, until);
  for (;;) {
    const int64_t left = nanoseconds(*until) - now(clock);
    if (left <= 0) return ETIMEDOUT;
    const int64_t end = now(CLOCK_REALTIME) + left;
    const timespec day{end / 1'000'000'000, end % 1'000'000'000};
    if (const int result = pthread_cond_timedwait(condition, mutex, &day); result != ETIMEDOUT) return result;
  }
}

extern "C" {

VG_STAND_IN int stat(const char* path, struct stat* to) { return __xstat(kStatVersion, path, to); }
VG_STAND_IN int lstat(const char* path, struct stat* to) { return __lxstat(kStatVersion, path, to); }
VG_STAND_IN int fstat(int file, struct stat* to) { return __fxstat(kStatVersion, file, to); }
VG_STAND_IN int fstatat(int folder, const char* path, struct stat* to, int flags) {
  return __fxstatat(kStatVersion, folder, path, to, flags);
}
VG_STAND_IN int stat64(const char* path, struct stat64* to) {
  return __xstat(kStatVersion, path, reinterpret_cast<struct stat*>(to));
}
VG_STAND_IN int lstat64(const char* path, struct stat64* to) {
  return __lxstat(kStatVersion, path, reinterpret_cast<struct stat*>(to));
}
VG_STAND_IN int fstat64(int file, struct stat64* to) {
  return __fxstat(kStatVersion, file, reinterpret_cast<struct stat*>(to));
}

// 2.30.
VG_STAND_IN pid_t gettid() noexcept { return static_cast<pid_t>(syscall(SYS_gettid)); }

// 2.30.
VG_STAND_IN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                       const timespec* until) {
  ClockWait* const own = ownClockWait();
  return (own ? own : vg::portable::waitByClockOfDay)(condition, mutex, clock, until);
}

// 2.33, asked for by a statistic of LLVM that nothing prints.
VG_STAND_IN struct mallinfo2 mallinfo2() noexcept { return {}; }

// 2.35: how libgcc finds what it needs to unwind the stack. The addresses stay right while the object is loaded.
VG_STAND_IN int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{reinterpret_cast<uintptr_t>(address), result};
  dl_iterate_phdr(visit, &search);
  return search.found ? 0 : -1;
}

// 2.36.
VG_STAND_IN uint32_t arc4random() noexcept {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value)
    if (errno != EINTR) abort();
  return value;
}

// 2.38: numbers of C23, which may begin with 0b where the base is 0 or 2. What is read here is older.
VG_STAND_IN long __isoc23_strtol(const char* text, char** end, int base) { return oldStrtol(text, end, base); }
VG_STAND_IN unsigned long __isoc23_strtoul(const char* text, char** end, int base) {
  return oldStrtoul(text, end, base);
}
VG_STAND_IN long long __isoc23_strtoll(const char* text, char** end, int base) { return oldStrtoll(text, end, base); }
VG_STAND_IN unsigned long long __isoc23_strtoull(const char* text, char** end, int base) {
  return oldStrtoull(text, end, base);
}
VG_STAND_IN int __isoc23_sscanf(const char* text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int result = oldVsscanf(text, format, arguments);
  va_end(arguments);
  return result;
}
VG_STAND_IN int __isoc23_fscanf(FILE* file, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int result = oldVfscanf(file, format, arguments);
  va_end(arguments);
  return result;
}
}
// NOLINTEND(bugprone-reserved-identifier)
