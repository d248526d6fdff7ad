// The stand-ins for what glibc 2.28 lacks, against the C library's own functions.
#include "portable/newer_libc.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

// The C library's function of this name; the program's own is hidden from dlsym.
template <class Function>
Function* systems(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

bool sameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_mode == b.st_mode && a.st_size == b.st_size &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

TEST(FileStatus, IsWhatTheCLibrarySays) {
  char link[] = "/tmp/verdigris-link-XXXXXX";
  close(mkstemp(link));
  unlink(link);
  ASSERT_EQ(symlink("/proc/self/exe", link), 0);
  const int file = open("/proc/self/exe", O_RDONLY);
  struct stat ours, theirs;
  ASSERT_EQ(stat(link, &ours), 0);
  ASSERT_EQ(systems(stat, "stat")(link, &theirs), 0);
  EXPECT_TRUE(sameFile(ours, theirs));
  ASSERT_EQ(fstat(file, &ours), 0);
  EXPECT_TRUE(sameFile(ours, theirs));
  ASSERT_EQ(lstat(link, &ours), 0);
  EXPECT_TRUE(S_ISLNK(ours.st_mode));
  ASSERT_EQ(fstatat(AT_FDCWD, link, &ours, AT_SYMLINK_NOFOLLOW), 0);
  EXPECT_TRUE(S_ISLNK(ours.st_mode));
  close(file);
  unlink(link);
}

TEST(FileStatus, OfNothingFails) {
  struct stat status;
  errno = 0;
  EXPECT_EQ(stat("/not/there", &status), -1);
  EXPECT_EQ(errno, ENOENT);
}

timespec later(clockid_t clock, long milliseconds) {
  timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += milliseconds * 1'000'000;
  time.tv_sec += time.tv_nsec / 1'000'000'000;
  time.tv_nsec %= 1'000'000'000;
  return time;
}

TEST(Waiting, ByTheClockOfTheDayEndsAtTheTimeOfTheOtherClock) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME}) {
    const timespec until = later(clock, 20);
    EXPECT_EQ(vg::portable::waitByClockOfDay(&condition, &mutex, clock, &until), ETIMEDOUT);
    const timespec now = later(clock, 0);
    EXPECT_TRUE(now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
    EXPECT_EQ(vg::portable::waitByClockOfDay(&condition, &mutex, clock, &until), ETIMEDOUT);  // long ago
  }
  pthread_mutex_unlock(&mutex);
}

TEST(Waiting, EndsWhenSomebodySignals) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  bool signalled = false;
  pthread_mutex_lock(&mutex);
  std::thread other([&] {
    pthread_mutex_lock(&mutex);
    signalled = true;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
  });
  const timespec until = later(CLOCK_MONOTONIC, 60'000);
  int result = 0;
  while (!signalled && !result) result = vg::portable::waitByClockOfDay(&condition, &mutex, CLOCK_MONOTONIC, &until);
  EXPECT_EQ(result, 0);
  pthread_mutex_unlock(&mutex);
  other.join();
}

void same(void* address) {
  dl_find_object ours{}, theirs{};
  const auto find = systems(_dl_find_object, "_dl_find_object");
  ASSERT_EQ(_dl_find_object(address, &ours), find ? find(address, &theirs) : 0) << address;
  if (!find) return;
  EXPECT_EQ(ours.dlfo_eh_frame, theirs.dlfo_eh_frame);
  EXPECT_TRUE(!theirs.dlfo_eh_frame || ours.dlfo_map_start == theirs.dlfo_map_start);
}

TEST(Unwinding, FindsTheTableOfAnyLoadedObject) {
  same(reinterpret_cast<void*>(&same));
  same(dlsym(RTLD_DEFAULT, "malloc"));
  same(dlsym(dlopen("libm.so.6", RTLD_NOW), "cos"));
  int local = 0;
  same(&local);
  same(nullptr);
}

TEST(Unwinding, ExceptionsPassFunctions) {
  const auto thrower = [](auto self, int depth) -> int {
    if (!depth) throw std::out_of_range("deep");
    return self(self, depth - 1) + 1;
  };
  EXPECT_THROW(thrower(thrower, 20), std::out_of_range);
}

TEST(RandomNumbers, AreNotTheSame) {
  std::set<uint32_t> seen;
  for (int i = 0; i < 100; ++i) seen.insert(arc4random());
  EXPECT_GT(seen.size(), 95u);
}

TEST(Threads, HaveTheirNumbers) {
  EXPECT_EQ(gettid(), getpid());
  std::thread([] { EXPECT_NE(gettid(), getpid()); }).join();
}

extern "C" long __isoc23_strtol(const char*, char**, int);
extern "C" unsigned long long __isoc23_strtoull(const char*, char**, int);
extern "C" int __isoc23_sscanf(const char*, const char*, ...);

TEST(Numbers, AreRead) {
  char* end = nullptr;
  EXPECT_EQ(__isoc23_strtol("-12x", &end, 10), -12);
  EXPECT_STREQ(end, "x");
  EXPECT_EQ(__isoc23_strtoull("ffffffffffffffff", nullptr, 16), ~0ull);
  int a = 0, b = 0;
  EXPECT_EQ(__isoc23_sscanf("3 of 4", "%d of %d", &a, &b), 2);
  EXPECT_EQ(a * 10 + b, 34);
}

}  // namespace
