/* bin/verdigris of the tarball: says on systems of another C library, where the kernel would say "not found", what is
   wrong, and becomes lib/verdigris/verdigris elsewhere. Without any library, so that it starts everywhere: cc -Os
   -static -nostdlib -ffreestanding -fno-stack-protector -fno-pie -no-pie */

enum { kWrite = 1, kAccess = 21, kExecve = 59, kExit = 60, kReadlink = 89, kExecFileName = 31, kPath = 4096 };

static long call(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

static long lengthOf(const char* text) {
  long length = 0;
  while (text[length]) ++length;
  return length;
}

static void say(const char* text) { call(kWrite, 2, (long)text, lengthOf(text)); }

/* Ends `path` before its last slash; the new length. */
static long parent(char* path, long length) {
  while (length > 0 && path[--length] != '/') {
  }
  path[length] = 0;
  return length;
}

/* Where this file is: without /proc, what it was started as. */
static long ownPath(char* path, const char* startedAs) {
  long length = call(kReadlink, (long)"/proc/self/exe", (long)path, kPath - 64);
  if (length > 0) return path[length] = 0, length;
  for (length = 0; startedAs && startedAs[length] && length < kPath - 64; ++length) path[length] = startedAs[length];
  return path[length] = 0, length;
}

__attribute__((used, noreturn)) static void start(long* stack) {
  static char path[kPath];
  static const char loader[] = "/lib64/ld-linux-x86-64.so.2", command[] = "/lib/verdigris/verdigris";
  char** const arguments = (char**)(stack + 1);
  char** const environment = arguments + stack[0] + 1;
  char** end = environment;
  while (*end) ++end;
  const char* startedAs = 0;
  for (const long* pair = (const long*)(end + 1); pair[0]; pair += 2)
    if (pair[0] == kExecFileName) startedAs = (const char*)pair[1];

  if (call(kAccess, (long)loader, 0, 0) != 0) {
    say("verdigris: this system has no /lib64/ld-linux-x86-64.so.2. Verdigris needs glibc 2.28 or newer; on systems "
        "of\n"
        "another C library, such as Alpine Linux with musl, run it in a container or chroot that has glibc.\n");
    call(kExit, 126, 0, 0);
  }
  long length = ownPath(path, startedAs);
  length = parent(path, parent(path, length));
  if (!length && path[0] != '/' && startedAs && startedAs[0] != '/') path[length++] = '.';
  for (long i = 0; i < (long)sizeof command; ++i) path[length + i] = command[i];
  call(kExecve, (long)path, (long)arguments, (long)environment);
  say("verdigris: cannot start ");
  say(path);
  say("\n");
  call(kExit, 126, 0, 0);
  __builtin_unreachable();
}

__asm__(".globl _start\n_start:\n  xor %ebp, %ebp\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call start\n");
