/* deny ERRNO CALL[,CALL ...] PROGRAM [ARGUMENT ...]: runs a program that is refused system calls, by name (those below)
   or number. deny --list: the names. Exit status 77: no filter can be set; 2: wrong usage. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "deny_calls.h"

/* clang-format off */
static const struct {
  const char* name;
  int number;
} kCalls[] = {
#define CALL(name) {#name, SYS_##name},
    CALL(io_uring_setup) CALL(io_uring_enter) CALL(io_uring_register) CALL(process_vm_readv) CALL(process_vm_writev)
    CALL(mincore) CALL(madvise) CALL(mlock) CALL(munlock) CALL(mlock2) CALL(mbind) CALL(get_mempolicy)
    CALL(set_mempolicy) CALL(move_pages) CALL(membarrier) CALL(userfaultfd) CALL(perf_event_open) CALL(sysinfo)
    CALL(getrandom) CALL(sched_getaffinity) CALL(sched_setaffinity) CALL(setpriority) CALL(prlimit64) CALL(statx)
    CALL(fallocate) CALL(flock) CALL(copy_file_range) CALL(getcpu) CALL(pidfd_open) CALL(ptrace) CALL(kcmp)
    CALL(personality) CALL(prctl) CALL(sigaltstack) CALL(mremap) CALL(memfd_create) CALL(ftruncate) CALL(fcntl)
    CALL(fstat) CALL(lseek) CALL(socket) CALL(bind) CALL(listen) CALL(clone3) CALL(getdents64) CALL(renameat)
    CALL(utimensat) CALL(pwrite64) CALL(kill) CALL(uname) CALL(eventfd2) CALL(pipe2)
#undef CALL
};
/* clang-format on */
enum { kCount = sizeof kCalls / sizeof *kCalls };

static int numberOf(const char* call) {
  char* end;
  for (int i = 0; i < kCount; ++i)
    if (!strcmp(kCalls[i].name, call)) return kCalls[i].number;
  const long number = strtol(call, &end, 10);
  return *call && !*end ? (int)number : -1;
}

int main(int argc, char** argv) {
  if (argc == 2 && !strcmp(argv[1], "--list")) {
    for (int i = 0; i < kCount; ++i) puts(kCalls[i].name);
    return 0;
  }
  int numbers[kMostDenied], count = 0;
  if (argc < 4) return fprintf(stderr, "usage: deny ERRNO CALL[,CALL ...] PROGRAM [ARGUMENT ...]\n"), 2;
  for (char* call = strtok(argv[2], ","); call && count < kMostDenied; call = strtok(NULL, ","))
    if ((numbers[count++] = numberOf(call)) < 0) return fprintf(stderr, "deny: no call %s\n", call), 2;
  if (denyCalls(numbers, count, atoi(argv[1]))) return perror("deny"), 77;
  execv(argv[3], argv + 3);
  return perror(argv[3]), 2;
}
